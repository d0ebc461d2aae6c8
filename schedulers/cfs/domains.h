/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What each era does on each level of CPUs that is balanced (rule 2.2.8 to 2.2.11).
 */
#ifndef SCHEDLAB_CFS_DOMAINS_H
#define SCHEDLAB_CFS_DOMAINS_H

#include "../domains/level.h"
#include "cfs.h"

#define CFS_ERA_ROWS 4 /* a power of two, so that a mask bounds an index */

#define SD_ALL_WAYS (SD_NEWIDLE | SD_FORK | SD_AFFINE)

/*
 * Intervals, factors, percentages and the missing NEWIDLE of 2.6.31 are those
 * of rule 2.2.9 and 2.2.11; load indices and the remaining flags, and all of
 * the NODE row, are from memory of the kernels' topology.h.
 */
static const struct sched_domain cfs_domains[CFS_ERA_ROWS][SD_LEVEL_ROWS] = {
	[CFS_2_6_31] = {
		[SD_SMT] = { 1, 2, 64, 110, 0, 0, 0, 0, 0, 0, SD_ALL_WAYS | SD_SHARE_POWER },
		[SD_MC] = { 1, 4, 64, 125, 1, 2, 1, 2, 1, 1,
			     SD_FORK | SD_AFFINE | SD_WAKE_BALANCE | SD_SHARE_CACHE },
		[SD_CPU] = { 1, 4, 64, 125, 1, 2, 1, 2, 1, 1,
			      SD_FORK | SD_AFFINE | SD_WAKE_BALANCE },
		[SD_NODE] = { 8, 32, 32, 125, 2, 3, 2, 2, 1, 1,
			       SD_FORK | SD_AFFINE | SD_WAKE_BALANCE },
	},
	[CFS_2_6_32] = {
		[SD_SMT] = { 1, 2, 64, 110, 0, 0, 0, 0, 0, 0, SD_ALL_WAYS | SD_SHARE_POWER },
		[SD_MC] = { 1, 4, 64, 125, 1, 2, 0, 0, 0, 0,
			     SD_ALL_WAYS | SD_SHARE_CACHE | SD_PREFER_SIBLING },
		[SD_CPU] = { 1, 4, 64, 125, 1, 2, 1, 0, 0, 0, SD_ALL_WAYS | SD_PREFER_SIBLING },
		[SD_NODE] = { 8, 32, 32, 125, 2, 3, 2, 0, 0, 0, SD_ALL_WAYS },
	},
	[CFS_3_6] = {
		[SD_SMT] = { 1, 2, 64, 110, 0, 0, 0, 0, 0, 0,
			      SD_ALL_WAYS | SD_SHARE_POWER | SD_SHARE_CACHE },
		[SD_MC] = { 1, 4, 64, 125, 1, 2, 0, 0, 0, 0, SD_ALL_WAYS | SD_SHARE_CACHE },
		[SD_CPU] = { 1, 4, 64, 125, 1, 2, 1, 0, 0, 0, SD_ALL_WAYS | SD_PREFER_SIBLING },
		[SD_NODE] = { 8, 32, 32, 125, 2, 3, 2, 0, 0, 0, SD_NEWIDLE },
	},
};

static inline const struct sched_domain *cfs_domain(u32 era, u32 level)
{
	barrier_var(era);
	barrier_var(level);
	return &cfs_domains[era & (CFS_ERA_ROWS - 1)][level & (SD_LEVEL_ROWS - 1)];
}

/* Half of the imbalance that a balance needs is enough to steer a wakeup or a fork (2.2.8). */
static inline u32 cfs_half_imbalance(u32 imbalance_pct)
{
	return 100 + (imbalance_pct - 100) / 2;
}

#define CFS_POWER 1024  /* one core */
#define CFS_SMT_POWER 1178 /* a core with two or more threads */

/*
 * The power of one group of a domain. 2.6.31 counted a group that shares a
 * core or a cache as one CPU, so that tasks spread over cores and caches
 * first; later eras sum, and use PREFER_SIBLING for that.
 */
static inline u64 cfs_group_power(u32 era, u32 level, const struct sd_span *span)
{
	if (level == SD_SMT)
		return era == CFS_2_6_31 ? CFS_POWER : CFS_SMT_POWER / 2;
	if (era == CFS_2_6_31)
		return level == SD_NODE ? (u64)span->llcs * CFS_POWER : CFS_POWER;
	return (u64)span->cores * (span->cpus > span->cores ? CFS_SMT_POWER : CFS_POWER);
}

#endif
