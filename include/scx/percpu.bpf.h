/* SPDX-License-Identifier: GPL-2.0-only */
/* Variables of which the kernel has one for each CPU, by CPU; a negative error where it has no such variable or CPU. */
#pragma once

#include "vmlinux.h"
#include "libbpf.bpf.h"
#include <asm-generic/errno.h>

extern int sd_llc_id __ksym __weak;
extern int sd_llc_size __ksym __weak;
extern int sched_core_priority __ksym __weak;

#define __scx_of_cpu(variable, cpu)                                                           \
	({                                                                                    \
		int *___copy = bpf_ksym_exists(&variable) ? bpf_per_cpu_ptr(&variable, (cpu)) \
							  : NULL;                             \
                                                                                              \
		___copy ? *___copy : bpf_ksym_exists(&variable) ? -EINVAL : -ENOENT;          \
	})

/* The number of the CPU's last-level cache: that of its first CPU. */
static inline int cpu_llc_id(s32 cpu)
{
	return __scx_of_cpu(sd_llc_id, cpu);
}

/* CPUs that share the last-level cache. */
static inline int cpu_llc_size(s32 cpu)
{
	return __scx_of_cpu(sd_llc_size, cpu);
}

/* How much the firmware prefers the core. */
static inline int cpu_priority(s32 cpu)
{
	return __scx_of_cpu(sched_core_priority, cpu);
}

static inline int this_cpu_llc_id(void)
{
	return cpu_llc_id(bpf_get_smp_processor_id());
}

static inline int this_cpu_llc_size(void)
{
	return cpu_llc_size(bpf_get_smp_processor_id());
}

static inline int this_cpu_priority(void)
{
	return cpu_priority(bpf_get_smp_processor_id());
}
