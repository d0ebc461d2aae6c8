/* SPDX-License-Identifier: GPL-2.0-only */
/* Which CPU a woken or a new task goes to (rule 3.11). */
#pragma once

#include "queue.bpf.h"

/* CPUs of a cache that a search for an idle one looks at, by the cache's first position. */
u32 scan_limit[MAX_CPUS];

static __always_inline const struct sched_domain *domain_at(u32 level)
{
	return eevdf_domain(level);
}

static __always_inline u64 load_of(const struct eevdf_avg *avg)
{
	return avg->load >> EEVDF_AVG_SHIFT;
}

/* How often the waker turned to another wakee, halved every second. */
static __always_inline bool record_wakee(struct task_struct *p, struct task_ctx *t, u32 this)
{
	struct task_struct *waker = bpf_get_current_task_btf();
	struct task_ctx *w = waker ? ctx_of(waker) : NULL;
	u64 now = scx_bpf_now();

	if (!w)
		return false;
	if (before64(w->flips_at + NSEC_PER_SEC, now)) {
		w->flips >>= 1;
		w->flips_at = now;
	}
	if (w->last_wakee != p->pid) {
		w->last_wakee = p->pid;
		w->flips++;
	}
	return eevdf_wake_wide(w->flips, t->flips, len_of(this, SD_MC));
}

static __always_inline bool wants_this(struct task_struct *p, struct task_ctx *t, u32 this,
				       u32 prev, u32 level, bool sync, const struct cpumask *idle)
{
	struct task_struct *waker = bpf_get_current_task_btf();
	struct rq *here = rq_of(this), *there = rq_of(prev);
	struct task_ctx *w = waker ? ctx_of(waker) : NULL;
	struct eevdf_affinity a = {
		.this_idle = cpu_is_idle(this, idle),
		.prev_idle = cpu_is_idle(prev, idle),
		.share_cache = in_span(this, SD_MC, prev),
		.sync = sync,
		.this_nr = nr_of(here),
		.this_load = load_of(&here->avg),
		.prev_load = load_of(&there->avg),
		.waker_load = w ? load_of(&w->avg) : 0,
		.wakee_load = load_of(&t->avg),
		.imbalance_pct = domain_at(level)->imbalance_pct,
	};

	return eevdf_wake_affine(&a) == EEVDF_THIS;
}

/* A CPU of the target's cache: an idle core, else an idle CPU among the first that are worth looking at. */
static __noinline s32 search_idle(struct task_struct *p, u32 target, u32 prev,
				  const struct cpumask *idle)
{
	u32 first = first_of(target, SD_MC), len = len_of(target, SD_MC), at, left;
	u32 from = first_of(target, SD_SELF) + 1;
	const struct cpumask *cores;
	s32 i, found = -1;

	if (from >= first + len)
		from = first;
	if (len_of(target, SD_SMT) > 1) {
		cores = scx_bpf_get_idle_smtmask();
		for_range(i, 0, len)
		{
			at = span_cpu(first, len, from, i);
			if (bpf_cpumask_test_cpu(at, cores) && cpu_is_idle(at, idle) &&
			    allowed(p, at)) {
				found = at;
				break;
			}
		}
		scx_bpf_put_idle_cpumask(cores);
		if (found >= 0)
			return found;
		/* The other threads of prev, one after another until it is prev again. */
		at = prev;
		for_range(i, 1, in_span(target, SD_MC, prev) ? len_of(prev, SD_SMT) : 1)
		{
			at = cpu_sibling[cpu_index(at)];
			if (cpu_is_idle(at, idle) && allowed(p, at)) {
				found = at;
				break;
			}
		}
		if (found >= 0)
			return found;
	}
	left = scan_limit[cpu_index(first)];
	for_range(i, 0, len)
	{
		at = span_cpu(first, len, from, i);
		if (!allowed(p, at))
			continue;
		if (!left)
			break;
		left--;
		if (cpu_is_idle(at, idle)) {
			found = at;
			break;
		}
	}
	return found;
}

/* rule 3.11.3 */
static __always_inline s32 select_idle_sibling(struct task_struct *p, struct task_ctx *t, u32 this,
					       u32 prev, u32 target, const struct cpumask *idle)
{
	struct task_struct *waker = bpf_get_current_task_btf();
	u32 recent = t->recent_cpu;
	s32 found;

	if (cpu_is_idle(target, idle) && allowed(p, target))
		return target;
	if (prev != target && in_span(prev, SD_MC, target) && cpu_is_idle(prev, idle) &&
	    allowed(p, prev))
		return prev;
	/* A per-CPU kernel thread hands work back to the task that gave it, and then sleeps. */
	if (waker && (waker->flags & PF_KTHREAD) && waker->nr_cpus_allowed == 1 && prev == this &&
	    rq_of(this)->nr <= 1 && allowed(p, prev))
		return prev;
	t->recent_cpu = prev;
	if (recent != prev && recent != target && in_span(recent, SD_MC, target) &&
	    cpu_is_idle(recent, idle) && allowed(p, recent))
		return recent;
	found = search_idle(p, target, prev, idle);
	if (found >= 0) {
		STAT_INC(idle_wakeups);
		return found;
	}
	return target;
}

static __noinline s32 select_wake(struct task_struct *p, u32 this, u32 prev, bool sync)
{
	const struct cpumask *idle = scx_bpf_get_idle_cpumask();
	struct task_ctx *t = ctx_of(p);
	u32 level, target = prev;
	bool wide;

	if (!t)
		goto out;
	wide = record_wakee(p, t, this);
	if (this != prev && !wide && !affine_wakeups && allowed(p, this)) {
		level = common_level(this, prev);
		if (level < SD_LEVELS && wants_this(p, t, this, prev, level, sync, idle)) {
			STAT_INC(affine_wakeups);
			target = this;
		}
	}
	target = select_idle_sibling(p, t, this, prev, target, idle);
out:
	scx_bpf_put_idle_cpumask(idle);
	return target;
}

/* State of a walk, per CPU that walks. */
struct fork_walk {
	struct eevdf_group g, best, here;
	s32 member, best_member;
	bool usable;
};

struct fork_walk fork_walks[MAX_CPUS];

static __always_inline void fork_next_group(struct fork_walk *w, u32 local, u32 pct, s32 group,
					    u32 member)
{
	if (w->usable) {
		eevdf_group_end(&w->g, pct, false);
		if ((u32)w->g.id == local) {
			w->here = w->g;
		} else if (eevdf_idler(&w->g, &w->best)) {
			w->best = w->g;
			w->best_member = w->member;
		}
	}
	eevdf_group_init(&w->g, group);
	w->member = member;
	w->usable = false;
}

/* rule 3.11.4: the idlest group of cpu's domain; a CPU of it, or -1 to stay. */
static __noinline s32 idlest_group(struct task_struct *p, u32 cpu, u32 level)
{
	u32 first = first_of(cpu, level), len = len_of(cpu, level),
	    local = first_of(cpu, level - 1);
	struct fork_walk *w = &fork_walks[cpu_index(bpf_get_smp_processor_id())];
	u32 at, group, pct = domain_at(level)->imbalance_pct;
	s32 i;

	w->usable = false;
	w->here.id = w->best.id = -1;
	w->g.id = -1;
	w->best_member = -1;
	for_range(i, 0, len)
	{
		at = span_cpu(first, len, local, i);
		group = first_of(at, level - 1);
		if ((s32)group != w->g.id)
			fork_next_group(w, local, pct, group, at);
		if (!rq_of(at)->online)
			continue;
		eevdf_group_feed(&w->g, &rq_of(at)->avg, nr_of(rq_of(at)));
		if (allowed(p, at))
			w->usable = true;
	}
	fork_next_group(w, local, pct, -1, 0);
	return eevdf_idlest(&w->here, &w->best, pct) ? w->best_member : -1;
}

/* The CPU of a span that went idle last, else the least loaded; cpu itself among equals. */
static __noinline s32 idlest_cpu(struct task_struct *p, u32 member, u32 level, u32 cpu)
{
	u32 first = first_of(member, level), len = len_of(member, level), at;
	u64 latest = 0, least = ~0ULL, load;
	s32 i, idlest = -1, found = -1;
	struct rq *rq;

	for_range(i, 0, len)
	{
		at = span_cpu(first, len, first, i);
		rq = rq_of(at);
		if (!allowed(p, at))
			continue;
		if (rq->nr <= 0) {
			if (idlest < 0 || rq->idle_since_ns > latest) {
				idlest = at;
				latest = rq->idle_since_ns;
			}
			continue;
		}
		load = load_of(&rq->avg);
		if (load < least || (load == least && at == cpu)) {
			least = load;
			found = at;
		}
	}
	return idlest >= 0 ? idlest : found;
}

#include "../lib/fork.bpf.h"
