/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * cpu.max: how long the tasks of a control group may run in each period.
 *
 * A group with a limit has an account. Every period puts the quota in; what its
 * tasks and those of the groups below it run is taken out. Below 0 they wait. What
 * they ran beyond that, until a tick noticed, is taken from the next periods, so
 * that over many periods they get the quota exactly. What is left at the end of
 * a period is lost, but for as much as cpu.max.burst allows.
 *
 * By hand: quota 20 ms, period 100 ms, no burst, a tick every 4 ms, two hogs on
 * two CPUs.
 *
 *	t = 0	20 ms are there; both run
 *	4, 8	the ticks of both CPUs take 4 ms each: 12, then 4 are left
 *	12	the one tick leaves 0, the other -4: both stop
 *	100	16 are there; both run
 *	108	the one tick leaves 4, and its hog goes on; the other leaves 0
 *	112	-4: its hog stops, too. From then on each period is like this one
 */
#pragma once

#include "../lib/limits.h"

/* Groups at once that have an account; 0 is nobody's. A power of two, so that a mask bounds an index. */
#define BFS_GROUPS 4096

struct bfs_group {
	u64 quota_ns; /* 0: no limit */
	u64 burst_ns;
	u64 period_ns;
	u64 begun_ns; /* when the present period began */
	s64 left_ns;
	u64 put_ns; /* when the last of its tasks was put aside */
	u32 limit; /* the number of the limit that it has, of all that there ever were */
	u32 parent; /* the group above it that has an account; 0: none */
	u32 blocked; /* its tasks wait until its timer fires */
	bool there;
} __attribute__((aligned(64)));

/* As the kernel does it: a change begins a period, with a quota beside what is left. */
static __always_inline void bfs_set_limit(struct bfs_group *g, u64 quota_ns, u64 period_ns,
					  u64 burst_ns, u64 now_ns)
{
	s64 most = quota_ns + burst_ns, left = quota_ns;

	if (g->quota_ns)
		left += g->left_ns;
	g->left_ns = left < most ? left : most;
	g->period_ns = period_ns;
	g->burst_ns = burst_ns;
	g->begun_ns = now_ns;
	g->quota_ns = quota_ns;
}

/* What the periods that are over put in. CPUs may do this at once, and take out meanwhile: one of them puts it in. */
static __always_inline void bfs_fill(struct bfs_group *g, u64 now_ns)
{
	u64 begun = g->begun_ns, period = g->period_ns, quota = g->quota_ns, periods;
	s64 most = quota + g->burst_ns, missing;

	if (!quota || !period || before64(now_ns, begun + period))
		return;
	periods = (now_ns - begun) / period;
	if (__sync_val_compare_and_swap(&g->begun_ns, begun, begun + periods * period) != begun)
		return;
	missing = most - g->left_ns;
	if (missing > 0 && periods <= (u64)missing / quota)
		missing = periods * quota;
	__sync_fetch_and_add(&g->left_ns, missing);
}

/* Its tasks ran so long. True: nothing is left. */
static __always_inline bool bfs_use(struct bfs_group *g, u64 ran_ns, u64 now_ns)
{
	bfs_fill(g, now_ns);
	if (ran_ns)
		__sync_fetch_and_sub(&g->left_ns, ran_ns);
	return g->left_ns <= 0;
}

/* Until the present period is over, at least a nanosecond. */
static __always_inline u64 bfs_until_next(const struct bfs_group *g, u64 now_ns)
{
	u64 end = g->begun_ns + g->period_ns;

	return before64(now_ns, end) ? end - now_ns : 1;
}
