/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Planted bug: whom a real-time task preempts stays in the CPU's local queue, where no other CPU looks. */
#include <scx.h>

#define QUEUE 0
#define SLICE_NS (3 * NSEC_PER_MSEC)

/* Not into the local queue at once: a pair that wakes each other there would shut out everybody else. */
s32 BPF_STRUCT_OPS(left_behind_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	return prev_cpu;
}

void BPF_STRUCT_OPS(left_behind_enqueue, struct task_struct *p, u64 enq_flags)
{
	u64 since = enq_flags & SCX_ENQ_WAKEUP ? scx_bpf_now() : p->scx.dsq_vtime;
	s32 cpu = scx_bpf_task_cpu(p);

	scx_bpf_dsq_insert_vtime(p, QUEUE, SLICE_NS, since, enq_flags);
	if (p->nr_cpus_allowed > 1)
		cpu = scx_bpf_pick_idle_cpu(p->cpus_ptr, 0);
	if (cpu >= 0)
		scx_bpf_kick_cpu(cpu, SCX_KICK_IDLE);
}

void BPF_STRUCT_OPS(left_behind_dispatch, s32 cpu, struct task_struct *prev)
{
	scx_bpf_dsq_move_to_local(QUEUE);
}

void BPF_STRUCT_OPS(left_behind_stopping, struct task_struct *p, bool runnable)
{
	scx_bpf_task_set_dsq_vtime(p, scx_bpf_now());
}

void BPF_STRUCT_OPS(left_behind_enable, struct task_struct *p)
{
	scx_bpf_task_set_dsq_vtime(p, scx_bpf_now());
}

s32 BPF_STRUCT_OPS_SLEEPABLE(left_behind_init)
{
	return scx_bpf_create_dsq(QUEUE, -1);
}

SCX_OPS_DEFINE(left_behind_ops, .select_cpu = (void *)left_behind_select_cpu,
	       .enqueue = (void *)left_behind_enqueue, .dispatch = (void *)left_behind_dispatch,
	       .stopping = (void *)left_behind_stopping, .enable = (void *)left_behind_enable,
	       .init = (void *)left_behind_init, .name = "left_behind");
