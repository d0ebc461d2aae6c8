/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Planted bug: a pinned task waits in the queue of the CPU where it ran last, not of the one where it may run. */
#include <scx.h>

#define SHARED 0
#define PINNED(cpu) (1 + (cpu))
#define SLICE_NS (3 * NSEC_PER_MSEC)

u64 vtime_now;

struct task_ctx {
	u32 cpu;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct task_ctx);
} tasks SEC(".maps");

s32 BPF_STRUCT_OPS(stale_cpu_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
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

void BPF_STRUCT_OPS(stale_cpu_enqueue, struct task_struct *p, u64 enq_flags)
{
	struct task_ctx *t = bpf_task_storage_get(&tasks, p, 0, 0);
	u64 vtime = bounded(p->scx.dsq_vtime);

	if (t && p->nr_cpus_allowed == 1) {
		scx_bpf_dsq_insert_vtime(p, PINNED(t->cpu), SLICE_NS, vtime, enq_flags);
		scx_bpf_kick_cpu(t->cpu, SCX_KICK_IDLE);
		return;
	}
	scx_bpf_dsq_insert_vtime(p, SHARED, SLICE_NS, vtime, enq_flags);
	kick_idle(p);
}

void BPF_STRUCT_OPS(stale_cpu_dispatch, s32 cpu, struct task_struct *prev)
{
	if (!scx_bpf_dsq_move_to_local(PINNED(cpu)))
		scx_bpf_dsq_move_to_local(SHARED);
}

void BPF_STRUCT_OPS(stale_cpu_running, struct task_struct *p)
{
	struct task_ctx *t = bpf_task_storage_get(&tasks, p, 0, 0);

	if (t)
		t->cpu = scx_bpf_task_cpu(p);
	if (before64(vtime_now, p->scx.dsq_vtime))
		vtime_now = p->scx.dsq_vtime;
}

void BPF_STRUCT_OPS(stale_cpu_stopping, struct task_struct *p, bool runnable)
{
	u64 used = p->scx.slice < SLICE_NS ? SLICE_NS - p->scx.slice : 0;

	scx_bpf_task_set_dsq_vtime(p, p->scx.dsq_vtime + used * 100 / p->scx.weight);
}

void BPF_STRUCT_OPS(stale_cpu_enable, struct task_struct *p)
{
	scx_bpf_task_set_dsq_vtime(p, vtime_now);
}

s32 BPF_STRUCT_OPS(stale_cpu_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	return bpf_task_storage_get(&tasks, p, 0, BPF_LOCAL_STORAGE_GET_F_CREATE) ? 0 : -ENOMEM;
}

void BPF_STRUCT_OPS(stale_cpu_cpu_release, s32 cpu, struct scx_cpu_release_args *args)
{
	scx_bpf_reenqueue_local();
}

s32 BPF_STRUCT_OPS_SLEEPABLE(stale_cpu_init)
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

SCX_OPS_DEFINE(stale_cpu_ops, .select_cpu = (void *)stale_cpu_select_cpu,
	       .enqueue = (void *)stale_cpu_enqueue, .dispatch = (void *)stale_cpu_dispatch,
	       .running = (void *)stale_cpu_running, .stopping = (void *)stale_cpu_stopping,
	       .enable = (void *)stale_cpu_enable, .init_task = (void *)stale_cpu_init_task,
	       .init = (void *)stale_cpu_init, .cpu_release = (void *)stale_cpu_cpu_release,
	       .name = "stale_cpu");
