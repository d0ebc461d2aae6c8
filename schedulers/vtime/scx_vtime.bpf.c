/* SPDX-License-Identifier: GPL-2.0-only */
/* One shared queue by weighted run time: the smallest policy that is fair. */
#include <scx.h>

#define SHARED 0

static u64 vtime_now;

/*
 * An idle CPU if there is one: it looks into the shared queue. The kernel's own
 * choice would also put the task into that CPU's local queue, where a pair that
 * wakes each other passes all tasks in the shared one, for ever.
 */
s32 BPF_STRUCT_OPS(vtime_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	s32 cpu;

	/* While it slept, it may have been confined to others; what is claimed then stays claimed. */
	if (bpf_cpumask_test_cpu(prev_cpu, p->cpus_ptr) &&
	    scx_bpf_test_and_clear_cpu_idle(prev_cpu))
		return prev_cpu;
	cpu = scx_bpf_pick_idle_cpu(p->cpus_ptr, 0);
	return cpu >= 0 ? cpu : prev_cpu;
}

void BPF_STRUCT_OPS(vtime_enqueue, struct task_struct *p, u64 enq_flags)
{
	/* A sleeper may claim at most one slice of the past. */
	u64 vtime = before64(p->scx.dsq_vtime, vtime_now - SCX_SLICE_DFL)
			    ? vtime_now - SCX_SLICE_DFL
			    : p->scx.dsq_vtime;
	s32 cpu;

	scx_bpf_dsq_insert_vtime(p, SHARED, SCX_SLICE_DFL, vtime, enq_flags);
	/* No idle CPU has been looked for yet if the task was preempted or comes from another class. */
	if (enq_flags & SCX_ENQ_WAKEUP)
		return;
	cpu = scx_bpf_pick_idle_cpu(p->cpus_ptr, 0);
	if (cpu >= 0)
		scx_bpf_kick_cpu(cpu, 0);
}

void BPF_STRUCT_OPS(vtime_dispatch, s32 cpu, struct task_struct *prev)
{
	scx_bpf_dsq_move_to_local(SHARED);
}

void BPF_STRUCT_OPS(vtime_running, struct task_struct *p)
{
	if (before64(vtime_now, p->scx.dsq_vtime))
		vtime_now = p->scx.dsq_vtime;
}

void BPF_STRUCT_OPS(vtime_stopping, struct task_struct *p, bool runnable)
{
	scx_bpf_task_set_dsq_vtime(p, p->scx.dsq_vtime +
					      (SCX_SLICE_DFL - p->scx.slice) * 100 / p->scx.weight);
}

void BPF_STRUCT_OPS(vtime_enable, struct task_struct *p)
{
	scx_bpf_task_set_dsq_vtime(p, vtime_now);
}

/* A real-time task takes the CPU. What waits in the local queue, the task that ran first of all, is for other CPUs now. */
void BPF_STRUCT_OPS(vtime_cpu_release, s32 cpu, struct scx_cpu_release_args *args)
{
	scx_bpf_reenqueue_local();
}

s32 BPF_STRUCT_OPS_SLEEPABLE(vtime_init)
{
	return scx_bpf_create_dsq(SHARED, -1);
}

SCX_OPS_DEFINE(vtime_ops, .select_cpu = (void *)vtime_select_cpu, .enqueue = (void *)vtime_enqueue,
	       .dispatch = (void *)vtime_dispatch, .running = (void *)vtime_running,
	       .stopping = (void *)vtime_stopping, .enable = (void *)vtime_enable,
	       .cpu_release = (void *)vtime_cpu_release, .init = (void *)vtime_init,
	       .flags = SCX_OPS_ENQ_EXITING, .name = "vtime");
