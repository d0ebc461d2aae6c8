/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Looks whom a CPU runs: the task before, as long as the next one is only picked. */
#include <scx.h>

struct task_struct *scx_bpf_cpu_curr(s32 cpu) __ksym;

static int last[8];

void BPF_STRUCT_OPS(currents_running, struct task_struct *p)
{
	s32 cpu = scx_bpf_task_cpu(p);
	struct task_struct *curr;
	int pid = -1;

	bpf_rcu_read_lock();
	curr = scx_bpf_cpu_curr(cpu);
	if (curr)
		pid = curr->pid;
	bpf_rcu_read_unlock();
	if (pid != last[cpu & 7])
		scx_bpf_error("CPU %d runs %d, not %d", cpu, pid, last[cpu & 7]);
	last[cpu & 7] = p->pid;
}

void BPF_STRUCT_OPS(currents_tick, struct task_struct *p)
{
	s32 cpu = scx_bpf_task_cpu(p);
	struct task_struct *curr;

	bpf_rcu_read_lock();
	curr = scx_bpf_cpu_curr(cpu);
	if (curr && curr->pid != p->pid)
		scx_bpf_error("CPU %d ticks for %d and runs %d", cpu, p->pid, curr->pid);
	bpf_rcu_read_unlock();
}

SCX_OPS_DEFINE(currents_ops, .running = (void *)currents_running, .tick = (void *)currents_tick,
	       .name = "currents");
