/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Leaves by itself, from the callback of this number. */
#include <scx/common.bpf.h>

char _license[] SEC("license") = "GPL";

const volatile int exit_point;
UEI_DEFINE(uei);

static void here(int point)
{
	if (point == exit_point)
		scx_bpf_exit(point, "%d", point);
}

s32 BPF_STRUCT_OPS(choose, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	here(0);
	return prev_cpu;
}

void BPF_STRUCT_OPS(queue, struct task_struct *p, u64 enq_flags)
{
	here(1);
	scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, SCX_SLICE_DFL, enq_flags);
}

void BPF_STRUCT_OPS(find, s32 cpu, struct task_struct *prev)
{
	here(2);
}

void BPF_STRUCT_OPS(comes, struct task_struct *p)
{
	here(3);
}

s32 BPF_STRUCT_OPS(begins, struct task_struct *p, struct scx_init_task_args *args)
{
	here(4);
	return 0;
}

s32 BPF_STRUCT_OPS_SLEEPABLE(begin)
{
	here(5);
	return 0;
}

void BPF_STRUCT_OPS(gone, struct scx_exit_info *info)
{
	UEI_RECORD(uei, info);
}

SEC(".struct_ops.link")
struct sched_ext_ops ops = {
	.select_cpu = (void *)choose,
	.enqueue = (void *)queue,
	.dispatch = (void *)find,
	.enable = (void *)comes,
	.init_task = (void *)begins,
	.init = (void *)begin,
	.exit = (void *)gone,
	.name = "leaving",
};
