/* SPDX-License-Identifier: GPL-2.0-only */
/* Which CPU a woken task goes to (rules 2.2.8 and 2.2.10). */
#pragma once

#include "rq.bpf.h"

/* The smallest domain of cpu that holds other too and has this flag. */
static __always_inline u32 domain_with(u32 cpu, u32 other, u32 flag)
{
	u32 level;

	for (level = SD_SMT; level < SD_LEVELS; level++)
		if (level_exists(cpu, level) && in_span(cpu, level, other) &&
		    (domain_at(level)->flags & flag))
			return level;
	return 0;
}

/* 2.6.31, .32: a sync wakeup counts only between tasks that sleep soon after waking another. */
static __always_inline void describe_waker(struct lb_wake *wake, const struct task_ctx *wakee,
					   u32 this)
{
	struct task_struct *waker = bpf_get_current_task_btf();
	struct task_ctx *w = waker ? ctx_of(waker) : NULL;

	wake->overlap_limit_ns = prm.migration_cost_ns;
	wake->wakee_overlap_ns = wakee->avg_overlap;
	if (w && w->queued && w->cpu == this) {
		wake->waker_weight = w->weight;
		wake->waker_overlap_ns = w->avg_overlap;
	} else {
		wake->sync = false;
	}
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

/* rule 2.2.10.2: the first group below the cache level whose CPUs are all idle; its first allowed CPU. */
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
		/* The kernel's domains hold CPUs that are online. */
		if (!rq_of(at)->online)
			continue;
		if (!cpu_is_idle(at, idle))
			all = false;
		if (candidate < 0 && allowed(p, at))
			candidate = at;
	}
	return all ? candidate : -1;
}

/* 3.6, rule 2.2.10.2: this CPU or prev if it is the target and idle, else a wholly idle group. */
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

/* 3.6, rule 2.2.10.1. */
static __noinline s32 wake_3_6(struct task_struct *p, u32 this, u32 prev, bool sync)
{
	u32 level, target = prev;

	if (this == prev) {
		target = this;
	} else {
		level = prm.affine && allowed(p, this) ? domain_with(this, prev, SD_AFFINE) : 0;
		if (!level)
			return prev;
		if (wants_affine(ctx_of(p), this, prev, level, sync)) {
			STAT_INC(affine_wakeups);
			target = this;
		}
	}
	return select_idle_sibling(p, this, prev, target);
}

/*
 * 2.6.32, rule 2.2.10.3 (memory): on the way up to a domain that holds both CPUs, a domain
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
		sd = domain_at(level);
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
		if (!wants_affine(ctx_of(p), this, prev, level, sync))
			return prev;
		if (candidate == this)
			STAT_INC(affine_wakeups);
		else
			STAT_INC(idle_wakeups);
		return candidate;
	}
	return prev;
}

/* 2.6.31, rules 2.2.8.1 and 2.2.8.5: prev or the waker's CPU; no idle CPU is looked for. */
static __noinline s32 wake_2_6_31(struct task_struct *p, u32 this, u32 prev, bool sync)
{
	if (this == prev || !prm.affine || !allowed(p, this))
		return prev;
	if (!wants_affine(ctx_of(p), this, prev, common_level(this, prev), sync))
		return prev;
	STAT_INC(affine_wakeups);
	return this;
}
