/* SPDX-License-Identifier: GPL-2.0-only */
/* Tasks and CPUs: flags, weights, masks, and what every policy asks about them. */
#pragma once

#include "vmlinux.h"
#include "kfuncs.bpf.h"
#include "say.bpf.h"

#define PF_IDLE 0x00000002
#define PF_EXITING 0x00000004
#define PF_IO_WORKER 0x00000010
#define PF_WQ_WORKER 0x00000020
#define PF_KCOMPACTD 0x00010000
#define PF_KSWAPD 0x00020000
#define PF_KTHREAD 0x00200000
#define CLOCK_MONOTONIC 1

#ifndef NR_CPUS
#define NR_CPUS 1024
#endif
#ifndef NUMA_NO_NODE
#define NUMA_NO_NODE (-1)
#endif

extern bool CONFIG_PREEMPT_RCU __kconfig __weak;

/* A mask of the policy's own where one is only read. */
static __always_inline const struct cpumask *cast_mask(struct bpf_cpumask *mask)
{
	return (const struct cpumask *)mask;
}

static inline u64 scale_by_task_weight(const struct task_struct *p, u64 value)
{
	return value * p->scx.weight / 100;
}

static inline u64 scale_by_task_weight_inverse(const struct task_struct *p, u64 value)
{
	return value * 100 / p->scx.weight;
}

static inline u64 get_prandom_u64(void)
{
	return (u64)bpf_get_prandom_u32() << 32 | bpf_get_prandom_u32();
}

/*
 * Whether a task must stay on its CPU for a while. On the way into a callback
 * that may not sleep, some kernels do that once to the current task: always with
 * preemptible RCU, and all of them before 6.18.
 */
static inline bool is_migration_disabled(const struct task_struct *p)
{
	bool counts_callback = CONFIG_PREEMPT_RCU ||
			       LINUX_KERNEL_VERSION < KERNEL_VERSION(6, 18, 0);

	if (!bpf_core_field_exists(p->migration_disabled))
		return false;
	return p->migration_disabled > (counts_callback && p == bpf_get_current_task_btf());
}

/* The current elements of bpf_for_each(scx_dsq, ...), for scx_bpf_dsq_move and its kin. */
#define BPF_FOR_EACH_ITER (&___it)

static inline bool __scx_is_possible(u32 cpu)
{
	const struct cpumask *mask = scx_bpf_get_possible_cpumask();
	bool is = bpf_cpumask_test_cpu(cpu, mask);

	scx_bpf_put_cpumask(mask);
	return is;
}

static inline bool __scx_is_online(u32 cpu)
{
	const struct cpumask *mask = scx_bpf_get_online_cpumask();
	bool is = bpf_cpumask_test_cpu(cpu, mask);

	scx_bpf_put_cpumask(mask);
	return is;
}

/* int *cpu; for_each_online_cpu(cpu) { ... *cpu ... } */
#define for_each_possible_cpu(cpu)                      \
	bpf_for_each(num, cpu, 0, scx_bpf_nr_cpu_ids()) \
		if (!__scx_is_possible(*(cpu)))         \
			continue;                       \
		else
#define for_each_online_cpu(cpu)                        \
	bpf_for_each(num, cpu, 0, scx_bpf_nr_cpu_ids()) \
		if (!__scx_is_online(*(cpu)))           \
			continue;                       \
		else
