/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Planted bug: a return is missing: a task that goes to an idle CPU is queued for everybody too. */
#include <scx.h>

#define SHARED 0
#define SLICE_NS (3 * NSEC_PER_MSEC)

u64 vtime_now;

/* A sleeper may claim at most one slice of the past. */
static u64 bounded(u64 vtime)
{
	return before64(vtime, vtime_now - SLICE_NS) ? vtime_now - SLICE_NS : vtime;
}

void BPF_STRUCT_OPS(double_insert_enqueue, struct task_struct *p, u64 enq_flags)
{
	s32 cpu = scx_bpf_pick_idle_cpu(p->cpus_ptr, 0);

	if (cpu >= 0)
		scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL_ON | cpu, SLICE_NS, enq_flags);
	scx_bpf_dsq_insert_vtime(p, SHARED, SLICE_NS, bounded(p->scx.dsq_vtime), enq_flags);
}

void BPF_STRUCT_OPS(double_insert_dispatch, s32 cpu, struct task_struct *prev)
{
	scx_bpf_dsq_move_to_local(SHARED);
}

void BPF_STRUCT_OPS(double_insert_running, struct task_struct *p)
{
	if (before64(vtime_now, p->scx.dsq_vtime))
		vtime_now = p->scx.dsq_vtime;
}

void BPF_STRUCT_OPS(double_insert_stopping, struct task_struct *p, bool runnable)
{
	u64 used = p->scx.slice < SLICE_NS ? SLICE_NS - p->scx.slice : 0;

	scx_bpf_task_set_dsq_vtime(p, p->scx.dsq_vtime + used * 100 / p->scx.weight);
}

void BPF_STRUCT_OPS(double_insert_enable, struct task_struct *p)
{
	scx_bpf_task_set_dsq_vtime(p, vtime_now);
}

void BPF_STRUCT_OPS(double_insert_cpu_release, s32 cpu, struct scx_cpu_release_args *args)
{
	scx_bpf_reenqueue_local();
}

s32 BPF_STRUCT_OPS_SLEEPABLE(double_insert_init)
{
	return scx_bpf_create_dsq(SHARED, -1);
}

SCX_OPS_DEFINE(double_insert_ops, .enqueue = (void *)double_insert_enqueue,
	       .dispatch = (void *)double_insert_dispatch, .running = (void *)double_insert_running,
	       .stopping = (void *)double_insert_stopping, .enable = (void *)double_insert_enable,
	       .init = (void *)double_insert_init, .cpu_release = (void *)double_insert_cpu_release,
	       .name = "double_insert");
