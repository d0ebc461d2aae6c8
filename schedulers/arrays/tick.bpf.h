/* SPDX-License-Identifier: GPL-2.0-only */
/* The timer that stands for the tick's softirq: balance at intervals, and what it looks after besides. */
#ifndef SCHEDLAB_ARRAYS_TICK_H
#define SCHEDLAB_ARRAYS_TICK_H

#include "pull.bpf.h"

/* Once a tick: load averages, then every CPU whose balance is due. Idle CPUs go by their own dates, as if they ticked. */
__noinline s32 balance_tick(void)
{
	u64 ticks = now_ticks();
	bool any_busy = false;
	struct cpu_rq *rq;
	s32 cpu;

	for_range(cpu, 0, nr_cpus) if (rq_of(cpu)->nr > 0) any_busy = true;
	for_range(cpu, 0, nr_cpus)
	{
		rq = rq_of(cpu);
		if (!takes_tasks(rq))
			continue;
		cfs_load_update(rq->load, weight_of(rq));
		if (periodic || before64(ticks, rq->next_balance))
			continue;
		if (rq->nr > 0)
			rebalance_domains(cpu, CFS_CPU_BUSY);
		else if (any_busy)
			rebalance_domains(cpu, CFS_CPU_IDLE);
	}
	return 0;
}

/*
 * Not the published rule: expired tasks may wait for as long as sleepers keep
 * the active array from running empty, but sched_ext ejects a scheduler that
 * leaves a task waiting for 30 s. Who has waited for too long is active again,
 * and goes before all others until the next tick.
 */
static __always_inline void walk_and_boost(u32 cpu)
{
	u64 now = scx_bpf_now(), limit = starvation_limit_ms * NSEC_PER_MSEC;
	struct cpu_rq *rq = rq_of(cpu);
	struct task_struct *p;
	struct task_ctx *t;
	bool boosted = false;

	for_each_queued(it, p, cpu)
	{
		t = ctx_of(p);
		if (!t || !before64(t->waits_since_ns + limit, now))
			continue;
		/* It was first and did not run: not wanted here. Below, send_back. */
		if (t->boosted && scx_bpf_task_cpu(p) != (s32)cpu)
			rq->strays = true;
		t->waits_since_ns = now;
		t->boosted = true;
		t->a.at.epoch = rq->q.epoch;
		scx_bpf_dsq_move_set_vtime(it, key_of(t));
		scx_bpf_dsq_move_vtime(it, p, cpu, 0);
		boosted = true;
		STAT_INC(boosts);
	}
	if (boosted && rq->online)
		scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
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
	change_queue(t, home);
	scx_bpf_dsq_move_set_vtime(it, key_of(t));
	if (!scx_bpf_dsq_move_vtime(it, p, home, 0))
		return false;
	notify(home, t);
	return true;
}

#include "../domains/timer.bpf.h"

/* Queues, domains, the timer: what a policy's init does. */
static __always_inline s32 arrays_init(void)
{
	const struct cpumask *online = scx_bpf_get_online_cpumask();
	struct cpu_rq *rq;
	s32 cpu, level, err = 0;

	map_machine();
	for_range(cpu, 0, nr_cpus)
	{
		rq = rq_of(cpu);
		rq->online = bpf_cpumask_test_cpu(cpu, online);
		nr_online += rq->online;
		rq->next_balance = now_ticks();
		for_range(level, SD_SMT, SD_LEVELS)
		{
			/* As on a machine that has been up: each quiet balance has doubled it. */
			rq->sd[level_index(level)].interval_ms = lb_domain(level)->max_ms;
			rq->sd[level_index(level)].last_ticks = rq->next_balance;
		}
		err = scx_bpf_create_dsq(cpu, -1);
		if (err)
			break;
	}
	scx_bpf_put_cpumask(online);
	return err ? err : balance_start();
}

static __always_inline void arrays_cpu_online(s32 cpu)
{
	struct cpu_rq *rq = rq_of(cpu);

	if (!rq->online)
		nr_online++;
	rq->online = true;
	rq->refuses_until_ns = 0;
	rq->next_balance = now_ticks();
}

static __always_inline void arrays_cpu_offline(s32 cpu)
{
	if (rq_of(cpu)->online)
		nr_online--;
	rq_of(cpu)->online = false;
	send_back(cpu, true);
}

/*
 * The pick: the head, or prev if it stays (pt is NULL if it does not) and none
 * came before it. False: prev goes on, and the caller makes it current; or the
 * CPU goes idle.
 */
static __always_inline bool arrays_pick(s32 cpu, struct task_ctx *pt)
{
	u64 head = 0;
	s32 got;

	if (peek(cpu, &head)) {
		if (pt && !before64(head, key_of(pt)))
			return false;
		if (scx_bpf_dsq_move_to_local(cpu))
			return true;
		send_back(cpu, false);
	}
	if (pt)
		return false;
	got = newidle_balance(cpu);
	if (got <= 0)
		return false;
	__sync_fetch_and_add(&stat_newidle_pulls[cpu_index(cpu) * 8], got);
	return scx_bpf_dsq_move_to_local(cpu);
}

#endif
