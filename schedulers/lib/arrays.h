/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Two arrays of priority lists, said with one ordered queue.
 *
 * The O(1) scheduler and its descendants keep, for each CPU, an active and an
 * expired array of lists, run the head of the first list of the active one,
 * and swap the arrays when that is empty. A queue that is ordered by
 *
 *   epoch (14 bits) | level (6 bits) | arrival (44 bits)
 *
 * has the same head at all times: the active array is the queue's epoch, the
 * expired one the next epoch, and the swap is "epoch := the head's". Example:
 * in epoch 7, A (level 20) and B (level 25) are active and C (level 3) has
 * expired: keys 7|20, 7|25, 8|3. A runs, then B, and C although its level is
 * the best; when C is picked the epoch becomes 8.
 *
 * A task keeps its arrival number when it is preempted, and so its place; at
 * the tail of a list it gets a new one. Numbers are even, so that there is
 * room for a new task right before its parent. Epochs wrap, and are compared
 * as the kernel compares keys: tasks in one queue are at most two apart.
 */
#pragma once

#include "types.h"

/* Not left to the compiler: the kernel takes no more than five arguments of a call. */
#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

#define ARRAY_LEVELS 40
#define ARRAY_EPOCH_SHIFT 50
#define ARRAY_LEVEL_SHIFT 44

struct array_place {
	u64 epoch;
	u64 arrival;
	u32 level;
};

static __always_inline u64 array_key(const struct array_place *at)
{
	return at->epoch << ARRAY_EPOCH_SHIFT | (u64)at->level << ARRAY_LEVEL_SHIFT |
	       (at->arrival & ((1ULL << ARRAY_LEVEL_SHIFT) - 1));
}

/* Is a in a better list than b? Then it preempts b, whichever came first. */
static __always_inline bool array_better(const struct array_place *a, const struct array_place *b)
{
	return before64(a->epoch, b->epoch) || (a->epoch == b->epoch && a->level < b->level);
}
