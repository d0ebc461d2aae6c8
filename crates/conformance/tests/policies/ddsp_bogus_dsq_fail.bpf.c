/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inserts into a queue that nobody made. */
#include <scx/common.bpf.h>

char _license[] SEC("license") = "GPL";

UEI_DEFINE(uei);

s32 BPF_STRUCT_OPS(choose, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	scx_bpf_dsq_insert(p, 4711, SCX_SLICE_DFL, 0);
	return prev_cpu;
}

void BPF_STRUCT_OPS(gone, struct scx_exit_info *info)
{
	UEI_RECORD(uei, info);
}

SEC(".struct_ops.link")
struct sched_ext_ops ops = {
	.select_cpu = (void *)choose,
	.exit = (void *)gone,
	.name = "bogus",
};
