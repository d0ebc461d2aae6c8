/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The place of a task in a queue of strict order, as fifo, rr and mlfq have it.
 * A task that becomes runnable goes to the tail of the queue. It keeps its
 * place, also while it runs, until it sleeps or is sent to the tail again. So a
 * preempted task is back at the head of its equals without being put there, as
 * rules 6.1.2 and 6.2.6 want it.
 *
 * An example, one CPU: A comes at 10, B at 20, C at 30. A runs. At 40 a kernel
 * thread preempts it; A waits with its 10, the least, and goes on at 41. At 50
 * A yields: its place is 50 from then on, behind B (20) and C (30). B sleeps at
 * 60 and wakes at 70: behind A.
 *
 * The place is the time of joining, and the least is first. Above it stands a
 * level, for the policies that have levels: level 31 is before level 30,
 * whatever the places are.
 */
#pragma once

#include "types.h"

#define QUEUE_LEVELS 32
/* Nine years of nanoseconds; 31 << 58 is below half of 2^64, so that keys compare as clocks do. */
#define QUEUE_TIME_BITS 58

struct queue_place {
	u64 joined_ns; /* 0: not in the queue */
	u64 waits_since_ns; /* waits for a CPU since then; 0: it runs or sleeps */
	u64 left_ns; /* of its time slice, where the policy has one */
	bool ran; /* since it was queued; and it has kept its place */
	u32 ran_on; /* the CPU that did */
};

/* The task with the least key runs first. */
static inline u64 queue_key(u32 level, u64 joined_ns)
{
	u64 above = QUEUE_LEVELS - 1 - (level < QUEUE_LEVELS ? level : QUEUE_LEVELS - 1);

	return above << QUEUE_TIME_BITS | (joined_ns & ((1ULL << QUEUE_TIME_BITS) - 1));
}

/* When a task joined last. */
static u64 queue_last_joined_ns;

/*
 * The task goes to the tail, unless it has a place. No two have the same one:
 * preempted in turns, they would alternate before all that came later.
 */
static inline void queue_join(struct queue_place *place, u64 now_ns)
{
	if (place->joined_ns)
		return;
	if (!before64(queue_last_joined_ns, now_ns))
		now_ns = queue_last_joined_ns + 1;
	queue_last_joined_ns = now_ns;
	place->joined_ns = now_ns ? now_ns : 1;
}

/* The task sleeps, yields, or has used its slice: it joins at the tail next time. */
static inline void queue_leave(struct queue_place *place)
{
	place->joined_ns = 0;
	place->ran = false;
}

/* A task that is queued anew while it waits (its affinity changes, its CPU goes away) has waited all along. */
static inline void queue_waits(struct queue_place *place, u64 now_ns)
{
	if (!place->waits_since_ns)
		place->waits_since_ns = now_ns ? now_ns : 1;
}

static inline void queue_runs(struct queue_place *place, u32 cpu)
{
	place->waits_since_ns = 0;
	place->ran = true;
	place->ran_on = cpu;
}

/* The running time is taken off the slice, which lasts across sleeps. */
static inline void queue_charge(struct queue_place *place, u64 ran_ns)
{
	place->left_ns -= min_u64(place->left_ns, ran_ns);
}

/* Slices are counted in ticks (rules 6.1.1 and 6.2.4): at one of them, less than half a tick is nothing. */
static inline bool queue_slice_over(struct queue_place *place, u64 tick_ns)
{
	if (2 * place->left_ns < tick_ns)
		place->left_ns = 0;
	return !place->left_ns;
}

/*
 * The running task goes on unless a waiting one is before it. Among equal keys
 * the waiting task is first: the running one has just been sent to the tail.
 */
static inline bool queue_goes_on(u64 running_key, bool waiting, u64 first_key)
{
	return !waiting || before64(running_key, first_key);
}

/* Has the task waited for too long? That is not a rule of any of these schedulers: their READMEs say why it is asked. */
static inline bool queue_starves(u64 waits_since_ns, u64 now_ns, u64 limit_ns)
{
	return before64(waits_since_ns + limit_ns, now_ns);
}
