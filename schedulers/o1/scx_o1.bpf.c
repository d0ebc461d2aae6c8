/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * scx_o1: binds o1.h to sched_ext. One DSQ per CPU, ordered as ../lib/arrays.h
 * says; ../lib balances CPUs. The kernel's slice is only a
 * backstop: slices are counted and end at ticks.
 */
#include <scx.h>

CHOICE(fork_order, 0, "rules,parent",
       "which runs first after a fork: rules is the child, unless it shares its parent's memory");
CHOICE(wait_credit, 0, "rules,off", "whether the wait of a woken task for a CPU counts as sleep");
CHOICE(starvation, 0, "rules,off",
       "whether interactive tasks expire when others have been expired for long");

STAT(expired, "slices used up by tasks that went to the expired array");
STAT(reinserted, "slices used up by interactive tasks that stayed active");
STAT(round_robins, "interactive tasks put behind their equals within a slice");

#include "o1.h"

typedef struct o1_task policy_task;
typedef struct o1_queue policy_queue;

#include "../lib/arrays.bpf.h"

struct o1_config cfg;

/* Active stays active, expired stays expired. */
static __always_inline void moved_to(policy_task *t, const policy_queue *from, policy_queue *to)
{
	t->at.epoch = to->epoch + before64(from->epoch, t->at.epoch);
}

/* SCHED_IDLE came later: here it is a batch task. */
static __always_inline void read_policy(const struct task_struct *p, struct task_ctx *t)
{
	t->a.batch = p->policy == SCHED_BATCH || p->policy == SCHED_IDLE;
	t->a.user = p->mm != NULL;
	/* rule 4.2 */
	if (t->a.batch)
		t->a.sleep_avg_ns = 0;
}

/* rule 4.4. */
static __always_inline void tick_task(struct task_struct *p, struct task_ctx *t, struct rq *rq)
{
	u32 nr = rq->nr > 0 ? rq->nr : 0;
	bool again = t->boosted;

	if (starvation)
		rq->q.expired_ticks = 0;
	t->boosted = false;
	switch (o1_tick(&cfg, &t->a, &rq->q, nr, now_ticks(), next_arrival(rq))) {
	case O1_KEEP:
		if (!again)
			return;
		break;
	case O1_EXPIRED:
		STAT_INC(expired);
		break;
	case O1_REINSERTED:
		STAT_INC(reinserted);
		break;
	case O1_ROUND_ROBIN:
		STAT_INC(round_robins);
		break;
	}
	rq->curr = t->a.at;
	scx_bpf_task_set_slice(p, 0);
}

s32 BPF_STRUCT_OPS(o1_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	return arrays_select_cpu(p, prev_cpu, wake_flags);
}

/* rule 4.6. The waker is not told; a wakeup on an idle CPU is taken for an interrupt's. */
void BPF_STRUCT_OPS(o1_runnable, struct task_struct *p, u64 enq_flags)
{
	struct task_struct *waker = bpf_get_current_task_btf();
	u32 cpu = scx_bpf_task_cpu(p);
	struct rq *rq = rq_of(cpu);
	struct task_ctx *t = ctx_of(p);

	if (!t)
		return;
	read_policy(p, t);
	change_queue(t, cpu);
	if (enq_flags & SCX_ENQ_WAKEUP) {
		o1_wake(&cfg, &t->a, &rq->q, scx_bpf_now(), waker && !waker->pid, next_arrival(rq));
		if (wait_credit)
			t->a.sleep_type = O1_NORMAL;
	}
	account_in(t, cpu);
}

/* rule 4.8. True: its parent runs here and has to make room. */
static __always_inline bool join(struct task_struct *p, struct task_ctx *t, struct rq *rq)
{
	struct task_struct *parent = bpf_get_current_task_btf();
	struct task_ctx *pt = NULL;
	bool first, here;

	if (parent)
		pt = ctx_of(parent);
	if (!pt)
		pt = t;
	here = parent && parent->pid == rq->curr_pid && pt != t;
	first = here && !fork_order && parent->mm != p->mm;
	o1_join(&t->a, &pt->a, first, &rq->q, next_arrival(rq));
	if (pt != t)
		pt->a.sleep_avg_ns = o1_forked_sleep_avg(pt->a.sleep_avg_ns, 100);
	/* Beside its parent it waits for its turn; on another CPU it preempts as anybody does. */
	t->sync = here;
	return first;
}

void BPF_STRUCT_OPS(o1_enqueue, struct task_struct *p, u64 enq_flags)
{
	u32 cpu = scx_bpf_task_cpu(p);
	struct rq *rq = rq_of(cpu);
	struct task_ctx *t = ctx_of(p);
	bool arrives, first = false;

	if (arrays_bypass(p, t, cpu, enq_flags))
		return;
	arrives = t->is_new || (enq_flags & SCX_ENQ_WAKEUP);
	if (t->is_new)
		first = join(p, t, rq);
	/* Left over from an epoch that has gone by while it was elsewhere. */
	if (before64(t->a.at.epoch, rq->q.epoch))
		t->a.at.epoch = rq->q.epoch;
	queue_task(p, t, cpu, enq_flags);
	if (first)
		scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
	else if (arrives || t->reniced)
		arrays_arrived(cpu, t);
	t->is_new = t->reniced = t->sync = false;
	kick_for_last(cpu, arrives, enq_flags);
}

/* rule 4.7: a task of this epoch runs. */
static __always_inline void enter_epoch(struct rq *rq, const struct task_ctx *t)
{
	if (o1_swap(&rq->q, t->a.at.epoch))
		STAT_INC(array_swaps);
}

void BPF_STRUCT_OPS(o1_dispatch, s32 cpu, struct task_struct *prev)
{
	struct rq *rq = rq_of(cpu);
	struct task_ctx *pt = running_ctx(rq, prev);

	if (pt) {
		o1_switch_out(&pt->a, scx_bpf_now());
		if (arrays_gives_away(cpu, prev))
			return;
	}
	if (arrays_pick(cpu, pt))
		return;
	if (pt) {
		enter_epoch(rq, pt);
		set_current(rq, prev, pt);
	} else {
		rq->q.expired_ticks = 0;
	}
}

void BPF_STRUCT_OPS(o1_running, struct task_struct *p)
{
	u32 cpu = scx_bpf_task_cpu(p);
	struct rq *rq = rq_of(cpu);
	struct task_ctx *t = ctx_of(p);

	if (!t)
		return;
	change_queue(t, cpu);
	enter_epoch(rq, t);
	o1_switch_in(&cfg, &t->a, scx_bpf_now(), next_arrival(rq));
	/* rule 4.9, too: one that was reniced for the worse is rescheduled. */
	arrays_started(cpu, p, t);
}

void BPF_STRUCT_OPS(o1_tick_cpu, struct task_struct *p)
{
	struct rq *rq = rq_of(scx_bpf_task_cpu(p));
	struct task_ctx *t = ctx_of(p);

	cfg.cpus = nr_online;
	if (t && rq->curr_pid == p->pid)
		tick_task(p, t, rq);
}

/* rule 4.8, of a task on its way out. */
static __always_inline void give_back(struct task_struct *p, struct task_ctx *t)
{
	struct task_ctx *pt;

	bpf_rcu_read_lock();
	pt = p->real_parent ? ctx_of(p->real_parent) : NULL;
	if (pt)
		o1_exit(&cfg, &pt->a, &t->a, pt->cpu == t->cpu);
	bpf_rcu_read_unlock();
	t->given_back = true;
}

void BPF_STRUCT_OPS(o1_stopping, struct task_struct *p, bool runnable)
{
	struct rq *rq = rq_of(scx_bpf_task_cpu(p));
	u64 now = scx_bpf_now();
	struct task_ctx *t = ctx_of(p);

	if (!t || rq->curr_pid != p->pid)
		return;
	o1_switch_out(&t->a, now);
	arrays_stopped(rq, t, now);
	if (!runnable && (p->flags & PF_EXITING) && !t->given_back)
		give_back(p, t);
}

void BPF_STRUCT_OPS(o1_quiescent, struct task_struct *p, u64 deq_flags)
{
	arrays_quiescent(p);
}

/* rule 4.9: to the expired array, with its slice. */
bool BPF_STRUCT_OPS(o1_yield, struct task_struct *from, struct task_struct *to)
{
	struct rq *rq = rq_of(scx_bpf_task_cpu(from));
	struct task_ctx *t = ctx_of(from);

	if (t) {
		o1_to_tail(&t->a, &rq->q, 1, next_arrival(rq));
		rq->curr = t->a.at;
	}
	scx_bpf_task_set_slice(from, 0);
	return false;
}

/* rules 4.9 and 4.10.1: the task is off its queue while its nice value or policy changes. */
void BPF_STRUCT_OPS(o1_set_weight, struct task_struct *p, u32 weight)
{
	struct task_ctx *t = ctx_of(p);
	s32 change;

	if (!t)
		return;
	read_policy(p, t);
	change = o1_renice(&t->a, p->static_prio, next_arrival(rq_of(t->cpu)));
	t->reniced = change < 0;
	t->worsened = change > 0;
	set_weight(t, o1_weight(&cfg, p->static_prio));
}

s32 BPF_STRUCT_OPS(o1_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	struct task_struct *parent = bpf_get_current_task_btf();
	struct task_ctx *t, *pt;
	u64 now = scx_bpf_now();

	t = new_ctx(p);
	if (!t)
		return -ENOMEM;
	t->a.static_prio = p->static_prio;
	t->a.timestamp_ns = now;
	t->a.slice = o1_timeslice(&cfg, p->static_prio);
	t->weight = o1_weight(&cfg, p->static_prio);
	t->is_new = args->fork;
	read_policy(p, t);
	o1_set_prio(&t->a, o1_prio(p->static_prio, 0));
	pt = parent_ctx(args, parent);
	if (!pt)
		return 0;
	t->cpu = pt->cpu;
	if (o1_fork(&pt->a, &t->a, now) && rq_of(pt->cpu)->curr_pid == parent->pid)
		tick_task(parent, pt, rq_of(pt->cpu));
	return 0;
}

/* From another class, or when the policy is loaded: at the tail of the active array. */
void BPF_STRUCT_OPS(o1_enable, struct task_struct *p)
{
	struct task_ctx *t = ctx_of(p);
	struct rq *rq;

	if (!t || t->is_new)
		return;
	t->cpu = cpu_index(scx_bpf_task_cpu(p));
	rq = rq_of(t->cpu);
	t->a.static_prio = p->static_prio;
	o1_set_prio(&t->a, o1_prio(p->static_prio, t->a.sleep_avg_ns));
	o1_to_tail(&t->a, &rq->q, 0, next_arrival(rq));
	t->a.timestamp_ns = scx_bpf_now();
	t->weight = o1_weight(&cfg, p->static_prio);
}

void BPF_STRUCT_OPS(o1_cpu_online, s32 cpu)
{
	cpu_comes(cpu);
}

void BPF_STRUCT_OPS(o1_cpu_offline, s32 cpu)
{
	arrays_cpu_offline(cpu);
}

void BPF_STRUCT_OPS(o1_cpu_release, s32 cpu, struct scx_cpu_release_args *args)
{
	arrays_cpu_release(cpu, args);
}

void BPF_STRUCT_OPS(o1_cpu_acquire, s32 cpu, struct scx_cpu_acquire_args *args)
{
	arrays_cpu_acquire(cpu);
}

s32 BPF_STRUCT_OPS_SLEEPABLE(o1_init)
{
	s32 cpu, err = init_queues();

	if (err)
		return err;
	cfg.hz = tick_hz ? tick_hz : 250;
	cfg.cpus = nr_online;
	for_range(cpu, 0, nr_cpus) rq_of(cpu)->q.best_expired_prio = O1_MAX_PRIO;
	return timer_start(tick_ns());
}

SCX_OPS_DEFINE(o1_ops, .select_cpu = (void *)o1_select_cpu, .enqueue = (void *)o1_enqueue,
	       .dispatch = (void *)o1_dispatch, .tick = (void *)o1_tick_cpu,
	       .runnable = (void *)o1_runnable, .running = (void *)o1_running,
	       .stopping = (void *)o1_stopping, .quiescent = (void *)o1_quiescent,
	       .yield = (void *)o1_yield, .set_weight = (void *)o1_set_weight,
	       .init_task = (void *)o1_init_task, .enable = (void *)o1_enable,
	       .cpu_online = (void *)o1_cpu_online, .cpu_offline = (void *)o1_cpu_offline,
	       .cpu_release = (void *)o1_cpu_release, .cpu_acquire = (void *)o1_cpu_acquire,
	       .init = (void *)o1_init, .flags = SCX_OPS_ENQ_LAST | SCX_OPS_ENQ_EXITING,
	       .name = "o1");
