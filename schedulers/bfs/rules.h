/* SPDX-License-Identifier: GPL-2.0-only */
/* The published versions, their constants, and what is computed from them once. */
#pragma once

#include "types.h"

/* In the order of the tunable `rules`. */
enum bfs_rules {
	BFS_232, /* September 2009; 205 and 208 of the same month are taken to be the same */
	BFS_311, /* November 2009: cache distance, overdue tasks first in, first out */
	BFS_424, /* 2012: sticky tasks, one slice length on every machine */
	BFS_MODERN, /* 424 with the changes that README.md lists */
};

/* Levels come before deadlines (rule 1.1.1: levels 100, 101, 102). */
enum bfs_level {
	BFS_ISO,
	BFS_NORMAL,
	BFS_IDLEPRIO,
	BFS_IDLE_CPU, /* what an idle CPU "runs" (rule 1.1.1: level 103) */
};

#define BFS_NICES 40
#define BFS_NICE0 20
#define BFS_NICE_ROWS 64 /* a power of two, so that a mask bounds an index */

#ifndef barrier_var
#define barrier_var(var) ((void)0)
#endif

/*
 * rule 1.2.1: every nice level waits a tenth longer than the one before it,
 * truncated at each step; 100 based up to 330, 128 based from 350 on.
 */
static const u16 bfs_ratios_100[BFS_NICES] = {
	100,  110,  121,  133,	146,  160,  176,  193,	212,  233,  256,  281,	309,  339,
	372,  409,  449,  493,	542,  596,  655,  720,	792,  871,  958,  1053, 1158, 1273,
	1400, 1540, 1694, 1863, 2049, 2253, 2478, 2725, 2997, 3296, 3625, 3987,
};
static const u16 bfs_ratios_128[BFS_NICES] = {
	128,  140,  154,  169,	185,  203,  223,  245,	269,  295,  324,  356,	391,  430,
	473,  520,  572,  629,	691,  760,  836,  919,	1010, 1111, 1222, 1344, 1478, 1625,
	1787, 1965, 2161, 2377, 2614, 2875, 3162, 3478, 3825, 4207, 4627, 5089,
};

/* How long strict levels may make a task wait: bfs_key() and bfs_pick_fifo(). Below the kernel's watchdog (rule 0.6). */
#define BFS_FLOOR_NS (10 * NSEC_PER_SEC)
#define BFS_CLAMP_NS (4 * NSEC_PER_SEC)

/*
 * "Clock" is the unit of deadlines: jiffies in 2xx/3xx, ns from 350 on, where
 * a "ms" is 2^20 ns and a "us" 2^10 ns (rules 1.1.6 and 1.2.3).
 */
struct bfs_config {
	u32 rules;
	u32 iso_cpu_pct;
	u64 jiffy_ns; /* one tick of the emulated kernel */
	u64 rr_ns; /* the slice, the same for every nice level (rule 1.2.4) */
	u64 worn_ns; /* at a deschedule a slice below this is renewed (rule 1.3.3) */
	u64 offset[BFS_NICE_ROWS]; /* D(u), in clock units (rule 1.2.3) */
	u64 far[BFS_NICE_ROWS]; /* T(u), one step of cache distance, in jiffies (rule 1.5.9) */
	u32 iso_period; /* P (rule 1.2.5) */
};

static __always_inline bool bfs_in_jiffies(u32 rules)
{
	return rules == BFS_232 || rules == BFS_311;
}

/* rule 1.2.2: 6 ms a doubling of CPUs up to 316; always 6 ms from 401 on. */
static __always_inline u64 bfs_rr_default_us(u32 rules, u32 cpus)
{
	return bfs_in_jiffies(rules) ? 6000ULL * (1 + ilog2_u32(cpus)) : 6000;
}

/* rr_us 0: the version's own. hz: ticks per second of the emulated kernel. */
static __always_inline void bfs_configure(struct bfs_config *cfg, u32 rules, u64 rr_us, u32 cpus,
					  u32 hz, u32 iso_cpu_pct)
{
	bool jiffies = bfs_in_jiffies(rules);

	if (!rr_us)
		rr_us = bfs_rr_default_us(rules, cpus);
	cfg->rules = rules;
	cfg->iso_cpu_pct = iso_cpu_pct;
	cfg->jiffy_ns = NSEC_PER_SEC / hz;
	cfg->iso_period = 5 * hz * cpus + 1;
	cfg->rr_ns = jiffies ? rr_us * NSEC_PER_USEC : rr_us * 1048576 / 1000;
	cfg->worn_ns = jiffies ? 1 : 100 * 1024;
	for (u32 u = 0; u < BFS_NICES; u++) {
		cfg->offset[u] = jiffies ? max_u64(1, bfs_ratios_100[u] * rr_us * hz / 100000000)
					 : bfs_ratios_128[u] * rr_us * 8192 / 1000;
		cfg->far[u] = bfs_ratios_100[u] * rr_us / 100000;
	}
}

static __always_inline u64 bfs_clock(const struct bfs_config *cfg, u64 now_ns)
{
	return bfs_in_jiffies(cfg->rules) ? now_ns / cfg->jiffy_ns : now_ns;
}

/* Bound u for the verifier. */
static __always_inline u32 bfs_nice_index(u32 u)
{
	barrier_var(u);
	return u & (BFS_NICE_ROWS - 1);
}

static __always_inline u64 bfs_offset(const struct bfs_config *cfg, u32 u)
{
	return cfg->offset[bfs_nice_index(u)];
}

static __always_inline u64 bfs_far(const struct bfs_config *cfg, u32 u)
{
	return cfg->far[bfs_nice_index(u)];
}
