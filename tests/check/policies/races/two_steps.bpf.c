/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Planted race: whether a CPU's slot is free is asked in one step, and the slot is taken in another. */
#include "base.bpf.h"

/* A task that is handed to a CPU, by its PID. */
u32 slot[MAX_CPUS];

s32 BPF_STRUCT_OPS(two_steps_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	return stay(prev_cpu);
}

void BPF_STRUCT_OPS(two_steps_enqueue, struct task_struct *p, u64 enq_flags)
{
	s32 cpu;

	if (confined(p))
		return insert_confined(p, enq_flags);
	cpu = cpu_index(scx_bpf_pick_any_cpu(p->cpus_ptr, 0));
	if (!slot[cpu]) {
		scx_bpf_kick_cpu(cpu, 0);
		slot[cpu] = p->pid;
		return;
	}
	scx_bpf_dsq_insert(p, SHARED, SLICE_NS, enq_flags);
	kick_idle(p->cpus_ptr);
}

static __always_inline bool take(u32 cpu)
{
	struct task_struct *p;
	u32 pid = slot[cpu];

	if (!pid)
		return false;
	slot[cpu] = 0;
	p = bpf_task_from_pid(pid);
	if (!p)
		return false;
	scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, SLICE_NS, 0);
	bpf_task_release(p);
	return true;
}

void BPF_STRUCT_OPS(two_steps_dispatch, s32 cpu, struct task_struct *prev)
{
	u32 i;

	if (scx_bpf_now() >> 21 & 1) {
		if (take_confined(cpu) || take(cpu_index(cpu)))
			return;
	} else if (take(cpu_index(cpu)) || take_confined(cpu)) {
		return;
	}
	for_range(i, 0, nr_cpus)
	{
		if (take(cpu_index(i)))
			return;
	}
}

void BPF_STRUCT_OPS(two_steps_cpu_release, s32 cpu, struct scx_cpu_release_args *args)
{
	scx_bpf_reenqueue_local();
}

s32 BPF_STRUCT_OPS_SLEEPABLE(two_steps_init)
{
	return create_queues();
}

SCX_OPS_DEFINE(two_steps_ops, .select_cpu = (void *)two_steps_select_cpu,
	       .enqueue = (void *)two_steps_enqueue, .dispatch = (void *)two_steps_dispatch,
	       .init = (void *)two_steps_init, .cpu_release = (void *)two_steps_cpu_release,
	       .name = "two_steps");
