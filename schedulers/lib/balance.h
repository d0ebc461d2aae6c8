/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Balance between CPUs by weight, as Linux did it from 2.6.17 to 3.6: which CPU
 * a waking or a new task goes to, and when a CPU takes tasks from another.
 * Arithmetic only; the binding walks the CPUs and feeds what it finds. Every
 * function that differs between kernels takes the era.
 *
 * An example, two CPUs with three equal hogs, 3.6 rules. CPU 0 runs two (load
 * 2048), CPU 1 one (1024), average 1536. CPU 1 is below the average and CPU 0
 * above 125 % of it, so there is an imbalance; the even share of it, 512, is
 * less than one task, but moving one leaves the same imbalance mirrored, not a
 * worse one, so the balance moves a whole task (lb_fix_small). The odd task
 * thus changes sides at every balance, which is CFS's fairness between CPUs:
 * right on average, and only as often as the interval (4 ms * 64 when busy)
 * allows. 2.6.22 moves nothing that would only mirror the imbalance: there two
 * of the three hogs have half a CPU for ever.
 */
#pragma once

#include "domains.h"

/* Kernels whose balance differs; each has a row in lb_domains. */
enum balance_era { LB_2_6_22, LB_2_6_31, LB_2_6_32, LB_3_6 };

#define LB_ERA_ROWS 4 /* a power of two, so that a mask bounds an index */

#define SD_ALL_WAYS (SD_NEWIDLE | SD_FORK | SD_AFFINE)

/*
 * Intervals, factors, percentages and the missing NEWIDLE of 2.6.31 are those
 * of rules 2.2.9, 2.2.11.1 and 2.2.11.3, those of 2.6.22 of rule 4.10.2. Load indices,
 * the remaining flags and all of the NODE rows are from memory of the kernels'
 * topology.h.
 */
static const struct sched_domain lb_domains[LB_ERA_ROWS][SD_LEVEL_ROWS] = {
	[LB_2_6_22] = {
		[SD_SMT] = { 1, 2, 64, 110, 0, 0, 0, 1, 0, 0,
			     SD_NEWIDLE | SD_AFFINE | SD_SHARE_POWER },
		[SD_MC] = { 1, 4, 64, 125, 1, 2, 1, 2, 1, 1,
			    SD_NEWIDLE | SD_AFFINE | SD_SHARE_CACHE },
		[SD_CPU] = { 1, 4, 64, 125, 1, 2, 1, 2, 1, 1, SD_NEWIDLE | SD_AFFINE },
		[SD_NODE] = { 8, 32, 32, 125, 2, 3, 2, 0, 1, 1, SD_FORK | SD_WAKE_BALANCE },
	},
	[LB_2_6_31] = {
		[SD_SMT] = { 1, 2, 64, 110, 0, 0, 0, 0, 0, 0,
			      SD_ALL_WAYS | SD_WAKE_BALANCE | SD_SHARE_POWER },
		[SD_MC] = { 1, 4, 64, 125, 1, 2, 0, 0, 1, 1,
			     SD_FORK | SD_AFFINE | SD_WAKE_BALANCE | SD_SHARE_CACHE },
		[SD_CPU] = { 1, 4, 64, 125, 1, 2, 1, 2, 1, 1,
			      SD_FORK | SD_AFFINE | SD_WAKE_BALANCE },
		[SD_NODE] = { 8, 32, 32, 125, 2, 3, 2, 2, 1, 1,
			       SD_FORK | SD_AFFINE | SD_WAKE_BALANCE },
	},
	[LB_2_6_32] = {
		[SD_SMT] = { 1, 2, 64, 110, 0, 0, 0, 0, 0, 0, SD_ALL_WAYS | SD_SHARE_POWER },
		[SD_MC] = { 1, 4, 64, 125, 1, 2, 0, 0, 0, 0,
			     SD_ALL_WAYS | SD_SHARE_CACHE | SD_PREFER_SIBLING },
		[SD_CPU] = { 1, 4, 64, 125, 1, 2, 1, 0, 0, 0, SD_ALL_WAYS | SD_PREFER_SIBLING },
		[SD_NODE] = { 8, 32, 32, 125, 2, 3, 2, 0, 0, 0, SD_ALL_WAYS },
	},
	[LB_3_6] = {
		[SD_SMT] = { 1, 2, 64, 110, 0, 0, 0, 0, 0, 0,
			      SD_ALL_WAYS | SD_SHARE_POWER | SD_SHARE_CACHE },
		[SD_MC] = { 1, 4, 64, 125, 1, 2, 0, 0, 0, 0, SD_ALL_WAYS | SD_SHARE_CACHE },
		[SD_CPU] = { 1, 4, 64, 125, 1, 2, 1, 0, 0, 0, SD_ALL_WAYS | SD_PREFER_SIBLING },
		[SD_NODE] = { 8, 32, 32, 125, 2, 3, 2, 0, 0, 0, SD_NEWIDLE },
	},
};

static inline const struct sched_domain *lb_domain(u32 era, u32 level)
{
	barrier_var(era);
	barrier_var(level);
	return &lb_domains[era & (LB_ERA_ROWS - 1)][level & (SD_LEVEL_ROWS - 1)];
}

/* The weight of a task at nice 0. */
static inline u64 lb_nice_0(u32 era)
{
	return era == LB_2_6_22 ? 128 : 1024;
}

/* rule 4.10.1: what a real-time task weighs in 2.6.22: as one of nice -20, and a tick of slice for each of its priorities. */
static inline u32 lb_real_time_weight(u32 priority, u32 hz)
{
	return 8 * 128 + priority * 10 * 128 / (hz ? hz : 250);
}

/* Half of the imbalance that a balance needs steers a wakeup or a fork (rules 2.2.8.2, 2.2.8.3 and 2.2.8.4). */
static inline u32 lb_half_imbalance(u32 imbalance_pct)
{
	return 100 + (imbalance_pct - 100) / 2;
}

#define LB_POWER 1024 /* one core */
#define LB_SMT_POWER 1178 /* a core with two or more threads */

/*
 * The power of one group of a domain. Up to 2.6.31 a group that shares a core
 * or a cache counts as one CPU, so that tasks spread over cores and caches
 * first; later kernels add the cores up, and use PREFER_SIBLING for that.
 */
static inline u64 lb_group_power(u32 era, u32 level, const struct sd_span *span)
{
	if (level == SD_SMT)
		return era <= LB_2_6_31 ? LB_POWER : LB_SMT_POWER / 2;
	if (era <= LB_2_6_31)
		return level == SD_NODE ? (u64)span->llcs * LB_POWER : LB_POWER;
	return (u64)span->cores * (span->cpus > span->cores ? LB_SMT_POWER : LB_POWER);
}

#define LB_LOADS 5

/* At each tick: load[i] follows the weight with a memory of 2^i ticks. */
static inline void lb_load_update(u64 load[LB_LOADS], u64 weight)
{
	for (u32 i = 0; i < LB_LOADS; i++) {
		u64 old = load[i], keep = (1ULL << i) - 1;

		/* Round towards the new value, so that it can be reached. */
		load[i] = (old * keep + weight + (weight > old ? keep : 0)) >> i;
	}
}

/* Index 0 is the weight of now; others lean to keeping tasks where they are. */
static inline u64 lb_source_load(u64 weight, const u64 load[LB_LOADS], u32 idx)
{
	return idx && idx <= LB_LOADS ? min_u64(load[idx - 1], weight) : weight;
}

static inline u64 lb_target_load(u64 weight, const u64 load[LB_LOADS], u32 idx)
{
	return idx && idx <= LB_LOADS ? max_u64(load[idx - 1], weight) : weight;
}

/* rules 2.2.8.2, 2.2.10.1 and 4.10.4: all loads before the wakee is added anywhere. */
struct lb_wake {
	u64 this_load; /* target load of the waker's CPU */
	u64 prev_load; /* source load of the wakee's last CPU */
	u64 prev_target; /* target load of the wakee's last CPU */
	u64 this_per_task; /* weight per task on the waker's CPU */
	/* 2.6.31, .32: CPU time between waking another task and sleeping, and what is much of it */
	u64 waker_overlap_ns, wakee_overlap_ns, overlap_limit_ns;
	u32 waker_weight, wakee_weight;
	u32 imbalance_pct;
	bool sync; /* the waker says it will sleep soon */
};

static inline bool lb_wake_affine(u32 era, const struct lb_wake *w)
{
	u32 imbalance = lb_half_imbalance(w->imbalance_pct);
	s64 here = w->this_load, there = w->prev_load;
	bool sync = w->sync, balanced;

	if (era != LB_3_6 && (w->waker_overlap_ns > w->overlap_limit_ns ||
			      w->wakee_overlap_ns > w->overlap_limit_ns))
		sync = false;
	if (sync)
		here -= w->waker_weight;
	if (era == LB_3_6 && here <= 0)
		balanced = true;
	else
		balanced = 100 * (here + (s64)w->wakee_weight) <= (s64)imbalance * there;
	return balanced || (here <= there && here + (s64)w->prev_target <= (s64)w->this_per_task);
}

/* rule 2.2.8.3: not affine, but the waker's CPU is less loaded by the half imbalance. */
static inline bool lb_wake_passive(const struct lb_wake *w)
{
	return lb_half_imbalance(w->imbalance_pct) * w->this_load <= 100 * w->prev_load;
}

/* rule 2.2.8.4: feed every group's load per power, then ask. */
struct lb_idlest {
	u64 here, least;
	s32 group; /* -1: none but the local one */
};

static inline void lb_idlest_init(struct lb_idlest *find)
{
	find->here = 0;
	find->least = ~0ULL;
	find->group = -1;
}

static inline void lb_idlest_feed(struct lb_idlest *find, s32 group, bool local, u64 load,
				  u64 power)
{
	u64 avg = load * LB_POWER / power;

	if (local) {
		find->here = avg;
	} else if (avg < find->least) {
		find->least = avg;
		find->group = group;
	}
}

/* -1: stay, the local group is not worse by the half imbalance. */
static inline s32 lb_idlest_end(const struct lb_idlest *find, u32 imbalance_pct)
{
	if (find->group < 0 || 100 * find->here < lb_half_imbalance(imbalance_pct) * find->least)
		return -1;
	return find->group;
}

/* One group of a domain, CPU by CPU. */
struct lb_group {
	u64 load, weight, per_task, max_load, min_load;
	u32 nr, idle_cpus, max_nr, min_nr;
	struct sd_span span;
	s32 id;
	bool local;
};

static inline void lb_group_init(struct lb_group *g, s32 id, bool local)
{
	*g = (struct lb_group){ .min_load = ~0ULL, .min_nr = ~0U, .id = id, .local = local };
	sd_span_init(&g->span);
}

/* load: target load of a local CPU, source load of another. */
static inline void lb_group_feed(struct lb_group *g, u64 load, u64 weight, u32 nr)
{
	g->load += load;
	g->weight += weight;
	g->nr += nr;
	g->idle_cpus += !nr;
	g->per_task += nr ? weight / nr : 0;
	if (g->local)
		return;
	g->max_load = max_u64(g->max_load, load);
	g->min_load = min_u64(g->min_load, load);
	if (nr > g->max_nr)
		g->max_nr = nr;
	if (nr < g->min_nr)
		g->min_nr = nr;
}

/* What a balance knows of its domain; the this_ and busy_ loads are per power. */
struct lb_stats {
	u64 total_load, total_power;
	u64 this_load, this_per_task, this_power;
	u64 busy_load, busy_per_task, busy_power, busy_capacity;
	u32 this_nr, this_idle, busy_nr, busy_idle, busy_cpus;
	u32 era, level;
	s32 busiest; /* group; -1: none */
	bool this_room, busy_room, busy_imb;
	bool prefer_sibling; /* of the domain below */
};

static inline void lb_init(struct lb_stats *lb, u32 era, u32 level, bool prefer_sibling)
{
	*lb = (struct lb_stats){
		.era = era, .level = level, .busiest = -1, .prefer_sibling = prefer_sibling
	};
}

/* A group is in: the local one first, and none without a CPU. */
static inline void lb_feed(struct lb_stats *lb, const struct lb_group *g)
{
	u64 power = lb_group_power(lb->era, lb->level, &g->span);
	u64 avg = g->load * LB_POWER / power;
	u64 per_task = g->per_task * LB_POWER / power;
	u64 capacity = lb->era <= LB_2_6_31 ? power / LB_POWER : (power + LB_POWER / 2) / LB_POWER;
	bool uneven = lb->era > LB_2_6_22 && !g->local && g->max_load - g->min_load > 2 * per_task;
	bool room;

	/* 3.6: more than one task apart as well, and the average is over tasks. */
	if (lb->era == LB_3_6) {
		per_task = g->nr ? g->weight / g->nr : 0;
		uneven = !g->local && g->max_load - g->min_load >= per_task &&
			 g->max_nr - g->min_nr > 1;
		if (!capacity)
			capacity = 1;
	}
	room = capacity > g->nr;
	lb->total_load += g->load;
	lb->total_power += power;
	if (g->local) {
		lb->this_load = avg;
		lb->this_nr = g->nr;
		lb->this_per_task = g->weight;
		lb->this_power = power;
		lb->this_room = room;
		lb->this_idle = g->idle_cpus;
		return;
	}
	if (lb->prefer_sibling && lb->era > LB_2_6_31 && (lb->era == LB_2_6_32 || lb->this_room))
		capacity = min_u64(capacity, 1);
	if (avg <= lb->busy_load || (g->nr <= capacity && !uneven))
		return;
	lb->busiest = g->id;
	lb->busy_load = avg;
	lb->busy_nr = g->nr;
	lb->busy_per_task = g->weight;
	lb->busy_power = power;
	lb->busy_capacity = capacity;
	lb->busy_room = room;
	lb->busy_idle = g->idle_cpus;
	lb->busy_cpus = g->span.cpus;
	lb->busy_imb = uneven;
}

/*
 * rule 4.10.3: the imbalance is smaller than a task. A whole one moves if that helps, and
 * since 2.6.31 also if it does no harm. Differences wrap as they do in the
 * kernels: a forced 3.6 balance towards a group with more load than the busiest
 * moves a task as well.
 */
static inline u64 lb_fix_small(const struct lb_stats *lb)
{
	bool scale = lb->era == LB_3_6;
	u64 none = lb->era == LB_2_6_22 ? lb_nice_0(lb->era) : 0;
	u64 this_task = lb->this_nr ? lb->this_per_task / lb->this_nr : none;
	u64 busy_task = lb->busy_per_task; /* per task by now */
	u32 times = lb->this_nr && busy_task > this_task ? 1 : 2;
	u64 scaled = busy_task * LB_POWER / lb->busy_power;
	u64 busy_unit = scale ? scaled : busy_task;
	u64 this_unit = scale ? this_task * LB_POWER / lb->this_power : this_task;
	u64 now, moved = 0, added, mirrored = lb->era == LB_2_6_22 ? 0 : busy_unit;

	if (lb->busy_load - lb->this_load + mirrored >= busy_unit * times)
		return busy_task;
	/* Or if the power in use grows. */
	now = lb->busy_power * min_u64(busy_unit, lb->busy_load) +
	      lb->this_power * min_u64(this_unit, lb->this_load);
	if (lb->busy_load > scaled)
		moved = lb->busy_power * min_u64(busy_unit, lb->busy_load - scaled);
	if (scale)
		added = min_u64(scaled, lb->busy_load) * lb->busy_power;
	else
		added = min_u64(busy_task * LB_POWER, lb->busy_load * lb->busy_power);
	added /= lb->this_power;
	moved += lb->this_power * min_u64(this_unit, lb->this_load + added);
	return moved / LB_POWER > now / LB_POWER ? busy_task : 0;
}

/*
 * rule 2.2.11.3, all groups fed: the weight to pull from lb->busiest; 0 and
 * busiest -1 when balanced. Since 2.6.31 an imbalance that no task fits into is
 * 0 with a busiest group, and counts as a failed balance.
 */
static inline u64 lb_end(struct lb_stats *lb, enum cpu_idle_type idle, u32 imbalance_pct)
{
	bool new_rules = lb->era == LB_3_6;
	u64 avg, above = ~0ULL, pull, room, imbalance = 0;
	bool force;

	if (lb->busiest < 0 || !lb->busy_nr || !lb->total_power)
		goto balanced;
	avg = lb->total_load * LB_POWER / lb->total_power;
	force = new_rules &&
		(lb->busy_imb || (idle == CPU_NEWLY_IDLE && lb->this_room && !lb->busy_room));
	if (!force) {
		if (lb->this_load >= lb->busy_load || lb->this_load >= avg)
			goto balanced;
		if (new_rules && idle == CPU_IDLE) {
			if (lb->this_idle <= lb->busy_idle + 1 && lb->busy_nr <= lb->busy_cpus)
				goto balanced;
		} else if (100 * lb->busy_load <= imbalance_pct * lb->this_load) {
			goto balanced;
		}
	}
	lb->busy_per_task /= lb->busy_nr;
	if (lb->busy_imb)
		lb->busy_per_task = min_u64(lb->busy_per_task, avg);
	if (!new_rules && lb->busy_load <= lb->busy_per_task)
		goto balanced;
	if (lb->busy_load >= avg) {
		/* Neither empty the busiest below what it can run, nor lift this one above the average. */
		if (!new_rules)
			above = lb->busy_load - lb->busy_per_task;
		else if (!lb->busy_imb)
			above = (lb->busy_nr - lb->busy_capacity) * lb_nice_0(lb->era) * LB_POWER /
				lb->busy_power;
		pull = min_u64(lb->busy_load - avg, above) * lb->busy_power;
		room = lb->this_load < avg ? (avg - lb->this_load) * lb->this_power : ~0ULL;
		imbalance = min_u64(pull, room) / LB_POWER;
	}
	if (imbalance < lb->busy_per_task)
		imbalance = lb_fix_small(lb);
	if (imbalance || lb->era != LB_2_6_22)
		return imbalance;

balanced:
	lb->busiest = -1;
	return 0;
}

/* rule 2.2.11.3, the queue to pull from: one task that is more than the imbalance cannot be split. */
static inline bool lb_queue_counts(u64 weight, u32 nr, u64 imbalance)
{
	return nr && !(nr == 1 && weight > imbalance);
}

/* rule 2.2.11.4: a task of this weight still fits; since 2.6.31 half of it is enough. */
static inline bool lb_fits(u32 era, u64 weight, u64 left)
{
	return (era == LB_2_6_22 ? weight : weight >> 1) <= left;
}

/* rule 2.2.11.4: a task whose cache is hot stays until balances have failed often enough. */
static inline bool lb_stays(bool hot, u32 failed, u32 nice_tries)
{
	return hot && failed <= nice_tries;
}

/* Milliseconds to ticks, upwards, one at least. */
static inline u64 lb_ticks(u64 ms, u32 hz)
{
	return max_u64((ms * hz + 999) / 1000, 1);
}

/* rule 2.2.11.1: ticks between two balances of a domain. */
static inline u64 lb_interval(u32 era, const struct sched_domain *sd, u32 interval_ms,
			      enum cpu_idle_type idle, u32 online, u32 hz)
{
	u64 ms = (u64)interval_ms * (idle == CPU_IDLE ? 1 : sd->busy_factor);
	u64 ticks = lb_ticks(ms, hz);

	return era == LB_3_6 ? min_u64(ticks, max_u64((u64)hz * online / 10, 1)) : ticks;
}

#define LB_NR_MIGRATE 32 /* tasks looked at in one pass */
#define LB_MAX_PINNED_MS 512 /* interval limit when nothing may be moved */
