/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A dispatch queue as a plain array: by key, equal keys in the order of insertion. */
#pragma once

#include "types.h"

#define QUEUE_TASKS 16

struct queue {
	u64 key[QUEUE_TASKS], inserted[QUEUE_TASKS], inserts;
	bool has[QUEUE_TASKS];
};

static inline void queue_insert(struct queue *queue, s32 id, u64 key)
{
	queue->key[id] = key;
	queue->inserted[id] = ++queue->inserts;
	queue->has[id] = true;
}

static inline s32 queue_head(const struct queue *queue)
{
	s32 head = -1;

	for (s32 id = 0; id < QUEUE_TASKS; id++)
		if (queue->has[id] && (head < 0 || before64(queue->key[id], queue->key[head]) ||
				       (queue->key[id] == queue->key[head] &&
					queue->inserted[id] < queue->inserted[head])))
			head = id;
	return head;
}
