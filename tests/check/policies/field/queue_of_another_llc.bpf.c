/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The mistake of sched-ext/scx 1678: a task goes to the queue of the cache where it
 * ran last, also when it may run on none of that cache's CPUs any more, and each
 * CPU looks at its own cache's queue alone.
 */
#include <scx.h>

#define SLICE_NS (3 * NSEC_PER_MSEC)

struct task_ctx {
	u32 llc;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct task_ctx);
} tasks SEC(".maps");

s32 BPF_STRUCT_OPS(queue_of_another_llc_select_cpu, struct task_struct *p, s32 prev_cpu,
		   u64 wake_flags)
{
	return prev_cpu;
}

void BPF_STRUCT_OPS(queue_of_another_llc_enqueue, struct task_struct *p, u64 enq_flags)
{
	struct task_ctx *t = bpf_task_storage_get(&tasks, p, 0, 0);
	s32 cpu;
	u32 i;

	scx_bpf_dsq_insert(p, t ? t->llc : 0, SLICE_NS, enq_flags);
	/* Every idle CPU that might take it: none of these is what the report is about. */
	for_range(i, 0, nr_cpus)
	{
		cpu = scx_bpf_pick_idle_cpu(p->cpus_ptr, 0);
		if (cpu < 0)
			break;
		scx_bpf_kick_cpu(cpu, 0);
	}
}

void BPF_STRUCT_OPS(queue_of_another_llc_dispatch, s32 cpu, struct task_struct *prev)
{
	scx_bpf_dsq_move_to_local(cpu_llc[cpu_index(cpu)]);
}

void BPF_STRUCT_OPS(queue_of_another_llc_running, struct task_struct *p)
{
	struct task_ctx *t = bpf_task_storage_get(&tasks, p, 0, 0);

	if (t)
		t->llc = cpu_llc[cpu_index(scx_bpf_task_cpu(p))];
}

s32 BPF_STRUCT_OPS(queue_of_another_llc_init_task, struct task_struct *p,
		   struct scx_init_task_args *args)
{
	struct task_ctx *t = bpf_task_storage_get(&tasks, p, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (!t)
		return -ENOMEM;
	t->llc = cpu_llc[cpu_index(scx_bpf_task_cpu(p))];
	return 0;
}

void BPF_STRUCT_OPS(queue_of_another_llc_cpu_release, s32 cpu, struct scx_cpu_release_args *args)
{
	scx_bpf_reenqueue_local();
}

s32 BPF_STRUCT_OPS_SLEEPABLE(queue_of_another_llc_init)
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

SCX_OPS_DEFINE(queue_of_another_llc_ops, .select_cpu = (void *)queue_of_another_llc_select_cpu,
	       .enqueue = (void *)queue_of_another_llc_enqueue,
	       .dispatch = (void *)queue_of_another_llc_dispatch,
	       .running = (void *)queue_of_another_llc_running,
	       .init_task = (void *)queue_of_another_llc_init_task,
	       .init = (void *)queue_of_another_llc_init, .flags = SCX_OPS_ENQ_EXITING,
	       .cpu_release = (void *)queue_of_another_llc_cpu_release,
	       .name = "queue_of_another_llc");
