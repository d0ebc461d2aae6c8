/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Planted bug: an idle CPU is chosen among all that are online, not among those that the task may use. */
#include <scx.h>

#define SHARED 0
#define SLICE_NS (3 * NSEC_PER_MSEC)

u64 vtime_now;

/* A sleeper may claim at most one slice of the past. */
static u64 bounded(u64 vtime)
{
	return before64(vtime, vtime_now - SLICE_NS) ? vtime_now - SLICE_NS : vtime;
}

void BPF_STRUCT_OPS(affinity_ignored_enqueue, struct task_struct *p, u64 enq_flags)
{
	const struct cpumask *online = scx_bpf_get_online_cpumask();
	s32 cpu = scx_bpf_pick_idle_cpu(online, 0);

	scx_bpf_put_cpumask(online);
	if (cpu >= 0)
		scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL_ON | cpu, SLICE_NS, enq_flags);
	else
		scx_bpf_dsq_insert_vtime(p, SHARED, SLICE_NS, bounded(p->scx.dsq_vtime), enq_flags);
}

void BPF_STRUCT_OPS(affinity_ignored_dispatch, s32 cpu, struct task_struct *prev)
{
	scx_bpf_dsq_move_to_local(SHARED);
}

void BPF_STRUCT_OPS(affinity_ignored_running, struct task_struct *p)
{
	if (before64(vtime_now, p->scx.dsq_vtime))
		vtime_now = p->scx.dsq_vtime;
}

void BPF_STRUCT_OPS(affinity_ignored_stopping, struct task_struct *p, bool runnable)
{
	u64 used = p->scx.slice < SLICE_NS ? SLICE_NS - p->scx.slice : 0;

	scx_bpf_task_set_dsq_vtime(p, p->scx.dsq_vtime + used * 100 / p->scx.weight);
}

void BPF_STRUCT_OPS(affinity_ignored_enable, struct task_struct *p)
{
	scx_bpf_task_set_dsq_vtime(p, vtime_now);
}

void BPF_STRUCT_OPS(affinity_ignored_cpu_release, s32 cpu, struct scx_cpu_release_args *args)
{
	scx_bpf_reenqueue_local();
}

s32 BPF_STRUCT_OPS_SLEEPABLE(affinity_ignored_init)
{
	return scx_bpf_create_dsq(SHARED, -1);
}

SCX_OPS_DEFINE(affinity_ignored_ops, .enqueue = (void *)affinity_ignored_enqueue,
	       .dispatch = (void *)affinity_ignored_dispatch,
	       .running = (void *)affinity_ignored_running,
	       .stopping = (void *)affinity_ignored_stopping,
	       .enable = (void *)affinity_ignored_enable, .init = (void *)affinity_ignored_init,
	       .cpu_release = (void *)affinity_ignored_cpu_release, .name = "affinity_ignored");
