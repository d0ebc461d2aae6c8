/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The state that the rules of cfs.h and balance.h work on: a run queue per
 * CPU (its tasks are on the CPU's DSQ, ordered by vruntime, without the
 * running one) and a context per task.
 *
 * A queue's own fields change under its CPU's run-queue lock, which the
 * kernel holds around every callback but the timer's; nr and weight also
 * change from other CPUs, when they pull, and are therefore atomic.
 */
#ifndef SCHEDLAB_CFS_RQ_H
#define SCHEDLAB_CFS_RQ_H

#include "balance.h"
#include "../domains/machine.bpf.h"

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
       "up "
       "to -rc6");
CHOICE(newidle, 0, "rules,off,on", "whether a CPU that goes idle pulls, on every level");
TUNABLE(u64, starvation_limit_ms, 10000, 100, 20000, "ms",
	"a task that waited longer goes first once, whatever its weight; the kernel ejects a "
	"scheduler after 30 s");
CHOICE(periodic, 0, "rules,off", "whether CPUs balance at intervals");

STAT(wakeup_preemptions, "tasks preempted by a woken one");
STAT(tick_preemptions, "tasks whose slice ended at a tick");
STAT(buddy_picks, "picks of another task than the leftmost");
STAT(affine_wakeups, "tasks woken on their waker's CPU");
STAT(idle_wakeups, "tasks woken on an idle CPU found by search");
STAT(fork_moves, "new tasks placed on another CPU than their parent's");
STAT(newidle_pulls, "tasks pulled by a CPU about to go idle");
STAT(balance_pulls, "tasks pulled by periodic balance");
STAT(active_balances, "running tasks pushed to another CPU");
STAT(boosts, "tasks moved to the front after waiting longer than the starvation limit");
STAT(rehomed, "queued tasks taken from a CPU that goes offline");

struct sd_state {
	u64 last_ticks; /* when this domain was balanced last */
	u32 interval_ms;
	u32 failed;  /* balances in a row that moved nothing */
};

struct cfs_rq {
	u64 min_vr;
	u64 left_vr;  /* least vruntime on the DSQ when last looked at */
	s64 weight;  /* of all runnable tasks, the running one included */
	s32 nr;
	bool has_left;
	bool online;
	bool strays;  /* tasks wait here that the kernel counts elsewhere */
	u64 refuses_until_ns; /* it could not run what it was given: going offline */

	s32 curr_pid;  /* 0: no task of ours runs */
	u32 curr_weight, curr_policy;
	u64 curr_vr, curr_ran; /* as of curr_since_ns */
	u64 curr_since_ns;
	struct cfs_buddies buddies;

	u64 idle_since_ns, avg_idle_ns; /* 0: not idle */
	u64 load[CFS_LOADS];
	u64 next_balance; /* ticks */
	struct sd_state sd[SD_LEVEL_ROWS];

	s32 push_pid;  /* active balance: this task, running here, goes to push_cpu */
	u32 push_cpu;
	u64 excluded_by; /* the balance that found all tasks here pinned */
	u64 lb_imbalance; /* result of find_busiest */

	/*
	 * State of the walk that picks. In memory, here and for other walks:
	 * the verifier would follow a local count through every turn.
	 */
	struct cfs_pick pick;
	u32 walked;
	bool prev_fed;
};

struct task_ctx {
	u64 vr;
	u64 sum_exec_ns, picked_exec_ns; /* CPU time ever, and when picked last */
	u64 last_ran_ns, waits_since_ns;
	u64 avg_overlap, avg_wakeup; /* 2.6.31 and .32 (2.2.3) */
	u64 waker_base; /* sum_exec_ns at the last wakeup issued; 0: none since waking */
	u64 woken_exec_ns;
	u32 cpu;	 /* whose queue it counts on */
	u32 weight;
	bool queued;   /* counts there: runnable or running */
	bool is_new;   /* forked, never queued yet */
	bool reniced, worsened;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct task_ctx);
} task_ctxs SEC(".maps");

/* Not static: the compiler would take variables apart that BTF describes whole. */
struct cfs_rq rqs[MAX_CPUS];
struct cfs_params prm;
u64 nr_online;

static __always_inline struct cfs_rq *rq_of(u32 cpu)
{
	return &rqs[cpu_index(cpu)];
}

static __always_inline struct task_ctx *ctx_of(struct task_struct *p)
{
	return bpf_task_storage_get(&task_ctxs, p, 0, 0);
}

static __always_inline u64 now_ticks(void)
{
	return scx_bpf_now() / (NSEC_PER_SEC / (tick_hz ? tick_hz : 250));
}

/* The running task's vruntime and run time at this moment. */
static __always_inline void curr_entity(const struct cfs_rq *rq, u64 now, struct cfs_entity *curr)
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
static __always_inline u64 queue_clock(const struct cfs_rq *rq, u64 now)
{
	struct cfs_entity curr = {};
	bool runs = rq->curr_pid != 0;

	if (runs)
		curr_entity(rq, now, &curr);
	return cfs_min_vruntime(rq->min_vr, runs, curr.vr, rq->has_left, rq->left_vr);
}

/* A task of that vruntime counts in the queue's clock, until the DSQ is looked at again. */
static __always_inline void count_as_left(struct cfs_rq *rq, u64 vr)
{
	if (!rq->has_left || before64(vr, rq->left_vr))
		rq->left_vr = vr;
	rq->has_left = true;
}

/* Look at the head of the CPU's DSQ. */
static __always_inline void refresh_left(u32 cpu)
{
	struct cfs_rq *rq = rq_of(cpu);
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
static __always_inline void charge(struct cfs_rq *rq, struct task_ctx *t, u64 now)
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

static __always_inline void account_in(struct task_ctx *t, u32 cpu)
{
	struct cfs_rq *rq = rq_of(cpu);

	t->cpu = cpu;
	t->queued = true;
	__sync_fetch_and_add(&rq->weight, (s64)t->weight);
	__sync_fetch_and_add(&rq->nr, 1);
}

static __always_inline void account_out(struct task_ctx *t)
{
	struct cfs_rq *rq = rq_of(t->cpu);

	t->queued = false;
	__sync_fetch_and_add(&rq->weight, -(s64)t->weight);
	__sync_fetch_and_add(&rq->nr, -1);
}

/* Spec 2.3: a task's vruntime on another queue, at the same distance to its clock. */
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

#endif
