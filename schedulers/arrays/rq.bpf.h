/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A run queue per CPU and a context per task, for schedulers of two arrays.
 * Runnable tasks are on the DSQ of their CPU, ordered by key.h; the running one
 * is on none. A scheduler says beforehand what algo_queue and algo_task are
 * (with members `epoch` and `at`) and defines algo_moved().
 *
 * A queue's own fields change under its CPU's run-queue lock, which the kernel
 * holds around every callback but the timer's; nr, weight and arrivals also
 * change from other CPUs, when they pull, and are therefore atomic.
 */
#ifndef SCHEDLAB_ARRAYS_RQ_H
#define SCHEDLAB_ARRAYS_RQ_H

#include "key.h"
#include "domains.h"
#include "../domains/machine.bpf.h"

#define SLICE_BACKSTOP_NS NSEC_PER_SEC /* slices end at ticks, by the algorithm's rules */

TUNABLE(u64, cache_hot_us, 2500, 0, 1000000, "us",
	"a task that ran less long ago is not pulled until balancing has failed; kernels measured "
	"it");
CHOICE(newidle, 0, "rules,off", "whether a CPU that goes idle pulls");
CHOICE(periodic, 0, "rules,off", "whether CPUs balance at intervals");
TUNABLE(u64, starvation_limit_ms, 8000, 100, 20000, "ms",
	"a task that waited longer goes first once, whatever its priority; the kernel ejects a "
	"scheduler after 30 s");

STAT(wakeup_preemptions, "tasks preempted by a woken or pulled one");
STAT(array_swaps, "times that the active array was empty");
STAT(affine_wakeups, "tasks woken on their waker's CPU");
STAT(newidle_pulls, "tasks pulled by a CPU about to go idle");
STAT(balance_pulls, "tasks pulled by periodic balance");
STAT(active_balances, "running tasks pushed to another CPU");
STAT(boosts, "tasks that went first after waiting longer than the starvation limit");
STAT(rehomed, "queued tasks taken from a CPU that goes offline");

struct sd_state {
	u64 last_ticks; /* when this domain was balanced last */
	u32 interval_ms;
	u32 failed;  /* balances in a row that moved nothing */
};

struct cpu_rq {
	algo_queue q;
	u64 arrivals;
	s64 weight; /* of all runnable tasks, the running one included */
	s32 nr;
	bool online;
	bool strays; /* tasks wait here that the kernel counts elsewhere */
	u64 refuses_until_ns; /* it could not run what it was given: going offline */

	s32 curr_pid; /* 0: no task of ours runs */
	u32 curr_weight;
	struct array_place curr;

	u64 load[CFS_LOADS];
	u64 next_balance; /* ticks */
	struct sd_state sd[SD_LEVEL_ROWS];
	s32 push_pid; /* active balance: this task, running here, goes to push_cpu */
	u32 push_cpu;
	u64 excluded_by; /* the balance that found all tasks here pinned */
	u64 lb_imbalance; /* result of find_busiest */
};

struct task_ctx {
	algo_task a;
	u64 last_ran_ns, waits_since_ns;
	u32 cpu; /* whose queue it counts on */
	u32 weight;
	bool queued; /* counts there: runnable or running */
	bool is_new; /* forked, never queued yet */
	bool sync; /* woken by a task that is about to sleep */
	bool boosted; /* goes first once, having waited for too long */
	bool reniced, worsened;
	bool given_back; /* exiting, and its parent has had what was left */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct task_ctx);
} task_ctxs SEC(".maps");

/* Not static: the compiler would take variables apart that BTF describes whole. */
struct cpu_rq rqs[MAX_CPUS];
u64 nr_online;

static __always_inline struct cpu_rq *rq_of(u32 cpu)
{
	return &rqs[cpu_index(cpu)];
}

static __always_inline struct task_ctx *ctx_of(struct task_struct *p)
{
	return bpf_task_storage_get(&task_ctxs, p, 0, 0);
}

/* From 1 on: 0 is free to mean never. */
static __always_inline u64 now_ticks(void)
{
	return 1 + scx_bpf_now() / (NSEC_PER_SEC / (tick_hz ? tick_hz : 250));
}

static __always_inline u64 weight_of(const struct cpu_rq *rq)
{
	return rq->weight > 0 ? rq->weight : 0;
}

/* The tail of whatever list. */
static __always_inline u64 next_arrival(struct cpu_rq *rq)
{
	return __sync_fetch_and_add(&rq->arrivals, 2) + 2;
}

static __always_inline u64 key_of(const struct task_ctx *t)
{
	struct array_place at = t->a.at;

	if (t->boosted)
		at = (struct array_place){ .epoch = at.epoch };
	return array_key(&at);
}

static __always_inline void account_in(struct task_ctx *t, u32 cpu)
{
	struct cpu_rq *rq = rq_of(cpu);

	t->cpu = cpu;
	t->queued = true;
	__sync_fetch_and_add(&rq->weight, (s64)t->weight);
	__sync_fetch_and_add(&rq->nr, 1);
}

static __always_inline void account_out(struct task_ctx *t)
{
	struct cpu_rq *rq = rq_of(t->cpu);

	t->queued = false;
	__sync_fetch_and_add(&rq->weight, -(s64)t->weight);
	__sync_fetch_and_add(&rq->nr, -1);
}

/* The algorithm's part: t leaves the arrays of one queue for the same ones of another. */
static __always_inline void algo_moved(algo_task *t, const algo_queue *from, algo_queue *to);

static __always_inline void change_queue(struct task_ctx *t, u32 cpu)
{
	bool counts = t->queued;

	if (t->cpu == cpu)
		return;
	if (counts)
		account_out(t);
	algo_moved(&t->a, &rq_of(t->cpu)->q, &rq_of(cpu)->q);
	t->a.at.arrival = next_arrival(rq_of(cpu));
	t->cpu = cpu;
	if (counts)
		account_in(t, cpu);
}

static __always_inline void set_weight(struct task_ctx *t, u32 weight)
{
	if (t->queued)
		__sync_fetch_and_add(&rq_of(t->cpu)->weight, (s64)weight - (s64)t->weight);
	t->weight = weight;
}

/* A task has come to this CPU's queue (rule 4.6, 5.4): strictly better lists preempt. An idle CPU is the kernel's business. */
static __always_inline void check_preempt(u32 cpu, const struct task_ctx *t)
{
	struct cpu_rq *rq = rq_of(cpu);

	if (!rq->curr_pid || !array_better(&t->a.at, &rq->curr))
		return;
	STAT_INC(wakeup_preemptions);
	scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
}

/* The same for a task that came from another queue, of which the CPU does not know. */
static __always_inline void notify(u32 cpu, const struct task_ctx *t)
{
	if (rq_of(cpu)->curr_pid)
		check_preempt(cpu, t);
	else
		scx_bpf_kick_cpu(cpu, SCX_KICK_IDLE);
}

static __always_inline void queue_task(struct task_struct *p, struct task_ctx *t, u32 cpu,
				       u64 enq_flags)
{
	t->waits_since_ns = scx_bpf_now();
	scx_bpf_dsq_insert_vtime(p, cpu, SLICE_BACKSTOP_NS, key_of(t), enq_flags);
}

/* The task starts to run, or is picked again without having been put back. */
static __always_inline void set_current(struct cpu_rq *rq, struct task_struct *p,
					struct task_ctx *t)
{
	rq->curr_pid = p->pid;
	rq->curr_weight = t->weight;
	rq->curr = t->a.at;
	if (t->boosted)
		rq->curr.level = 0;
	scx_bpf_task_set_slice(p, 2 * SLICE_BACKSTOP_NS);
}

static __always_inline bool peek(u32 cpu, u64 *key)
{
	struct task_struct *p;

	for_each_queued(it, p, cpu)
	{
		*key = p->scx.dsq_vtime;
		return true;
	}
	return false;
}

#endif
