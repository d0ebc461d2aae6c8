/* SPDX-License-Identifier: GPL-2.0-only */
/* CFS's parts of the balance between CPUs (rules 2.2.9 and 2.2.11): what ../lib asks for, and when idle CPUs balance. */
#pragma once

#include "select.bpf.h"

/* A pull takes tasks in the order of the queue. */
static __always_inline bool pulled_in_turn(const struct task_ctx *t, const struct rq *there,
					   u32 turn)
{
	return true;
}

static __always_inline bool cache_hot(const struct task_struct *p, const struct task_ctx *t,
				      const struct rq *there, const struct rq *here, u64 now)
{
	bool buddy = p->pid == there->buddies.next || p->pid == there->buddies.last;

	buddy = buddy && (rules != CFS_3_6 || here->nr > 0);
	return cfs_cache_hot(&prm, before64(t->last_ran_ns, now) ? now - t->last_ran_ns : 0, buddy,
			     p->policy);
}

static __always_inline bool move_queued(struct bpf_iter_scx_dsq *it, struct task_struct *p,
					struct task_ctx *t, u32 cpu)
{
	u64 vr = vruntime_on(t, cpu);

	scx_bpf_dsq_move_set_vtime(it, vr);
	if (!scx_bpf_dsq_move_vtime(it, p, cpu, 0))
		return false;
	cfs_clear_buddy(&rq_of(t->cpu)->buddies, p->pid);
	change_queue(t, cpu, vr);
	return true;
}

static __always_inline void notify(u32 cpu, const struct task_struct *p, const struct task_ctx *t)
{
	struct rq *rq = rq_of(cpu);
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

static __always_inline void push_task(struct task_struct *p, struct task_ctx *t, u32 cpu)
{
	cfs_clear_buddy(&rq_of(t->cpu)->buddies, p->pid);
	change_queue(t, cpu, vruntime_on(t, cpu));
	scx_bpf_dsq_insert_vtime(p, cpu, SLICE_BACKSTOP_NS, t->vr, 0);
	notify(cpu, p, t);
}

/* SCHED_IDLE beside many others is what may starve. */
static __always_inline u64 boost(struct task_struct *p, struct task_ctx *t, u32 cpu)
{
	/* It may not run here: send_back() moves it. */
	if (scx_bpf_task_cpu(p) != (s32)cpu)
		rq_of(cpu)->strays = true;
	t->vr = rq_of(cpu)->min_vr - prm.latency_ns;
	return t->vr;
}

/* A boosted task is the leftmost, and so the next pick. */
static __always_inline void notify_boost(u32 cpu)
{
}

/* rule 2.2.11.6: in 3.6 a CPU that is idle for a short time only does not pull. */
static __always_inline bool worth_pulling(const struct rq *rq)
{
	return rules != CFS_3_6 || rq->avg_idle_ns >= prm.migration_cost_ns;
}

/* A CPU is about to go idle; returns tasks pulled. */
static __always_inline s32 pull_before_idle(u32 cpu)
{
	struct rq *rq = rq_of(cpu);
	s32 pulled;

	rq->idle_since_ns = scx_bpf_now();
	pulled = newidle_balance(cpu);
	if (pulled > 0)
		rq->idle_since_ns = 0;
	return pulled;
}

u64 nohz_next_balance; /* 3.6 */
s32 nohz_owner = -1; /* 2.6.31, .32: the idle CPU that balances for all idle ones */

/*
 * rule 2.2.11.7: balance for the CPUs that are idle, whose ticks have stopped. 2.6.31, .32:
 * one idle CPU keeps ticking and does it for all when its own balance is due.
 * 3.6: a busy CPU with something to give wakes one that does it at once.
 */
static __always_inline void nohz_balance(u64 ticks, s32 first_idle, bool any_busy, bool to_give)
{
	struct rq *rq;
	u64 next = ticks + 60 * tick_hz;
	s32 cpu;

	if (first_idle < 0 || !any_busy) {
		nohz_owner = -1;
		return;
	}
	if (rules == CFS_3_6) {
		if (!to_give || before64(ticks, nohz_next_balance))
			return;
	} else {
		if (nohz_owner < 0 || rq_of(nohz_owner)->nr > 0 || !takes_tasks(rq_of(nohz_owner)))
			nohz_owner = first_idle;
		if (before64(ticks, rq_of(nohz_owner)->next_balance))
			return;
	}
	for_range(cpu, 0, nr_cpus)
	{
		rq = rq_of(cpu);
		if (!takes_tasks(rq) || rq->nr > 0)
			continue;
		rebalance_domains(cpu, CPU_IDLE);
		if (before64(rq->next_balance, next))
			next = rq->next_balance;
	}
	if (rules == CFS_3_6)
		nohz_next_balance = next;
	else
		rq_of(nohz_owner)->next_balance = next;
}

/* Once a tick: load averages, then every CPU whose balance is due. */
__noinline s32 balance_tick(void)
{
	u64 ticks = now_ticks();
	s32 cpu, first_idle = -1;
	bool any_busy = false, to_give = false;
	u32 busy_llc = ~0U;
	struct rq *rq;

	for_range(cpu, 0, nr_cpus)
	{
		rq = rq_of(cpu);
		if (!takes_tasks(rq))
			continue;
		if (rq->nr <= 0) {
			if (first_idle < 0)
				first_idle = cpu;
			/* Where the tick has stopped, so have the averages. */
			if (rules == CFS_3_6 || cpu == nohz_owner)
				lb_load_update(cpu_load[cpu_index(cpu)], 0);
			continue;
		}
		any_busy = true;
		to_give |= rq->nr > 1 || first_of(cpu, SD_MC) == busy_llc;
		busy_llc = first_of(cpu, SD_MC);
		lb_load_update(cpu_load[cpu_index(cpu)], weight_of(rq));
		if (!periodic && !before64(ticks, rq->next_balance))
			rebalance_domains(cpu, CPU_NOT_IDLE);
	}
	if (!periodic)
		nohz_balance(ticks, first_idle, any_busy, to_give);
	return 0;
}
