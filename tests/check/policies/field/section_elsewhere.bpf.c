/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The mistake of ublue-os/bazzite 5527: a wake-up is taken for one whose CPU
 * select_cpu has chosen. The kernel does not ask for a task that has migration
 * disabled, which nr_cpus_allowed does not tell: it waits in the queue of the CPU
 * that was chosen the time before, and the one CPU that may run it stays idle.
 */
#include <scx.h>

#define SHARED 0
#define CHOSEN(cpu) (1 + (cpu))
#define SLICE_NS (3 * NSEC_PER_MSEC)

struct task_ctx {
	/* The idle CPU that was found at its last wake-up, or -1. */
	s32 cpu;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct task_ctx);
} tasks SEC(".maps");

s32 BPF_STRUCT_OPS(section_elsewhere_select_cpu, struct task_struct *p, s32 prev_cpu,
		   u64 wake_flags)
{
	struct task_ctx *t = bpf_task_storage_get(&tasks, p, 0, 0);
	s32 cpu = scx_bpf_pick_idle_cpu(p->cpus_ptr, 0);

	if (t)
		t->cpu = cpu;
	return cpu < 0 ? prev_cpu : cpu;
}

void BPF_STRUCT_OPS(section_elsewhere_enqueue, struct task_struct *p, u64 enq_flags)
{
	struct task_ctx *t = bpf_task_storage_get(&tasks, p, 0, 0);
	u32 queue = SHARED;
	s32 cpu;

	if (p->nr_cpus_allowed == 1)
		queue = CHOSEN(scx_bpf_task_cpu(p));
	else if (t && t->cpu >= 0 && enq_flags & SCX_ENQ_WAKEUP)
		queue = CHOSEN(t->cpu);
	scx_bpf_dsq_insert(p, queue, SLICE_NS, enq_flags);
	cpu = queue ? (s32)queue - 1 : scx_bpf_pick_idle_cpu(p->cpus_ptr, 0);
	if (cpu >= 0)
		scx_bpf_kick_cpu(cpu, SCX_KICK_IDLE);
}

void BPF_STRUCT_OPS(section_elsewhere_dispatch, s32 cpu, struct task_struct *prev)
{
	/* By turns, lest one of the two never gets its turn. */
	u32 own_first = scx_bpf_now() >> 22 & 1, i;

	if (own_first && scx_bpf_dsq_move_to_local(CHOSEN(cpu)))
		return;
	if (scx_bpf_dsq_move_to_local(SHARED))
		return;
	if (!own_first && scx_bpf_dsq_move_to_local(CHOSEN(cpu)))
		return;
	for_range(i, 0, nr_cpus)
	{
		if (scx_bpf_dsq_move_to_local(CHOSEN(i)))
			return;
	}
}

s32 BPF_STRUCT_OPS(section_elsewhere_init_task, struct task_struct *p,
		   struct scx_init_task_args *args)
{
	struct task_ctx *t = bpf_task_storage_get(&tasks, p, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (!t)
		return -ENOMEM;
	t->cpu = -1;
	return 0;
}

void BPF_STRUCT_OPS(section_elsewhere_cpu_release, s32 cpu, struct scx_cpu_release_args *args)
{
	scx_bpf_reenqueue_local();
}

s32 BPF_STRUCT_OPS_SLEEPABLE(section_elsewhere_init)
{
	s32 err = scx_bpf_create_dsq(SHARED, -1);
	u32 i;

	for_range(i, 0, nr_cpus)
	{
		if (!err)
			err = scx_bpf_create_dsq(CHOSEN(i), -1);
	}
	return err;
}

SCX_OPS_DEFINE(section_elsewhere_ops, .select_cpu = (void *)section_elsewhere_select_cpu,
	       .enqueue = (void *)section_elsewhere_enqueue,
	       .dispatch = (void *)section_elsewhere_dispatch,
	       .init_task = (void *)section_elsewhere_init_task,
	       .init = (void *)section_elsewhere_init,
	       .flags = SCX_OPS_ENQ_EXITING | SCX_OPS_ENQ_MIGRATION_DISABLED,
	       .cpu_release = (void *)section_elsewhere_cpu_release, .name = "section_elsewhere");
