/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A place in line. Who becomes runnable goes to the end of the line and keeps
 * his place until he sleeps or is sent to the end again, also while he runs:
 * so a preempted task is back at the head of its equals without being put
 * there, as rule 6.1.2 and 6.2 want it.
 *
 * An example, one CPU: A comes at 10, B at 20, C at 30. A runs. At 40 a kernel
 * thread preempts it; A waits with its 10, the least, and goes on at 41. At 50
 * A yields: its place is 50 now, behind B (20) and C (30). B sleeps at 60 and
 * wakes at 70: behind A.
 *
 * The place is the time of joining, the least is first. Above it stands a
 * level, for those who have levels: 31 is before 30, whatever the places.
 */
#ifndef SCHEDLAB_LINE_H
#define SCHEDLAB_LINE_H

#include "types.h"

#define LINE_LEVELS 32
/* Nine years of nanoseconds; 31 << 58 is below half of 2^64, so that keys compare as clocks do. */
#define LINE_TIME_BITS 58

struct line_place {
	u64 joined_ns; /* 0: not in line */
	u64 waits_since_ns; /* queued, and not on a CPU since then; 0: it runs or sleeps */
};

/* The least key runs first. */
static inline u64 line_key(u32 level, u64 joined_ns)
{
	u64 above = LINE_LEVELS - 1 - (level < LINE_LEVELS ? level : LINE_LEVELS - 1);

	return above << LINE_TIME_BITS | (joined_ns & ((1ULL << LINE_TIME_BITS) - 1));
}

/* At the end of the line, unless it has a place. */
static inline void line_join(struct line_place *place, u64 now_ns)
{
	if (!place->joined_ns)
		place->joined_ns = now_ns ? now_ns : 1;
}

/* It sleeps, yields, or has had its turn: next time, at the end. */
static inline void line_leave(struct line_place *place)
{
	place->joined_ns = 0;
}

/* Queued anew while it waits (its affinity changes, its CPU goes away), it has waited all along. */
static inline void line_waits(struct line_place *place, u64 now_ns)
{
	if (!place->waits_since_ns)
		place->waits_since_ns = now_ns ? now_ns : 1;
}

static inline void line_runs(struct line_place *place)
{
	place->waits_since_ns = 0;
}

/*
 * The running task stays on unless somebody is before it. Among equal keys who
 * waits is first: the running one has just been sent to the end.
 */
static inline bool line_goes_on(u64 running_key, bool anybody, u64 first_key)
{
	return !anybody || before64(running_key, first_key);
}

/* The first in line has waited for too long: not a rule of any of these schedulers, see their READMEs. */
static inline bool line_starves(u64 waits_since_ns, u64 now_ns, u64 limit_ns)
{
	return before64(waits_since_ns + limit_ns, now_ns);
}

#endif
