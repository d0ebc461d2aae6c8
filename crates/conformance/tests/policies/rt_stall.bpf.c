/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Leaves all to the kernel, which lets no real-time task stall its tasks. */
#include <scx/common.bpf.h>

char _license[] SEC("license") = "GPL";

UEI_DEFINE(uei);

void BPF_STRUCT_OPS(gone, struct scx_exit_info *info)
{
	UEI_RECORD(uei, info);
}

SEC(".struct_ops.link")
struct sched_ext_ops ops = {
	.exit = (void *)gone,
	.name = "leaving_it",
};
