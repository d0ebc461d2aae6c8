/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * First in, first out: the task that has been in the queue longest runs, until
 * it has nothing left to do. No time slice, no nice levels.
 *
 * An example, one CPU. A needs 300 ms, B 10 ms, C 10 ms; they come together,
 * in this order. A runs 300 ms, then B, then C: they are done after 300, 310
 * and 320 ms, 310 ms on average. In the order B, C, A it would have been 10, 20
 * and 320, 117 ms on average: that is the convoy behind a long task, and what
 * is not noticed if all tasks are short.
 *
 * Good at: no switch that is not needed, so caches stay warm; the last of equal
 * jobs is done no later than under any other order. Bad at: everything where
 * an answer is waited for, because one hog holds up the rest for as long as it
 * likes.
 *
 * The floor: if the first of the queue has waited for a second it runs at the
 * next tick, and the task that ran goes to the tail. With k tasks in the queue of
 * one CPU none waits longer than that second and k ticks.
 *
 * Rule numbers are those of docs/rules/rt-and-mlfq.md.
 */
#pragma once

#include "../lib/queue.h"

struct fifo_task {
	struct queue_place place;
};

/* rule 6.1.2: a task that woke, was forked or yielded goes to the tail; a preempted one goes where it was, to the head. */
static inline u64 fifo_key(struct fifo_task *t, u64 now_ns)
{
	queue_join(&t->place, now_ns);
	return queue_key(0, t->place.joined_ns);
}
