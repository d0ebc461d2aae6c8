/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Planted bug: queued by last-level cache, dispatched by NUMA node. */
#include <scx.h>

#define SLICE_NS (3 * NSEC_PER_MSEC)

u64 vtime_now;

s32 BPF_STRUCT_OPS(wrong_queue_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
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

void BPF_STRUCT_OPS(wrong_queue_enqueue, struct task_struct *p, u64 enq_flags)
{
	u32 llc = cpu_llc[cpu_index(scx_bpf_task_cpu(p))];

	scx_bpf_dsq_insert_vtime(p, llc, SLICE_NS, bounded(p->scx.dsq_vtime), enq_flags);
	kick_idle(p);
}

void BPF_STRUCT_OPS(wrong_queue_dispatch, s32 cpu, struct task_struct *prev)
{
	u32 own = cpu_node[cpu_index(cpu)], i;

	if (scx_bpf_dsq_move_to_local(own))
		return;
	/* Then those of the other nodes. */
	for_range(i, 0, nr_nodes)
	{
		if (i != own && scx_bpf_dsq_move_to_local(i))
			return;
	}
}

void BPF_STRUCT_OPS(wrong_queue_running, struct task_struct *p)
{
	if (before64(vtime_now, p->scx.dsq_vtime))
		vtime_now = p->scx.dsq_vtime;
}

void BPF_STRUCT_OPS(wrong_queue_stopping, struct task_struct *p, bool runnable)
{
	u64 used = p->scx.slice < SLICE_NS ? SLICE_NS - p->scx.slice : 0;

	scx_bpf_task_set_dsq_vtime(p, p->scx.dsq_vtime + used * 100 / p->scx.weight);
}

void BPF_STRUCT_OPS(wrong_queue_enable, struct task_struct *p)
{
	scx_bpf_task_set_dsq_vtime(p, vtime_now);
}

void BPF_STRUCT_OPS(wrong_queue_cpu_release, s32 cpu, struct scx_cpu_release_args *args)
{
	scx_bpf_reenqueue_local();
}

s32 BPF_STRUCT_OPS_SLEEPABLE(wrong_queue_init)
{
	s32 err = 0;
	u32 i;

	for_range(i, 0, nr_llcs)
	{
		if (!err)
			err = scx_bpf_create_dsq(i, -1);
	}
	return err;
}

SCX_OPS_DEFINE(wrong_queue_ops, .select_cpu = (void *)wrong_queue_select_cpu,
	       .enqueue = (void *)wrong_queue_enqueue, .dispatch = (void *)wrong_queue_dispatch,
	       .running = (void *)wrong_queue_running, .stopping = (void *)wrong_queue_stopping,
	       .enable = (void *)wrong_queue_enable, .init = (void *)wrong_queue_init,
	       .cpu_release = (void *)wrong_queue_cpu_release, .name = "wrong_queue");
