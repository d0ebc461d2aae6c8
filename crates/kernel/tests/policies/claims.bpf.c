/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Places tasks as the kernel would among the CPUs that they may use, and says itself when it was not given an idle one. */
#include <scx.h>

#define SHARED 0
#define SPARE 1

u32 scx_bpf_nr_node_ids(void) __ksym;
s32 scx_bpf_select_cpu_and(struct task_struct *p, s32 prev_cpu, u64 wake_flags,
			   const struct cpumask *cpus_allowed, u64 flags) __ksym;

STAT(placed, "wake-ups placed on an idle CPU");

s32 BPF_STRUCT_OPS(claims_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	const struct cpumask *idle = scx_bpf_get_idle_cpumask();
	u64 were_idle = 0;
	s32 cpu;

	for_range(cpu, 0, nr_cpus)
	{
		if (bpf_cpumask_test_cpu(cpu, idle) && bpf_cpumask_test_cpu(cpu, p->cpus_ptr))
			were_idle |= 1ULL << (cpu & 63);
	}
	cpu = scx_bpf_select_cpu_and(p, prev_cpu, 0, p->cpus_ptr, 0);
	if (!were_idle && cpu != -EBUSY)
		scx_bpf_error("%lld where no CPU is idle", (s64)cpu);
	if (were_idle && (cpu < 0 || !(were_idle >> (cpu & 63) & 1)))
		scx_bpf_error("%lld of %llx", (s64)cpu, were_idle);
	/* It is for this task alone. */
	if (cpu >= 0 && bpf_cpumask_test_cpu(cpu, idle))
		scx_bpf_error("CPU %lld is idle as before", (s64)cpu);
	scx_bpf_put_idle_cpumask(idle);
	if (cpu < 0)
		return prev_cpu;
	STAT_INC(placed);
	return cpu;
}

void BPF_STRUCT_OPS(claims_enqueue, struct task_struct *p, u64 enq_flags)
{
	scx_bpf_dsq_insert(p, SHARED, SCX_SLICE_DFL, enq_flags);
}

void BPF_STRUCT_OPS(claims_dispatch, s32 cpu, struct task_struct *prev)
{
	scx_bpf_dsq_move_to_local(SHARED);
}

/* A queue is of a node that there is, or of none. */
s32 BPF_STRUCT_OPS_SLEEPABLE(claims_init)
{
	s32 nodes = scx_bpf_nr_node_ids();

	if (scx_bpf_create_dsq(SPARE, nodes) != -EINVAL || scx_bpf_create_dsq(SPARE, -2) != -EINVAL)
		scx_bpf_error("a queue of a node that is not there");
	if (scx_bpf_create_dsq(SPARE, nodes - 1))
		scx_bpf_error("no queue of the last node");
	return scx_bpf_create_dsq(SHARED, -1);
}

SCX_OPS_DEFINE(claims_ops, .select_cpu = (void *)claims_select_cpu,
	       .enqueue = (void *)claims_enqueue, .dispatch = (void *)claims_dispatch,
	       .init = (void *)claims_init, .name = "claims");
