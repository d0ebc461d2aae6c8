/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Planted bug: a task keeps its place in the queue until it sleeps or has used its slice, on whatever CPU it is. */
#include <scx.h>

#define SHARED 0
#define SLICE_NS (50 * NSEC_PER_MSEC)

s32 BPF_STRUCT_OPS(place_never_lost_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	s32 cpu;

	if (bpf_cpumask_test_cpu(prev_cpu, p->cpus_ptr) &&
	    scx_bpf_test_and_clear_cpu_idle(prev_cpu))
		return prev_cpu;
	cpu = scx_bpf_pick_idle_cpu(p->cpus_ptr, 0);
	return cpu >= 0 ? cpu : prev_cpu;
}

static void kick_idle(struct task_struct *p)
{
	s32 cpu = scx_bpf_pick_idle_cpu(p->cpus_ptr, 0);

	if (cpu >= 0)
		scx_bpf_kick_cpu(cpu, 0);
}

void BPF_STRUCT_OPS(place_never_lost_enqueue, struct task_struct *p, u64 enq_flags)
{
	/* Who is preempted goes on first; who hops from CPU to CPU is before all that wait there. */
	if (enq_flags & SCX_ENQ_WAKEUP || !p->scx.slice)
		scx_bpf_task_set_dsq_vtime(p, scx_bpf_now());
	scx_bpf_dsq_insert_vtime(p, SHARED, SLICE_NS, p->scx.dsq_vtime, enq_flags);
	kick_idle(p);
}

void BPF_STRUCT_OPS(place_never_lost_dispatch, s32 cpu, struct task_struct *prev)
{
	scx_bpf_dsq_move_to_local(SHARED);
}

void BPF_STRUCT_OPS(place_never_lost_enable, struct task_struct *p)
{
	scx_bpf_task_set_dsq_vtime(p, scx_bpf_now());
}

void BPF_STRUCT_OPS(place_never_lost_cpu_release, s32 cpu, struct scx_cpu_release_args *args)
{
	scx_bpf_reenqueue_local();
}

s32 BPF_STRUCT_OPS_SLEEPABLE(place_never_lost_init)
{
	return scx_bpf_create_dsq(SHARED, -1);
}

SCX_OPS_DEFINE(place_never_lost_ops, .select_cpu = (void *)place_never_lost_select_cpu,
	       .enqueue = (void *)place_never_lost_enqueue,
	       .dispatch = (void *)place_never_lost_dispatch,
	       .enable = (void *)place_never_lost_enable, .init = (void *)place_never_lost_init,
	       .cpu_release = (void *)place_never_lost_cpu_release, .name = "place_never_lost");
