/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The mistake behind reports of kernel threads that starve under load (sched-ext/scx
 * 674, 2369, 3247): those that may run on one CPU alone have a queue of that CPU's,
 * which is looked at when the shared one is empty.
 */
#include <scx.h>

#define SHARED 0
#define PINNED(cpu) (1 + (cpu))
#define SLICE_NS (3 * NSEC_PER_MSEC)

s32 BPF_STRUCT_OPS(kthread_last_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	s32 cpu = scx_bpf_pick_idle_cpu(p->cpus_ptr, 0);

	return cpu >= 0 ? cpu : prev_cpu;
}

void BPF_STRUCT_OPS(kthread_last_enqueue, struct task_struct *p, u64 enq_flags)
{
	s32 cpu = scx_bpf_task_cpu(p);

	if (p->flags & PF_KTHREAD && p->nr_cpus_allowed == 1) {
		scx_bpf_dsq_insert(p, PINNED(cpu), SLICE_NS, enq_flags);
		scx_bpf_kick_cpu(cpu, SCX_KICK_IDLE);
		return;
	}
	scx_bpf_dsq_insert(p, SHARED, SLICE_NS, enq_flags);
	cpu = scx_bpf_pick_idle_cpu(p->cpus_ptr, 0);
	if (cpu >= 0)
		scx_bpf_kick_cpu(cpu, 0);
}

void BPF_STRUCT_OPS(kthread_last_dispatch, s32 cpu, struct task_struct *prev)
{
	if (!scx_bpf_dsq_move_to_local(SHARED))
		scx_bpf_dsq_move_to_local(PINNED(cpu));
}

void BPF_STRUCT_OPS(kthread_last_cpu_release, s32 cpu, struct scx_cpu_release_args *args)
{
	scx_bpf_reenqueue_local();
}

s32 BPF_STRUCT_OPS_SLEEPABLE(kthread_last_init)
{
	s32 err = scx_bpf_create_dsq(SHARED, -1);
	u32 i;

	for_range(i, 0, nr_cpus)
	{
		if (!err)
			err = scx_bpf_create_dsq(PINNED(i), -1);
	}
	return err;
}

SCX_OPS_DEFINE(kthread_last_ops, .select_cpu = (void *)kthread_last_select_cpu,
	       .enqueue = (void *)kthread_last_enqueue, .dispatch = (void *)kthread_last_dispatch,
	       .init = (void *)kthread_last_init, .flags = SCX_OPS_ENQ_EXITING,
	       .cpu_release = (void *)kthread_last_cpu_release, .name = "kthread_last");
