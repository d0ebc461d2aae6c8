/* SPDX-License-Identifier: GPL-2.0-only */
/* The machine's spans: which CPUs share a core, a cache, a socket, as ranges of one order. */
#pragma once

#include "domains.h"

/* CPUs ordered by socket, cache and core; a span of any level is a range of it. */
u16 order[MAX_CPUS];
u16 span_first[SD_LEVEL_ROWS][MAX_CPUS];
u16 span_len[SD_LEVEL_ROWS][MAX_CPUS];

static __always_inline u32 level_index(u32 level)
{
	barrier_var(level);
	return level & (SD_LEVEL_ROWS - 1);
}

static __always_inline u32 first_of(u32 cpu, u32 level)
{
	return span_first[level_index(level)][cpu_index(cpu)];
}

static __always_inline u32 len_of(u32 cpu, u32 level)
{
	return span_len[level_index(level)][cpu_index(cpu)];
}

/* The i-th CPU of a span, counted from position `from` and around. */
static __always_inline u32 span_cpu(u32 first, u32 len, u32 from, u32 i)
{
	u32 at = from - first + i;

	return order[cpu_index(first + (at >= len ? at - len : at))];
}

static __always_inline bool in_span(u32 cpu, u32 level, u32 other)
{
	return first_of(cpu, level) == first_of(other, level);
}

/* A level that is the same as the one below has no groups to balance. */
static __always_inline bool level_exists(u32 cpu, u32 level)
{
	return len_of(cpu, level) > len_of(cpu, level - 1);
}

/* How far map_machine has come; in memory for the verifier. */
u32 placed, node_start, llc_start, core_start;

/* Put a core's threads behind each other and remember where each span around them begins. */
static __always_inline void place_core(u32 cpu)
{
	u32 thread = cpu;
	s32 i;

	core_start = placed;
	for_range(i, 0, MAX_CPUS)
	{
		order[cpu_index(placed)] = thread;
		span_len[SD_SELF][cpu_index(thread)] = 1;
		span_first[SD_SELF][cpu_index(thread)] = placed;
		span_first[SD_SMT][cpu_index(thread)] = core_start;
		span_first[SD_MC][cpu_index(thread)] = llc_start;
		span_first[SD_CPU][cpu_index(thread)] = node_start;
		placed++;
		thread = cpu_sibling[cpu_index(thread)];
		if (thread == cpu)
			break;
	}
}

__noinline s32 map_machine(void)
{
	s32 node, llc, i, level;
	u32 cpu, first;

	for_range(node, 0, nr_nodes)
	{
		node_start = placed;
		for_range(llc, 0, nr_llcs)
		{
			first = llc_first[cpu_index(llc)];
			if (cpu_node[cpu_index(cpu_by_llc[cpu_index(first)])] != node)
				continue;
			llc_start = placed;
			for_range(i, first, llc_first[cpu_index(llc) + 1])
			{
				cpu = cpu_by_llc[cpu_index(i)];
				if (!span_len[SD_SELF][cpu_index(cpu)])
					place_core(cpu);
			}
		}
	}
	/* A span's length is the number of CPUs that begin where it begins. */
	for_range(i, 0, nr_cpus) for_range(level, SD_SMT, SD_LEVELS)
		span_len[level_index(level)][cpu_index(
			order[cpu_index(span_first[level_index(level)][cpu_index(i)])])]++;
	for_range(i, 0, nr_cpus) for_range(level, SD_SMT, SD_LEVELS)
		span_len[level_index(level)][cpu_index(i)] = span_len[level_index(level)][cpu_index(
			order[cpu_index(span_first[level_index(level)][cpu_index(i)])])];
	return 0;
}
