/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The run queues of o1, sd, cfs and eevdf: one for each CPU, whose waiting
 * tasks are on DSQs of that CPU; the running task is on none.
 *
 * Before this header a policy defines
 *	struct rq	beginning with RQ_MEMBERS
 *	struct task_ctx	beginning with TASK_MEMBERS
 * and anywhere the functions that are declared here first.
 *
 * A queue's own fields change under its CPU's run-queue lock, which the kernel
 * holds around every callback but the timer's; nr and weight also change from
 * other CPUs, when they pull, and are therefore atomic.
 */
#pragma once

#include "machine.bpf.h"
#include "rq.h"
#include "task.bpf.h"
#include "tick.bpf.h"

STAT(affine_wakeups, "tasks woken on their waker's CPU");
STAT(newidle_pulls, "tasks pulled by a CPU about to go idle");
STAT(balance_pulls, "tasks pulled by periodic balance");
STAT(active_balances, "running tasks pushed to another CPU");
STAT(boosts, "tasks that went first after waiting longer than the starvation limit");

/* Queue p, which another CPU has asked for, for that CPU. */
static __always_inline void push_task(struct task_struct *p, struct task_ctx *t, u32 cpu);
/* The interval of a domain before its first balance. */
static __always_inline u32 first_interval_ms(u32 cpu, u32 level);

#define SLICE_BACKSTOP_NS NSEC_PER_SEC /* slices end by the policy's rules, before the kernel's */

/* Not static: the compiler would take variables apart that BTF describes whole. */
struct rq rqs[MAX_CPUS];
u64 nr_online;

static __always_inline struct rq *rq_of(u32 cpu)
{
	return &rqs[cpu_index(cpu)];
}

/* In ops.init_task: the context of the task that forks a new one; NULL if none does. */
static __always_inline struct task_ctx *parent_ctx(const struct scx_init_task_args *args,
						   struct task_struct *parent)
{
	return args->fork && parent ? ctx_of(parent) : NULL;
}

static __always_inline struct sd_state *state_of(u32 cpu, u32 level)
{
	return &rq_of(cpu)->sd[level_index(level)];
}

/* From 1 on: 0 is free to mean never. */
static __always_inline u64 now_ticks(void)
{
	return 1 + scx_bpf_now() / tick_ns();
}

static __always_inline u64 weight_of(const struct rq *rq)
{
	return rq->weight > 0 ? rq->weight : 0;
}

static __always_inline u32 nr_of(const struct rq *rq)
{
	return rq->nr > 0 ? rq->nr : 0;
}

static __always_inline bool takes_tasks(const struct rq *rq)
{
	return rq->online &&
	       (!rq->refuses_until_ns || before64(rq->refuses_until_ns, scx_bpf_now()));
}

static __always_inline bool allowed(const struct task_struct *p, u32 cpu)
{
	return bpf_cpumask_test_cpu(cpu, p->cpus_ptr) && takes_tasks(rq_of(cpu));
}

/* No task of any class: a CPU that runs a real-time task is not idle. */
static __always_inline bool cpu_is_idle(u32 cpu, const struct cpumask *idle)
{
	return rq_of(cpu)->online && rq_of(cpu)->nr <= 0 && bpf_cpumask_test_cpu(cpu, idle);
}

/* The lowest level on which both CPUs are in one span; SD_LEVELS: there is none. */
static __always_inline u32 common_level(u32 cpu, u32 other)
{
	u32 level;

	for (level = SD_SMT; level < SD_LEVELS; level++)
		if (level_exists(cpu, level) && in_span(cpu, level, other))
			break;
	return level;
}

/* In ops.dispatch: prev's context if prev goes on unless another task is picked. NULL: it blocked, or is of another class. */
static __always_inline struct task_ctx *running_ctx(const struct rq *rq, struct task_struct *prev)
{
	struct task_ctx *t;

	if (!prev || rq->curr_pid != prev->pid)
		return NULL;
	t = ctx_of(prev);
	return t && t->queued ? t : NULL;
}

/* Active balance (rule 2.2.11.5): ask for the running task of the busiest queue, which has nothing else to give. */
static __always_inline bool active_balance(u32 this, u32 from)
{
	struct rq *there = rq_of(from);

	if (there->push_pid || !there->curr_pid)
		return false;
	there->push_cpu = this;
	there->push_pid = there->curr_pid;
	scx_bpf_kick_cpu(from, SCX_KICK_PREEMPT);
	return true;
}

/* In ops.enqueue: was p asked for by another CPU? Then it is queued there. */
static __always_inline bool push_to_other(struct task_struct *p, struct task_ctx *t, struct rq *rq)
{
	u32 to = rq->push_cpu;

	if (rq->push_pid != p->pid)
		return false;
	rq->push_pid = 0;
	if (!allowed(p, to) || t->cpu == to)
		return false;
	push_task(p, t, to);
	STAT_INC(active_balances);
	return true;
}

/* In ops.init, of each CPU. */
static __always_inline void init_rq(u32 cpu, const struct cpumask *online)
{
	struct rq *rq = rq_of(cpu);
	s32 level;

	rq->online = bpf_cpumask_test_cpu(cpu, online);
	nr_online += rq->online;
	rq->next_balance = now_ticks();
	for_range(level, SD_SMT, SD_LEVELS)
	{
		state_of(cpu, level)->interval_ms = first_interval_ms(cpu, level);
		state_of(cpu, level)->last_ticks = rq->next_balance;
	}
}

/*
 * In ops.enqueue, last. The CPU would go idle on the only task that it has; or it
 * is idle, and the task, which neither wakes nor is new, comes back to it from
 * the queue of another CPU because its affinity or nice value is changed: the
 * kernel does not look at what waits here.
 */
static __always_inline void kick_for_last(u32 cpu, bool arrives, u64 enq_flags)
{
	if (enq_flags & SCX_ENQ_LAST)
		scx_bpf_kick_cpu(cpu, 0);
	else if (!arrives && !rq_of(cpu)->curr_pid && cpu != bpf_get_smp_processor_id())
		scx_bpf_kick_cpu(cpu, SCX_KICK_IDLE);
}

static __always_inline void cpu_comes(u32 cpu)
{
	struct rq *rq = rq_of(cpu);

	if (!rq->online)
		nr_online++;
	rq->online = true;
	rq->refuses_until_ns = 0;
	rq->next_balance = now_ticks();
}

static __always_inline void cpu_goes(u32 cpu)
{
	if (rq_of(cpu)->online)
		nr_online--;
	rq_of(cpu)->online = false;
}
