/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The schedulers with an active and an expired array, o1 and sd, bound to
 * sched_ext: their tasks are on the DSQ of their CPU, ordered by arrays.h, and
 * CPUs are balanced as in 2.6.22.
 *
 * Before this header a policy defines
 *	policy_queue	a type with a member `epoch`, its part of a run queue
 *	policy_task	a type with a member `at`, a struct array_place
 * and anywhere the functions that are declared here first.
 */
#pragma once

#include "arrays.h"
#include "rq.h"

TUNABLE(u64, cache_hot_us, 2500, 0, 1000000, "us",
	"a task that ran less long ago is not pulled until balancing has failed; kernels measured "
	"it");
CHOICE(newidle, 0, "rules,off", "whether a CPU that goes idle pulls");
TUNABLE(u64, starvation_limit_ms, 8000, 100, 20000, "ms",
	"a task that waited longer goes first once, whatever its priority; the kernel ejects a "
	"scheduler after 30 s");

STAT(wakeup_preemptions, "tasks preempted by a woken or pulled one");
STAT(array_swaps, "times that the active array was empty");

struct rq {
	RQ_MEMBERS
	policy_queue q;
	u64 arrivals;
	u32 curr_weight;
	struct array_place curr;
	u32 real_time_weight; /* of the real-time task that took the CPU from this policy's; 0: none did */
};

struct task_ctx {
	TASK_MEMBERS
	policy_task a;
	u32 weight;
	bool sync; /* woken by a task that is about to sleep */
	bool boosted; /* goes first once, having waited for too long */
	bool reniced, worsened;
	bool given_back; /* exiting, and its parent has had what was left */
};

/* The task leaves the arrays of one queue for the same ones of another. */
static __always_inline void moved_to(policy_task *a, const policy_queue *from, policy_queue *to);

#define PULL_TURNS 2 /* expired tasks first, as their caches are coldest; then active ones */

#include "timer.bpf.h"

static __always_inline u32 balance_era(void)
{
	return LB_2_6_22;
}

/* The next number at the tail of any list. */
static __always_inline u64 next_arrival(struct rq *rq)
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

static __always_inline void change_queue(struct task_ctx *t, u32 cpu)
{
	bool counts = t->queued;

	if (t->cpu == cpu)
		return;
	if (counts)
		account_out(t);
	moved_to(&t->a, &rq_of(t->cpu)->q, &rq_of(cpu)->q);
	t->a.at.arrival = next_arrival(rq_of(cpu));
	t->cpu = cpu;
	if (counts)
		account_in(t, cpu);
}

/* A task has come to this CPU's queue (rules 4.6 and 5.4): strictly better lists preempt. An idle CPU is the kernel's business. */
static __always_inline void check_preempt(u32 cpu, const struct task_ctx *t)
{
	struct rq *rq = rq_of(cpu);

	if (!rq->curr_pid || !array_better(&t->a.at, &rq->curr))
		return;
	STAT_INC(wakeup_preemptions);
	scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
}

static __always_inline void notify(u32 cpu, const struct task_struct *p, const struct task_ctx *t)
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

static __always_inline void push_task(struct task_struct *p, struct task_ctx *t, u32 cpu)
{
	change_queue(t, cpu);
	queue_task(p, t, cpu, 0);
	notify(cpu, p, t);
}

/* The task starts to run, or is picked again without having been put back. */
static __always_inline void set_current(struct rq *rq, struct task_struct *p, struct task_ctx *t)
{
	rq->curr_pid = p->pid;
	rq->curr_weight = t->weight;
	rq->curr = t->a.at;
	if (t->boosted)
		rq->curr.level = 0;
	scx_bpf_task_set_slice(p, 2 * SLICE_BACKSTOP_NS);
}

/* Which CPU a woken task goes to (rule 4.10). */

static __always_inline void describe_waker(struct lb_wake *wake, const struct task_ctx *wakee,
					   u32 this)
{
	wake->waker_weight = rq_of(this)->curr_weight;
	wake->sync = wake->sync && rq_of(this)->curr_pid;
}

/* rule 4.10.5: beside a busy thread, an idle one of the same core. */
static __always_inline u32 wake_idle(const struct task_struct *p, u32 cpu)
{
	const struct cpumask *idle = scx_bpf_get_idle_cpumask();
	u32 first = first_of(cpu, SD_SMT), len = len_of(cpu, SD_SMT), at, found = cpu;
	s32 i;

	if (rq_of(cpu)->nr == 1 && level_exists(cpu, SD_SMT)) {
		for_range(i, 0, len)
		{
			at = order[cpu_index(first + i)];
			if (!cpu_is_idle(at, idle) || !allowed(p, at))
				continue;
			found = at;
			break;
		}
	}
	scx_bpf_put_idle_cpumask(idle);
	return found;
}

static __noinline s32 select_wake(struct task_struct *p, u32 this, u32 prev, bool sync)
{
	struct task_ctx *t = ctx_of(p);
	u32 cpu = prev;

	if (t && this != prev && allowed(p, this) &&
	    wants_affine(t, this, prev, common_level(this, prev), sync)) {
		STAT_INC(affine_wakeups);
		cpu = this;
	}
	return wake_idle(p, cpu);
}

/* What pull.bpf.h and timer.bpf.h ask for. */

static __always_inline bool pulled_in_turn(const struct task_ctx *t, const struct rq *there,
					   u32 turn)
{
	bool expired = before64(there->q.epoch, t->a.at.epoch);

	return turn ? !expired : expired;
}

static __always_inline bool cache_hot(const struct task_struct *p, const struct task_ctx *t,
				      const struct rq *there, const struct rq *here, u64 now)
{
	return before64(now, t->last_ran_ns + cache_hot_us * NSEC_PER_USEC);
}

static __always_inline bool worth_pulling(const struct rq *rq)
{
	return true;
}

static __always_inline bool move_queued(struct bpf_iter_scx_dsq *it, struct task_struct *p,
					struct task_ctx *t, u32 cpu)
{
	u32 from = t->cpu;

	change_queue(t, cpu);
	scx_bpf_dsq_move_set_vtime(it, key_of(t));
	if (scx_bpf_dsq_move_vtime(it, p, cpu, 0))
		return true;
	/* Another CPU has it already: put the counts right. */
	change_queue(t, from);
	return false;
}

/* An expired task that has waited for too long is active again, and goes before all others until the next tick. */
static __always_inline u64 boost(struct task_struct *p, struct task_ctx *t, u32 cpu)
{
	/* It was first and did not run: it may not run here. send_back() moves it. */
	if (t->boosted && scx_bpf_task_cpu(p) != (s32)cpu)
		rq_of(cpu)->strays = true;
	t->boosted = true;
	t->a.at.epoch = rq_of(cpu)->q.epoch;
	return key_of(t);
}

static __always_inline void notify_boost(u32 cpu)
{
	if (rq_of(cpu)->online)
		scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
}

/* Idle CPUs go by their own dates, as if they ticked. */
__noinline s32 balance_tick(void)
{
	u64 ticks = now_ticks();
	bool any_busy = false;
	struct rq *rq;
	s32 cpu;

	for_range(cpu, 0, nr_cpus) if (rq_of(cpu)->nr > 0) any_busy = true;
	for_range(cpu, 0, nr_cpus)
	{
		rq = rq_of(cpu);
		if (!takes_tasks(rq))
			continue;
		lb_load_update(cpu_load[cpu_index(cpu)], weight_of(rq));
		if (periodic || before64(ticks, rq->next_balance))
			continue;
		if (rq->nr > 0)
			rebalance_domains(cpu, CPU_NOT_IDLE);
		else if (any_busy)
			rebalance_domains(cpu, CPU_IDLE);
	}
	return 0;
}

/* Callbacks, and parts of callbacks, that are the same in both. */

static __always_inline s32 arrays_select_cpu(struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	u32 this = bpf_get_smp_processor_id();
	bool sync = wake_flags & SCX_WAKE_SYNC;
	struct task_ctx *t = ctx_of(p);
	s32 cpu;

	if (t)
		t->sync = sync;
	cpu = wake_flags & SCX_WAKE_FORK ? select_fork(p, this)
					 : select_wake(p, this, prev_cpu, sync);
	return cpu >= 0 && allowed(p, cpu) ? cpu : prev_cpu;
}

/* In ops.enqueue, first: what is not queued here. A task without a context goes past the policy, or another CPU asked for it. */
static __always_inline bool arrays_bypass(struct task_struct *p, struct task_ctx *t, u32 cpu,
					  u64 enq_flags)
{
	if (!t) {
		scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, SCX_SLICE_DFL, enq_flags);
		return true;
	}
	change_queue(t, cpu);
	return push_to_other(p, t, rq_of(cpu));
}

/* Unless the wakee stays on the CPU of a waker that is about to sleep, it preempts a worse task. */
static __always_inline void arrays_arrived(u32 cpu, const struct task_ctx *t)
{
	if (!(t->sync && cpu == bpf_get_smp_processor_id()))
		check_preempt(cpu, t);
}

/* In ops.dispatch: another CPU wants prev, so it is put back, whichever task is next. */
static __always_inline bool arrays_gives_away(s32 cpu, const struct task_struct *prev)
{
	if (rq_of(cpu)->push_pid != prev->pid)
		return false;
	scx_bpf_dsq_move_to_local(cpu);
	return true;
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

/*
 * The pick: the head of the queue, or prev if it stays (pt is NULL if it does
 * not) and is before the head. False: prev goes on, and the caller makes it
 * current; or the CPU goes idle.
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

/* In ops.running, last. */
static __always_inline void arrays_started(u32 cpu, struct task_struct *p, struct task_ctx *t)
{
	set_current(rq_of(cpu), p, t);
	/* It was reniced for the worse while it ran. */
	if (t->worsened)
		scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
	t->reniced = t->worsened = false;
}

/* The running task stops. */
static __always_inline void arrays_stopped(struct rq *rq, struct task_ctx *t, u64 now)
{
	t->last_ran_ns = now;
	t->boosted = false;
	rq->curr_pid = 0;
}

static __always_inline void arrays_quiescent(struct task_struct *p)
{
	struct task_ctx *t = ctx_of(p);

	if (!t || !t->queued)
		return;
	if (rq_of(t->cpu)->push_pid == p->pid)
		rq_of(t->cpu)->push_pid = 0;
	account_out(t);
}

static __always_inline void arrays_cpu_offline(s32 cpu)
{
	cpu_goes(cpu);
	send_back(cpu, true);
}

/*
 * rule 4.10.1: a real-time task has taken the CPU from one of the policy's, and
 * counts until the policy has it back. What waits for the CPU is queued anew.
 */
static __always_inline void arrays_cpu_release(s32 cpu, const struct scx_cpu_release_args *args)
{
	struct rq *rq = rq_of(cpu);

	rq->real_time_weight = lb_real_time_weight(args->task->rt_priority, tick_hz);
	__sync_fetch_and_add(&rq->weight, (s64)rq->real_time_weight);
	__sync_fetch_and_add(&rq->nr, 1);
	scx_bpf_reenqueue_local();
}

/* The CPU is back from whatever real-time tasks it ran since. The policy may have been loaded meanwhile. */
static __always_inline void arrays_cpu_acquire(s32 cpu)
{
	struct rq *rq = rq_of(cpu);

	if (!rq->real_time_weight)
		return;
	__sync_fetch_and_add(&rq->weight, -(s64)rq->real_time_weight);
	__sync_fetch_and_add(&rq->nr, -1);
	rq->real_time_weight = 0;
}
