/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Taking tasks from other CPUs (rule 2.2.9, 2.2.11): a CPU about to go idle
 * from dispatch, every CPU at its intervals from a timer that stands for the
 * tick's softirq. Queued tasks move between DSQs; a running one is asked for
 * (active balance) and moves when its CPU puts it back.
 */
#ifndef SCHEDLAB_CFS_PULL_H
#define SCHEDLAB_CFS_PULL_H

#include "select.bpf.h"

#define BALANCE_REDO 4 /* busiest queues tried when all tasks of one are pinned */

u64 balance_passes;

static __always_inline u32 load_idx(const struct sched_domain *sd, u32 idle)
{
	return idle == CFS_CPU_IDLE   ? sd->idle_idx
	       : idle == CFS_CPU_BUSY ? sd->busy_idx
				      : sd->newidle_idx;
}

/* State of a walk, in memory as in select.bpf.h. A CPU's timer and its dispatch have one each. */
struct busy_walk {
	struct cfs_lb lb;
	struct cfs_group g;
	u64 most;
	s32 balancer, first_idle, found;
	u64 left; /* weight still to move */
	s32 seen, moved;
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
		cfs_lb_feed(&w->lb, &w->g);
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
	const struct sched_domain *sd = cfs_domain(rules, level);
	u32 at, group, idx = load_idx(sd, idle);
	struct busy_walk *w = walk_of(idle);
	struct cfs_rq *rq;
	u64 imbalance;
	s32 i;

	w->balancer = w->first_idle = w->found = -1;
	w->most = 0;
	cfs_lb_init(&w->lb, rules, level,
		    level_exists(this, level - 1) &&
			    (cfs_domain(rules, level - 1)->flags & SD_PREFER_SIBLING));
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
	imbalance = cfs_lb_end(&w->lb, idle, sd->imbalance_pct);
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

/* Let the CPU notice a task that came from elsewhere: go to work, or be preempted. */
static __always_inline void notify(u32 cpu, const struct task_struct *p, const struct task_ctx *t)
{
	struct cfs_rq *rq = rq_of(cpu);
	struct cfs_entity curr = {}, e = {
		.vr = t->vr, .weight = t->weight, .policy = p->policy, .avg_wakeup = t->avg_wakeup
	};

	if (!rq->curr_pid) {
		scx_bpf_kick_cpu(cpu, SCX_KICK_IDLE);
		return;
	}
	curr_entity(rq, scx_bpf_now(), &curr);
	if (cfs_preempts(&prm, &curr, &e, rq->nr))
		scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
}

/* Move up to that much weight; returns tasks moved, -1 when none may run here. */
static __always_inline s32 walk_and_move(u32 this, u32 from, u32 level, u32 idle, u64 imbalance)
{
	const struct sched_domain *sd = cfs_domain(rules, level);
	struct cfs_rq *here = rq_of(this), *there = rq_of(from);
	u32 failed = here->sd[level_index(level)].failed;
	struct busy_walk *w = walk_of(idle);
	u64 now = scx_bpf_now(), since, vr;
	struct task_struct *p;
	struct task_ctx *t;
	bool buddy;

	w->left = imbalance;
	w->seen = w->moved = 0;
	w->movable = false;
	for_each_queued(it, p, from)
	{
		if (w->seen++ >= CFS_NR_MIGRATE)
			break;
		t = ctx_of(p);
		if (!t || !bpf_cpumask_test_cpu(this, p->cpus_ptr))
			continue;
		w->movable = true;
		if (!cfs_lb_fits(t->weight, w->left))
			continue;
		buddy = p->pid == there->buddies.next || p->pid == there->buddies.last;
		buddy = buddy && (rules != CFS_3_6 || here->nr > 0);
		since = before64(t->last_ran_ns, now) ? now - t->last_ran_ns : 0;
		if (cfs_lb_hot(&prm, since, buddy, p->policy, failed, sd->nice_tries))
			continue;
		vr = vruntime_on(t, this);
		scx_bpf_dsq_move_set_vtime(it, vr);
		if (!scx_bpf_dsq_move_vtime(it, p, this, 0))
			continue;
		cfs_clear_buddy(&there->buddies, p->pid);
		change_queue(t, this, vr);
		if (idle != CFS_CPU_NEWLY_IDLE)
			notify(this, p, t);
		w->moved++;
		if (t->weight >= w->left)
			break;
		w->left -= t->weight;
	}
	return w->seen && !w->movable ? -1 : w->moved;
}

/* The verifier takes the timer's walks for a sleepable program's, and wants to see that they are not. */
__noinline s32 move_tasks(u32 this, u32 from, u32 level, u32 idle, u64 imbalance)
{
	s32 moved;

	bpf_rcu_read_lock();
	moved = walk_and_move(this, from, level, idle, imbalance);
	bpf_rcu_read_unlock();
	return moved;
}

/* Ask for the running task of the busiest queue, which has nothing else to give. */
static __always_inline void active_balance(u32 this, u32 from)
{
	struct cfs_rq *there = rq_of(from);

	if (there->push_pid || !there->curr_pid)
		return;
	there->push_cpu = this;
	there->push_pid = there->curr_pid;
	scx_bpf_kick_cpu(from, SCX_KICK_PREEMPT);
}

/* What load_balance tells its caller besides a number of tasks pulled. */
enum { LB_STOP = -2, LB_NOT_IDLE = -1 };

__noinline s32 load_balance(u32 this, u32 level, u32 idle)
{
	const struct sched_domain *sd = cfs_domain(rules, level);
	struct cfs_rq *rq = rq_of(this);
	struct sd_state *state = &rq->sd[level_index(level)];
	u32 first = first_of(this, level), len = len_of(this, level);
	bool pinned = false, active = false, sibling_runs = false;
	u64 pass = __sync_fetch_and_add(&balance_passes, 1) + 1;
	s32 i, redo, busiest = BALANCED, moved = 0;

	/* Until 2.6.38 an idle thread with a busy sibling balanced further up as a busy CPU. */
	if (rules != CFS_3_6 && (sd->flags & SD_SHARE_POWER)) {
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
		if (moved >= 0)
			break;
		rq_of(busiest)->excluded_by = pass;
		pinned = true;
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

/* Spec 2.2.9, 2.2.11 "newidle": nothing left to run here; returns tasks pulled. */
__noinline s32 newidle_balance(u32 this)
{
	struct cfs_rq *rq = rq_of(this);
	u64 ticks = now_ticks(), next = ticks + tick_hz, due;
	s32 level, pulled = 0;

	rq->idle_since_ns = scx_bpf_now();
	if (newidle == 1 || !takes_tasks(rq) ||
	    (rules == CFS_3_6 && rq->avg_idle_ns < prm.migration_cost_ns))
		return 0;
	for_range(level, SD_SMT, SD_LEVELS)
	{
		if (!level_exists(this, level))
			continue;
		if (newidle == 2 || (cfs_domain(rules, level)->flags & SD_NEWIDLE))
			pulled = load_balance(this, level, CFS_CPU_NEWLY_IDLE);
		due = rq->sd[level_index(level)].last_ticks +
		      cfs_ticks(rq->sd[level_index(level)].interval_ms, tick_hz);
		if (before64(due, next))
			next = due;
		if (pulled)
			break;
	}
	/* A CPU that goes idle keeps the late date it set itself while busy, unless that has passed. */
	if (pulled || before64(rq->next_balance, ticks))
		rq->next_balance = next;
	if (pulled > 0)
		rq->idle_since_ns = 0;
	return pulled;
}

/* Spec 2.2.11: balance each domain of this CPU that is due. */
__noinline s32 rebalance_domains(u32 this, u32 idle)
{
	struct cfs_rq *rq = rq_of(this);
	u64 ticks = now_ticks(), next = ticks + 60 * tick_hz, interval;
	struct sd_state *state;
	s32 level, got;

	for_range(level, SD_SMT, SD_LEVELS)
	{
		if (!level_exists(this, level))
			continue;
		state = &rq->sd[level_index(level)];
		interval = cfs_balance_interval(rules, cfs_domain(rules, level), state->interval_ms,
						idle, nr_online, tick_hz);
		got = 0;
		if (!before64(ticks, state->last_ticks + interval)) {
			got = load_balance(this, level, idle);
			if (got > 0) {
				__sync_fetch_and_add(&stat_balance_pulls[cpu_index(this) * 8], got);
				idle = CFS_CPU_BUSY;
			} else if (got == LB_NOT_IDLE) {
				idle = CFS_CPU_BUSY;
			}
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
