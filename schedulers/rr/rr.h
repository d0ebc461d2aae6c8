/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Round robin: everybody takes turns of one time slice, in the order of coming.
 *
 * An example, one CPU, slices of 100 ms. A needs 300 ms, B and C 10 ms each;
 * they come together. A runs its 100 ms and goes to the end of the line, B and
 * C are done after 110 and 120 ms, A after 320 ms: 183 ms on average, where
 * fifo makes it 310. Three hogs would each wait 200 ms between two turns; in
 * general (k - 1) * 100 ms.
 *
 * C wakes a moment after A's second turn has begun, to answer a key: it waits
 * for the rest of the slice, up to 100 ms, and with k hogs up to k slices.
 *
 * Good at: few switches and equal shares of those who never sleep. Bad at:
 * answering: who wakes has no more claim than who never slept, and who uses a
 * millisecond at a time gets a millisecond a round, the hogs 100.
 *
 * Rule numbers are those of README.md.
 */
#ifndef SCHEDLAB_RR_H
#define SCHEDLAB_RR_H

#include "../line/line.h"

struct rr_task {
	struct line_place place;
	u64 left_ns; /* of its slice */
};

/* Spec 6.1.1: what ran is taken off the slice. */
static inline void rr_charge(struct rr_task *t, u64 ran_ns)
{
	t->left_ns -= min_u64(t->left_ns, ran_ns);
}

/* Spec 6.1.1: slices are counted in ticks; at one of them, less than half a tick is nothing. */
static inline bool rr_slice_over(struct rr_task *t, u64 tick_ns)
{
	if (2 * t->left_ns < tick_ns)
		t->left_ns = 0;
	return !t->left_ns;
}

/*
 * Spec 6.1.1 and 6.1.2: the place of a task that is queued, or asked to let
 * others go first. A used slice is renewed and costs the place; woken, forked
 * or yielded: the tail; preempted: where it was, with the rest of its slice.
 */
static inline u64 rr_key(struct rr_task *t, u64 slice_ns, u64 now_ns)
{
	if (!t->left_ns) {
		t->left_ns = slice_ns;
		line_leave(&t->place);
	}
	line_join(&t->place, now_ns);
	return line_key(0, t->place.joined_ns);
}

/* Spec 6.1.2: to sleep, or to the tail; the slice stays what it is. */
static inline void rr_leave(struct rr_task *t)
{
	line_leave(&t->place);
}

#endif
