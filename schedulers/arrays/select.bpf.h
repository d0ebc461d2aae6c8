/* SPDX-License-Identifier: GPL-2.0-only */
/* Which CPU a woken or a new task goes to (rule 4.10 with 2.2.8). */
#ifndef SCHEDLAB_ARRAYS_SELECT_H
#define SCHEDLAB_ARRAYS_SELECT_H

#include "rq.bpf.h"

static __always_inline bool takes_tasks(const struct cpu_rq *rq)
{
	return rq->online &&
	       (!rq->refuses_until_ns || before64(rq->refuses_until_ns, scx_bpf_now()));
}

static __always_inline bool allowed(const struct task_struct *p, u32 cpu)
{
	return bpf_cpumask_test_cpu(cpu, p->cpus_ptr) && takes_tasks(rq_of(cpu));
}

/* Spec 4.10, wake_affine: to the waker's CPU, if in balance or, on top, if that is clearly less loaded. */
static __always_inline bool wants_affine(const struct task_ctx *t, u32 this, u32 prev, u32 level,
					 bool sync)
{
	const struct sched_domain *sd = lb_domain(level);
	struct cpu_rq *here = rq_of(this), *there = rq_of(prev);
	struct cfs_params prm = { .era = LB_ERA };
	struct cfs_wake wake = {
		.this_load = cfs_target_load(weight_of(here), here->load, sd->wake_idx),
		.prev_load = cfs_source_load(weight_of(there), there->load, sd->wake_idx),
		.prev_target = cfs_target_load(weight_of(there), there->load, sd->wake_idx),
		.this_per_task = here->nr > 0 ? weight_of(here) / here->nr : LB_NICE_0,
		.wakee_weight = t->weight,
		.waker_weight = here->curr_weight,
		.imbalance_pct = sd->imbalance_pct,
		.sync = sync && here->curr_pid,
	};

	if (sd->flags & SD_AFFINE)
		return cfs_wake_affine(&prm, &wake);
	return (sd->flags & SD_WAKE_BALANCE) && cfs_wake_passive(&wake);
}

/* Spec 4.10, wake_idle: beside a busy thread, an idle one of the same core. */
static __always_inline u32 wake_idle(const struct task_struct *p, u32 cpu)
{
	const struct cpumask *idle = scx_bpf_get_idle_cpumask();
	u32 first = first_of(cpu, SD_SMT), len = len_of(cpu, SD_SMT), at, found = cpu;
	s32 i;

	if (rq_of(cpu)->nr == 1 && level_exists(cpu, SD_SMT)) {
		for_range(i, 0, len)
		{
			at = order[cpu_index(first + i)];
			if (rq_of(at)->nr > 0 || !bpf_cpumask_test_cpu(at, idle) || !allowed(p, at))
				continue;
			found = at;
			break;
		}
	}
	scx_bpf_put_idle_cpumask(idle);
	return found;
}

static __noinline s32 select_wake(struct task_struct *p, u32 this, u32 prev, bool sync)
{
	struct task_ctx *t = ctx_of(p);
	u32 level, cpu = prev;

	if (t && this != prev && allowed(p, this)) {
		for (level = SD_SMT; level < SD_NODE; level++)
			if (level_exists(this, level) && in_span(this, level, prev))
				break;
		if (wants_affine(t, this, prev, level, sync)) {
			STAT_INC(affine_wakeups);
			cpu = this;
		}
	}
	return wake_idle(p, cpu);
}

/* State of the walk that places new tasks, per CPU that walks: in memory for the verifier. */
struct fork_walk {
	struct cfs_idlest find;
	struct sd_span span;
	u64 load, least;
	u32 group;
	s32 member, found;
	bool usable;
};

struct fork_walk fork_walks[MAX_CPUS];

static __always_inline void fork_next_group(struct fork_walk *w, u32 level, u32 local)
{
	if (w->usable)
		cfs_idlest_feed(&w->find, w->member, w->group == local, w->load,
				cfs_group_power(LB_ERA, level, &w->span));
	sd_span_init(&w->span);
	w->load = 0;
	w->usable = false;
}

/* Only NODE places new tasks: in the idlest socket, there on the idlest CPU; else they begin where they were forked. */
static __noinline s32 select_fork(struct task_struct *p, u32 cpu)
{
	u32 level = SD_NODE, first = first_of(cpu, level), len = len_of(cpu, level),
	    local = first_of(cpu, level - 1), at, group;
	struct fork_walk *w = &fork_walks[cpu_index(bpf_get_smp_processor_id())];
	const struct sched_domain *sd = lb_domain(level);
	struct cpu_rq *rq;
	s32 i;

	if (!level_exists(cpu, level))
		return cpu;
	cfs_idlest_init(&w->find);
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
		rq = rq_of(at);
		if (!takes_tasks(rq))
			continue;
		w->load += group == local ? cfs_source_load(weight_of(rq), rq->load, sd->fork_idx)
					  : cfs_target_load(weight_of(rq), rq->load, sd->fork_idx);
		sd_span_add(&w->span, first_of(at, SD_SMT), first_of(at, SD_MC));
		if (allowed(p, at))
			w->usable = true;
	}
	fork_next_group(w, level, local);
	w->member = cfs_idlest_end(&w->find, sd->imbalance_pct);
	if (w->member < 0)
		return cpu;
	w->least = ~0ULL;
	w->found = -1;
	first = first_of(w->member, level - 1);
	len = len_of(w->member, level - 1);
	for_range(i, 0, len)
	{
		at = order[cpu_index(first + i)];
		if (!allowed(p, at) || weight_of(rq_of(at)) >= w->least)
			continue;
		w->least = weight_of(rq_of(at));
		w->found = at;
	}
	return w->found >= 0 ? w->found : (s32)cpu;
}

#endif
