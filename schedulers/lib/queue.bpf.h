/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A queue of strict order, made of DSQs that are ordered by queue_key(): one
 * that all CPUs share, and one for each CPU with the tasks that may run only
 * there. Where the policy wants a queue for each CPU, all tasks that ran last
 * on a CPU are in its own. A CPU runs the task with the least key of both.
 *
 * Before this header a policy defines
 *	struct task_ctx	its context of a task, with a member struct queue_place place
 *
 * Kernel threads are not queued: they go first on their CPU. CPU hotplug, RCU
 * and the disk work through them, and a queue that does not move until they
 * have run would never move again.
 */
#pragma once

#include "leave.bpf.h"
#include "queue.h"
#include "task.bpf.h"
#include "tick.bpf.h"

STAT(idle_wakeups, "tasks woken on an idle CPU");
STAT(kernel_first, "kernel threads that went before the queue");
STAT(kept, "picks that the running task won");

#define CPU_DSQ(cpu) (cpu)
#define SHARED_DSQ MAX_CPUS
#define KTHREAD_LEVEL (QUEUE_LEVELS - 1)
#define NO_LEVEL (-1)

struct cpu_ctx {
	u64 since_ns; /* its task is charged since then */
	s32 level; /* of its task; NO_LEVEL: it runs no task of this policy */
	bool offline;
};

/* Not static: the compiler would take the structures apart. */
struct cpu_ctx cpu_ctxs[MAX_CPUS];

static __always_inline struct cpu_ctx *cpu_of(u32 cpu)
{
	return &cpu_ctxs[cpu_index(cpu)];
}

/* A task that disabled its migration may run only where it is, whatever its mask says. */
static __always_inline bool may_run_on(const struct task_struct *p, u32 cpu)
{
	if (p->migration_disabled && scx_bpf_task_cpu(p) != (s32)cpu)
		return false;
	return bpf_cpumask_test_cpu(cpu, p->cpus_ptr);
}

/* The first of the queued tasks that may run on a CPU. */
struct queue_head {
	u64 key;
	u64 waits_since_ns;
	u32 dsq;
	bool found;
};

static __always_inline void look_at(u32 dsq, u32 cpu, struct queue_head *head)
{
	struct task_struct *p;
	struct task_ctx *t;

	for_each_queued(it, p, dsq)
	{
		if (!may_run_on(p, cpu))
			continue;
		if (head->found && !before64(p->scx.dsq_vtime, head->key))
			break;
		t = ctx_of(p);
		head->key = p->scx.dsq_vtime;
		head->waits_since_ns = t ? t->place.waits_since_ns : 0;
		head->dsq = dsq;
		head->found = true;
		break;
	}
}

static __always_inline void queue_first(u32 cpu, struct queue_head *head)
{
	look_at(CPU_DSQ(cpu), cpu, head);
	look_at(SHARED_DSQ, cpu, head);
}

/* Take a task from another CPU's queue. There is one to take only where each CPU has a queue of its own. */
static __always_inline bool steal(u32 cpu)
{
	u32 i = 0;

	for_range(i, 1, nr_cpus)
	{
		u32 other = cpu + i < nr_cpus ? cpu + i : cpu + i - nr_cpus;

		if (scx_bpf_dsq_move_to_local(CPU_DSQ(other)))
			return true;
	}
	return false;
}

/* An idle CPU for the task, marked busy; never one that is offline, which may still be marked idle. */
static __always_inline s32 claim_idle(const struct task_struct *p)
{
	s32 cpu, found = -1;
	u32 attempt = 0;

	for_range(attempt, 0, 8)
	{
		cpu = scx_bpf_pick_idle_cpu(p->cpus_ptr, 0);
		if (cpu < 0)
			break;
		if (!cpu_of(cpu)->offline) {
			found = cpu;
			break;
		}
	}
	return found;
}

/*
 * In ops.select_cpu: an idle CPU takes the task at once. The sync flag is taken
 * away, because with it the kernel would leave the task behind its waker, which
 * may run without end. Returns true if the task has been inserted.
 */
static __always_inline bool queue_select_cpu(struct task_struct *p, s32 *cpu, u64 wake_flags,
					     u64 slice)
{
	bool idle = false;

	*cpu = scx_bpf_select_cpu_dfl(p, *cpu, wake_flags & ~(u64)SCX_WAKE_SYNC, &idle);
	if (!idle)
		return false;
	STAT_INC(idle_wakeups);
	/* A real-time task may come for that CPU at the same moment. */
	scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, slice, SCX_ENQ_IMMED);
	return true;
}

/* A CPU that the task may use and that is idle, or whose task is one of this policy's but no kernel thread; -1: none. */
static __always_inline s32 cpu_to_take(const struct task_struct *p)
{
	s32 found = claim_idle(p);
	u32 cpu = 0;

	if (found >= 0)
		return found;
	for_range(cpu, 0, nr_cpus)
	{
		s32 level = cpu_of(cpu)->level;

		if (level == NO_LEVEL || level == KTHREAD_LEVEL ||
		    !bpf_cpumask_test_cpu(cpu, p->cpus_ptr))
			continue;
		found = cpu;
		break;
	}
	return found;
}

/*
 * In ops.enqueue, first: what is not queued, and who has lost its place. A kernel
 * thread that wakes preempts, and goes before the queue; if a real-time task has
 * its CPU, on another one. Once it has used a slice up it waits like any other.
 */
static __always_inline bool queue_bypass(struct task_struct *p, struct task_ctx *t, u64 enq_flags)
{
	if (p->flags & PF_KTHREAD && enq_flags & SCX_ENQ_WAKEUP) {
		STAT_INC(kernel_first);
		enq_flags |= SCX_ENQ_PREEMPT;
		if (p->nr_cpus_allowed > 1 && !p->migration_disabled)
			enq_flags |= SCX_ENQ_IMMED;
		scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, SCX_SLICE_DFL, enq_flags);
		return true;
	}
	if (!t) {
		scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, SCX_SLICE_DFL, enq_flags);
		return true;
	}
	/*
	 * rule 6.1.2: who ran, and may not stay on its CPU, was not preempted: it comes
	 * to another as any other task. With their old places tasks that change their
	 * CPUs in turns would always be before one that waits. A CPU that goes offline
	 * is still allowed, and who ran on it keeps its place.
	 */
	if (t->place.ran && !bpf_cpumask_test_cpu(t->place.ran_on, p->cpus_ptr))
		queue_leave(&t->place);
	if (p->flags & PF_KTHREAD && enq_flags & SCX_ENQ_REENQ && !t->place.ran) {
		s32 cpu = cpu_to_take(p);

		if (cpu >= 0) {
			scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL_ON | cpu, SCX_SLICE_DFL,
					   enq_flags | SCX_ENQ_PREEMPT);
			return true;
		}
	}
	return false;
}

/* In ops.enqueue, then: queue the task by its key, and kick an idle CPU. True: there was one. */
static __always_inline bool queue_insert(struct task_struct *p, struct task_ctx *t, u64 key,
					 u64 slice, bool per_cpu, u64 enq_flags)
{
	u32 cpu = scx_bpf_task_cpu(p);
	bool own = per_cpu || p->nr_cpus_allowed == 1 || p->migration_disabled;
	s32 idle;

	queue_waits(&t->place, scx_bpf_now());
	t->place.ran = false;
	scx_bpf_dsq_insert_vtime(p, own ? CPU_DSQ(cpu) : SHARED_DSQ, slice, key, enq_flags);
	idle = claim_idle(p);
	if (idle < 0)
		return false;
	scx_bpf_kick_cpu(idle, SCX_KICK_IDLE);
	return true;
}

/* The context of the task that a CPU runs; NULL if it is not of this policy or has just blocked. */
static __always_inline struct task_ctx *queue_running(u32 cpu, struct task_struct *prev)
{
	return prev && cpu_of(cpu)->level != NO_LEVEL ? ctx_of(prev) : NULL;
}

/*
 * In ops.dispatch: bring the first task to this CPU. False: the running task is
 * before all that wait, or none waits, and it goes on. prev_key counts only if
 * prev_runs.
 */
static __always_inline bool queue_dispatch(u32 cpu, bool prev_runs, u64 prev_key, bool per_cpu)
{
	u32 attempt = 0;
	bool took = false;

	for_range(attempt, 0, 4)
	{
		struct queue_head head = {};

		queue_first(cpu, &head);
		if (prev_runs && queue_goes_on(prev_key, head.found, head.key))
			break;
		if (!head.found)
			break;
		/* If this fails, another CPU was faster. */
		took = scx_bpf_dsq_move_to_local(head.dsq);
		if (took)
			break;
	}
	if (!took && !prev_runs && per_cpu)
		took = steal(cpu);
	return took;
}

/* Longer than what is left of the slice, which ends at a tick. */
static __always_inline u64 kernel_slice(const struct task_ctx *t)
{
	return t->place.left_ns + 2 * tick_ns();
}

/* In ops.running. */
static __always_inline void queue_runs_now(struct task_struct *p, struct task_ctx *t, s32 level)
{
	u32 cpu = scx_bpf_task_cpu(p);
	struct cpu_ctx *c = cpu_of(cpu);

	if (t)
		queue_runs(&t->place, cpu);
	c->since_ns = scx_bpf_now();
	c->level = p->flags & PF_KTHREAD ? KTHREAD_LEVEL : level;
}

/* Charge what the task ran since it was switched in, or since it was last charged. */
static __always_inline void charge(struct task_ctx *t, u32 cpu, u64 now)
{
	struct cpu_ctx *c = cpu_of(cpu);

	if (before64(c->since_ns, now))
		queue_charge(&t->place, now - c->since_ns);
	c->since_ns = now;
}

/*
 * In ops.tick: tasks that must not migrate at the moment are put into the local
 * DSQ by the kernel itself. No other CPU looks there, so the running task makes
 * way.
 */
static __always_inline bool local_dsq_waits(void)
{
	return scx_bpf_dsq_nr_queued(SCX_DSQ_LOCAL) > 0;
}

/* In ops.tick: has the first of the queue waited for too long? */
static __always_inline bool queue_first_starves(u32 cpu, u64 now, u64 limit_ns)
{
	struct queue_head head = {};

	queue_first(cpu, &head);
	return head.found && queue_starves(head.waits_since_ns, now, limit_ns);
}

/* In ops.stopping, of a policy with time slices. */
static __always_inline void queue_stopping(struct task_struct *p)
{
	u32 cpu = scx_bpf_task_cpu(p);
	struct task_ctx *t = ctx_of(p);

	if (t)
		charge(t, cpu, scx_bpf_now());
	cpu_of(cpu)->level = NO_LEVEL;
}

/* In ops.quiescent. */
static __always_inline void queue_quiescent(struct task_struct *p, u64 deq_flags)
{
	struct task_ctx *t = ctx_of(p);

	if (t && deq_flags & SCX_DEQ_SLEEP)
		queue_leave(&t->place);
}

/* In ops.yield: to the tail, with the rest of the slice. */
static __always_inline bool queue_yield(struct task_struct *from)
{
	struct task_ctx *t = ctx_of(from);

	if (t)
		queue_leave(&t->place);
	scx_bpf_task_set_slice(from, 0);
	return false;
}

/* In ops.update_idle: a task that was queued while this CPU looked and found nothing would wait beside it. */
static __always_inline void queue_update_idle(u32 cpu, bool idle)
{
	if (!idle || cpu_of(cpu)->offline)
		return;
	if (scx_bpf_dsq_nr_queued(SHARED_DSQ) > 0 || scx_bpf_dsq_nr_queued(CPU_DSQ(cpu)) > 0)
		scx_bpf_kick_cpu(cpu, SCX_KICK_IDLE);
}

/* In ops.cpu_offline. */
static __always_inline void queue_cpu_offline(u32 cpu)
{
	cpu_of(cpu)->offline = true;
	cpu_of(cpu)->level = NO_LEVEL;
	send_on(CPU_DSQ(cpu), cpu);
	send_on(SHARED_DSQ, cpu);
	kick_who_stay(cpu);
}

static __always_inline void queue_cpu_online(u32 cpu)
{
	cpu_of(cpu)->offline = false;
}

static __always_inline s32 queue_init(void)
{
	const struct cpumask *online = scx_bpf_get_online_cpumask();
	s32 err = 0;
	u32 cpu = 0;

	for_range(cpu, 0, nr_cpus)
	{
		cpu_of(cpu)->level = NO_LEVEL;
		cpu_of(cpu)->offline = !bpf_cpumask_test_cpu(cpu, online);
		if (!err)
			err = scx_bpf_create_dsq(CPU_DSQ(cpu), -1);
	}
	scx_bpf_put_cpumask(online);
	return err ? err : scx_bpf_create_dsq(SHARED_DSQ, -1);
}
