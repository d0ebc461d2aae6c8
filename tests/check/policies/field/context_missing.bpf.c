/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The mistake behind sched-ext/scx 3564: what the scheduler keeps of a task is made
 * when the task first runs, and a callback that may come before takes its absence
 * for an error of its own.
 */
#include <scx.h>

#define SHARED 0
#define SLICE_NS (3 * NSEC_PER_MSEC)

struct task_ctx {
	u32 changes;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct task_ctx);
} tasks SEC(".maps");

s32 BPF_STRUCT_OPS(context_missing_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	s32 cpu = scx_bpf_pick_idle_cpu(p->cpus_ptr, 0);

	return cpu >= 0 ? cpu : prev_cpu;
}

void BPF_STRUCT_OPS(context_missing_enqueue, struct task_struct *p, u64 enq_flags)
{
	s32 cpu;

	scx_bpf_dsq_insert(p, SHARED, SLICE_NS, enq_flags);
	cpu = scx_bpf_pick_idle_cpu(p->cpus_ptr, 0);
	if (cpu >= 0)
		scx_bpf_kick_cpu(cpu, 0);
}

void BPF_STRUCT_OPS(context_missing_dispatch, s32 cpu, struct task_struct *prev)
{
	scx_bpf_dsq_move_to_local(SHARED);
}

void BPF_STRUCT_OPS(context_missing_running, struct task_struct *p)
{
	bpf_task_storage_get(&tasks, p, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
}

void BPF_STRUCT_OPS(context_missing_set_cpumask, struct task_struct *p,
		    const struct cpumask *cpumask)
{
	struct task_ctx *t = bpf_task_storage_get(&tasks, p, 0, 0);

	if (!t) {
		scx_bpf_error("no context of task %d", p->pid);
		return;
	}
	t->changes++;
}

void BPF_STRUCT_OPS(context_missing_cpu_release, s32 cpu, struct scx_cpu_release_args *args)
{
	scx_bpf_reenqueue_local();
}

s32 BPF_STRUCT_OPS_SLEEPABLE(context_missing_init)
{
	return scx_bpf_create_dsq(SHARED, -1);
}

SCX_OPS_DEFINE(context_missing_ops, .select_cpu = (void *)context_missing_select_cpu,
	       .enqueue = (void *)context_missing_enqueue,
	       .dispatch = (void *)context_missing_dispatch,
	       .running = (void *)context_missing_running,
	       .set_cpumask = (void *)context_missing_set_cpumask,
	       .init = (void *)context_missing_init, .flags = SCX_OPS_ENQ_EXITING,
	       .cpu_release = (void *)context_missing_cpu_release, .name = "context_missing");
