/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Scheduling domains: the levels on which CPUs are balanced. A domain's groups
 * are the spans of the level below; a level with one group does not exist on
 * that machine. Which numbers an era has at each level is the scheduler's own.
 */
#pragma once

#include "types.h"

/* Spans: a CPU, its core, its cache, its socket, the machine. */
enum sd_level { SD_SELF, SD_SMT, SD_MC, SD_CPU, SD_NODE, SD_LEVELS };

/* Tables have a power of two of rows, so that a mask bounds an index. */
#define SD_LEVEL_ROWS 8

#ifndef barrier_var
#define barrier_var(var) __asm__ volatile("" : "+r"(var))
#endif

enum sd_flags {
	SD_NEWIDLE = 1, /* pull when going idle */
	SD_FORK = 2,  /* place forked tasks */
	SD_AFFINE = 4, /* a wakee may move to its waker's CPU */
	SD_WAKE_BALANCE = 8, /* ... or when that CPU is clearly less loaded */
	SD_SHARE_POWER = 16, /* threads of a core */
	SD_SHARE_CACHE = 32,
	SD_PREFER_SIBLING = 64, /* spread tasks over the groups that hold this domain */
};

/* Why a CPU balances: it is idle, it is busy, it is about to go idle. */
enum cpu_idle_type { CPU_IDLE, CPU_NOT_IDLE, CPU_NEWLY_IDLE };

struct sched_domain {
	u16 min_ms, max_ms; /* between two balances while idle; doubles when balanced */
	u16 busy_factor; /* ... and that many times longer while busy */
	u16 imbalance_pct;
	u8 nice_tries;  /* failures before cache-hot tasks move too */
	u8 busy_idx, idle_idx, newidle_idx, wake_idx, fork_idx; /* which load average counts */
	u8 flags;
};

/* What a group holds: CPUs, cores and caches, counted as neighbours come in order. */
struct sd_span {
	u32 cpus, cores, llcs, core, llc;
};

static inline void sd_span_init(struct sd_span *span)
{
	*span = (struct sd_span){ .core = ~0U, .llc = ~0U };
}

static inline void sd_span_add(struct sd_span *span, u32 core, u32 llc)
{
	span->cpus++;
	span->cores += core != span->core;
	span->llcs += llc != span->llc;
	span->core = core;
	span->llc = llc;
}
