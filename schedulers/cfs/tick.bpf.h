/* SPDX-License-Identifier: GPL-2.0-only */
/* The timer that stands for the tick's softirq: balance at intervals (rule 2.2.11), and what it looks after besides. */
#ifndef SCHEDLAB_CFS_TICK_H
#define SCHEDLAB_CFS_TICK_H

#include "pull.bpf.h"

u64 nohz_next_balance; /* 3.6 */
s32 nohz_owner = -1; /* 2.6.31, .32: the idle CPU that balances for all idle ones */

/*
 * Balance for the CPUs that are idle, whose ticks have stopped. 2.6.31, .32:
 * one idle CPU keeps ticking and does it for all when its own balance is due.
 * 3.6: a busy CPU with something to give wakes one that does it at once.
 */
static __always_inline void nohz_balance(u64 ticks, s32 first_idle, bool any_busy, bool to_give)
{
	struct cfs_rq *rq;
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
		rebalance_domains(cpu, CFS_CPU_IDLE);
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
	struct cfs_rq *rq;

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
				cfs_load_update(rq->load, 0);
			continue;
		}
		any_busy = true;
		to_give |= rq->nr > 1 || first_of(cpu, SD_MC) == busy_llc;
		busy_llc = first_of(cpu, SD_MC);
		cfs_load_update(rq->load, weight_of(rq));
		if (!periodic && !before64(ticks, rq->next_balance))
			rebalance_domains(cpu, CFS_CPU_BUSY);
	}
	if (!periodic)
		nohz_balance(ticks, first_idle, any_busy, to_give);
	return 0;
}

/*
 * Not CFS's: SCHED_IDLE beside many others may wait for minutes by right, but
 * sched_ext ejects a scheduler that leaves a task waiting for 30 s.
 */
static __always_inline void walk_and_boost(u32 cpu)
{
	u64 now = scx_bpf_now(), limit = starvation_limit_ms * NSEC_PER_MSEC;
	struct cfs_rq *rq = rq_of(cpu);
	struct task_struct *p;
	struct task_ctx *t;

	for_each_queued(it, p, cpu)
	{
		t = ctx_of(p);
		if (!t || !before64(t->waits_since_ns + limit, now))
			continue;
		/* Not wanted here: below, send_back. */
		if (scx_bpf_task_cpu(p) != (s32)cpu)
			rq->strays = true;
		t->waits_since_ns = now;
		t->vr = rq->min_vr - prm.latency_ns;
		scx_bpf_dsq_move_set_vtime(it, t->vr);
		scx_bpf_dsq_move_vtime(it, p, cpu, 0);
		STAT_INC(boosts);
	}
}

__noinline s32 boost_starved(u32 cpu)
{
	bpf_rcu_read_lock();
	walk_and_boost(cpu);
	bpf_rcu_read_unlock();
	return 0;
}

/* What was pulled to a CPU that goes offline. */
static __always_inline bool send_home(struct bpf_iter_scx_dsq *it, struct task_struct *p,
				      struct task_ctx *t, u32 home)
{
	u64 vr = vruntime_on(t, home);

	scx_bpf_dsq_move_set_vtime(it, vr);
	if (!scx_bpf_dsq_move_vtime(it, p, home, 0))
		return false;
	change_queue(t, home, vr);
	notify(home, p, t);
	return true;
}

#include "../domains/timer.bpf.h"

#endif
