/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The tree of control groups, with a part of each group for each CPU (cgroup.h).
 * A part changes under its CPU's run-queue lock, and when another CPU pulls one
 * of its tasks: therefore weights are added atomically. What is added to a part's
 * own weight is added to the one above, so that nothing is left over.
 */
#pragma once

#include "../lib/rq.bpf.h"

#define EEVDF_CGROUPS 4096 /* powers of two */
#define EEVDF_PARTS 65536
#define EEVDF_DEPTH 64

struct eevdf_cgroup cgroups[EEVDF_CGROUPS];
struct eevdf_part parts[EEVDF_PARTS];

static __always_inline struct eevdf_cgroup *cgroup_at(u32 place)
{
	barrier_var(place);
	return &cgroups[place & (EEVDF_CGROUPS - 1)];
}

static __always_inline struct eevdf_part *part_at(u32 place, u32 cpu)
{
	u32 index = place * nr_cpus + cpu;

	barrier_var(index);
	return &parts[index & (EEVDF_PARTS - 1)];
}

/*
 * So much more weight is runnable in a group on a CPU, or less: what its part
 * weighs there, and all above it, is brought up to now.
 */
static __noinline s32 weigh(u32 place, u32 cpu, s64 more)
{
	u64 now = scx_bpf_now();
	struct eevdf_cgroup *g;
	struct eevdf_part *part;
	s32 level;

	for_range(level, 0, EEVDF_DEPTH)
	{
		if (!place)
			break;
		g = cgroup_at(place);
		part = part_at(place, cpu);
		eevdf_demand_track(&g->all, now);
		eevdf_demand_track(&part->here, now);
		__sync_fetch_and_add(&g->all.runnable, more);
		__sync_fetch_and_add(&part->here.runnable, more);
		more = eevdf_part_weight(g, part) - part->weight;
		__sync_fetch_and_add(&part->weight, more);
		place = g->parent;
	}
	return 0;
}

/* rule 3.13.1: what a task of that weight in a group weighs on a CPU. */
static __noinline u32 flat_weight(u32 place, u32 cpu, u32 weight)
{
	u64 fraction = (u64)weight << EEVDF_FRACTION_SHIFT;
	s32 level;

	for_range(level, 0, EEVDF_DEPTH)
	{
		if (!place)
			break;
		fraction = eevdf_within(fraction, part_at(place, cpu));
		place = cgroup_at(place)->parent;
	}
	return eevdf_whole(fraction);
}

/* e, which competes on that CPU, is of a task in that group: it gets the weight that it has now. */
static __always_inline void reweigh(struct rq *rq, struct eevdf_entity *e, u32 cpu, u32 cgroup,
				    u32 nice_weight)
{
	u32 weight = flat_weight(cgroup, cpu, nice_weight);

	if (weight == e->weight)
		return;
	__sync_fetch_and_add(&rq->weight, (s64)weight - e->weight);
	eevdf_reweight_queued(&rq->sums, e, weight);
}

static __always_inline void reweigh_current(struct rq *rq, u32 cpu)
{
	if (rq->curr_pid && rq->curr_cgroup)
		reweigh(rq, &rq->curr, cpu, rq->curr_cgroup, rq->curr_nice_weight);
}

/*
 * t, which is in a group, is about to join the queue of that CPU. A delayed sleeper
 * may be in it still: it keeps its weight until it runs. Who runs divides the
 * group's part with t from now on.
 */
static __always_inline void weigh_in(struct rq *rq, struct task_ctx *t, u32 cpu)
{
	weigh(t->cgroup, cpu, t->nice_weight);
	if (!t->delayed)
		eevdf_reweight(&t->e, flat_weight(t->cgroup, cpu, t->nice_weight));
	reweigh_current(rq, cpu);
}

static __always_inline void weigh_out(const struct task_ctx *t)
{
	weigh(t->cgroup, t->cpu, -(s64)t->nice_weight);
}
