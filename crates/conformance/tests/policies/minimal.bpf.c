/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Nothing but a name. */
#include <scx/common.bpf.h>

char _license[] SEC("license") = "GPL";

SEC(".struct_ops.link")
struct sched_ext_ops ops = {
	.name = "minimal",
};
