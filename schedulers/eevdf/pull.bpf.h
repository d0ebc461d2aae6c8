/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Taking tasks from other CPUs (rule 3.11.5). All of it happens in dispatch of
 * the CPU that takes: when it is about to go idle, when its tick said that a
 * balance is due, or when a busy CPU's tick woke it for that.
 */
#pragma once

#include "select.bpf.h"

struct domain_stats {
	struct eevdf_lb lb;
	struct eevdf_group group;
	u64 now_ns, util;
	bool any_imbalanced; /* of the group's CPUs */
};

#include "../lib/busiest.bpf.h"

static __always_inline void stats_begin(struct domain_stats *s, u32 this, u32 level, u32 local)
{
	s->now_ns = scx_bpf_now();
	s->util = 0;
	s->lb = (struct eevdf_lb){ .busiest.id = -1 };
	s->lb.prefer_sibling = level_exists(this, level - 1) &&
			       (domain_at(level - 1)->flags & SD_PREFER_SIBLING);
	s->lb.share_cache = domain_at(level)->flags & SD_SHARE_CACHE;
	s->any_imbalanced = false;
	eevdf_group_init(&s->group, local);
}

static __always_inline void stats_next_group(struct domain_stats *s, u32 level, u32 local,
					     s32 group)
{
	bool mine = (u32)s->group.id == local;

	if (s->group.cpus) {
		eevdf_group_end(&s->group, domain_at(level)->imbalance_pct,
				s->any_imbalanced && !mine);
		s->lb.total_load += s->group.load;
		s->lb.total_cpus += s->group.cpus;
		if (mine)
			s->lb.local = s->group;
		else if (eevdf_busier(&s->group, &s->lb.busiest))
			s->lb.busiest = s->group;
	}
	eevdf_group_init(&s->group, group);
	s->any_imbalanced = false;
}

/* An idle CPU's averages fade without events. */
static __always_inline void stats_visit(struct domain_stats *s, u32 cpu)
{
	struct rq *rq = rq_of(cpu);

	if (rq->nr <= 0)
		track(rq, s->now_ns);
	s->util += rq->avg.util >> EEVDF_AVG_SHIFT;
}

static __always_inline void stats_feed(struct domain_stats *s, u32 cpu, u32 level, bool local,
				       u32 idle)
{
	s->any_imbalanced |= state_of(cpu, level - 1)->imbalanced;
	eevdf_group_feed(&s->group, &rq_of(cpu)->avg, nr_of(rq_of(cpu)));
}

static __always_inline s32 stats_end(struct domain_stats *s, u32 this, u32 level, u32 idle)
{
	u32 pct = domain_at(level)->imbalance_pct;

	/* rule 3.11.3: a CPU that goes idle has no time for this. */
	if (level == SD_MC && idle != CPU_NEWLY_IDLE)
		scan_limit[cpu_index(first_of(this, level))] =
			eevdf_scan_limit(s->util, len_of(this, level), pct);
	eevdf_lb_end(&s->lb, idle, pct);
	return s->lb.busiest.id;
}

static __always_inline u64 stats_queue(const struct domain_stats *s, u32 cpu)
{
	return eevdf_lb_queue(&s->lb, &rq_of(cpu)->avg, nr_of(rq_of(cpu)));
}

/* rule 3.11.6: may it leave? Not if it would be as ineligible here; not if its cache is hot. */
static __always_inline bool may_leave(const struct task_struct *p, const struct task_ctx *t,
				      u32 this, const struct rq *there, u32 level, u64 now)
{
	const struct sched_domain *sd = domain_at(level);
	u32 failed = state_of(this, level)->failed;

	if (!failed && prm.place_lag && rq_of(this)->sums.nr && before64(there->sums.v0, t->e.v))
		return false;
	if (failed > sd->nice_tries || (sd->flags & SD_SHARE_POWER) ||
	    p->policy == EEVDF_POLICY_IDLE)
		return true;
	if (p->pid == there->next_pid && rq_of(this)->nr > 0)
		return false;
	return !before64(now, t->last_ran_ns + prm.migration_cost_ns);
}

/* Move tasks of one of the other's DSQs here, until the imbalance is gone. */
static __noinline s32 move_from(u64 dsq, u32 this, u32 from, u32 level, u32 idle)
{
	struct busy_walk *w = walk_of(idle);
	struct rq *here = rq_of(this), *there = rq_of(from);
	u64 now = scx_bpf_now();
	struct task_struct *p;
	struct task_ctx *t;
	s64 worth;

	for_each_queued(it, p, dsq)
	{
		if (w->looked_at++ >= EEVDF_NR_MIGRATE || w->left <= 0 || !room_to_leave(there))
			break;
		/* An idle CPU leaves the other something to run; a newly idle one takes one task. */
		if (idle != CPU_NOT_IDLE && there->nr <= 1)
			break;
		if (idle == CPU_NEWLY_IDLE && w->moved)
			break;
		t = ctx_of(p);
		if (!t || t->cpu != from || !t->queued)
			continue;
		if (!bpf_cpumask_test_cpu(this, p->cpus_ptr)) {
			w->some_pinned = true;
			continue;
		}
		if (t->cgroup && limited_groups && is_throttled(t->cgroup, this))
			continue;
		w->movable = true;
		if (!may_leave(p, t, this, there, level, now))
			continue;
		track_task(t, now, true, false);
		worth = eevdf_lb_fit(w->stats.lb.move, w->left, &t->avg,
				     state_of(this, level)->failed);
		if (worth < 0)
			continue;
		scx_bpf_dsq_move_set_vtime(it, t->e.v);
		if (!scx_bpf_dsq_move_vtime(it, p, waiting_dsq(this), 0))
			continue;
		if (there->next_pid == p->pid)
			there->next_pid = 0;
		track(here, now);
		change_queue(t, this);
		w->moved++;
		w->left -= worth;
	}
	return w->moved;
}

/* Keys are by the old queue's clock: put what has just come in order. */
static __noinline s32 resort(u32 cpu)
{
	struct task_struct *p;
	struct task_ctx *t;

	for_each_queued(it, p, waiting_dsq(cpu))
	{
		t = ctx_of(p);
		if (!t || t->cpu != cpu || p->scx.dsq_vtime == t->e.v)
			continue;
		scx_bpf_dsq_move_set_vtime(it, t->e.d);
		scx_bpf_dsq_move_vtime(it, p, eligible_dsq(cpu), 0);
	}
	return 0;
}

enum { LB_STOP = -1 };

static __noinline s32 load_balance(u32 this, u32 level, u32 idle)
{
	const struct sched_domain *sd = domain_at(level);
	struct busy_walk *w = walk_of(idle);
	struct sd_state *state = state_of(this, level);
	u64 pass = __sync_fetch_and_add(&balance_passes, 1) + 1;
	u32 min_ms = len_of(this, level), max_ms = 2 * min_ms;
	s32 redo, busiest = BALANCED;

	w->moved = 0;
	for_range(redo, 0, BALANCE_REDO)
	{
		busiest = find_busiest(this, level, idle, pass);
		if (busiest == NOT_MINE)
			return LB_STOP;
		if (busiest < 0)
			break;
		w->left = w->stats.lb.imbalance;
		w->looked_at = 0;
		w->movable = w->some_pinned = false;
		if (rq_of(busiest)->nr > 1) {
			/* Eligible tasks first, for they wait longest for their turn. */
			move_from(eligible_dsq(busiest), this, busiest, level, idle);
			move_from(waiting_dsq(busiest), this, busiest, level, idle);
		}
		state->imbalanced = w->some_pinned && w->left > 0;
		if (w->moved || w->movable || !w->some_pinned)
			break;
		rq_of(busiest)->excluded_by = pass;
		busiest = BALANCED;
	}
	if (busiest < 0) {
		state->failed = 0;
		if (idle != CPU_NEWLY_IDLE && state->interval_ms < max_ms)
			state->interval_ms *= 2;
		return 0;
	}
	if (w->moved) {
		resort(this);
		state->failed = 0;
		state->interval_ms = min_ms;
		return w->moved;
	}
	if (idle == CPU_NEWLY_IDLE)
		return 0;
	state->interval_ms = min_ms;
	if (++state->failed > sd->nice_tries + 2u && w->stats.lb.move == EEVDF_MOVE_TASK &&
	    active_balance(this, busiest))
		state->failed = sd->nice_tries + 1;
	return 0;
}

/* rule 3.11.5: balance each domain of this CPU that is due; tasks pulled. */
static __noinline s32 rebalance(u32 this, u32 idle)
{
	struct rq *rq = rq_of(this);
	u64 ticks = now_ticks(), next = ticks + 60 * tick_hz, interval;
	struct sd_state *state;
	s32 level, got, pulled = 0;

	for_range(level, SD_SMT, SD_LEVELS)
	{
		if (!level_exists(this, level))
			continue;
		state = state_of(this, level);
		if (idle == CPU_NEWLY_IDLE) {
			if (!pulled)
				pulled = load_balance(this, level, idle);
			continue;
		}
		interval = eevdf_interval(state->interval_ms, idle == CPU_NOT_IDLE, nr_online,
					  tick_hz);
		got = 0;
		if (!before64(ticks, state->last_ticks + interval)) {
			got = load_balance(this, level, idle);
			state->last_ticks = ticks;
		}
		interval = eevdf_interval(state->interval_ms, idle == CPU_NOT_IDLE, nr_online,
					  tick_hz);
		if (before64(state->last_ticks + interval, next))
			next = state->last_ticks + interval;
		if (got > 0) {
			pulled += got;
			idle = CPU_NOT_IDLE;
		}
	}
	if (idle != CPU_NEWLY_IDLE)
		rq->next_balance = next;
	return pulled > 0 ? pulled : 0;
}
