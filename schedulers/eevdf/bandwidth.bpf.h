/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The limits of control groups (bandwidth.h), which two timers of each group keep.
 * The one begins a period, the other gives out what CPUs gave back. A timer's
 * function does not hold the lock of a CPU's queue: it lifts the mark, and the CPU
 * takes in who waited when it picks (compete.bpf.h).
 */
#pragma once

#include "../lib/limits.h"
#include "../lib/oneshot.bpf.h"
#include "cgroup.bpf.h"

/* Groups with a limit. Not static: the compiler would make a byte of a small number. */
u32 limited_groups;

/* Where the time of a group comes more slowly than its tasks need to take turns. The kernel ejects after 30 s. */
#define WAITS_AT_MOST_NS (15 * NSEC_PER_SEC)

/* Of each group the one that begins periods, and behind those of all the one that gives out what was given back. */
ONESHOTS(group_timers, 2 * EEVDF_CGROUPS);

static __always_inline u32 slack_timer(u32 place)
{
	return EEVDF_CGROUPS + place;
}

static __always_inline void count_periods(u32 place, u64 now)
{
	struct eevdf_pool *pool = &cgroup_at(place)->pool;

	pool->unused = 0;
	if (pool->counts || __sync_val_compare_and_swap(&pool->counts, 0, 1))
		return;
	if (!start_oneshot(&group_timers, place, eevdf_until_next(pool, now), 0))
		pool->counts = 0;
}

/* Its tasks wait on this CPU from now on. */
static __always_inline void throttle(struct eevdf_pool *pool, struct eevdf_allowance *here, u64 now)
{
	if (!__sync_val_compare_and_swap(&here->throttled_ns, 0, now))
		__sync_fetch_and_add(&pool->throttled, 1);
}

/* The CPU looks at once who waits there, and who no longer (settle_limits()). */
static __always_inline void have_settled(u32 cpu)
{
	rq_of(cpu)->limits_due = true;
	scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
}

static __always_inline void unthrottle(struct eevdf_pool *pool, struct eevdf_allowance *here,
				       u32 cpu)
{
	u64 since = here->throttled_ns;

	if (!since || __sync_val_compare_and_swap(&here->throttled_ns, since, 0) != since)
		return;
	__sync_fetch_and_add(&pool->throttled, -1);
	have_settled(cpu);
}

/*
 * rule 3.13.4: what a task of the group ran on this CPU is used up of each limit
 * that it is under. True: one of them has nothing left here, and its tasks wait.
 */
static __noinline bool use_up(u32 place, u32 cpu, u64 ran_ns)
{
	u64 now = scx_bpf_now();
	struct eevdf_allowance *here;
	struct eevdf_pool *pool;
	bool waits = false;
	s32 level;

	for_range(level, 0, EEVDF_DEPTH)
	{
		if (!place)
			break;
		pool = &cgroup_at(place)->pool;
		if (pool->quota_ns) {
			here = &part_at(place, cpu)->allowance;
			__sync_fetch_and_add(&here->left_ns, -(s64)ran_ns);
			if (here->left_ns <= 0 && !here->throttled_ns) {
				count_periods(place, now);
				if (!eevdf_draw(pool, here, EEVDF_SLICE_DRAWN_NS))
					throttle(pool, here, now);
			}
			waits |= here->throttled_ns != 0;
		}
		place = cgroup_at(place)->parent;
	}
	return waits;
}

/* Whether a limit keeps the group's tasks waiting on this CPU. */
static __noinline bool is_throttled(u32 place, u32 cpu)
{
	s32 level;

	for_range(level, 0, EEVDF_DEPTH)
	{
		if (!place)
			break;
		if (part_at(place, cpu)->allowance.throttled_ns)
			return true;
		place = cgroup_at(place)->parent;
	}
	return false;
}

/* A task of the group has left this CPU: where it was the last, the rest is given back. */
static __noinline s32 give_back(u32 place, u32 cpu)
{
	struct eevdf_pool *pool;
	struct eevdf_part *part;
	s32 level;

	for_range(level, 0, EEVDF_DEPTH)
	{
		if (!place)
			break;
		pool = &cgroup_at(place)->pool;
		part = part_at(place, cpu);
		if (pool->quota_ns && part->here.runnable <= 0 &&
		    eevdf_give_back(pool, &part->allowance) && !pool->slack &&
		    eevdf_until_next(pool, scx_bpf_now()) >=
			    EEVDF_SLACK_AFTER_NS + EEVDF_SLACK_BEFORE_NS)
			pool->slack = start_oneshot(&group_timers, slack_timer(place),
						    EEVDF_SLACK_AFTER_NS, 0);
		place = cgroup_at(place)->parent;
	}
	return 0;
}

/* Each CPU where tasks wait gets what it owes and a nanosecond: enough to go on, and to draw the next slice itself. */
static __noinline s32 distribute(u32 place)
{
	struct eevdf_pool *pool = &cgroup_at(place)->pool;
	u32 cpu = pool->next_cpu;
	s32 i;

	for_range(i, 0, nr_cpus)
	{
		struct eevdf_allowance *here;

		if (cpu >= nr_cpus)
			cpu = 0;
		here = &part_at(place, cpu)->allowance;
		if (here->throttled_ns) {
			if (!eevdf_draw(pool, here, 1))
				break;
			unthrottle(pool, here, cpu);
		}
		cpu++;
	}
	/* Who did not get all that it owes is the first next time. */
	pool->next_cpu = cpu;
	return 0;
}

/*
 * Where tasks have waited for so long that one of them has to run once, whatever
 * the limit, the CPU looks for it.
 */
static __noinline s32 look_at_who_waits(u32 place, u64 now)
{
	u64 since;
	s32 cpu;

	for_range(cpu, 0, nr_cpus)
	{
		since = part_at(place, cpu)->allowance.throttled_ns;
		if (!since || !before64(since + WAITS_AT_MOST_NS, now))
			continue;
		have_settled(cpu);
	}
	return 0;
}

static s32 period_begins(void *map, u32 *key, struct bpf_timer *timer)
{
	u32 place = *key;
	struct eevdf_pool *pool = &cgroup_at(place)->pool;
	u64 now = scx_bpf_now();

	if (!pool->quota_ns)
		return 0;
	eevdf_pool_fill(pool);
	if (pool->unused && !pool->throttled) {
		pool->counts = 0;
		return 0;
	}
	pool->unused = !pool->throttled;
	bpf_timer_start(timer, eevdf_until_next(pool, now), 0);
	if (pool->throttled)
		distribute(place);
	if (pool->throttled)
		look_at_who_waits(place, now);
	return 0;
}

static s32 slack_is_due(void *map, u32 *key, struct bpf_timer *timer)
{
	u32 place = *key - slack_timer(0);
	struct eevdf_pool *pool = &cgroup_at(place)->pool;

	pool->slack = 0;
	if (pool->quota_ns && pool->left_ns > (s64)EEVDF_SLICE_DRAWN_NS &&
	    eevdf_until_next(pool, scx_bpf_now()) >= EEVDF_SLACK_BEFORE_NS)
		distribute(place);
	return 0;
}

/* The timers stay when the group goes, for the next one that has the place. */
static __always_inline void init_limit(u32 place)
{
	init_oneshot(&group_timers, place, period_begins);
	init_oneshot(&group_timers, slack_timer(place), slack_is_due);
}

/* From now on, with a quota beside what is left. Nobody waits for the limit before. */
static __always_inline void set_limit(u32 place, u64 period_us, u64 quota_us, u64 burst_us)
{
	struct eevdf_pool *pool = &cgroup_at(place)->pool;
	bool had = pool->quota_ns, has = is_limit(quota_us, period_us, nr_cpus);
	struct eevdf_allowance *here;
	u64 now = scx_bpf_now();
	s32 cpu;

	if (!had && !has)
		return;
	__sync_fetch_and_add(&limited_groups, has - had);
	pool->period_ns = period_us * NSEC_PER_USEC;
	pool->burst_ns = burst_us * NSEC_PER_USEC;
	pool->quota_ns = has ? quota_us * NSEC_PER_USEC : 0;
	if (has)
		eevdf_pool_fill(pool);
	else
		pool->left_ns = 0;
	for_range(cpu, 0, nr_cpus)
	{
		here = &part_at(place, cpu)->allowance;
		here->left_ns = 0;
		unthrottle(pool, here, cpu);
	}
	/* Groups that are made at once do not begin their periods at once. */
	if (!had)
		pool->ends_ns = now + (first_period ? pool->period_ns
						    : bpf_get_prandom_u32() % pool->period_ns);
	if (has)
		count_periods(place, now);
	else
		pool->counts = pool->slack = 0;
}
