/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Planted bug: a deadline in nanoseconds is kept in 32 bits, which hold 4.3 s. */
#include <scx.h>

#define SHARED 0
#define SLICE_NS (3 * NSEC_PER_MSEC)
#define OFFSET_NS (40 * NSEC_PER_MSEC)

struct task_ctx {
	u32 deadline_ns;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct task_ctx);
} tasks SEC(".maps");

s32 BPF_STRUCT_OPS(deadline_overflow_select_cpu, struct task_struct *p, s32 prev_cpu,
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

void BPF_STRUCT_OPS(deadline_overflow_enqueue, struct task_struct *p, u64 enq_flags)
{
	struct task_ctx *t = bpf_task_storage_get(&tasks, p, 0, 0);

	if (!t)
		return;
	t->deadline_ns = scx_bpf_now() + OFFSET_NS * 100 / p->scx.weight;
	scx_bpf_dsq_insert_vtime(p, SHARED, SLICE_NS, t->deadline_ns, enq_flags);
	kick_idle(p);
}

void BPF_STRUCT_OPS(deadline_overflow_dispatch, s32 cpu, struct task_struct *prev)
{
	scx_bpf_dsq_move_to_local(SHARED);
}

s32 BPF_STRUCT_OPS(deadline_overflow_init_task, struct task_struct *p,
		   struct scx_init_task_args *args)
{
	return bpf_task_storage_get(&tasks, p, 0, BPF_LOCAL_STORAGE_GET_F_CREATE) ? 0 : -ENOMEM;
}

void BPF_STRUCT_OPS(deadline_overflow_cpu_release, s32 cpu, struct scx_cpu_release_args *args)
{
	scx_bpf_reenqueue_local();
}

s32 BPF_STRUCT_OPS_SLEEPABLE(deadline_overflow_init)
{
	return scx_bpf_create_dsq(SHARED, -1);
}

SCX_OPS_DEFINE(deadline_overflow_ops, .select_cpu = (void *)deadline_overflow_select_cpu,
	       .enqueue = (void *)deadline_overflow_enqueue,
	       .dispatch = (void *)deadline_overflow_dispatch,
	       .init_task = (void *)deadline_overflow_init_task,
	       .init = (void *)deadline_overflow_init,
	       .cpu_release = (void *)deadline_overflow_cpu_release, .name = "deadline_overflow");
