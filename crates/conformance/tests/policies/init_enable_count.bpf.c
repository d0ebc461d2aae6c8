/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counts who comes and who goes. */
#include <scx/common.bpf.h>

char _license[] SEC("license") = "GPL";

u64 init_task_cnt, init_fork_cnt, init_transition_cnt, exit_task_cnt, enable_cnt, disable_cnt;

s32 BPF_STRUCT_OPS_SLEEPABLE(begins, struct task_struct *p, struct scx_init_task_args *args)
{
	init_task_cnt++;
	if (args->fork)
		init_fork_cnt++;
	else
		init_transition_cnt++;
	return 0;
}

void BPF_STRUCT_OPS(ends, struct task_struct *p, struct scx_exit_task_args *args)
{
	exit_task_cnt++;
}

void BPF_STRUCT_OPS(comes, struct task_struct *p)
{
	enable_cnt++;
}

void BPF_STRUCT_OPS(goes, struct task_struct *p)
{
	disable_cnt++;
}

SEC(".struct_ops.link")
struct sched_ext_ops ops = {
	.init_task = (void *)begins,
	.exit_task = (void *)ends,
	.enable = (void *)comes,
	.disable = (void *)goes,
	.name = "counting",
};
