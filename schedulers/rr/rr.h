/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Round robin: all tasks take turns of one time slice, in the order of coming.
 *
 * An example, one CPU, slices of 100 ms. A needs 300 ms, B and C 10 ms each;
 * they come together. A runs its 100 ms and goes to the tail of the queue, B and
 * C are done after 110 and 120 ms, A after 320 ms: 183 ms on average, where
 * fifo makes it 310. Three hogs would each wait 200 ms between two turns; in
 * general (k - 1) * 100 ms.
 *
 * C wakes a moment after A's second turn has begun, to answer a key: it waits
 * for the rest of the slice, up to 100 ms, and with k hogs up to k slices.
 *
 * Good at: few switches, and equal shares of tasks that never sleep. Bad at:
 * answering. A task that wakes has no more claim than one that never slept, and
 * one that uses a millisecond at a time gets a millisecond a round, a hog 100.
 *
 * Rule numbers are those of docs/rules/rt-and-mlfq.md.
 */
#pragma once

#include "../lib/queue.h"

struct rr_task {
	struct queue_place place;
};

/*
 * rules 6.1.1 and 6.1.2: the key of a task that is queued, or that goes on
 * unless others are before it. A used slice is renewed and costs the place. A
 * task that woke, was forked or yielded goes to the tail; a preempted one goes
 * where it was, with the rest of its slice.
 */
static inline u64 rr_key(struct rr_task *t, u64 slice_ns, u64 now_ns)
{
	if (!t->place.left_ns) {
		t->place.left_ns = slice_ns;
		queue_leave(&t->place);
	}
	queue_join(&t->place, now_ns);
	return queue_key(0, t->place.joined_ns);
}
