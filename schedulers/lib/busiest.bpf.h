/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The walk over a domain that finds the queue to pull from, for o1, sd, cfs and
 * eevdf. What makes a group or a queue the busiest is the policy's. Before this
 * header it defines
 *	struct domain_stats	what it collects on the walk
 *	domain_at(level)	its struct sched_domain of that level
 * and anywhere the functions that are declared here first.
 */
#pragma once

#include "rq.bpf.h"

/* The walk begins, with the group of `this`, whose first position is `local`. */
static __always_inline void stats_begin(struct domain_stats *s, u32 this, u32 level, u32 local);
/* A group is complete; the next one begins, or none (-1). */
static __always_inline void stats_next_group(struct domain_stats *s, u32 level, u32 local,
					     s32 group);
/* A CPU of the domain, also if its queue is excluded. */
static __always_inline void stats_visit(struct domain_stats *s, u32 cpu);
/* A CPU whose queue counts in its group. */
static __always_inline void stats_feed(struct domain_stats *s, u32 cpu, u32 level, bool local,
				       u32 idle);
/* All groups are complete: the busiest one, -1 if the domain is balanced. */
static __always_inline s32 stats_end(struct domain_stats *s, u32 this, u32 level, u32 idle);
/* How busy a queue of the busiest group is; 0: there is nothing to pull from it. */
static __always_inline u64 stats_queue(const struct domain_stats *s, u32 cpu);

#define BALANCE_REDO 4 /* busiest queues tried when all tasks of one are pinned */

u64 balance_passes;

/* State of a walk and of the pull after it, in memory for the verifier. */
struct busy_walk {
	struct domain_stats stats;
	u64 most;
	s32 group, balancer, first_idle, found;
	s64 left; /* still to move, in the unit of the policy's imbalance */
	s32 looked_at, moved;
	bool movable, some_pinned;
};

/* A CPU's timer and its dispatch have one each. */
struct busy_walk busy_walks[MAX_CPUS], newidle_walks[MAX_CPUS];

static __always_inline struct busy_walk *walk_of(u32 idle)
{
	u32 me = cpu_index(bpf_get_smp_processor_id());

	return idle == CPU_NEWLY_IDLE ? &newidle_walks[me] : &busy_walks[me];
}

/* What find_busiest has to say besides a CPU. */
enum { NOT_MINE = -1, BALANCED = -2 };

/*
 * The queue to pull from at one level; how much is in the walk's statistics.
 * Only the first idle, else the first CPU of a group balances for it (rule 2.2.11.2).
 */
__noinline s32 find_busiest(u32 this, u32 level, u32 idle, u64 pass)
{
	u32 first = first_of(this, level), len = len_of(this, level),
	    local = first_of(this, level - 1);
	struct busy_walk *w = walk_of(idle);
	s32 i, group, busiest;
	struct rq *rq;
	u64 score;
	u32 at;

	w->balancer = w->first_idle = w->found = -1;
	w->most = 0;
	w->group = local;
	stats_begin(&w->stats, this, level, local);
	for_range(i, 0, len)
	{
		at = span_cpu(first, len, local, i);
		group = first_of(at, level - 1);
		if (group != w->group) {
			if (w->group == (s32)local && idle != CPU_NEWLY_IDLE &&
			    (w->first_idle >= 0 ? w->first_idle : w->balancer) != (s32)this)
				return NOT_MINE;
			stats_next_group(&w->stats, level, local, group);
			w->group = group;
		}
		rq = rq_of(at);
		if (!takes_tasks(rq))
			continue;
		stats_visit(&w->stats, at);
		if (rq->excluded_by == pass)
			continue;
		if (group == (s32)local && w->balancer < 0)
			w->balancer = at;
		if (group == (s32)local && w->first_idle < 0 && rq->nr <= 0)
			w->first_idle = at;
		stats_feed(&w->stats, at, level, group == (s32)local, idle);
	}
	stats_next_group(&w->stats, level, local, -1);
	busiest = stats_end(&w->stats, this, level, idle);
	if (busiest < 0)
		return BALANCED;

	for_range(i, 0, len)
	{
		at = order[cpu_index(first + i)];
		rq = rq_of(at);
		if ((s32)first_of(at, level - 1) != busiest || !rq->online ||
		    rq->excluded_by == pass)
			continue;
		score = stats_queue(&w->stats, at);
		if (score > w->most) {
			w->most = score;
			w->found = at;
		}
	}
	return w->found >= 0 ? w->found : BALANCED;
}
