/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Taking tasks from other CPUs by weight (rules 2.2.9, 2.2.11 and 4.10):
 * what o1, sd and cfs share. A CPU about to go idle pulls from dispatch, every
 * CPU at its intervals from a timer that stands for the tick's softirq. Queued
 * tasks move between DSQs; a running one is asked for (active balance) and
 * moves when its CPU puts it back.
 *
 * Before this header a policy defines
 *	PULL_TURNS	how often a pull walks over the other queue, 1 or 2
 *	newidle		CHOICE: 0 by the rules, 1 never, 2 on every level
 * and anywhere the functions that are declared here first.
 */
#pragma once

#include "select.bpf.h"

CHOICE(periodic, 0, "rules,off", "whether CPUs balance at intervals");

/* Is the queued task looked at in this turn, 0 or 1? */
static __always_inline bool pulled_in_turn(const struct task_ctx *t, const struct rq *there,
					   u32 turn);
/* Did the task run so lately that its cache is still warm? */
static __always_inline bool cache_hot(const struct task_struct *p, const struct task_ctx *t,
				      const struct rq *there, const struct rq *here, u64 now);
/* Is a CPU that is about to go idle likely to be idle for long enough? */
static __always_inline bool worth_pulling(const struct rq *rq);
/* Move a queued task to that CPU's queue; false if another CPU took it first. */
static __always_inline bool move_queued(struct bpf_iter_scx_dsq *it, struct task_struct *p,
					struct task_ctx *t, u32 cpu);
/* A task has come from elsewhere: wake the CPU, or let the task preempt. */
static __always_inline void notify(u32 cpu, const struct task_struct *p, const struct task_ctx *t);

struct domain_stats {
	struct lb_stats lb;
	struct lb_group group;
	u64 imbalance; /* weight to pull */
};

#include "busiest.bpf.h"

static __always_inline u32 load_idx(const struct sched_domain *sd, u32 idle)
{
	return idle == CPU_IDLE	      ? sd->idle_idx
	       : idle == CPU_NOT_IDLE ? sd->busy_idx
				      : sd->newidle_idx;
}

static __always_inline void stats_begin(struct domain_stats *s, u32 this, u32 level, u32 local)
{
	lb_init(&s->lb, balance_era(), level,
		level_exists(this, level - 1) && (domain_at(level - 1)->flags & SD_PREFER_SIBLING));
	lb_group_init(&s->group, local, true);
}

static __always_inline void stats_next_group(struct domain_stats *s, u32 level, u32 local,
					     s32 group)
{
	if (s->group.span.cpus)
		lb_feed(&s->lb, &s->group);
	lb_group_init(&s->group, group, false);
}

static __always_inline void stats_visit(struct domain_stats *s, u32 cpu)
{
}

static __always_inline void stats_feed(struct domain_stats *s, u32 cpu, u32 level, bool local,
				       u32 idle)
{
	u32 idx = load_idx(domain_at(level), idle);

	lb_group_feed(&s->group, local ? target_load(cpu, idx) : source_load(cpu, idx),
		      weight_of(rq_of(cpu)), nr_of(rq_of(cpu)));
	sd_span_add(&s->group.span, first_of(cpu, SD_SMT), first_of(cpu, SD_MC));
}

static __always_inline s32 stats_end(struct domain_stats *s, u32 this, u32 level, u32 idle)
{
	s->imbalance = lb_end(&s->lb, idle, domain_at(level)->imbalance_pct);
	return s->lb.busiest;
}

static __always_inline u64 stats_queue(const struct domain_stats *s, u32 cpu)
{
	struct rq *rq = rq_of(cpu);

	return lb_queue_counts(weight_of(rq), nr_of(rq), s->imbalance) ? weight_of(rq) : 0;
}

/* One turn over the other queue. Only tasks of this turn count as looked at: however many others wait before them. */
static __always_inline void walk_and_move(struct busy_walk *w, u32 this, u32 from, u32 level,
					  u32 idle, u32 turn)
{
	const struct sched_domain *sd = domain_at(level);
	struct rq *here = rq_of(this), *there = rq_of(from);
	u32 failed = state_of(this, level)->failed;
	u64 now = scx_bpf_now();
	struct task_struct *p;
	struct task_ctx *t;

	w->looked_at = 0;
	for_each_queued(it, p, from)
	{
		t = ctx_of(p);
		if (!t || !pulled_in_turn(t, there, turn))
			continue;
		if (w->looked_at++ >= PULL_TURNS * LB_NR_MIGRATE)
			break;
		if (!bpf_cpumask_test_cpu(this, p->cpus_ptr)) {
			w->some_pinned = true;
			continue;
		}
		w->movable = true;
		if (!lb_fits(balance_era(), t->weight, w->left) ||
		    lb_stays(cache_hot(p, t, there, here, now), failed, sd->nice_tries))
			continue;
		if (!move_queued(it, p, t, this))
			continue;
		if (idle != CPU_NEWLY_IDLE)
			notify(this, p, t);
		w->moved++;
		w->left -= min_u64(t->weight, w->left);
		if (!w->left)
			break;
	}
}

/* Move tasks until the walk's imbalance is gone; returns tasks moved, -1 when none may run here. */
__noinline s32 move_tasks(u32 this, u32 from, u32 level, u32 idle)
{
	struct busy_walk *w = walk_of(idle);

	w->left = w->stats.imbalance;
	w->moved = 0;
	w->movable = w->some_pinned = false;
	/* The verifier takes the timer's walks for a sleepable program's, and wants to see that they are not. */
	bpf_rcu_read_lock();
	walk_and_move(w, this, from, level, idle, 0);
	if (PULL_TURNS > 1 && w->left)
		walk_and_move(w, this, from, level, idle, 1);
	bpf_rcu_read_unlock();
	return w->some_pinned && !w->movable ? -1 : w->moved;
}

/* What load_balance tells its caller besides a number of tasks pulled. */
enum { LB_STOP = -2, LB_NOT_IDLE = -1 };

__noinline s32 load_balance(u32 this, u32 level, u32 idle)
{
	const struct sched_domain *sd = domain_at(level);
	struct sd_state *state = state_of(this, level);
	u32 first = first_of(this, level), len = len_of(this, level);
	bool pinned = false, active = false, sibling_runs = false;
	u64 pass = __sync_fetch_and_add(&balance_passes, 1) + 1;
	s32 i, redo, busiest = BALANCED, moved = 0;

	/* Until 2.6.38 an idle thread with a busy sibling balanced further up as a busy CPU. */
	if (balance_era() != LB_3_6 && (sd->flags & SD_SHARE_POWER)) {
		sibling_runs = idle == CPU_NOT_IDLE;
		for_range(i, 0, len) if (rq_of(order[cpu_index(first + i)])->nr > 0)
			sibling_runs = true;
	}
	for_range(redo, 0, BALANCE_REDO)
	{
		busiest = find_busiest(this, level, idle, pass);
		if (busiest == NOT_MINE)
			return LB_STOP;
		if (busiest < 0)
			break;
		moved = 0;
		if (rq_of(busiest)->nr > 1)
			moved = move_tasks(this, busiest, level, idle);
		/* In 2.6.22 a CPU going idle tries the next queue as well if all tasks here are cache-hot. */
		if (moved > 0 || (!moved && (idle != CPU_NEWLY_IDLE || balance_era() != LB_2_6_22)))
			break;
		rq_of(busiest)->excluded_by = pass;
		pinned |= moved < 0;
		moved = 0;
		busiest = BALANCED;
	}
	if (busiest < 0) {
		state->failed = 0;
		if (idle != CPU_NEWLY_IDLE && (state->interval_ms < sd->max_ms ||
					       (pinned && state->interval_ms < LB_MAX_PINNED_MS)))
			state->interval_ms *= 2;
		return sibling_runs ? LB_NOT_IDLE : 0;
	}
	if (moved) {
		state->failed = 0;
	} else if (idle != CPU_NEWLY_IDLE && ++state->failed > sd->nice_tries + 2u) {
		active = !rq_of(busiest)->push_pid;
		active_balance(this, busiest);
		state->failed = sd->nice_tries + 1;
	}
	if (idle != CPU_NEWLY_IDLE) {
		if (!active)
			state->interval_ms = sd->min_ms;
		else if (state->interval_ms < sd->max_ms)
			state->interval_ms *= 2;
	}
	return moved ? moved : sibling_runs ? LB_NOT_IDLE : 0;
}

/* rules 2.2.9, 2.2.11.6 and 4.10.6: nothing is left to run here; returns tasks pulled. */
__noinline s32 newidle_balance(u32 this)
{
	bool old = balance_era() == LB_2_6_22;
	struct rq *rq = rq_of(this);
	u64 ticks = now_ticks(), next = ticks + (old ? 60 : 1) * tick_hz, due;
	s32 level, pulled = 0;
	bool pulls;

	if (newidle == 1 || !takes_tasks(rq) || !worth_pulling(rq))
		return 0;
	for_range(level, SD_SMT, SD_LEVELS)
	{
		pulls = newidle == 2 || (domain_at(level)->flags & SD_NEWIDLE);
		if (!level_exists(this, level) || (old && !pulls))
			continue;
		if (pulls)
			pulled = load_balance(this, level, CPU_NEWLY_IDLE);
		due = state_of(this, level)->last_ticks +
		      lb_ticks(state_of(this, level)->interval_ms, tick_hz);
		if (before64(due, next))
			next = due;
		if (pulled)
			break;
	}
	/*
	 * The date may have been set while busy. 2.6.22 replaces it unless a task
	 * came; later kernels keep it unless a task came or it has passed.
	 */
	if (old ? pulled <= 0 : pulled || before64(rq->next_balance, ticks))
		rq->next_balance = next;
	return pulled;
}

/* rule 2.2.11.1: balance each domain of this CPU that is due. */
__noinline s32 rebalance_domains(u32 this, u32 idle)
{
	struct rq *rq = rq_of(this);
	u64 ticks = now_ticks(), next = ticks + 60 * tick_hz, interval;
	struct sd_state *state;
	s32 level, got;

	for_range(level, SD_SMT, SD_LEVELS)
	{
		if (!level_exists(this, level))
			continue;
		state = state_of(this, level);
		interval = lb_interval(balance_era(), domain_at(level), state->interval_ms, idle,
				       nr_online, tick_hz);
		got = 0;
		if (!before64(ticks, state->last_ticks + interval)) {
			got = load_balance(this, level, idle);
			if (got > 0)
				__sync_fetch_and_add(&stat_balance_pulls[cpu_index(this) * 8], got);
			if (got > 0 || got == LB_NOT_IDLE)
				idle = CPU_NOT_IDLE;
			state->last_ticks = ticks;
		}
		if (before64(state->last_ticks + interval, next))
			next = state->last_ticks + interval;
		if (got == LB_STOP)
			break;
	}
	rq->next_balance = next;
	return 0;
}
