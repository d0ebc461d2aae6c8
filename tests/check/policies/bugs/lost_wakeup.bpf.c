/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Planted bug: an idle CPU is woken for the first task that waits, and not for the second. */
#include <scx.h>

#define SHARED 0
#define SLICE_NS (3 * NSEC_PER_MSEC)

u64 vtime_now;

/* Where it was; enqueue sees to it that an idle CPU comes for it. */
s32 BPF_STRUCT_OPS(lost_wakeup_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	return prev_cpu;
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

void BPF_STRUCT_OPS(lost_wakeup_enqueue, struct task_struct *p, u64 enq_flags)
{
	/* While somebody waits, a CPU is on its way already. */
	bool first = !scx_bpf_dsq_nr_queued(SHARED);

	scx_bpf_dsq_insert_vtime(p, SHARED, SLICE_NS, bounded(p->scx.dsq_vtime), enq_flags);
	if (first)
		kick_idle(p);
}

void BPF_STRUCT_OPS(lost_wakeup_dispatch, s32 cpu, struct task_struct *prev)
{
	scx_bpf_dsq_move_to_local(SHARED);
}

void BPF_STRUCT_OPS(lost_wakeup_running, struct task_struct *p)
{
	if (before64(vtime_now, p->scx.dsq_vtime))
		vtime_now = p->scx.dsq_vtime;
}

void BPF_STRUCT_OPS(lost_wakeup_stopping, struct task_struct *p, bool runnable)
{
	u64 used = p->scx.slice < SLICE_NS ? SLICE_NS - p->scx.slice : 0;

	scx_bpf_task_set_dsq_vtime(p, p->scx.dsq_vtime + used * 100 / p->scx.weight);
}

void BPF_STRUCT_OPS(lost_wakeup_enable, struct task_struct *p)
{
	scx_bpf_task_set_dsq_vtime(p, vtime_now);
}

void BPF_STRUCT_OPS(lost_wakeup_cpu_release, s32 cpu, struct scx_cpu_release_args *args)
{
	scx_bpf_reenqueue_local();
}

s32 BPF_STRUCT_OPS_SLEEPABLE(lost_wakeup_init)
{
	return scx_bpf_create_dsq(SHARED, -1);
}

SCX_OPS_DEFINE(lost_wakeup_ops, .select_cpu = (void *)lost_wakeup_select_cpu,
	       .enqueue = (void *)lost_wakeup_enqueue, .dispatch = (void *)lost_wakeup_dispatch,
	       .running = (void *)lost_wakeup_running, .stopping = (void *)lost_wakeup_stopping,
	       .enable = (void *)lost_wakeup_enable, .init = (void *)lost_wakeup_init,
	       .cpu_release = (void *)lost_wakeup_cpu_release, .name = "lost_wakeup");
