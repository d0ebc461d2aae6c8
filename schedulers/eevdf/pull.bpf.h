/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Taking tasks from other CPUs (rule 3.11). All of it happens in dispatch of
 * the CPU that takes: when it is about to go idle, when its tick said that a
 * balance is due, or when a busy CPU's tick woke it for that.
 */
#pragma once

#include "select.bpf.h"

#define BALANCE_REDO 4 /* busiest queues tried when all tasks of one are pinned */

u64 balance_passes;

struct busy_walk {
	struct eevdf_lb lb;
	struct eevdf_group g;
	u64 most;
	s32 balancer, first_idle, found;
	s64 left;
	s32 seen, moved;
	bool movable, some_pinned, any_imbalanced;
};

struct busy_walk busy_walks[MAX_CPUS];

static __always_inline void busiest_next_group(struct busy_walk *w, u32 local, u32 pct, s32 group)
{
	if (w->g.cpus) {
		eevdf_group_end(&w->g, pct, w->any_imbalanced && (u32)w->g.id != local);
		w->lb.total_load += w->g.load;
		w->lb.total_cpus += w->g.cpus;
		if ((u32)w->g.id == local)
			w->lb.local = w->g;
		else if (eevdf_busier(&w->g, &w->lb.busiest))
			w->lb.busiest = w->g;
	}
	eevdf_group_init(&w->g, group);
	w->any_imbalanced = false;
}

enum { NOT_MINE = -1, BALANCED = -2 };

/* The queue to pull from at one level, the amount in the walk. */
static __noinline s32 find_busiest(u32 this, u32 level, u32 idle, u64 pass)
{
	u32 first = first_of(this, level), len = len_of(this, level),
	    local = first_of(this, level - 1);
	const struct sched_domain *sd = domain_at(level);
	struct busy_walk *w = &busy_walks[cpu_index(this)];
	u64 now = scx_bpf_now(), util = 0, score;
	struct rq *rq;
	u32 at, group;
	s32 i;

	w->lb = (struct eevdf_lb){ .busiest.id = -1 };
	w->lb.prefer_sibling = level_exists(this, level - 1) &&
			       (domain_at(level - 1)->flags & SD_PREFER_SIBLING);
	w->lb.share_cache = sd->flags & SD_SHARE_CACHE;
	w->balancer = w->first_idle = w->found = -1;
	w->most = 0;
	w->any_imbalanced = false;
	eevdf_group_init(&w->g, local);
	for_range(i, 0, len)
	{
		at = span_cpu(first, len, local, i);
		group = first_of(at, level - 1);
		if ((s32)group != w->g.id) {
			if ((u32)w->g.id == local && idle != CPU_NEWLY_IDLE &&
			    (w->first_idle >= 0 ? w->first_idle : w->balancer) != (s32)this)
				return NOT_MINE;
			busiest_next_group(w, local, sd->imbalance_pct, group);
		}
		rq = rq_of(at);
		if (!rq->online)
			continue;
		/* An idle CPU's averages fade without events. */
		if (rq->nr <= 0)
			track(rq, now);
		util += rq->avg.util >> EEVDF_AVG_SHIFT;
		if (rq->excluded_by == pass)
			continue;
		if (group == local && w->balancer < 0)
			w->balancer = at;
		if (group == local && w->first_idle < 0 && rq->nr <= 0)
			w->first_idle = at;
		w->any_imbalanced |= state_of(at, level - 1)->imbalanced;
		eevdf_group_feed(&w->g, &rq->avg, nr_of(rq));
	}
	busiest_next_group(w, local, sd->imbalance_pct, -1);
	if (level == SD_MC)
		scan_limit[cpu_index(first)] = eevdf_scan_limit(util, len, sd->imbalance_pct);
	eevdf_lb_end(&w->lb, idle, sd->imbalance_pct);
	if (w->lb.busiest.id < 0)
		return BALANCED;
	for_range(i, 0, len)
	{
		at = order[cpu_index(first + i)];
		rq = rq_of(at);
		if ((s32)first_of(at, level - 1) != w->lb.busiest.id || !rq->online ||
		    rq->excluded_by == pass)
			continue;
		score = eevdf_lb_queue(&w->lb, &rq->avg, nr_of(rq));
		if (score > w->most) {
			w->most = score;
			w->found = at;
		}
	}
	return w->found >= 0 ? w->found : BALANCED;
}

/* Spec 3.11: may it leave? Not if it would be as ineligible here; not if its cache is hot. */
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
	struct busy_walk *w = &busy_walks[cpu_index(this)];
	struct rq *here = rq_of(this), *there = rq_of(from);
	u64 now = scx_bpf_now();
	struct task_struct *p;
	struct task_ctx *t;
	s64 worth;

	for_each_queued(it, p, dsq)
	{
		if (w->seen++ >= EEVDF_NR_MIGRATE || w->left <= 0 || !room_to_leave(there))
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
		w->movable = true;
		if (!may_leave(p, t, this, there, level, now))
			continue;
		track_task(t, now, true, false);
		worth = eevdf_lb_fit(w->lb.move, w->left, &t->avg, state_of(this, level)->failed);
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
	struct busy_walk *w = &busy_walks[cpu_index(this)];
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
		w->left = w->lb.imbalance;
		w->seen = 0;
		w->movable = w->some_pinned = false;
		if (rq_of(busiest)->nr > 1) {
			/* Who waits longest for its turn first: the eligible. */
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
	if (++state->failed > sd->nice_tries + 2u && w->lb.move == EEVDF_MOVE_TASK &&
	    active_balance(this, busiest))
		state->failed = sd->nice_tries + 1;
	return 0;
}

/* Spec 3.11: balance each domain of this CPU that is due; tasks pulled. */
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
