/* SPDX-License-Identifier: GPL-2.0-only */
/* Times that may wrap, logarithms, roots, averages. */
#pragma once

#include "../integers.h"

static inline bool time_after(u64 a, u64 b)
{
	return (s64)(a - b) > 0;
}

static inline bool time_before(u64 a, u64 b)
{
	return (s64)(a - b) < 0;
}

static inline bool time_after_eq(u64 a, u64 b)
{
	return !time_before(a, b);
}

static inline bool time_before_eq(u64 a, u64 b)
{
	return !time_after(a, b);
}

/* from <= a <= to */
static inline bool time_in_range(u64 a, u64 from, u64 to)
{
	return time_after_eq(a, from) && time_before_eq(a, to);
}

/* from <= a < to */
static inline bool time_in_range_open(u64 a, u64 from, u64 to)
{
	return time_after_eq(a, from) && time_before(a, to);
}

/* How much later; 0 if it is earlier. */
static inline s64 time_delta(u64 after, u64 before)
{
	return time_after(after, before) ? after - before : 0;
}

/* floor(log2(v)); 0 for v = 0. */
static inline u32 log2_u32(u32 v)
{
	u32 log = 0;

#pragma unroll
	for (u32 bits = 16; bits; bits >>= 1) {
		if (v >> bits) {
			v >>= bits;
			log += bits;
		}
	}
	return log;
}

/* The number of bits that v takes: one more than its logarithm; 1 for v = 0. */
static inline u32 log2_u64(u64 v)
{
	u32 high = v >> 32;

	return 1 + (high ? 32 + log2_u32(high) : log2_u32(v));
}

/* floor(sqrt(x)) by Newton's method, from a power of two that is not smaller; six steps are enough for 64 bits. */
static inline u64 __sqrt_u64(u64 x)
{
	u64 root = 1ULL << ((log2_u64(x) + 1) / 2);

	if (!x)
		return 0;
	for (int step = 0; step < 6; step++) {
		u64 next = (root + x / root) / 2;

		if (next >= root)
			break;
		root = next;
	}
	return root;
}

/* The number of zero bits below the lowest that is set; -1 where none is. */
static inline int ctzll(u64 v)
{
	return v ? (int)log2_u64(v & -v) - 1 : -1;
}

/*
 * Average with weight 1 / 2^decay for the new value. Values below 2^decay are
 * halved instead, because their part would be rounded to 0, and 1 goes to 0.
 */
#define __calc_avg(old, new, decay)                                                            \
	({                                                                                     \
		typeof(old) ___old = (old);                                                    \
		typeof(new) ___new = (new);                                                    \
		bool ___small = ___old < (1 << (decay)) || ___new < (1 << (decay));            \
		u32 ___shift = ___small ? 1 : (decay);                                         \
                                                                                               \
		(typeof(old))(___small && ___old == 1 && !___new                               \
				      ? 0                                                      \
				      : ___old - (___old >> ___shift) + (___new >> ___shift)); \
	})
