/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the policies with planted races share: queues first in, first out, and CPUs that are told of what waits. */
#include <scx.h>

#define SLICE_NS (3 * NSEC_PER_MSEC)
#define QUEUE(cpu) (cpu)
#define SHARED MAX_CPUS

static __always_inline void kick_idle(const struct cpumask *among)
{
	s32 cpu = scx_bpf_pick_idle_cpu(among, 0);

	if (cpu >= 0)
		scx_bpf_kick_cpu(cpu, 0);
}

/* A task that may not run everywhere waits in a queue of the kernel's; one with migration disabled has one CPU. */
static __always_inline bool confined(struct task_struct *p)
{
	return bpf_cpumask_weight(p->cpus_ptr) < nr_cpus;
}

static __always_inline void insert_confined(struct task_struct *p, u64 enq_flags)
{
	s32 cpu = scx_bpf_task_cpu(p);

	if (bpf_cpumask_weight(p->cpus_ptr) == 1) {
		scx_bpf_dsq_insert(p, QUEUE(cpu), SLICE_NS, enq_flags);
		scx_bpf_kick_cpu(cpu, SCX_KICK_IDLE);
	} else {
		scx_bpf_dsq_insert(p, SHARED, SLICE_NS, enq_flags);
		kick_idle(p->cpus_ptr);
	}
}

u32 turn[MAX_CPUS];

/* By turns, lest one of the two never gets its turn. */
static __always_inline bool take_confined(s32 cpu)
{
	if (turn[cpu_index(cpu)]++ & 1)
		return scx_bpf_dsq_move_to_local(QUEUE(cpu)) || scx_bpf_dsq_move_to_local(SHARED);
	return scx_bpf_dsq_move_to_local(SHARED) || scx_bpf_dsq_move_to_local(QUEUE(cpu));
}

static __always_inline s32 create_queues(void)
{
	s32 err = scx_bpf_create_dsq(SHARED, -1);
	u32 i;

	for_range(i, 0, nr_cpus)
	{
		if (!err)
			err = scx_bpf_create_dsq(QUEUE(i), -1);
	}
	return err;
}

/* Where it was; enqueue sees to it that an idle CPU comes for it. */
static __always_inline s32 stay(s32 prev_cpu)
{
	return prev_cpu;
}
