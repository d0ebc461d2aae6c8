/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Planted bug: tries until it gets a task, and nobody in the queue may run here. */
#include <scx.h>

#define SHARED 0
#define SLICE_NS (3 * NSEC_PER_MSEC)

u64 vtime_now;

s32 BPF_STRUCT_OPS(unbounded_loop_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
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

/* A sleeper may claim at most one slice of the past. */
static u64 bounded(u64 vtime)
{
	return before64(vtime, vtime_now - SLICE_NS) ? vtime_now - SLICE_NS : vtime;
}

void BPF_STRUCT_OPS(unbounded_loop_enqueue, struct task_struct *p, u64 enq_flags)
{
	scx_bpf_dsq_insert_vtime(p, SHARED, SLICE_NS, bounded(p->scx.dsq_vtime), enq_flags);
	kick_idle(p);
}

void BPF_STRUCT_OPS(unbounded_loop_dispatch, s32 cpu, struct task_struct *prev)
{
	/* Another CPU may have been faster: once more, while there is something. */
	while (scx_bpf_dsq_nr_queued(SHARED)) {
		if (scx_bpf_dsq_move_to_local(SHARED))
			break;
	}
}

void BPF_STRUCT_OPS(unbounded_loop_running, struct task_struct *p)
{
	if (before64(vtime_now, p->scx.dsq_vtime))
		vtime_now = p->scx.dsq_vtime;
}

void BPF_STRUCT_OPS(unbounded_loop_stopping, struct task_struct *p, bool runnable)
{
	u64 used = p->scx.slice < SLICE_NS ? SLICE_NS - p->scx.slice : 0;

	scx_bpf_task_set_dsq_vtime(p, p->scx.dsq_vtime + used * 100 / p->scx.weight);
}

void BPF_STRUCT_OPS(unbounded_loop_enable, struct task_struct *p)
{
	scx_bpf_task_set_dsq_vtime(p, vtime_now);
}

void BPF_STRUCT_OPS(unbounded_loop_cpu_release, s32 cpu, struct scx_cpu_release_args *args)
{
	scx_bpf_reenqueue_local();
}

s32 BPF_STRUCT_OPS_SLEEPABLE(unbounded_loop_init)
{
	return scx_bpf_create_dsq(SHARED, -1);
}

SCX_OPS_DEFINE(unbounded_loop_ops, .select_cpu = (void *)unbounded_loop_select_cpu,
	       .enqueue = (void *)unbounded_loop_enqueue,
	       .dispatch = (void *)unbounded_loop_dispatch,
	       .running = (void *)unbounded_loop_running,
	       .stopping = (void *)unbounded_loop_stopping, .enable = (void *)unbounded_loop_enable,
	       .init = (void *)unbounded_loop_init,
	       .cpu_release = (void *)unbounded_loop_cpu_release, .name = "unbounded_loop");
