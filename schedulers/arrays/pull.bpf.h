/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Taking tasks from other CPUs (rule 4.10 with 2.2.11): a CPU about to go idle
 * from dispatch, every CPU at its intervals from a timer that stands for the
 * tick's softirq. Queued tasks move between DSQs; a running one is asked for
 * (active balance) and moves when its CPU puts it back.
 */
#ifndef SCHEDLAB_ARRAYS_PULL_H
#define SCHEDLAB_ARRAYS_PULL_H

#include "select.bpf.h"

#define BALANCE_REDO 4 /* busiest queues tried when all tasks of one are pinned */

u64 balance_passes;

static __always_inline u32 load_idx(const struct sched_domain *sd, u32 idle)
{
	return idle == CFS_CPU_IDLE   ? sd->idle_idx
	       : idle == CFS_CPU_BUSY ? sd->busy_idx
				      : sd->newidle_idx;
}

/* State of a walk, in memory for the verifier. A CPU's timer and its dispatch have one each. */
struct busy_walk {
	struct cfs_lb lb;
	struct cfs_group g;
	u64 most, left;
	s32 balancer, first_idle, found, seen, moved;
	bool movable;
};

struct busy_walk busy_walks[MAX_CPUS], newidle_walks[MAX_CPUS];

static __always_inline struct busy_walk *walk_of(u32 idle)
{
	u32 me = cpu_index(bpf_get_smp_processor_id());

	return idle == CFS_CPU_NEWLY_IDLE ? &newidle_walks[me] : &busy_walks[me];
}

static __always_inline void busiest_next_group(struct busy_walk *w, s32 group)
{
	if (w->g.span.cpus)
		lb_feed(&w->lb, &w->g);
	cfs_group_init(&w->g, group, false);
}

/* What find_busiest has to say besides a CPU. */
enum { NOT_MINE = -1, BALANCED = -2 };

/*
 * The queue to pull from at one level; rq->lb_imbalance says how much. Only
 * the first idle, else the first CPU of a group balances for it.
 */
__noinline s32 find_busiest(u32 this, u32 level, u32 idle, u64 pass)
{
	u32 first = first_of(this, level), len = len_of(this, level),
	    local = first_of(this, level - 1);
	const struct sched_domain *sd = lb_domain(level);
	u32 at, group, idx = load_idx(sd, idle);
	struct busy_walk *w = walk_of(idle);
	struct cpu_rq *rq;
	u64 imbalance;
	s32 i;

	w->balancer = w->first_idle = w->found = -1;
	w->most = 0;
	cfs_lb_init(&w->lb, LB_ERA, level, false);
	cfs_group_init(&w->g, local, true);
	for_range(i, 0, len)
	{
		at = span_cpu(first, len, local, i);
		group = first_of(at, level - 1);
		if ((s32)group != w->g.id) {
			if (w->g.local && idle != CFS_CPU_NEWLY_IDLE &&
			    (w->first_idle >= 0 ? w->first_idle : w->balancer) != (s32)this)
				return NOT_MINE;
			busiest_next_group(w, group);
		}
		rq = rq_of(at);
		if (!takes_tasks(rq) || rq->excluded_by == pass)
			continue;
		if (group == local && w->balancer < 0)
			w->balancer = at;
		if (group == local && w->first_idle < 0 && rq->nr <= 0)
			w->first_idle = at;
		cfs_group_feed(&w->g,
			       group == local ? cfs_target_load(weight_of(rq), rq->load, idx)
					      : cfs_source_load(weight_of(rq), rq->load, idx),
			       weight_of(rq), rq->nr > 0 ? rq->nr : 0);
		sd_span_add(&w->g.span, first_of(at, SD_SMT), first_of(at, SD_MC));
	}
	busiest_next_group(w, -1);
	imbalance = lb_end(&w->lb, sd->imbalance_pct);
	rq_of(this)->lb_imbalance = imbalance;
	if (w->lb.busiest < 0)
		return BALANCED;

	for_range(i, 0, len)
	{
		at = order[cpu_index(first + i)];
		rq = rq_of(at);
		if ((s32)first_of(at, level - 1) != w->lb.busiest || !rq->online ||
		    rq->excluded_by == pass)
			continue;
		if (cfs_lb_queue_counts(weight_of(rq), rq->nr, imbalance) &&
		    weight_of(rq) > w->most) {
			w->most = weight_of(rq);
			w->found = at;
		}
	}
	return w->found >= 0 ? w->found : BALANCED;
}

/* One turn over the other queue: its expired tasks, or its active ones. */
static __always_inline void walk_and_move(struct busy_walk *w, u32 this, u32 from, u32 level,
					  u32 idle, bool expired)
{
	const struct sched_domain *sd = lb_domain(level);
	struct cpu_rq *here = rq_of(this), *there = rq_of(from);
	bool hot_too = here->sd[level_index(level)].failed > sd->nice_tries;
	u64 now = scx_bpf_now();
	struct task_struct *p;
	struct task_ctx *t;

	for_each_queued(it, p, from)
	{
		if (w->seen++ >= 2 * CFS_NR_MIGRATE)
			break;
		t = ctx_of(p);
		if (!t || before64(there->q.epoch, t->a.at.epoch) != expired ||
		    !bpf_cpumask_test_cpu(this, p->cpus_ptr))
			continue;
		w->movable = true;
		if (t->weight > w->left)
			continue;
		if (!hot_too && before64(now, t->last_ran_ns + cache_hot_us * NSEC_PER_USEC))
			continue;
		change_queue(t, this);
		scx_bpf_dsq_move_set_vtime(it, key_of(t));
		if (!scx_bpf_dsq_move_vtime(it, p, this, 0)) {
			/* Somebody else has it already: put the counts right. */
			change_queue(t, from);
			continue;
		}
		if (idle != CFS_CPU_NEWLY_IDLE)
			notify(this, t);
		w->moved++;
		w->left -= t->weight;
		if (!w->left)
			break;
	}
}

/* Move up to that much weight; returns tasks moved, -1 when none may run here. Expired tasks first: their caches are coldest. */
__noinline s32 move_tasks(u32 this, u32 from, u32 level, u32 idle, u64 imbalance)
{
	struct busy_walk *w = walk_of(idle);

	w->left = imbalance;
	w->seen = w->moved = 0;
	w->movable = false;
	/* The verifier takes the timer's walks for a sleepable program's, and wants to see that they are not. */
	bpf_rcu_read_lock();
	walk_and_move(w, this, from, level, idle, true);
	if (w->left)
		walk_and_move(w, this, from, level, idle, false);
	bpf_rcu_read_unlock();
	return w->seen && !w->movable ? -1 : w->moved;
}

/* Ask for the running task of the busiest queue, which has nothing else to give. */
static __always_inline void active_balance(u32 this, u32 from)
{
	struct cpu_rq *there = rq_of(from);

	if (there->push_pid || !there->curr_pid)
		return;
	there->push_cpu = this;
	there->push_pid = there->curr_pid;
	scx_bpf_kick_cpu(from, SCX_KICK_PREEMPT);
}

/* The running task that another CPU asked for has been put back. */
static __always_inline bool push_to_other(struct task_struct *p, struct task_ctx *t,
					  struct cpu_rq *rq)
{
	u32 to = rq->push_cpu;

	if (rq->push_pid != p->pid)
		return false;
	rq->push_pid = 0;
	if (!allowed(p, to) || t->cpu == to)
		return false;
	change_queue(t, to);
	queue_task(p, t, to, 0);
	notify(to, t);
	STAT_INC(active_balances);
	return true;
}

/* What load_balance tells its caller besides a number of tasks pulled. */
enum { LB_STOP = -2, LB_NOT_IDLE = -1 };

__noinline s32 load_balance(u32 this, u32 level, u32 idle)
{
	const struct sched_domain *sd = lb_domain(level);
	struct cpu_rq *rq = rq_of(this);
	struct sd_state *state = &rq->sd[level_index(level)];
	u32 first = first_of(this, level), len = len_of(this, level);
	bool pinned = false, active = false, sibling_runs = false;
	u64 pass = __sync_fetch_and_add(&balance_passes, 1) + 1;
	s32 i, redo, busiest = BALANCED, moved = 0;

	/* An idle thread with a busy sibling balances further up as a busy CPU. */
	if (sd->flags & SD_SHARE_POWER) {
		sibling_runs = idle == CFS_CPU_BUSY;
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
			moved = move_tasks(this, busiest, level, idle, rq->lb_imbalance);
		/* A CPU going idle asks the next one as well if all tasks here are cache-hot. */
		if (moved > 0 || (!moved && idle != CFS_CPU_NEWLY_IDLE))
			break;
		rq_of(busiest)->excluded_by = pass;
		pinned |= moved < 0;
		moved = 0;
		busiest = BALANCED;
	}
	if (busiest < 0) {
		state->failed = 0;
		if (idle != CFS_CPU_NEWLY_IDLE &&
		    (state->interval_ms < sd->max_ms ||
		     (pinned && state->interval_ms < CFS_MAX_PINNED_MS)))
			state->interval_ms *= 2;
		return sibling_runs ? LB_NOT_IDLE : 0;
	}
	if (moved) {
		state->failed = 0;
	} else if (idle != CFS_CPU_NEWLY_IDLE && ++state->failed > sd->nice_tries + 2u) {
		active_balance(this, busiest);
		active = true;
		state->failed = sd->nice_tries + 1;
	}
	if (idle != CFS_CPU_NEWLY_IDLE) {
		if (!active)
			state->interval_ms = sd->min_ms;
		else if (state->interval_ms < sd->max_ms)
			state->interval_ms *= 2;
	}
	return moved ? moved : sibling_runs ? LB_NOT_IDLE : 0;
}

/* Nothing left to run here; returns tasks pulled. */
__noinline s32 newidle_balance(u32 this)
{
	struct cpu_rq *rq = rq_of(this);
	u64 ticks = now_ticks(), next = ticks + 60 * tick_hz, due;
	s32 level, pulled = 0;

	if (newidle == 1 || !takes_tasks(rq))
		return 0;
	for_range(level, SD_SMT, SD_LEVELS)
	{
		if (!level_exists(this, level) || !(lb_domain(level)->flags & SD_NEWIDLE))
			continue;
		pulled = load_balance(this, level, CFS_CPU_NEWLY_IDLE);
		due = rq->sd[level_index(level)].last_ticks +
		      cfs_ticks(rq->sd[level_index(level)].interval_ms, tick_hz);
		if (before64(due, next))
			next = due;
		if (pulled)
			break;
	}
	/* The date may have been set while busy. */
	if (pulled <= 0)
		rq->next_balance = next;
	return pulled;
}

/* Balance each domain of this CPU that is due. */
__noinline s32 rebalance_domains(u32 this, u32 idle)
{
	struct cpu_rq *rq = rq_of(this);
	u64 ticks = now_ticks(), next = ticks + 60 * tick_hz, interval;
	struct sd_state *state;
	s32 level, got;

	for_range(level, SD_SMT, SD_LEVELS)
	{
		if (!level_exists(this, level))
			continue;
		state = &rq->sd[level_index(level)];
		interval = cfs_balance_interval(LB_ERA, lb_domain(level), state->interval_ms, idle,
						nr_online, tick_hz);
		got = 0;
		if (!before64(ticks, state->last_ticks + interval)) {
			got = load_balance(this, level, idle);
			if (got > 0)
				__sync_fetch_and_add(&stat_balance_pulls[cpu_index(this) * 8], got);
			if (got > 0 || got == LB_NOT_IDLE)
				idle = CFS_CPU_BUSY;
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

#endif
