/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The timer that stands for the tick's softirq in o1, sd and cfs, and what it
 * looks after besides balance: tasks that starve, and tasks that wait on a CPU
 * which goes offline. Before this header a policy defines what pull.bpf.h asks
 * for and the tunable starvation_limit_ms; anywhere the functions that are
 * declared here first.
 */
#pragma once

#include "periodic.bpf.h"
#include "pull.bpf.h"

STAT(rehomed, "queued tasks taken from a CPU that goes offline");

/* Called once a tick: load averages, then every CPU whose balance is due. */
__noinline s32 balance_tick(void);
/* Put a task that has waited for too long before all others of its queue; returns its key there. */
static __always_inline u64 boost(struct task_struct *p, struct task_ctx *t, u32 cpu);
/* Tasks of this queue were boosted. */
static __always_inline void notify_boost(u32 cpu);

/* A CPU that could not run what it pulled gets nothing for so long, or, if it ran nothing beside it, for longer. */
#define REFUSE_NS (100 * NSEC_PER_MSEC)
#define REFUSE_IDLE_NS (3 * NSEC_PER_SEC)

u64 next_starvation_scan; /* ticks */

/*
 * This is none of the published rules. By those a task may wait for minutes,
 * but sched_ext ejects a scheduler that leaves a task waiting for 30 s (rule
 * 0.6).
 */
static __always_inline void walk_and_boost(u32 cpu)
{
	u64 now = scx_bpf_now(), limit = starvation_limit_ms * NSEC_PER_MSEC;
	struct task_struct *p;
	struct task_ctx *t;
	bool boosted = false;

	for_each_queued(it, p, cpu)
	{
		t = ctx_of(p);
		if (!t || !before64(t->waits_since_ns + limit, now))
			continue;
		t->waits_since_ns = now;
		scx_bpf_dsq_move_set_vtime(it, boost(p, t, cpu));
		scx_bpf_dsq_move_vtime(it, p, cpu, 0);
		boosted = true;
		STAT_INC(boosts);
	}
	if (boosted)
		notify_boost(cpu);
}

__noinline s32 boost_starved(u32 cpu)
{
	bpf_rcu_read_lock();
	walk_and_boost(cpu);
	bpf_rcu_read_unlock();
	return 0;
}

/*
 * A CPU that is about to go offline still looks like any other for a while,
 * but takes no task that is counted elsewhere: what was pulled to it goes back to
 * the CPU whose run queue the kernel counts it on. What is counted here goes to this
 * CPU's local DSQ, from where the kernel moves it on: once the policy is told
 * that the CPU is gone, or when it has waited for a second beside a CPU that
 * runs nothing. The kernel tells only after an RCU grace period, for which a
 * task may have to run that waits here.
 */
static __always_inline void walk_and_send_back(u32 cpu, bool gone)
{
	struct task_struct *p;
	struct task_ctx *t;
	bool runs_nothing = !rq_of(cpu)->curr_pid, moved = false;
	u64 now = scx_bpf_now();
	u32 home;

	for_each_queued(it, p, cpu)
	{
		home = scx_bpf_task_cpu(p);
		t = ctx_of(p);
		if (t && home != cpu) {
			if (!move_queued(it, p, t, home))
				continue;
			notify(home, p, t);
		} else if (!gone && !(t && before64(t->waits_since_ns + NSEC_PER_SEC, now))) {
			continue;
		} else if (!scx_bpf_dsq_move(it, p, SCX_DSQ_LOCAL_ON | cpu, 0)) {
			continue;
		}
		moved = true;
		STAT_INC(rehomed);
	}
	if (moved || gone)
		rq_of(cpu)->refuses_until_ns =
			now + (runs_nothing && !gone ? REFUSE_IDLE_NS : REFUSE_NS);
	rq_of(cpu)->strays = false;
	if (gone)
		scx_bpf_kick_cpu(cpu, 0);
}

__noinline s32 send_back(u32 cpu, bool gone)
{
	bpf_rcu_read_lock();
	walk_and_send_back(cpu, gone);
	bpf_rcu_read_unlock();
	return 0;
}

static __always_inline bool waits_idle(const struct rq *rq)
{
	return rq->nr > 0 && !rq->curr_pid;
}

static u64 on_timer(void)
{
	s32 cpu;

	/* Before the balance: what it pulls to an idle CPU waits there until that CPU wakes. */
	if (now_ticks() >= next_starvation_scan) {
		next_starvation_scan = now_ticks() + tick_hz;
		for_range(cpu, 0, nr_cpus) if (rq_of(cpu)->nr > 0) boost_starved(cpu);
		for_range(cpu, 0, nr_cpus) if (rq_of(cpu)->strays || waits_idle(rq_of(cpu)))
			send_back(cpu, false);
	}
	balance_tick();
	return tick_ns();
}

/* As on a machine that has been up for a while: each balance that finds nothing doubles the interval. */
static __always_inline u32 first_interval_ms(u32 cpu, u32 level)
{
	return domain_at(level)->max_ms;
}

/* What a policy's init does first: run queues, domains, DSQs; timer_start(tick_ns()) is what it does last. */
static __always_inline s32 init_queues(void)
{
	const struct cpumask *online = scx_bpf_get_online_cpumask();
	s32 cpu, err = 0;

	map_machine();
	for_range(cpu, 0, nr_cpus)
	{
		init_rq(cpu, online);
		err = scx_bpf_create_dsq(cpu, -1);
		if (err)
			break;
	}
	scx_bpf_put_cpumask(online);
	return err;
}
