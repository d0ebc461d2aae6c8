/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which CPU is kicked when a task becomes runnable (rule 1.4). BFS does not
 * place tasks: it kicks one CPU, which then picks as usual.
 *
 * Before this header a binding or a test defines the machine and the moment:
 *	cpu_llc[], cpu_node[], cpu_core[], nr_nodes,
 *	cpu_by_llc[], llc_first[]	the machine, as policy.h has it
 *	bfs_cpu(cpu)			struct bfs_cpu *, what each CPU published
 *	bfs_allowed(who, cpu)		may the task run there, and is the CPU online
 *	bfs_cpu_idle(who, cpu)		is the CPU idle
 *	bfs_busy_around(who, cpu)	bfs_look_around()
 * `who` is a pointer that these two understand.
 */
#pragma once

#include "cpu.h"

#ifndef for_range
#define for_range(i, start, end) for ((i) = (start); (i) < (end); (i)++)
#endif

/* Nodes in a NODE domain: a node and those nearest to it, which here are the next ones by number. */
#define BFS_NODE_DOMAIN 16

/* rule 1.4.7: steps of cache distance as CPU a sees b; SMT siblings and cores of one cache count as one CPU. */
static __always_inline u32 bfs_distance_311(u32 a, u32 b)
{
	u32 from = cpu_node[cpu_index(a)], to = cpu_node[cpu_index(b)];

	if (cpu_llc[cpu_index(a)] == cpu_llc[cpu_index(b)])
		return 0;
	return (to < from ? to + nr_nodes : to) - from < BFS_NODE_DOMAIN ? 1 : 3;
}

/* rule 1.4.8 */
static __always_inline u32 bfs_distance_424(u32 a, u32 b)
{
	if (a == b)
		return 0;
	if (cpu_core[cpu_index(a)] == cpu_core[cpu_index(b)])
		return 1;
	if (cpu_llc[cpu_index(a)] == cpu_llc[cpu_index(b)])
		return 2;
	return cpu_node[cpu_index(a)] == cpu_node[cpu_index(b)] ? 3 : 4;
}

/* rules 1.4.5 and 1.4.6: lower is better. */
static __always_inline u32 bfs_idle_rank(u32 rules, u32 last, u32 cpu, bool cache_busy,
					 bool core_busy)
{
	if (rules == BFS_311) {
		u32 far = bfs_distance_311(last, cpu);
		u32 rank = cache_busy | (far > 0) << 1 | core_busy << 2 | (far > 1) << 3;

		return rank <= 1 ? 0 : rank; /* the search stops at the first of these */
	}
	u32 far = bfs_distance_424(last, cpu);

	return (far == 1) | (far == 2) << 1 | cache_busy << 2 | (far == 3) << 3 | core_busy << 4 |
	       (far == 4) << 5;
}

struct bfs_idle_choice {
	u32 cpu;
	u32 rank;
	u32 steps; /* from the last CPU upward, or from 0: the nearest wins */
	bool found;
};

static __always_inline bool bfs_better_idle(const struct bfs_idle_choice *best, u32 rank, u32 steps)
{
	return !best->found || rank < best->rank || (rank == best->rank && steps < best->steps);
}

static __always_inline void bfs_offer_idle(struct bfs_idle_choice *best, u32 cpu, u32 rank,
					   u32 steps)
{
	if (!bfs_better_idle(best, rank, steps))
		return;
	best->found = true;
	best->cpu = cpu;
	best->rank = rank;
	best->steps = steps;
}

enum { BFS_CACHE_BUSY = 1, BFS_CORE_BUSY = 2 };

/* Is a CPU of the same cache busy, and one of the same core? */
static __always_inline u32 bfs_look_around(const void *who, u32 cpu)
{
	u32 llc = cpu_llc[cpu_index(cpu)], busy = 0, i = 0;

	for_range(i, llc_first[cpu_index(llc)], llc_first[cpu_index(llc) + 1])
	{
		u32 other = cpu_by_llc[cpu_index(i)];

		if (bfs_cpu_idle(who, other))
			continue;
		busy |= BFS_CACHE_BUSY;
		if (cpu_core[cpu_index(other)] == cpu_core[cpu_index(cpu)])
			busy |= BFS_CORE_BUSY;
	}
	return busy;
}

/* rules 1.4.1, 1.4.3 and 1.4.4: 232 takes the first idle CPU it meets, last CPU first; later versions rank them. */
static __always_inline s32 bfs_best_idle(const struct bfs_config *cfg, const void *who, u32 last,
					 u32 cpus, u32 skip)
{
	struct bfs_idle_choice best = {};
	u32 cpu = 0;

	if (cfg->rules != BFS_311 && last != skip && bfs_allowed(who, last) &&
	    bfs_cpu_idle(who, last))
		return last;
	for_range(cpu, 0, cpus)
	{
		u32 steps = cpu, busy;

		if (cpu == skip || !bfs_cpu_idle(who, cpu) || !bfs_allowed(who, cpu))
			continue;
		if (cfg->rules == BFS_232)
			return cpu;
		if (cfg->rules == BFS_311)
			steps = (cpu + cpus - last) % cpus;
		/* Busy neighbours only make it worse, so they are looked at where it could still be the best. */
		if (!bfs_better_idle(&best, bfs_idle_rank(cfg->rules, last, cpu, false, false),
				     steps))
			continue;
		busy = bfs_busy_around(who, cpu);
		bfs_offer_idle(&best, cpu,
			       bfs_idle_rank(cfg->rules, last, cpu, busy, busy & BFS_CORE_BUSY),
			       steps);
	}
	return best.found ? (s32)best.cpu : -1;
}

/* The CPU to kick when none is idle: the worst level, then the latest deadline less the distance. */
struct bfs_victim {
	u32 cpu;
	u32 level;
	u64 deadline; /* less the distance */
	bool found;
};

static __always_inline void bfs_offer_victim(struct bfs_victim *worst, u32 cpu, u32 level,
					     u64 deadline)
{
	if (worst->found && (level < worst->level ||
			     (level == worst->level && !before64(worst->deadline, deadline))))
		return;
	worst->found = true;
	worst->cpu = cpu;
	worst->level = level;
	worst->deadline = deadline;
}

/* rules 1.4.1, 1.4.2 and 1.4.4: the victim. Ties go to the last CPU (232, 311), to the lowest number (424). */
static __always_inline void bfs_find_victim(const struct bfs_config *cfg, const struct bfs_task *t,
					    const void *who, u32 last, u32 cpus,
					    struct bfs_victim *worst)
{
	u32 cpu = 0;

	worst->found = false;
	/*
	 * 232 starts from the last CPU's values even where the task may not run there: if
	 * that is idle, it is kicked in vain. One that is not idle and yet has that level
	 * runs a task of a class above.
	 */
	if (cfg->rules == BFS_232 || (cfg->rules == BFS_311 && bfs_allowed(who, last)))
		if (bfs_cpu(last)->level != BFS_IDLE_CPU || bfs_cpu_idle(who, last))
			bfs_offer_victim(worst, last, bfs_cpu(last)->level,
					 bfs_cpu(last)->deadline);
	for_range(cpu, 0, cpus)
	{
		u64 distance = 0;

		if (worst->found && bfs_cpu(cpu)->level < worst->level)
			continue;
		if (bfs_cpu(cpu)->level == BFS_IDLE_CPU || !bfs_allowed(who, cpu))
			continue;
		if (cfg->rules == BFS_311)
			distance = bfs_distance_311(cpu, last) * bfs_far(cfg, t->u);
		bfs_offer_victim(worst, cpu, bfs_cpu(cpu)->level,
				 bfs_cpu(cpu)->deadline - distance);
	}
}

/* rules 1.4.1, 1.4.2 and 1.4.4: does the task beat the victim's? In 232 and 311 only SCHED_NORMAL does by deadline. */
static __always_inline bool bfs_beats(const struct bfs_config *cfg, const struct bfs_task *t,
				      const struct bfs_victim *victim)
{
	if (!victim->found || (cfg->rules >= BFS_424 && t->idleprio))
		return false;
	if (t->level != victim->level)
		return t->level < victim->level;
	if (bfs_in_jiffies(cfg->rules) && (t->batch || t->iso || t->idleprio))
		return false;
	return before64(t->deadline, victim->deadline);
}
