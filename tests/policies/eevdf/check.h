/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parameters by chance, and eligibility read literally: exact fractions over the whole queue. */
#pragma once

#include "balance.h"
#include "pick.h"

#include "../random.h"

typedef __int128 s128;

static inline struct eevdf_params some_params(void)
{
	struct eevdf_params prm;

	eevdf_params_init(&prm, between(0, EEVDF_ERAS - 1), between(1, 64), coin(2) ? 250 : 1000);
	return prm;
}

static inline u32 some_weight(void)
{
	return coin(12) ? EEVDF_WEIGHT_IDLE : eevdf_nice_weight[coin(2) ? 20 : between(0, 39)];
}

/* rules 3.2 and 3.3 without a common zero: all v are within 2^62 of `near`, so differences are exact. */
struct literal {
	s128 wv;
	s128 w;
	u64 near;
};

static inline void literal_add(struct literal *l, u64 v, u32 weight)
{
	l->wv += (s128)(s64)(v - l->near) * weight;
	l->w += weight;
}

/* V <= v + 0: the average, compared as fractions. */
static inline bool literal_eligible(const struct literal *l, u64 v)
{
	return (s128)(s64)(v - l->near) * l->w <= l->wv;
}

static inline u64 literal_average(const struct literal *l)
{
	s128 quotient = l->wv / l->w;

	return l->near + (u64)(s64)(quotient - (l->wv < 0 && quotient * l->w != l->wv));
}
