/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Planted bug: what is left of a slice is kept over preemptions, and a task that never sleeps gets no new one. */
#include <scx.h>

#define SHARED 0
#define SLICE_NS (3 * NSEC_PER_MSEC)

u64 vtime_now;

struct task_ctx {
	u64 left_ns;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct task_ctx);
} tasks SEC(".maps");

s32 BPF_STRUCT_OPS(slice_never_refilled_select_cpu, struct task_struct *p, s32 prev_cpu,
		   u64 wake_flags)
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

void BPF_STRUCT_OPS(slice_never_refilled_enqueue, struct task_struct *p, u64 enq_flags)
{
	struct task_ctx *t = bpf_task_storage_get(&tasks, p, 0, 0);

	if (!t)
		return;
	if (enq_flags & SCX_ENQ_WAKEUP)
		t->left_ns = SLICE_NS;
	scx_bpf_dsq_insert_vtime(p, SHARED, t->left_ns, bounded(p->scx.dsq_vtime), enq_flags);
	kick_idle(p);
}

void BPF_STRUCT_OPS(slice_never_refilled_dispatch, s32 cpu, struct task_struct *prev)
{
	scx_bpf_dsq_move_to_local(SHARED);
}

void BPF_STRUCT_OPS(slice_never_refilled_running, struct task_struct *p)
{
	if (before64(vtime_now, p->scx.dsq_vtime))
		vtime_now = p->scx.dsq_vtime;
}

void BPF_STRUCT_OPS(slice_never_refilled_stopping, struct task_struct *p, bool runnable)
{
	struct task_ctx *t = bpf_task_storage_get(&tasks, p, 0, 0);
	u64 used;

	if (!t)
		return;
	used = p->scx.slice < t->left_ns ? t->left_ns - p->scx.slice : 0;
	t->left_ns -= used;
	scx_bpf_task_set_dsq_vtime(p, p->scx.dsq_vtime + used * 100 / p->scx.weight);
}

void BPF_STRUCT_OPS(slice_never_refilled_enable, struct task_struct *p)
{
	scx_bpf_task_set_dsq_vtime(p, vtime_now);
}

s32 BPF_STRUCT_OPS(slice_never_refilled_init_task, struct task_struct *p,
		   struct scx_init_task_args *args)
{
	return bpf_task_storage_get(&tasks, p, 0, BPF_LOCAL_STORAGE_GET_F_CREATE) ? 0 : -ENOMEM;
}

void BPF_STRUCT_OPS(slice_never_refilled_cpu_release, s32 cpu, struct scx_cpu_release_args *args)
{
	scx_bpf_reenqueue_local();
}

s32 BPF_STRUCT_OPS_SLEEPABLE(slice_never_refilled_init)
{
	return scx_bpf_create_dsq(SHARED, -1);
}

SCX_OPS_DEFINE(slice_never_refilled_ops, .select_cpu = (void *)slice_never_refilled_select_cpu,
	       .enqueue = (void *)slice_never_refilled_enqueue,
	       .dispatch = (void *)slice_never_refilled_dispatch,
	       .running = (void *)slice_never_refilled_running,
	       .stopping = (void *)slice_never_refilled_stopping,
	       .enable = (void *)slice_never_refilled_enable,
	       .init_task = (void *)slice_never_refilled_init_task,
	       .init = (void *)slice_never_refilled_init,
	       .cpu_release = (void *)slice_never_refilled_cpu_release,
	       .name = "slice_never_refilled");
