/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Dispatch queues as an array, and beside them the literal reference: lists of
 * task numbers, one a level, in which tasks are put at the head or the tail and
 * moved by hand. The reference knows no keys and no times.
 */
#pragma once

#include "lib/queue.h"

#include "../random.h"

#define TASKS 10
#define CPUS 4

struct lists {
	u32 len[QUEUE_LEVELS];
	u32 task[QUEUE_LEVELS][TASKS];
};

static inline void list_remove(struct lists *l, u32 task)
{
	for (u32 level = 0; level < QUEUE_LEVELS; level++)
		for (u32 i = 0; i < l->len[level]; i++)
			if (l->task[level][i] == task) {
				memmove(&l->task[level][i], &l->task[level][i + 1],
					(l->len[level] - i - 1) * sizeof(u32));
				l->len[level]--;
				return;
			}
}

static inline void list_tail(struct lists *l, u32 level, u32 task)
{
	l->task[level][l->len[level]++] = task;
}

static inline void list_head(struct lists *l, u32 level, u32 task)
{
	memmove(&l->task[level][1], &l->task[level][0], l->len[level] * sizeof(u32));
	l->task[level][0] = task;
	l->len[level]++;
}

/* The highest level's first, or -1. */
static inline s32 list_first(const struct lists *l)
{
	for (s32 level = QUEUE_LEVELS - 1; level >= 0; level--)
		if (l->len[level])
			return l->task[level][0];
	return -1;
}

/* A dispatch queue in the order of keys: equal ones in the order of insertion. */
struct queued {
	u64 key, inserted;
	bool here;
};

static struct queued queue[TASKS];
static u64 insertions;

static inline void queue_insert(u32 task, u64 key)
{
	queue[task] = (struct queued){ .key = key, .inserted = ++insertions, .here = true };
}

/* The first that may run on a CPU, or -1; allowed: a bit for each CPU, of each task. */
static inline s32 queue_first(const u32 allowed[TASKS], u32 cpu)
{
	s32 first = -1;

	for (u32 i = 0; i < TASKS; i++) {
		if (!queue[i].here || !(allowed[i] >> cpu & 1))
			continue;
		if (first < 0 || before64(queue[i].key, queue[first].key) ||
		    (queue[i].key == queue[first].key && queue[i].inserted < queue[first].inserted))
			first = i;
	}
	return first;
}
