/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Planted race: a CPU is found in the mask of idle ones, and another task is handed to it before it is taken out. */
#include "base.bpf.h"

/* A task that is handed to a CPU, by its PID. */
u32 slot[MAX_CPUS];
/* The policy's own mask. */
u8 idle[MAX_CPUS];

s32 BPF_STRUCT_OPS(idle_mask_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	return stay(prev_cpu);
}

void BPF_STRUCT_OPS(idle_mask_update_idle, s32 cpu, bool is_idle)
{
	idle[cpu_index(cpu)] = is_idle;
}

void BPF_STRUCT_OPS(idle_mask_enqueue, struct task_struct *p, u64 enq_flags)
{
	u32 cpu;

	if (confined(p))
		return insert_confined(p, enq_flags);
	for_range(cpu, 0, nr_cpus)
	{
		if (idle[cpu_index(cpu)]) {
			scx_bpf_kick_cpu(cpu, 0);
			slot[cpu_index(cpu)] = p->pid;
			idle[cpu_index(cpu)] = 0;
			return;
		}
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

void BPF_STRUCT_OPS(idle_mask_dispatch, s32 cpu, struct task_struct *prev)
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

void BPF_STRUCT_OPS(idle_mask_cpu_release, s32 cpu, struct scx_cpu_release_args *args)
{
	scx_bpf_reenqueue_local();
}

s32 BPF_STRUCT_OPS_SLEEPABLE(idle_mask_init)
{
	return create_queues();
}

SCX_OPS_DEFINE(idle_mask_ops, .select_cpu = (void *)idle_mask_select_cpu,
	       .enqueue = (void *)idle_mask_enqueue, .dispatch = (void *)idle_mask_dispatch,
	       .update_idle = (void *)idle_mask_update_idle, .init = (void *)idle_mask_init,
	       .flags = SCX_OPS_KEEP_BUILTIN_IDLE, .cpu_release = (void *)idle_mask_cpu_release,
	       .name = "idle_mask");
