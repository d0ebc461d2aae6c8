/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Load and utilisation as the kernel tracks them: averages in which a
 * millisecond 32 ms ago counts half. They decide where tasks are put (rule 3.11.5),
 * not which one runs.
 *
 * An example: a task of weight 1024 that runs 5 of every 10 ms and sleeps
 * between has a load that swings around 512; 32 ms into a longer sleep 256 of
 * it are left.
 */
#pragma once

#include "types.h"

#define EEVDF_AVG_SHIFT 10 /* fractions kept */
#define EEVDF_PERIOD_SHIFT 20 /* 1.05 ms */
#define EEVDF_PERIOD_LOSS 92032805ULL /* 2^32 * (1 - 2^(-1/32)) */
#define EEVDF_CAPACITY 1024

/* 2^32 * 2^(-n/32) */
static const u32 eevdf_decays[32] = {
	0xffffffff, 0xfa83b2da, 0xf5257d14, 0xefe4b99a, 0xeac0c6e6, 0xe5b906e6, 0xe0ccdeeb,
	0xdbfbb796, 0xd744fcc9, 0xd2a81d91, 0xce248c14, 0xc9b9bd85, 0xc5672a10, 0xc12c4cc9,
	0xbd08a39e, 0xb8fbaf46, 0xb504f333, 0xb123f581, 0xad583ee9, 0xa9a15ab4, 0xa5fed6a9,
	0xa2704302, 0x9ef5325f, 0x9b8d39b9, 0x9837f050, 0x94f4efa8, 0x91c3d373, 0x8ea4398a,
	0x8b95c1e3, 0x88980e80, 0x85aac367, 0x82cd8698,
};

struct eevdf_avg {
	u64 at_ns;
	u64 load, util, runnable; /* shifted by EEVDF_AVG_SHIFT */
};

static inline u64 eevdf_decay(u64 value, u64 ns)
{
	u64 periods = ns >> EEVDF_PERIOD_SHIFT, rest = ns & ((1 << EEVDF_PERIOD_SHIFT) - 1);

	if (periods >= 32 * 32)
		return 0;
	value = (value * eevdf_decays[periods & 31]) >> 32 >> (periods / 32);
	return value - ((value * ((EEVDF_PERIOD_LOSS * rest) >> EEVDF_PERIOD_SHIFT)) >> 32);
}

/* From what it was towards what has been since. */
static inline u64 eevdf_towards(u64 avg, u64 state, u64 ns)
{
	state <<= EEVDF_AVG_SHIFT;
	return eevdf_decay(avg, ns) + state - eevdf_decay(state, ns);
}

/* Since the last update this much weight and so many were runnable, and one ran or none. */
static inline void eevdf_avg_update(struct eevdf_avg *avg, u64 now, u64 weight, u32 nr, bool runs)
{
	u64 ns;

	if (!before64(avg->at_ns, now))
		return;
	ns = now - avg->at_ns;
	avg->at_ns = now;
	avg->load = eevdf_towards(avg->load, weight, ns);
	avg->util = eevdf_towards(avg->util, runs ? EEVDF_CAPACITY : 0, ns);
	avg->runnable = eevdf_towards(avg->runnable, (u64)nr * EEVDF_CAPACITY, ns);
}
