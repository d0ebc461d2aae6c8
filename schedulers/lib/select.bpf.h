/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which CPU a woken or a new task goes to, by weight (rules 2.2.8 and 4.10):
 * what o1, sd and cfs share. Before this header a policy defines what rq.bpf.h
 * asks for; its struct task_ctx has a member u32 weight. Anywhere it defines
 * the functions that are declared here first.
 */
#pragma once

#include "balance.h"
#include "rq.bpf.h"

/* The kernel whose balance the policy follows (enum balance_era). */
static __always_inline u32 balance_era(void);
/* Fill in what is known of the task on this CPU that wakes the wakee. */
static __always_inline void describe_waker(struct lb_wake *wake, const struct task_ctx *wakee,
					   u32 this);

u64 cpu_load[MAX_CPUS][LB_LOADS];

static __always_inline void account_in(struct task_ctx *t, u32 cpu)
{
	struct rq *rq = rq_of(cpu);

	t->cpu = cpu;
	t->queued = true;
	__sync_fetch_and_add(&rq->weight, (s64)t->weight);
	__sync_fetch_and_add(&rq->nr, 1);
}

static __always_inline void account_out(struct task_ctx *t)
{
	struct rq *rq = rq_of(t->cpu);

	t->queued = false;
	__sync_fetch_and_add(&rq->weight, -(s64)t->weight);
	__sync_fetch_and_add(&rq->nr, -1);
}

static __always_inline const struct sched_domain *domain_at(u32 level)
{
	return lb_domain(balance_era(), level);
}

static __always_inline u64 source_load(u32 cpu, u32 idx)
{
	return lb_source_load(weight_of(rq_of(cpu)), cpu_load[cpu_index(cpu)], idx);
}

static __always_inline u64 target_load(u32 cpu, u32 idx)
{
	return lb_target_load(weight_of(rq_of(cpu)), cpu_load[cpu_index(cpu)], idx);
}

static __always_inline void set_weight(struct task_ctx *t, u32 weight)
{
	if (t->queued)
		__sync_fetch_and_add(&rq_of(t->cpu)->weight, (s64)weight - (s64)t->weight);
	t->weight = weight;
}

/* Does the wakee go to its waker's CPU? If that is in balance or, where the level says so, clearly less loaded. */
static __always_inline bool wants_affine(const struct task_ctx *t, u32 this, u32 prev, u32 level,
					 bool sync)
{
	const struct sched_domain *sd = domain_at(level);
	struct rq *here = rq_of(this);
	u64 none = balance_era() == LB_2_6_22 ? lb_nice_0(LB_2_6_22) : 0;
	struct lb_wake wake = {
		.this_load = target_load(this, sd->wake_idx),
		.prev_load = source_load(prev, sd->wake_idx),
		.prev_target = target_load(prev, sd->wake_idx),
		.this_per_task = here->nr > 0 ? weight_of(here) / here->nr : none,
		.imbalance_pct = sd->imbalance_pct,
		.sync = sync,
	};

	if (!t)
		return false;
	wake.wakee_weight = t->weight;
	describe_waker(&wake, t, this);
	if ((sd->flags & SD_AFFINE) && lb_wake_affine(balance_era(), &wake))
		return true;
	return (sd->flags & SD_WAKE_BALANCE) && lb_wake_passive(&wake);
}

/* State of the walk that places new tasks, one for each CPU that walks; in memory for the verifier. */
struct fork_walk {
	struct lb_idlest find;
	struct sd_span span;
	u64 load;
	u32 group;
	s32 member;
	bool usable;
};

struct fork_walk fork_walks[MAX_CPUS];

static __always_inline void fork_next_group(struct fork_walk *w, u32 level, u32 local)
{
	if (w->usable)
		lb_idlest_feed(&w->find, w->member, w->group == local, w->load,
			       lb_group_power(balance_era(), level, &w->span));
	sd_span_init(&w->span);
	w->load = 0;
	w->usable = false;
}

/* The group of cpu's domain with least load per power; a CPU of it, or -1 to stay. */
static __noinline s32 idlest_group(struct task_struct *p, u32 cpu, u32 level)
{
	u32 first = first_of(cpu, level), len = len_of(cpu, level),
	    local = first_of(cpu, level - 1);
	struct fork_walk *w = &fork_walks[cpu_index(bpf_get_smp_processor_id())];
	const struct sched_domain *sd = domain_at(level);
	u32 at, group;
	s32 i;

	lb_idlest_init(&w->find);
	w->usable = false;
	w->group = ~0U;
	for_range(i, 0, len)
	{
		at = span_cpu(first, len, local, i);
		group = first_of(at, level - 1);
		if (group != w->group) {
			fork_next_group(w, level, local);
			w->group = group;
			w->member = at;
		}
		if (!takes_tasks(rq_of(at)))
			continue;
		w->load += group == local ? source_load(at, sd->fork_idx)
					  : target_load(at, sd->fork_idx);
		sd_span_add(&w->span, first_of(at, SD_SMT), first_of(at, SD_MC));
		if (allowed(p, at))
			w->usable = true;
	}
	fork_next_group(w, level, local);
	return lb_idlest_end(&w->find, sd->imbalance_pct);
}

/* The least loaded allowed CPU of a span; cpu itself among equals. */
static __noinline s32 idlest_cpu(struct task_struct *p, u32 member, u32 level, u32 cpu)
{
	u32 first = first_of(member, level), len = len_of(member, level), at;
	u64 least = ~0ULL, load;
	s32 i, found = -1;

	for_range(i, 0, len)
	{
		at = span_cpu(first, len, first, i);
		if (!allowed(p, at))
			continue;
		load = weight_of(rq_of(at));
		if (load < least || (load == least && at == cpu)) {
			least = load;
			found = at;
		}
	}
	return found;
}

#include "fork.bpf.h"
