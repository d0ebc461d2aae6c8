/* SPDX-License-Identifier: GPL-2.0-only */
/* Which CPU a woken (rule 2.2.8, 2.2.10) or a new task (2.2.8) goes to. */
#ifndef SCHEDLAB_CFS_SELECT_H
#define SCHEDLAB_CFS_SELECT_H

#include "rq.bpf.h"

static __always_inline u64 weight_of(const struct cfs_rq *rq)
{
	return rq->weight > 0 ? rq->weight : 0;
}

static __always_inline bool takes_tasks(const struct cfs_rq *rq)
{
	return rq->online &&
	       (!rq->refuses_until_ns || before64(rq->refuses_until_ns, scx_bpf_now()));
}

static __always_inline bool allowed(const struct task_struct *p, u32 cpu)
{
	return bpf_cpumask_test_cpu(cpu, p->cpus_ptr) && takes_tasks(rq_of(cpu));
}

/* No task of any class: a CPU that runs a real-time task is not idle. */
static __always_inline bool cpu_is_idle(u32 cpu, const struct cpumask *idle)
{
	return rq_of(cpu)->nr <= 0 && bpf_cpumask_test_cpu(cpu, idle);
}

/* The smallest domain of cpu that holds other too and has this flag. */
static __always_inline u32 domain_with(u32 cpu, u32 other, u32 flag)
{
	u32 level;

	for (level = SD_SMT; level < SD_LEVELS; level++)
		if (level_exists(cpu, level) && in_span(cpu, level, other) &&
		    (cfs_domain(rules, level)->flags & flag))
			return level;
	return 0;
}

static __always_inline bool wants_affine(struct task_struct *p, u32 this, u32 prev, u32 level,
					 bool sync)
{
	struct task_struct *waker = bpf_get_current_task_btf();
	const struct sched_domain *sd = cfs_domain(rules, level);
	struct cfs_rq *here = rq_of(this), *there = rq_of(prev);
	struct task_ctx *t = ctx_of(p), *w;
	struct cfs_wake wake = {
		.this_load = cfs_target_load(weight_of(here), here->load, sd->wake_idx),
		.prev_load = cfs_source_load(weight_of(there), there->load, sd->wake_idx),
		.prev_target = cfs_target_load(weight_of(there), there->load, sd->wake_idx),
		.this_per_task = here->nr > 0 ? weight_of(here) / here->nr : 0,
		.imbalance_pct = sd->imbalance_pct,
		.sync = sync,
	};

	if (!t)
		return false;
	wake.wakee_weight = t->weight;
	wake.wakee_overlap = t->avg_overlap;
	w = waker ? ctx_of(waker) : NULL;
	if (w && w->queued && w->cpu == this) {
		wake.waker_weight = w->weight;
		wake.waker_overlap = w->avg_overlap;
	} else {
		wake.sync = false;
	}
	if (cfs_wake_affine(&prm, &wake))
		return true;
	return (sd->flags & SD_WAKE_BALANCE) && cfs_wake_passive(&wake);
}

/* First idle allowed CPU of a span, in CPU order; -1: none. */
static __always_inline s32 idle_in_span(const struct task_struct *p, u32 cpu, u32 level)
{
	u32 first = first_of(cpu, level), len = len_of(cpu, level), at;
	s32 i, found = -1;

	for_range(i, 0, len)
	{
		at = span_cpu(first, len, first, i);
		if (rq_of(at)->nr <= 0 && allowed(p, at) && (found < 0 || at < found))
			found = at;
	}
	return found;
}

/* Spec 2.2.10: the first group below the cache level whose CPUs are all idle; its first allowed CPU. */
static __always_inline s32 idle_group(const struct task_struct *p, u32 cpu, u32 level,
				      const struct cpumask *idle)
{
	u32 first = first_of(cpu, level), len = len_of(cpu, level), at, group, last = ~0U;
	u32 from = first_of(cpu, level - 1);
	s32 i, candidate = -1;
	bool all = false;

	for_range(i, 0, len)
	{
		at = span_cpu(first, len, from, i);
		group = first_of(at, level - 1);
		if (group != last) {
			if (all && candidate >= 0)
				return candidate;
			last = group;
			all = true;
			candidate = -1;
		}
		if (!cpu_is_idle(at, idle))
			all = false;
		if (candidate < 0 && allowed(p, at))
			candidate = at;
	}
	return all ? candidate : -1;
}

/* 3.6, rule 2.2.10: this CPU or prev if it is the target and idle, else a wholly idle group. */
static __always_inline s32 select_idle_sibling(const struct task_struct *p, u32 this, u32 prev,
					       u32 target)
{
	const struct cpumask *idle = scx_bpf_get_idle_cpumask();
	s32 found = target, i, cpu;

	if (idle_search || ((target == this || target == prev) && cpu_is_idle(target, idle)))
		goto out;
	for (i = 0; i < SD_MC; i++) {
		if (!level_exists(target, SD_MC - i))
			continue;
		cpu = idle_group(p, target, SD_MC - i, idle);
		if (cpu >= 0) {
			STAT_INC(idle_wakeups);
			found = cpu;
			break;
		}
	}
out:
	scx_bpf_put_idle_cpumask(idle);
	return found;
}

static __noinline s32 wake_3_6(struct task_struct *p, u32 this, u32 prev, bool sync)
{
	u32 level, target = prev;

	if (this == prev) {
		target = this;
	} else {
		level = prm.affine && allowed(p, this) ? domain_with(this, prev, SD_AFFINE) : 0;
		if (!level)
			return prev;
		if (wants_affine(p, this, prev, level, sync)) {
			STAT_INC(affine_wakeups);
			target = this;
		}
	}
	return select_idle_sibling(p, this, prev, target);
}

/*
 * 2.6.32 (memory): on the way up to a domain that holds both CPUs, a domain
 * that prefers siblings offers prev if idle, else any idle CPU, and the affine
 * test is made for that one.
 */
static __noinline s32 wake_2_6_32(struct task_struct *p, u32 this, u32 prev, bool sync)
{
	const struct sched_domain *sd;
	s32 candidate, idle;
	u32 level;

	if (!prm.affine || !allowed(p, this))
		return prev;
	for (level = SD_SMT; level < SD_LEVELS; level++) {
		sd = cfs_domain(rules, level);
		if (!level_exists(this, level) || !(sd->flags & SD_AFFINE))
			continue;
		candidate = in_span(this, level, prev) ? this : -1;
		if (!idle_search && sd->flags & SD_PREFER_SIBLING) {
			if (candidate >= 0 && rq_of(prev)->nr <= 0)
				candidate = prev;
			else if ((idle = idle_in_span(p, this, level)) >= 0)
				candidate = idle;
		}
		if (candidate < 0)
			continue;
		if (candidate == prev)
			return prev;
		if (!wants_affine(p, this, prev, level, sync))
			return prev;
		if (candidate == this)
			STAT_INC(affine_wakeups);
		else
			STAT_INC(idle_wakeups);
		return candidate;
	}
	return prev;
}

/* 2.6.31, rule 2.2.8: prev or the waker's CPU; no idle CPU is looked for. */
static __noinline s32 wake_2_6_31(struct task_struct *p, u32 this, u32 prev, bool sync)
{
	u32 level;

	if (this == prev || !prm.affine || !allowed(p, this))
		return prev;
	for (level = SD_SMT; level < SD_NODE; level++)
		if (level_exists(this, level) && in_span(this, level, prev))
			break;
	if (!wants_affine(p, this, prev, level, sync))
		return prev;
	STAT_INC(affine_wakeups);
	return this;
}

/* State of a walk over the CPUs, per CPU that walks. */
struct fork_walk {
	struct cfs_idlest find;
	struct sd_span span;
	u64 load;
	u32 group;
	s32 member;
	bool usable;
};

struct fork_walk fork_walks[MAX_CPUS];

static __always_inline void idlest_next_group(struct fork_walk *w, u32 level, u32 local)
{
	if (w->usable)
		cfs_idlest_feed(&w->find, w->member, w->group == local, w->load,
				cfs_group_power(rules, level, &w->span));
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
	const struct sched_domain *sd = cfs_domain(rules, level);
	struct cfs_rq *rq;
	u32 at, group;
	s32 i;

	cfs_idlest_init(&w->find);
	w->usable = false;
	w->group = ~0U;
	for_range(i, 0, len)
	{
		at = span_cpu(first, len, local, i);
		group = first_of(at, level - 1);
		if (group != w->group) {
			idlest_next_group(w, level, local);
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
	idlest_next_group(w, level, local);
	return cfs_idlest_end(&w->find, sd->imbalance_pct);
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

/* Spec 2.2.8 "fork": idlest group, idlest CPU in it, and down again from there. */
static __noinline s32 select_fork(struct task_struct *p, u32 cpu)
{
	u32 level;
	s32 i, member, found;

	for (i = 0; i < SD_NODE; i++) {
		level = SD_NODE - i;
		if (!level_exists(cpu, level) || !(cfs_domain(rules, level)->flags & SD_FORK))
			continue;
		member = idlest_group(p, cpu, level);
		if (member < 0)
			continue;
		found = idlest_cpu(p, member, level - 1, cpu);
		if (found >= 0)
			cpu = found;
	}
	return cpu;
}

#endif
