/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * cpu.max: how long the tasks of a control group may run in each period (rule
 * 3.13.4).
 *
 * A group with a limit has a pool, which its quota fills once a period. A CPU that
 * runs its tasks has an allowance: it draws slices of 5 ms from the pool, and its
 * tasks use them up. Where the pool has nothing more to give they wait, until a
 * later period fills the pool again; what they ran too much, until a tick noticed,
 * is owed first. A CPU on which nobody of the group is left gives back all but a
 * millisecond.
 *
 * By hand: quota 20 ms, period 100 ms, a tick every 4 ms, two hogs on two CPUs.
 *
 *	t = 0	each CPU draws 5 ms: the pool has 10
 *	8	each owes 3 and draws 3 + 5, the one before the other: 8 and 2. The
 *		one has 5 left; the other owes 1 still, and stops
 *	16	the one owes 3, draws nothing, and stops
 *	100	the pool has 20. Each gets what it owes and a nanosecond: 16 are left
 *	104	each owes 4, and draws 9 and 7: the one has 5 left, the other 3
 *	108	the other owes 1, draws nothing, and stops
 *	112	the one owes 3, and stops. From then on each period is like this one
 */
#pragma once

#include "types.h"

#define EEVDF_SLICE_DRAWN_NS (5 * NSEC_PER_MSEC)
#define EEVDF_ALLOWANCE_KEPT_NS NSEC_PER_MSEC
/* What was given back is given out again so long after that, unless a period begins until then or soon after. */
#define EEVDF_SLACK_AFTER_NS (5 * NSEC_PER_MSEC)
#define EEVDF_SLACK_BEFORE_NS (2 * NSEC_PER_MSEC)

/* Of a group. */
struct eevdf_pool {
	u64 quota_ns; /* 0: no limit */
	u64 burst_ns, period_ns;
	u64 ends_ns; /* the present period does */
	s64 left_ns;
	u32 throttled; /* CPUs on which its tasks wait */
	u32 next_cpu; /* the first that is given something */
	u32 counts; /* periods are counted: its timer is started */
	u32 unused; /* nothing was drawn since the present period began */
	u32 slack; /* the timer is started that gives out what was given back */
};

/* Of a group on one CPU. */
struct eevdf_allowance {
	s64 left_ns;
	u64 throttled_ns; /* since then its tasks wait here; 0: they do not */
};

/* A new period, or a new limit. CPUs may draw meanwhile. */
static inline void eevdf_pool_fill(struct eevdf_pool *pool)
{
	s64 room = pool->quota_ns + pool->burst_ns - pool->left_ns;

	__sync_fetch_and_add(&pool->left_ns,
			     room < (s64)pool->quota_ns ? room : (s64)pool->quota_ns);
}

/* So much of the pool, or what it has. CPUs may do this at once: who never gets its turn gets nothing. */
static inline u64 eevdf_pool_take(struct eevdf_pool *pool, u64 want_ns)
{
	u64 got;
	s64 had;
	s32 i;

	for (i = 0; i < 8; i++) {
		had = pool->left_ns;
		if (had <= 0)
			return 0;
		got = min_u64(want_ns, had);
		if (__sync_val_compare_and_swap(&pool->left_ns, had, had - (s64)got) == had)
			return got;
	}
	return 0;
}

/* The CPU gets what it owes, and so much beside that; true: it has something. */
static inline bool eevdf_draw(struct eevdf_pool *pool, struct eevdf_allowance *here, u64 beside_ns)
{
	s64 want = (s64)beside_ns - here->left_ns;

	if (want > 0)
		__sync_fetch_and_add(&here->left_ns, (s64)eevdf_pool_take(pool, want));
	return here->left_ns > 0;
}

/* Nobody of the group is left on this CPU. True: tasks wait elsewhere, and there is something for them. */
static inline bool eevdf_give_back(struct eevdf_pool *pool, struct eevdf_allowance *here)
{
	s64 slack = here->left_ns - EEVDF_ALLOWANCE_KEPT_NS;

	if (slack <= 0)
		return false;
	__sync_fetch_and_add(&here->left_ns, -slack);
	__sync_fetch_and_add(&pool->left_ns, slack);
	return pool->throttled && pool->left_ns > (s64)EEVDF_SLICE_DRAWN_NS;
}

/* Periods follow each other without a gap, also while nobody counts them. */
static inline u64 eevdf_until_next(struct eevdf_pool *pool, u64 now_ns)
{
	if (!before64(now_ns, pool->ends_ns) && pool->period_ns)
		pool->ends_ns += (1 + (now_ns - pool->ends_ns) / pool->period_ns) * pool->period_ns;
	return before64(now_ns, pool->ends_ns) ? pool->ends_ns - now_ns : 1;
}
