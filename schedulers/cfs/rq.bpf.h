/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The state that the rules of cfs.h work on: a run queue for each CPU, whose
 * DSQ is ordered by vruntime, and a context for each task.
 */
#pragma once

#include "../lib/balance.h"
#include "../lib/rq.h"
#include "cfs.h"

TUNABLE(u64, latency_us, 0, 0, 1000000, "us",
	"period in which each task runs once; 0 = as the rules say");
TUNABLE(u64, min_granularity_us, 0, 0, 1000000, "us",
	"shortest slice when many run; 0 = as the rules say");
TUNABLE(u64, wakeup_granularity_us, 0, 0, 1000000, "us",
	"lead that a woken task needs to preempt; 0 = as the rules say");
TUNABLE(u64, migration_cost_us, 500, 0, 1000000, "us",
	"a task that ran less long ago stays on its CPU; sysctl");
CHOICE(rules, 2, "2.6.31,2.6.32,3.6", "the published version to follow");
CHOICE(sleeper_credit, 0, "rules,none,half,full",
       "how much of a latency a sleeper may claim on waking");
CHOICE(wakeup_preempt, 0, "rules,off", "whether a waking task may preempt before the tick");
CHOICE(buddies, 0, "rules,off", "whether next, last and skip change the pick");
CHOICE(child_runs_first, 0, "rules,off,on", "whether a forked task runs before its parent");
CHOICE(affine_wakeups, 0, "rules,off", "whether a waking task may move to its waker");
CHOICE(idle_search, 0, "rules,off",
       "whether a waking task looks for an idle CPU that shares a cache; off is 2.6.32 as it was "
       "up to -rc6");
CHOICE(newidle, 0, "rules,off,on", "whether a CPU that goes idle pulls, on every level");
TUNABLE(u64, starvation_limit_ms, 10000, 100, 20000, "ms",
	"a task that waited longer goes first once, whatever its weight; the kernel ejects a "
	"scheduler after 30 s");

STAT(wakeup_preemptions, "tasks preempted by a woken one");
STAT(tick_preemptions, "tasks whose slice ended at a tick");
STAT(buddy_picks, "picks of another task than the leftmost");
STAT(idle_wakeups, "tasks woken on an idle CPU found by search");
STAT(fork_moves, "new tasks placed on another CPU than their parent's");

struct rq {
	RQ_MEMBERS
	u64 min_vr;
	u64 left_vr; /* least vruntime on the DSQ when last looked at */
	bool has_left;
	u32 curr_weight, curr_policy;
	u64 curr_vr, curr_ran; /* as of curr_since_ns */
	u64 curr_since_ns;
	struct cfs_buddies buddies;
	u64 idle_since_ns, avg_idle_ns; /* 0: not idle */

	/*
	 * State of the walk that picks. It is in memory, as for other walks,
	 * because the verifier would follow a local count through every turn.
	 */
	struct cfs_pick pick;
	u32 walked;
	bool prev_fed;
};

struct task_ctx {
	TASK_MEMBERS
	u32 weight;
	u64 vr;
	u64 sum_exec_ns, picked_exec_ns; /* CPU time ever, and when picked last */
	u64 avg_overlap, avg_wakeup; /* 2.6.31 and .32 (rules 2.2.3 and 2.2.8.2) */
	u64 waker_base; /* sum_exec_ns at the last wakeup issued; 0: none since waking */
	u64 woken_exec_ns;
	bool improved, worsened; /* by a new nice level, until it is queued or runs */
};

#define PULL_TURNS 1

#include "../lib/timer.bpf.h"

/* Not static: the compiler would take variables apart that BTF describes whole. */
struct cfs_params prm;

static __always_inline u32 balance_era(void)
{
	return rules == CFS_2_6_31 ? LB_2_6_31 : rules == CFS_2_6_32 ? LB_2_6_32 : LB_3_6;
}

/* The running task's vruntime and run time at this moment. */
static __always_inline void curr_entity(const struct rq *rq, u64 now, struct cfs_entity *curr)
{
	u64 delta = before64(rq->curr_since_ns, now) ? now - rq->curr_since_ns : 0;

	curr->vr = rq->curr_vr + cfs_vdelta(delta, rq->curr_weight);
	curr->ran = rq->curr_ran + delta;
	curr->weight = rq->curr_weight;
	curr->policy = rq->curr_policy;
	curr->avg_wakeup = 0;
}

/*
 * The queue's clock at this moment. min_vr is stale by up to a tick; a task
 * that is moved thousands of times a second would collect that each time.
 */
static __always_inline u64 queue_clock(const struct rq *rq, u64 now)
{
	struct cfs_entity curr = {};
	bool runs = rq->curr_pid != 0;

	if (runs)
		curr_entity(rq, now, &curr);
	return cfs_min_vruntime(rq->min_vr, runs, curr.vr, rq->has_left, rq->left_vr);
}

/* A task of that vruntime counts in the queue's clock, until the DSQ is looked at again. */
static __always_inline void count_as_left(struct rq *rq, u64 vr)
{
	if (!rq->has_left || before64(vr, rq->left_vr))
		rq->left_vr = vr;
	rq->has_left = true;
}

/* Look at the head of the CPU's DSQ. */
static __always_inline void refresh_left(u32 cpu)
{
	struct rq *rq = rq_of(cpu);
	struct task_struct *p;

	rq->has_left = false;
	for_each_queued(it, p, cpu)
	{
		rq->left_vr = p->scx.dsq_vtime;
		rq->has_left = true;
		break;
	}
}

/* Charge the running task. */
static __always_inline void charge(struct rq *rq, struct task_ctx *t, u64 now)
{
	u64 delta;

	if (!before64(rq->curr_since_ns, now))
		return;
	delta = now - rq->curr_since_ns;
	t->vr += cfs_vdelta(delta, t->weight);
	t->sum_exec_ns += delta;
	rq->curr_vr = t->vr;
	rq->curr_ran += delta;
	rq->curr_since_ns = now;
}

/* rule 2.2.5: a task's vruntime on another queue, at the same distance to its clock. */
static __always_inline u64 vruntime_on(const struct task_ctx *t, u32 cpu)
{
	u64 now = scx_bpf_now();

	if (t->cpu == cpu)
		return t->vr;
	return cfs_move_vruntime(t->vr, queue_clock(rq_of(t->cpu), now),
				 queue_clock(rq_of(cpu), now));
}

static __always_inline void change_queue(struct task_ctx *t, u32 cpu, u64 vr)
{
	bool counts = t->queued;

	if (t->cpu == cpu)
		return;
	if (counts)
		account_out(t);
	t->vr = vr;
	t->cpu = cpu;
	if (counts)
		account_in(t, cpu);
}

/* cfs.h's table for the CPUs online now, and what the user changed of it. */
static __always_inline void set_params(u32 cpus)
{
	cfs_params_init(&prm, rules, cpus);
	if (latency_us)
		prm.latency_ns = latency_us * NSEC_PER_USEC;
	if (min_granularity_us)
		prm.min_gran_ns = min_granularity_us * NSEC_PER_USEC;
	if (latency_us || min_granularity_us)
		prm.nr_latency = (prm.latency_ns + prm.min_gran_ns - 1) /
				 (prm.min_gran_ns ? prm.min_gran_ns : 1);
	if (wakeup_granularity_us)
		prm.wakeup_gran_ns = wakeup_granularity_us * NSEC_PER_USEC;
	prm.migration_cost_ns = migration_cost_us * NSEC_PER_USEC;
	prm.sleeper_credit_ns = prm.latency_ns >> (rules != CFS_2_6_31);
	if (sleeper_credit)
		prm.sleeper_credit_ns =
			sleeper_credit == 1 ? 0 : prm.latency_ns >> (sleeper_credit == 2);
	if (child_runs_first)
		prm.child_runs_first = child_runs_first == 2;
	prm.wakeup_preempt = !wakeup_preempt;
	prm.buddies = !buddies;
	prm.affine = !affine_wakeups;
}
