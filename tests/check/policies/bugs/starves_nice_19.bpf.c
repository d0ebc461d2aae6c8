/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Planted bug: background tasks get what is left, and there may be nothing left for ever. */
#include <scx.h>

#define SHARED 0
#define BACKGROUND 1
#define SLICE_NS (3 * NSEC_PER_MSEC)

u64 vtime_now;

s32 BPF_STRUCT_OPS(starves_nice_19_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
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

void BPF_STRUCT_OPS(starves_nice_19_enqueue, struct task_struct *p, u64 enq_flags)
{
	u64 dsq = p->static_prio == 139 ? BACKGROUND : SHARED;

	scx_bpf_dsq_insert_vtime(p, dsq, SLICE_NS, bounded(p->scx.dsq_vtime), enq_flags);
	kick_idle(p);
}

void BPF_STRUCT_OPS(starves_nice_19_dispatch, s32 cpu, struct task_struct *prev)
{
	if (!scx_bpf_dsq_move_to_local(SHARED))
		scx_bpf_dsq_move_to_local(BACKGROUND);
}

void BPF_STRUCT_OPS(starves_nice_19_running, struct task_struct *p)
{
	if (before64(vtime_now, p->scx.dsq_vtime))
		vtime_now = p->scx.dsq_vtime;
}

void BPF_STRUCT_OPS(starves_nice_19_stopping, struct task_struct *p, bool runnable)
{
	u64 used = p->scx.slice < SLICE_NS ? SLICE_NS - p->scx.slice : 0;

	scx_bpf_task_set_dsq_vtime(p, p->scx.dsq_vtime + used * 100 / p->scx.weight);
}

void BPF_STRUCT_OPS(starves_nice_19_enable, struct task_struct *p)
{
	scx_bpf_task_set_dsq_vtime(p, vtime_now);
}

void BPF_STRUCT_OPS(starves_nice_19_cpu_release, s32 cpu, struct scx_cpu_release_args *args)
{
	scx_bpf_reenqueue_local();
}

s32 BPF_STRUCT_OPS_SLEEPABLE(starves_nice_19_init)
{
	s32 err = scx_bpf_create_dsq(SHARED, -1);

	return err ? err : scx_bpf_create_dsq(BACKGROUND, -1);
}

SCX_OPS_DEFINE(starves_nice_19_ops, .select_cpu = (void *)starves_nice_19_select_cpu,
	       .enqueue = (void *)starves_nice_19_enqueue,
	       .dispatch = (void *)starves_nice_19_dispatch,
	       .running = (void *)starves_nice_19_running,
	       .stopping = (void *)starves_nice_19_stopping,
	       .enable = (void *)starves_nice_19_enable, .init = (void *)starves_nice_19_init,
	       .cpu_release = (void *)starves_nice_19_cpu_release, .name = "starves_nice_19");
