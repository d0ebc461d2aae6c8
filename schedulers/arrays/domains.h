/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Balance between CPUs as it was from 2.6.17 to 2.6.22 (rule 4.10): the table
 * of domains, and how much to pull. What later kernels kept of it is taken
 * from cfs/balance.h, with the rules of 2.6.31.
 *
 * The difference that shows: three equal hogs on two CPUs. 2.6.31 moves the
 * odd one from side to side; here moving it would leave the same imbalance
 * mirrored, so that it stays, and two of the three have half a CPU for ever.
 */
#ifndef SCHEDLAB_ARRAYS_DOMAINS_H
#define SCHEDLAB_ARRAYS_DOMAINS_H

#include "../cfs/balance.h"

#define LB_ERA CFS_2_6_31 /* whose arithmetic is shared */
#define LB_NICE_0 128 /* weight of a time slice of 100 ms */

/* Flags: no domain but NODE places forked tasks; the NODE row is from memory. */
static const struct sched_domain lb_domains[SD_LEVEL_ROWS] = {
	[SD_SMT] = { 1, 2, 64, 110, 0, 0, 0, 1, 0, 0, SD_NEWIDLE | SD_AFFINE | SD_SHARE_POWER },
	[SD_MC] = { 1, 4, 64, 125, 1, 2, 1, 2, 1, 1, SD_NEWIDLE | SD_AFFINE | SD_SHARE_CACHE },
	[SD_CPU] = { 1, 4, 64, 125, 1, 2, 1, 2, 1, 1, SD_NEWIDLE | SD_AFFINE },
	[SD_NODE] = { 8, 32, 32, 125, 2, 3, 2, 0, 1, 1, SD_FORK | SD_WAKE_BALANCE },
};

static inline const struct sched_domain *lb_domain(u32 level)
{
	barrier_var(level);
	return &lb_domains[level & (SD_LEVEL_ROWS - 1)];
}

/* A group is in. Groups with room are never the busiest, however uneven inside. */
static inline void lb_feed(struct cfs_lb *lb, struct cfs_group *g)
{
	g->min_load = g->max_load = 0;
	cfs_lb_feed(lb, g);
}

/* Too little to move an even part of: a whole task, if two CPUs end closer or more power is used. */
static inline u64 lb_fix_small(const struct cfs_lb *lb, u64 busy_task)
{
	u64 this_task = lb->this_nr ? lb->this_per_task / lb->this_nr : LB_NICE_0;
	u32 times = lb->this_nr && busy_task > this_task ? 1 : 2;
	u64 scaled = busy_task * CFS_POWER / lb->busy_power;
	u64 now, moved = 0, added;

	if (lb->busy_load >= lb->this_load && lb->busy_load - lb->this_load >= busy_task * times)
		return busy_task;
	now = lb->busy_power * min_u64(busy_task, lb->busy_load) +
	      lb->this_power * min_u64(this_task, lb->this_load);
	if (lb->busy_load > scaled)
		moved = lb->busy_power * min_u64(busy_task, lb->busy_load - scaled);
	added = min_u64(busy_task * CFS_POWER, lb->busy_load * lb->busy_power) / lb->this_power;
	moved += lb->this_power * min_u64(this_task, lb->this_load + added);
	return moved / CFS_POWER > now / CFS_POWER ? busy_task : 0;
}

/* All groups fed: the weight to pull from lb->busiest; 0 and busiest -1 when balanced. */
static inline u64 lb_end(struct cfs_lb *lb, u32 imbalance_pct)
{
	u64 avg, task, pull, imbalance = 0;

	if (lb->busiest < 0 || !lb->busy_nr || !lb->total_power)
		goto balanced;
	avg = lb->total_load * CFS_POWER / lb->total_power;
	task = lb->busy_per_task / lb->busy_nr;
	if (lb->this_load >= lb->busy_load || lb->this_load >= avg ||
	    100 * lb->busy_load <= imbalance_pct * lb->this_load || lb->busy_load <= task)
		goto balanced;
	if (lb->busy_load >= avg) {
		pull = min_u64(lb->busy_load - avg, lb->busy_load - task) * lb->busy_power;
		imbalance = min_u64(pull, (avg - lb->this_load) * lb->this_power) / CFS_POWER;
	}
	if (imbalance < task)
		imbalance = lb_fix_small(lb, task);
	if (imbalance)
		return imbalance;
balanced:
	lb->busiest = -1;
	return 0;
}

#endif
