/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parameters and weights by chance. */
#pragma once

#include "../lib/balance.h"
#include "cfs.h"

#include "../random.h"

static inline struct cfs_params some_params(void)
{
	struct cfs_params prm;

	cfs_params_init(&prm, between(0, CFS_ERAS - 1), between(1, 64));
	return prm;
}

static inline u32 some_weight(void)
{
	return coin(10) ? CFS_WEIGHT_IDLE : cfs_nice_weight[coin(2) ? 20 : between(0, 39)];
}
