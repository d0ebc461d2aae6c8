/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Between CPUs, as kernels since 5.5 do it: which CPU a waking or new task
 * goes to, and what a CPU takes from others (rule 3.11). Arithmetic only;
 * the binding walks the CPUs and feeds what it finds.
 *
 * Groups of CPUs are told apart by what they could use. One with spare CPUs
 * takes tasks from one that is overloaded until as many CPUs are idle on both
 * sides; only between two overloaded groups does load count, and then moves
 * half of the difference.
 *
 * An example, two CPUs with three equal hogs. CPU 0 runs two, its load 2048,
 * CPU 1 one, load 1024; both are overloaded or fully busy, so nothing but load
 * could move, and the average is 1536. CPU 0's excess and CPU 1's lack are 512
 * each, less than a whole task of 1024 shifted right by the number of failed
 * balances; so the first balance fails, the second counts a task as 512 and
 * moves it. The odd one changes sides so, about every second balance.
 */
#pragma once

#include "../lib/domains.h"
#include "average.h"

/* The kernel's settings of each level; intervals follow from the number of CPUs. */
static const struct sched_domain eevdf_domains[SD_LEVEL_ROWS] = {
	[SD_SMT] = { .busy_factor = 16,
		     .imbalance_pct = 110,
		     .nice_tries = 0,
		     .flags = SD_NEWIDLE | SD_FORK | SD_AFFINE | SD_SHARE_POWER | SD_SHARE_CACHE |
			      SD_PREFER_SIBLING },
	[SD_MC] = { .busy_factor = 16,
		    .imbalance_pct = 117,
		    .nice_tries = 1,
		    .flags = SD_NEWIDLE | SD_FORK | SD_AFFINE | SD_SHARE_CACHE |
			     SD_PREFER_SIBLING },
	[SD_CPU] = { .busy_factor = 16,
		     .imbalance_pct = 117,
		     .nice_tries = 1,
		     .flags = SD_NEWIDLE | SD_FORK | SD_AFFINE | SD_PREFER_SIBLING },
	[SD_NODE] = { .busy_factor = 16,
		      .imbalance_pct = 117,
		      .nice_tries = 2,
		      .flags = SD_NEWIDLE | SD_FORK | SD_AFFINE },
};

static inline const struct sched_domain *eevdf_domain(u32 level)
{
	barrier_var(level);
	return &eevdf_domains[level & (SD_LEVEL_ROWS - 1)];
}

/* Ticks between two balances: a millisecond per CPU of the domain, doubling; longer when busy. */
static inline u64 eevdf_interval(u32 ms, bool busy, u32 online, u32 hz)
{
	u64 ticks = ((u64)ms * (busy ? 16 : 1) * hz + 999) / 1000;

	if (busy && ticks)
		ticks--;
	return max_u64(1, min_u64(ticks, max_u64((u64)hz * online / 10, 1)));
}

/* rule 3.11.2: this CPU, prev, or neither says. */
enum eevdf_affine { EEVDF_THIS, EEVDF_PREV, EEVDF_UNDECIDED };

struct eevdf_affinity {
	bool this_idle, prev_idle, share_cache, sync;
	u32 this_nr;
	u64 this_load, prev_load, waker_load, wakee_load;
	u32 imbalance_pct;
};

static inline enum eevdf_affine eevdf_wake_affine(const struct eevdf_affinity *a)
{
	s64 here = a->this_load, there = (s64)(a->prev_load - a->wakee_load);

	if (a->this_idle && a->share_cache)
		return a->prev_idle ? EEVDF_PREV : EEVDF_THIS;
	if (a->sync && a->this_nr == 1)
		return EEVDF_THIS;
	if (a->prev_idle)
		return EEVDF_PREV;
	/* By weight, with a bias for staying. */
	if (a->sync) {
		if (a->waker_load > a->this_load)
			return EEVDF_THIS;
		here -= a->waker_load;
	}
	here = (here + (s64)a->wakee_load) * 100;
	there = (there > 0 ? there : 0) * (100 + (a->imbalance_pct - 100) / 2) + a->sync;
	return here < there ? EEVDF_THIS : EEVDF_PREV;
}

/* rule 3.11.1: the tasks that one waker wakes in turn are not gathered around it. */
static inline bool eevdf_wake_wide(u32 waker_flips, u32 wakee_flips, u32 llc_cpus)
{
	u32 most = waker_flips > wakee_flips ? waker_flips : wakee_flips;
	u32 least = waker_flips > wakee_flips ? wakee_flips : waker_flips;

	return least >= llc_cpus && most >= least * llc_cpus;
}

/* rule 3.11.3: CPUs worth looking at in a cache of which so much is used; 0: do not look. */
static inline u32 eevdf_scan_limit(u64 util, u32 cpus, u32 imbalance_pct)
{
	u64 x, lost;

	if (!cpus)
		return 0;
	x = util / cpus;
	lost = x * x * imbalance_pct * imbalance_pct / (10000 * EEVDF_CAPACITY);
	return lost >= EEVDF_CAPACITY ? 0 : (EEVDF_CAPACITY - lost) * cpus / EEVDF_CAPACITY;
}

enum eevdf_group_type { EEVDF_SPARE, EEVDF_FULL, EEVDF_IMBALANCED, EEVDF_OVERLOADED };
enum eevdf_move { EEVDF_MOVE_LOAD, EEVDF_MOVE_UTIL, EEVDF_MOVE_TASK };

struct eevdf_group {
	u64 load, util, runnable;
	u32 cpus, nr, idle_cpus;
	s32 id; /* -1: none */
	enum eevdf_group_type type;
	u64 avg_load;
};

static inline void eevdf_group_init(struct eevdf_group *g, s32 id)
{
	*g = (struct eevdf_group){ .id = id };
}

static inline void eevdf_group_feed(struct eevdf_group *g, const struct eevdf_avg *avg, u32 nr)
{
	g->load += avg->load >> EEVDF_AVG_SHIFT;
	g->util += avg->util >> EEVDF_AVG_SHIFT;
	g->runnable += avg->runnable >> EEVDF_AVG_SHIFT;
	g->cpus++;
	g->nr += nr;
	g->idle_cpus += !nr;
}

static inline void eevdf_group_end(struct eevdf_group *g, u32 pct, bool imbalanced)
{
	u64 capacity = (u64)g->cpus * EEVDF_CAPACITY;
	bool squeezed = capacity * 100 < g->util * pct || capacity * pct < g->runnable * 100;

	g->avg_load = capacity ? g->load * EEVDF_CAPACITY / capacity : 0;
	if (g->nr > g->cpus && squeezed)
		g->type = EEVDF_OVERLOADED;
	else if (imbalanced)
		g->type = EEVDF_IMBALANCED;
	else if (g->nr < g->cpus ||
		 (capacity * 100 > g->util * pct && capacity * pct >= g->runnable * 100))
		g->type = EEVDF_SPARE;
	else
		g->type = EEVDF_FULL;
}

/* Is a busier than the busiest so far? */
static inline bool eevdf_busier(const struct eevdf_group *a, const struct eevdf_group *busiest)
{
	if (!a->nr)
		return false;
	if (busiest->id < 0 || a->type != busiest->type)
		return busiest->id < 0 || a->type > busiest->type;
	if (a->type != EEVDF_SPARE)
		return a->avg_load > busiest->avg_load;
	return a->idle_cpus < busiest->idle_cpus ||
	       (a->idle_cpus == busiest->idle_cpus && a->nr > busiest->nr);
}

struct eevdf_lb {
	struct eevdf_group local, busiest;
	u64 total_load, total_cpus;
	bool prefer_sibling, share_cache;
	enum eevdf_move move;
	s64 imbalance;
};

/* Two or more tasks further than a share by CPUs: worth spreading. */
static inline s64 eevdf_sibling_imbalance(const struct eevdf_lb *lb)
{
	const struct eevdf_group *l = &lb->local, *b = &lb->busiest;
	s64 more;

	if (b->cpus == l->cpus)
		return (s64)b->nr - (s64)l->nr;
	more = (s64)b->nr * l->cpus - (s64)l->nr * b->cpus;
	return more > 0 ? (2 * (u64)more + l->cpus + b->cpus - 1) / (l->cpus + b->cpus) : 0;
}

/* What kind of thing and how much of it to move, once it is known that something should. */
static inline void eevdf_lb_amount(struct eevdf_lb *lb, bool idle)
{
	struct eevdf_group *l = &lb->local, *b = &lb->busiest;
	u64 average, excess, lack;
	s64 more;

	lb->move = EEVDF_MOVE_TASK;
	lb->imbalance = 1;
	if (b->type == EEVDF_IMBALANCED)
		return;
	if (l->type == EEVDF_SPARE) {
		if (b->type > EEVDF_FULL && !lb->share_cache) {
			u64 capacity = (u64)l->cpus * EEVDF_CAPACITY;

			if (capacity > l->util || !idle) {
				lb->move = EEVDF_MOVE_UTIL;
				lb->imbalance = capacity > l->util ? capacity - l->util : 0;
			}
			return;
		}
		if (b->cpus == 1 || lb->prefer_sibling)
			more = eevdf_sibling_imbalance(lb);
		else
			more = (s64)l->idle_cpus - (s64)b->idle_cpus;
		lb->imbalance = more > 0 ? more >> 1 : 0;
		return;
	}
	lb->move = EEVDF_MOVE_LOAD;
	average = lb->total_load / lb->total_cpus;
	lb->imbalance = 0;
	if (l->type < EEVDF_OVERLOADED && (l->avg_load >= b->avg_load || l->avg_load >= average))
		return;
	if (b->avg_load <= average || l->avg_load >= average)
		return;
	excess = (b->avg_load - average) * b->cpus;
	lack = (average - l->avg_load) * l->cpus;
	lb->imbalance = min_u64(excess, lack);
}

/* rule 3.11.5: all groups fed and ended; what to move from lb->busiest, its id -1 when balanced. */
static inline void eevdf_lb_end(struct eevdf_lb *lb, enum cpu_idle_type idle, u32 pct)
{
	struct eevdf_group *l = &lb->local, *b = &lb->busiest;
	u64 average;

	if (b->id < 0 || !lb->total_cpus)
		goto balanced;
	average = lb->total_load / lb->total_cpus;
	if (b->type == EEVDF_IMBALANCED)
		goto move;
	if (l->type > b->type)
		goto balanced;
	if (l->type == EEVDF_OVERLOADED) {
		if (l->avg_load >= b->avg_load || l->avg_load >= average ||
		    100 * b->avg_load <= pct * l->avg_load)
			goto balanced;
	}
	if (lb->prefer_sibling && l->type == EEVDF_SPARE && eevdf_sibling_imbalance(lb) > 1)
		goto move;
	if (b->type != EEVDF_OVERLOADED) {
		if (idle == CPU_NOT_IDLE)
			goto balanced;
		if (b->cpus > 1 && l->idle_cpus <= b->idle_cpus + 1)
			goto balanced;
		if (b->nr == 1)
			goto balanced;
	}
move:
	eevdf_lb_amount(lb, idle != CPU_NOT_IDLE);
	if (lb->imbalance > 0)
		return;
balanced:
	b->id = -1;
	lb->imbalance = 0;
}

/* Of the busiest group, the queue to take from: the more the better, 0 for none. */
static inline u64 eevdf_lb_queue(const struct eevdf_lb *lb, const struct eevdf_avg *avg, u32 nr)
{
	u64 load = avg->load >> EEVDF_AVG_SHIFT;

	if (!nr)
		return 0;
	if (lb->move == EEVDF_MOVE_TASK)
		return nr;
	if (lb->move == EEVDF_MOVE_UTIL)
		return nr > 1 ? 1 + (avg->util >> EEVDF_AVG_SHIFT) : 0;
	return nr == 1 && load > (u64)lb->imbalance ? 0 : 1 + load;
}

/* What moving this task takes off the imbalance; -1: it does not fit. */
static inline s64 eevdf_lb_fit(enum eevdf_move move, s64 left, const struct eevdf_avg *task,
			       u32 failed)
{
	s64 load = max_u64(task->load >> EEVDF_AVG_SHIFT, 1);
	s64 util = task->util >> EEVDF_AVG_SHIFT;
	u32 shift = failed < 32 ? failed : 32;

	if (move == EEVDF_MOVE_TASK)
		return 1;
	if (move == EEVDF_MOVE_UTIL)
		return util >> shift > left ? -1 : util;
	return load >> shift > left ? -1 : load;
}

/* rule 3.11.4: does the task go from its own group to the other one? */
static inline bool eevdf_idlest(const struct eevdf_group *here, const struct eevdf_group *best,
				u32 pct)
{
	u64 margin = EEVDF_CAPACITY * (pct - 100) / 100;

	if (best->id < 0)
		return false;
	if (here->id < 0)
		return true;
	if (here->type != best->type)
		return here->type > best->type;
	if (here->type == EEVDF_SPARE)
		return here->idle_cpus < best->idle_cpus;
	return best->avg_load + margin < here->avg_load &&
	       100 * here->avg_load > pct * best->avg_load;
}

/* Of two other groups, is a the idler one? */
static inline bool eevdf_idler(const struct eevdf_group *a, const struct eevdf_group *best)
{
	if (best->id < 0 || a->type != best->type)
		return best->id < 0 || a->type < best->type;
	if (a->type == EEVDF_SPARE)
		return a->idle_cpus > best->idle_cpus ||
		       (a->idle_cpus == best->idle_cpus && a->util < best->util);
	return a->avg_load < best->avg_load;
}

#define EEVDF_NR_MIGRATE 32 /* tasks looked at in one pass */
