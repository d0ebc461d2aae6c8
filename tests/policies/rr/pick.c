/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The pick of scx_rr against the kernel's list of one level, literally: woken,
 * yielded or with its slice used to the tail, preempted to the head; one CPU.
 * The reference counts each turn by itself.
 */
#include "../queue/model.h"
#include "rr/rr.h"

#define TICK_NS 4000000ULL
#define SLICE_NS (25 * TICK_NS)

static struct rr_task task[TASKS];
static u32 all[TASKS];
static bool awake[TASKS];
static struct lists list; /* who waits */
static u64 turn_ns[TASKS]; /* used of the present slice */
static u64 waited_from[TASKS];
static s32 running;
static u64 now, picks, longest_ns;

static void rest(u32 t)
{
	queue_insert(t, rr_key(&task[t], SLICE_NS, now));
	waited_from[t] = now;
}

/* to_tail: the running task has lost its turn. */
static void pick(bool to_tail)
{
	s32 prev = running, expected, got, first;
	u64 key = 0;

	if (prev >= 0 && to_tail)
		list_tail(&list, 0, prev);
	else if (prev >= 0)
		list_head(&list, 0, prev);
	expected = list_first(&list);
	list_remove(&list, expected);

	if (prev >= 0)
		key = rr_key(&task[prev], SLICE_NS, now);
	first = queue_first(all, 0);
	got = prev >= 0 && queue_goes_on(key, first >= 0, first >= 0 ? queue[first].key : 0)
		      ? prev
		      : first;
	check(got == expected, "picked %d, the list says %d", got, expected);
	picks++;
	if (got == prev)
		return;
	if (prev >= 0)
		rest(prev);
	if (got >= 0) {
		queue[got].here = false;
		if (now - waited_from[got] > longest_ns)
			longest_ns = now - waited_from[got];
	}
	running = got;
}

static void run(u64 ns)
{
	if (running < 0)
		return;
	queue_charge(&task[running].place, ns);
	turn_ns[running] += ns;
	/* The end of a turn is at the tick nearest to it. */
	bool over = turn_ns[running] + TICK_NS / 2 > SLICE_NS;

	check(queue_slice_over(&task[running].place, TICK_NS) == over, "after %llu ns",
	      turn_ns[running]);
	if (over) {
		turn_ns[running] = 0;
		pick(true);
	}
}

static void event(bool hogs_only)
{
	u32 t = below(TASKS);
	u64 ns = 1 + below(2 * TICK_NS);

	now += ns;
	run(ns);
	now++;
	switch (below(hogs_only ? 2 : 6)) {
	case 0: /* a look for no reason: no equal is preferred */
		if (running >= 0) {
			s32 prev = running;

			pick(false);
			check(running == prev, "switched from %d to %d", prev, running);
		}
		return;
	case 1: /* preempted by something above, which ends */
		if (running >= 0) {
			u32 prev = running;
			u64 began = waited_from[prev];

			list_head(&list, 0, prev);
			rest(prev);
			waited_from[prev] = began;
			running = -1;
			now += hogs_only ? 0 : 1 + below(1000);
			waited_from[prev] = now;
			pick(false);
		}
		return;
	case 2:
		if (running >= 0) {
			queue_leave(&task[running].place);
			awake[running] = false;
			running = -1;
			pick(false);
		}
		return;
	case 3:
		if (running >= 0) {
			queue_leave(&task[running].place);
			pick(true);
		}
		return;
	default:
		if (awake[t])
			return;
		awake[t] = true;
		list_tail(&list, 0, t);
		rest(t);
		if (running < 0)
			pick(false);
	}
}

static void reset(u32 awake_tasks)
{
	memset(task, 0, sizeof(task));
	memset(queue, 0, sizeof(queue));
	memset(&list, 0, sizeof(list));
	memset(turn_ns, 0, sizeof(turn_ns));
	memset(all, 0xff, sizeof(all));
	running = -1;
	now = 1 + (below(2) ? 0 : draw() >> 8);
	longest_ns = 0;
	for (u32 t = 0; t < TASKS; t++) {
		awake[t] = t < awake_tasks;
		now++;
		if (!awake[t])
			continue;
		list_tail(&list, 0, t);
		rest(t);
	}
	if (awake_tasks)
		pick(false);
}

static void test_history(void)
{
	u32 events = 40 + below(120);

	reset(0);
	for (u32 i = 0; i < events; i++)
		event(false);
}

/* Among k that never sleep nobody waits longer than k - 1 slices, each half a tick and the step of this test longer at most. */
static void test_gap(void)
{
	u32 k = 2 + below(TASKS - 1);

	reset(k);
	for (u32 i = 0; i < 600; i++)
		event(true);
	check(longest_ns <= (k - 1) * (SLICE_NS + TICK_NS / 2 + 2 * TICK_NS), "%llu ns among %u",
	      longest_ns, k);
	check(longest_ns >= (k - 1) * (SLICE_NS - TICK_NS), "%llu ns among %u", longest_ns, k);
}

int main(int argc, char **argv)
{
	rounds(argc, argv, 120000, test_history);
	rounds(argc, argv, 3000, test_gap);
	printf("%llu picks, all as the list says\n", picks);
	return 0;
}
