/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * First in, first out; a task's name says what it asks for when it runs: p410 that its CPU goes at 410, c410 the same
 * and how fast the CPU is when the task stops, r410 that another CPU does. Others ask for nothing.
 */
#include <scx.h>

u32 scx_bpf_cpuperf_cap(s32 cpu) __ksym;
u32 scx_bpf_cpuperf_cur(s32 cpu) __ksym;
void scx_bpf_cpuperf_set(s32 cpu, u32 perf) __ksym;

static u32 number_in(const struct task_struct *p)
{
	u32 number = 0;
	int i;

	for (i = 1; i < 5 && p->comm[i] >= '0' && p->comm[i] <= '9'; i++)
		number = number * 10 + p->comm[i] - '0';
	return number;
}

void BPF_STRUCT_OPS(speeds_running, struct task_struct *p)
{
	s32 cpu = scx_bpf_task_cpu(p);

	if (p->comm[0] == 'p' || p->comm[0] == 'c')
		scx_bpf_cpuperf_set(cpu, number_in(p));
	else if (p->comm[0] == 'r')
		scx_bpf_cpuperf_set(1 - cpu, number_in(p));
}

void BPF_STRUCT_OPS(speeds_stopping, struct task_struct *p, bool runnable)
{
	s32 cpu = scx_bpf_task_cpu(p);

	if (p->comm[0] == 'c')
		scx_bpf_error("cap %u cur %u", scx_bpf_cpuperf_cap(cpu), scx_bpf_cpuperf_cur(cpu));
}

SCX_OPS_DEFINE(speeds_ops, .running = (void *)speeds_running, .stopping = (void *)speeds_stopping,
	       .name = "speeds");
