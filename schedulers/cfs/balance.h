/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * CFS between CPUs: which CPU a waking or new task goes to, and when a CPU
 * takes tasks from another. Arithmetic only; whoever includes this walks the
 * CPUs and feeds what it finds.
 *
 * An example, two CPUs with three equal hogs, 3.6 rules. CPU 0 runs two (load
 * 2048), CPU 1 one (1024), average 1536. CPU 1 is below the average and CPU 0
 * above 125 % of it, so there is an imbalance; the even share of it, 512, is
 * less than one task, but moving one leaves the same imbalance mirrored, not a
 * worse one, so the balance moves a whole task (fix_small). The odd task thus
 * changes sides at every balance, which is CFS's fairness between CPUs: right
 * on average, and only as often as the interval (4 ms * 64 when busy) allows.
 */
#ifndef SCHEDLAB_CFS_BALANCE_H
#define SCHEDLAB_CFS_BALANCE_H

#include "cfs.h"
#include "domains.h"

/* Why a CPU balances: it is idle, it is busy, it is about to go idle. */
enum cfs_idle { CFS_CPU_IDLE, CFS_CPU_BUSY, CFS_CPU_NEWLY_IDLE };

#define CFS_LOADS 5

/* At each tick: load[i] follows the weight with a memory of 2^i ticks. */
static inline void cfs_load_update(u64 load[CFS_LOADS], u64 weight)
{
	for (u32 i = 0; i < CFS_LOADS; i++) {
		u64 old = load[i], keep = (1ULL << i) - 1;

		/* Round towards the new value, so that it can be reached. */
		load[i] = (old * keep + weight + (weight > old ? keep : 0)) >> i;
	}
}

/* Index 0 is the weight of now; others lean to keeping tasks where they are. */
static inline u64 cfs_source_load(u64 weight, const u64 load[CFS_LOADS], u32 idx)
{
	return idx && idx <= CFS_LOADS ? min_u64(load[idx - 1], weight) : weight;
}

static inline u64 cfs_target_load(u64 weight, const u64 load[CFS_LOADS], u32 idx)
{
	return idx && idx <= CFS_LOADS ? max_u64(load[idx - 1], weight) : weight;
}

/* Spec 2.2.8, 2.2.10: all loads before the wakee is added anywhere. */
struct cfs_wake {
	u64 this_load;  /* target load of the waker's CPU */
	u64 prev_load;  /* source load of the wakee's last CPU */
	u64 prev_target; /* target load of the wakee's last CPU */
	u64 this_per_task; /* weight per task on the waker's CPU */
	u64 waker_overlap, wakee_overlap; /* CPU time between waking another and sleeping */
	u32 waker_weight, wakee_weight;
	u32 imbalance_pct;
	bool sync;  /* the waker says it will sleep soon */
};

static inline bool cfs_wake_affine(const struct cfs_params *prm, const struct cfs_wake *w)
{
	u32 imbalance = cfs_half_imbalance(w->imbalance_pct);
	s64 here = w->this_load, there = w->prev_load;
	bool sync = w->sync, balanced;

	if (prm->era != CFS_3_6 && (w->waker_overlap > prm->migration_cost_ns ||
				    w->wakee_overlap > prm->migration_cost_ns))
		sync = false;
	if (sync)
		here -= w->waker_weight;
	if (prm->era == CFS_3_6 && here <= 0)
		balanced = true;
	else
		balanced = 100 * (here + (s64)w->wakee_weight) <= (s64)imbalance * there;
	return balanced || (here <= there && here + (s64)w->prev_target <= (s64)w->this_per_task);
}

/* Spec 2.2.8, 2.6.31 only: not affine, but the waker's CPU is less loaded by the half imbalance. */
static inline bool cfs_wake_passive(const struct cfs_wake *w)
{
	return cfs_half_imbalance(w->imbalance_pct) * w->this_load <= 100 * w->prev_load;
}

/* Spec 2.2.8 "idlest group": feed every group's load per power, then ask. */
struct cfs_idlest {
	u64 here, least;
	s32 group; /* -1: none but the local one */
};

static inline void cfs_idlest_init(struct cfs_idlest *find)
{
	find->here = 0;
	find->least = ~0ULL;
	find->group = -1;
}

static inline void cfs_idlest_feed(struct cfs_idlest *find, s32 group, bool local, u64 load,
				   u64 power)
{
	u64 avg = load * CFS_POWER / power;

	if (local) {
		find->here = avg;
	} else if (avg < find->least) {
		find->least = avg;
		find->group = group;
	}
}

/* -1: stay, the local group is not worse by the half imbalance. */
static inline s32 cfs_idlest_end(const struct cfs_idlest *find, u32 imbalance_pct)
{
	if (find->group < 0 || 100 * find->here < cfs_half_imbalance(imbalance_pct) * find->least)
		return -1;
	return find->group;
}

/* One group of a domain, CPU by CPU. */
struct cfs_group {
	u64 load, weight, per_task, max_load, min_load;
	u32 nr, idle_cpus, max_nr, min_nr;
	struct sd_span span;
	s32 id;
	bool local;
};

static inline void cfs_group_init(struct cfs_group *g, s32 id, bool local)
{
	*g = (struct cfs_group){ .min_load = ~0ULL, .min_nr = ~0U, .id = id, .local = local };
	sd_span_init(&g->span);
}

/* load: target load of a local CPU, source load of another. */
static inline void cfs_group_feed(struct cfs_group *g, u64 load, u64 weight, u32 nr)
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
struct cfs_lb {
	u64 total_load, total_power;
	u64 this_load, this_per_task, this_power;
	u64 busy_load, busy_per_task, busy_power, busy_capacity;
	u32 this_nr, this_idle, busy_nr, busy_idle, busy_cpus;
	u32 era, level;
	s32 busiest; /* group; -1: none */
	bool this_room, busy_room, busy_imb;
	bool prefer_sibling; /* of the domain below */
};

static inline void cfs_lb_init(struct cfs_lb *lb, u32 era, u32 level, bool prefer_sibling)
{
	*lb = (struct cfs_lb){
		.era = era, .level = level, .busiest = -1, .prefer_sibling = prefer_sibling
	};
}

/* A group is in: the local one first, and none without a CPU. */
static inline void cfs_lb_feed(struct cfs_lb *lb, const struct cfs_group *g)
{
	u64 power = cfs_group_power(lb->era, lb->level, &g->span);
	u64 avg = g->load * CFS_POWER / power;
	u64 per_task = g->per_task * CFS_POWER / power;
	u64 capacity = lb->era == CFS_2_6_31 ? power / CFS_POWER
					     : (power + CFS_POWER / 2) / CFS_POWER;
	bool uneven = !g->local && g->max_load - g->min_load > 2 * per_task;
	bool room;

	/* 3.6: more than one task apart as well, and the average is over tasks. */
	if (lb->era == CFS_3_6) {
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
	if (lb->prefer_sibling && lb->era != CFS_2_6_31 && (lb->era == CFS_2_6_32 || lb->this_room))
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
 * Too little to move an even part of: a whole task, if that helps or does no
 * harm. Differences wrap as they do in the kernels: a forced 3.6 balance
 * towards a group with more load than the busiest moves a task as well.
 */
static inline u64 cfs_lb_fix_small(const struct cfs_lb *lb)
{
	bool scale = lb->era == CFS_3_6;
	u64 this_task = lb->this_nr ? lb->this_per_task / lb->this_nr : 0;
	u64 busy_task = lb->busy_per_task; /* per task by now */
	u32 times = lb->this_nr && busy_task > this_task ? 1 : 2;
	u64 scaled = busy_task * CFS_POWER / lb->busy_power;
	u64 busy_unit = scale ? scaled : busy_task;
	u64 this_unit = scale ? this_task * CFS_POWER / lb->this_power : this_task;
	u64 now, moved = 0, added;

	if (lb->busy_load - lb->this_load + busy_unit >= busy_unit * times)
		return busy_task;
	/* Or if the power in use grows. */
	now = lb->busy_power * min_u64(busy_unit, lb->busy_load) +
	      lb->this_power * min_u64(this_unit, lb->this_load);
	if (lb->busy_load > scaled)
		moved = lb->busy_power * min_u64(busy_unit, lb->busy_load - scaled);
	if (scale)
		added = min_u64(scaled, lb->busy_load) * lb->busy_power;
	else
		added = min_u64(busy_task * CFS_POWER, lb->busy_load * lb->busy_power);
	added /= lb->this_power;
	moved += lb->this_power * min_u64(this_unit, lb->this_load + added);
	return moved / CFS_POWER > now / CFS_POWER ? busy_task : 0;
}

/*
 * Spec 2.2.11, all groups fed: the weight to pull from lb->busiest; 0 and
 * busiest -1 when balanced. 0 with a busiest group is an imbalance that no
 * task fits into: it counts as a failed balance.
 */
static inline u64 cfs_lb_end(struct cfs_lb *lb, enum cfs_idle idle, u32 imbalance_pct)
{
	bool new_rules = lb->era == CFS_3_6;
	u64 avg, above = ~0ULL, pull, room, imbalance;
	bool force;

	if (lb->busiest < 0 || !lb->busy_nr || !lb->total_power)
		goto balanced;
	avg = lb->total_load * CFS_POWER / lb->total_power;
	force = new_rules &&
		(lb->busy_imb || (idle == CFS_CPU_NEWLY_IDLE && lb->this_room && !lb->busy_room));
	if (!force) {
		if (lb->this_load >= lb->busy_load || lb->this_load >= avg)
			goto balanced;
		if (new_rules && idle == CFS_CPU_IDLE) {
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
	if (lb->busy_load < avg)
		return cfs_lb_fix_small(lb);

	/* Neither empty the busiest below what it can run, nor lift this one above the average. */
	if (!new_rules)
		above = lb->busy_load - lb->busy_per_task;
	else if (!lb->busy_imb)
		above = (lb->busy_nr - lb->busy_capacity) * CFS_NICE_0 * CFS_POWER / lb->busy_power;
	pull = min_u64(lb->busy_load - avg, above) * lb->busy_power;
	room = lb->this_load < avg ? (avg - lb->this_load) * lb->this_power : ~0ULL;
	imbalance = min_u64(pull, room) / CFS_POWER;
	return imbalance < lb->busy_per_task ? cfs_lb_fix_small(lb) : imbalance;

balanced:
	lb->busiest = -1;
	return 0;
}

/* Spec 2.2.11, the queue to pull from: one task that is more than the imbalance cannot be split. */
static inline bool cfs_lb_queue_counts(u64 weight, u32 nr, u64 imbalance)
{
	return nr && !(nr == 1 && weight > imbalance);
}

/* Spec 2.2.11: a task of this weight still fits (half of it at least). */
static inline bool cfs_lb_fits(u64 weight, u64 left)
{
	return weight >> 1 <= left;
}

/* Spec 2.2.11: cache-hot tasks stay until a balance has failed often enough. */
static inline bool cfs_lb_hot(const struct cfs_params *prm, u64 since_ran_ns, bool buddy,
			      u32 policy, u32 failed, u32 nice_tries)
{
	if (policy == CFS_IDLE_POLICY || failed > nice_tries)
		return false;
	return buddy || since_ran_ns < prm->migration_cost_ns;
}

/* Milliseconds to ticks, upwards, one at least. */
static inline u64 cfs_ticks(u64 ms, u32 hz)
{
	return max_u64((ms * hz + 999) / 1000, 1);
}

/* Spec 2.2.11: ticks between two balances of a domain. */
static inline u64 cfs_balance_interval(u32 era, const struct sched_domain *sd, u32 interval_ms,
				       enum cfs_idle idle, u32 online, u32 hz)
{
	u64 ms = (u64)interval_ms * (idle == CFS_CPU_IDLE ? 1 : sd->busy_factor);
	u64 ticks = cfs_ticks(ms, hz);

	return era == CFS_3_6 ? min_u64(ticks, max_u64((u64)hz * online / 10, 1)) : ticks;
}

#define CFS_NR_MIGRATE 32 /* tasks looked at in one pass */
#define CFS_MAX_PINNED_MS 512 /* interval limit when nothing may be moved */

#endif
