/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * EEVDF among control groups: what a task weighs that is in one.
 *
 * Tasks and groups of one parent share its time by their weights. A group's
 * weight is one for all CPUs: each CPU where it has runnable tasks has the part
 * of it that its load is of the load of all. That part is what the group weighs
 * on that CPU beside its siblings, and what its tasks divide there by their own
 * weights. So a task has
 *
 *	weight * part of its group / weights in that part
 *
 * and of that again the same in the group above, up to the root.
 *
 * In the kernel the part is an entity in a queue of the group above it, and has
 * a queue of its own. Here the tree is flat: a task competes in the one queue of
 * its CPU with the weight that it has at the root. Shares are the same; what
 * differs is said in this folder's README.
 *
 * An example on two CPUs, tasks of nice 0:
 *
 *   root + a, cpu.weight 100 (1024 as tasks are weighed): one task on CPU 0,
 *        |    one on CPU 1
 *        + b, cpu.weight 300 (3072): four on CPU 1
 *
 *   The load of a is 1024 on each CPU: each has half of its weight, 512. All of
 *   b's is on CPU 1. So the task of a has CPU 0 alone, and weighs 512 on CPU 1
 *   beside four of 3072 / 4 = 768: it has a seventh there, where two groups with
 *   a queue for all CPUs had shared by one to three. That is the price of queues
 *   for each CPU: a has had more than its part already.
 */
#pragma once

#include "average.h"
#include "bandwidth.h"
#include "eevdf.h"

#define EEVDF_CPU_WEIGHT 100 /* cpu.weight of a group that is given none */
#define EEVDF_PART_MIN 2
#define EEVDF_FRACTION_SHIFT 10 /* of weights on their way through the tree */

/* The weight that is runnable somewhere, and its average since at_ns. */
struct eevdf_demand {
	s64 runnable;
	u64 load; /* shifted by EEVDF_AVG_SHIFT */
	u64 at_ns;
};

struct eevdf_cgroup {
	u64 id; /* the kernel's; 0: there is none */
	u32 parent; /* 0: the root */
	u32 weight;
	struct eevdf_demand all; /* of its parts */
	struct eevdf_pool pool;
};

/* A group on one CPU. */
struct eevdf_part {
	struct eevdf_demand here; /* of its tasks, and of the parts of the groups below it */
	s64 weight; /* beside its siblings; 0: nobody is runnable */
	struct eevdf_allowance allowance;
};

static inline u32 eevdf_cgroup_weight(u32 cpu_weight)
{
	return (cpu_weight * EEVDF_NICE_0 + EEVDF_CPU_WEIGHT / 2) / EEVDF_CPU_WEIGHT;
}

/* CPUs may do this at once: one of them does. */
static inline void eevdf_demand_track(struct eevdf_demand *d, u64 now)
{
	u64 at = d->at_ns;

	if (!before64(at, now) || __sync_val_compare_and_swap(&d->at_ns, at, now) != at)
		return;
	d->load = eevdf_towards(d->load, d->runnable > 0 ? d->runnable : 0, now - at);
}

/* rule 3.13.2 */
static inline s64 eevdf_part_weight(const struct eevdf_cgroup *g, const struct eevdf_part *part)
{
	u64 average = part->here.load >> EEVDF_AVG_SHIFT, all = g->all.load >> EEVDF_AVG_SHIFT;
	u64 load, others, weight;

	if (part->here.runnable <= 0)
		return 0;
	load = max_u64(part->here.runnable, average);
	others = all > average ? all - average : 0;
	weight = g->weight * load / (others + load);
	return max_u64(EEVDF_PART_MIN, min_u64(weight, g->weight));
}

/* rule 3.13.1, one level: what a weight in a part is in the part above. */
static inline u64 eevdf_within(u64 fraction, const struct eevdf_part *part)
{
	return part->here.runnable > 0 ? fraction * part->weight / part->here.runnable : fraction;
}

static inline u32 eevdf_whole(u64 fraction)
{
	u64 weight = (fraction + (1 << (EEVDF_FRACTION_SHIFT - 1))) >> EEVDF_FRACTION_SHIFT;

	return weight ? weight : 1;
}
