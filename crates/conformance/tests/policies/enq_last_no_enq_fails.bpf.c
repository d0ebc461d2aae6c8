/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Asks for the last task of a CPU and has no place for it. */
#include <scx/common.bpf.h>

char _license[] SEC("license") = "GPL";

u32 exit_kind;

void BPF_STRUCT_OPS_SLEEPABLE(gone, struct scx_exit_info *info)
{
	exit_kind = info->kind;
}

SEC(".struct_ops.link")
struct sched_ext_ops ops = {
	.flags = SCX_OPS_ENQ_LAST,
	.exit = (void *)gone,
	.name = "lasting",
};
