/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What an algorithm header needs and nothing more: integer types and a few
 * total functions. No kfunc, no map, no libc: the same lines compile into a BPF
 * object and into a plain C unit test.
 */
#pragma once

#include "integers.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#define NSEC_PER_USEC 1000ULL
#define NSEC_PER_MSEC 1000000ULL
#define NSEC_PER_SEC 1000000000ULL

/* nice -20..19 lives in static_prio 100..139. */
#define MAX_RT_PRIO 100
#define DEFAULT_PRIO 120

static inline u64 min_u64(u64 a, u64 b)
{
	return a < b ? a : b;
}

static inline u64 max_u64(u64 a, u64 b)
{
	return a > b ? a : b;
}

/* a is before b on a clock or a key that may wrap. */
static inline bool before64(u64 a, u64 b)
{
	return (s64)(a - b) < 0;
}

/* floor(log2(n)); 0 for n = 0. */
static inline u32 ilog2_u32(u32 n)
{
	u32 log = 0;

	if (n >= 1u << 16) {
		n >>= 16;
		log += 16;
	}
	if (n >= 1u << 8) {
		n >>= 8;
		log += 8;
	}
	if (n >= 1u << 4) {
		n >>= 4;
		log += 4;
	}
	if (n >= 1u << 2) {
		n >>= 2;
		log += 2;
	}
	return log + (n >= 2);
}
