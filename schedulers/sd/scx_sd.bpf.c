/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * scx_sd: binds sd.h to sched_ext. One DSQ per CPU, ordered as ../lib/arrays.h
 * says; ../lib balances CPUs. The kernel's slice is only a
 * backstop: quotas are charged to the nanosecond and end at ticks.
 */
#include <scx.h>

CHOICE(rules, 1, "rsdl,sd", "the version whose rules apply");
TUNABLE(u64, rr_interval_us, 0, 0, 1000000, "us",
	"quota of nice 0 in one slot; 0: the version's own, 6 ms (rsdl), 10 ms times 1 + log2 of "
	"the CPUs (sd)");

STAT(steps, "quotas used up: one slot on, or expired");
STAT(minor_rotations, "tasks that went down because the quota of their slot was used up");

#include "sd.h"

typedef struct stair_task policy_task;
typedef struct stair_queue policy_queue;

#include "../lib/arrays.bpf.h"

struct stair_config cfg;

static __always_inline void moved_to(policy_task *t, const policy_queue *from, policy_queue *to)
{
	stair_move(&cfg, t, from, to, 0);
}

/* SCHED_IDLE came later: here it is nice 19. */
static __always_inline u32 nice_of(const struct task_struct *p)
{
	u32 nice = p->static_prio - MAX_RT_PRIO;

	return p->policy == SCHED_IDLE || nice >= STAIR_SLOTS ? STAIR_SLOTS - 1 : nice;
}

/* rule 5.2. A call of its own, which the verifier follows once and not at every place that wants it. */
__noinline s32 place_task(u32 cpu, struct task_ctx *t, bool tail)
{
	struct rq *rq = rq_of(cpu);

	if (t)
		stair_place(&cfg, &t->a, &rq->q, tail, next_arrival(rq));
	return 0;
}

/* rule 5.3, charged: 1 asks for a reschedule. */
__noinline s32 tick_task(u32 cpu, struct task_ctx *t)
{
	struct rq *rq = rq_of(cpu);

	return t && stair_tick(&cfg, &t->a, &rq->q, next_arrival(rq));
}

s32 BPF_STRUCT_OPS(sd_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	return arrays_select_cpu(p, prev_cpu, wake_flags);
}

void BPF_STRUCT_OPS(sd_runnable, struct task_struct *p, u64 enq_flags)
{
	u32 cpu = scx_bpf_task_cpu(p);
	struct task_ctx *t = ctx_of(p);

	if (!t)
		return;
	t->a.batch = p->policy == SCHED_BATCH;
	change_queue(t, cpu);
	account_in(t, cpu);
}

void BPF_STRUCT_OPS(sd_enqueue, struct task_struct *p, u64 enq_flags)
{
	u32 cpu = scx_bpf_task_cpu(p);
	struct task_ctx *t = ctx_of(p);
	bool arrives;

	if (arrays_bypass(p, t, cpu, enq_flags))
		return;
	arrives = t->is_new || (enq_flags & SCX_ENQ_WAKEUP);
	/* rules 5.2 and 5.4. */
	place_task(cpu, t, arrives);
	queue_task(p, t, cpu, enq_flags);
	if (arrives)
		arrays_arrived(cpu, t);
	t->is_new = t->sync = false;
	kick_for_last(cpu, arrives, enq_flags);
}

/* A task of this rotation runs. */
static __always_inline void enter_rotation(struct rq *rq, const struct task_ctx *t)
{
	if (stair_rotate(&rq->q, t->a.at.epoch))
		STAT_INC(array_swaps);
}

/* rule 5.3.2, of the tasks that have become first. */
static __always_inline void walk_pushed(s32 cpu, struct rq *rq)
{
	struct task_struct *p;
	struct task_ctx *t;

	for_each_queued(it, p, cpu)
	{
		t = ctx_of(p);
		if (!t || t->boosted || !stair_pushed(&cfg, &t->a, &rq->q))
			break;
		scx_bpf_dsq_move_set_vtime(it, key_of(t));
		scx_bpf_dsq_move_vtime(it, p, cpu, 0);
		STAT_INC(minor_rotations);
	}
}

void BPF_STRUCT_OPS(sd_dispatch, s32 cpu, struct task_struct *prev)
{
	struct rq *rq = rq_of(cpu);
	struct task_ctx *pt = running_ctx(rq, prev);

	if (pt) {
		stair_charge(&pt->a, &rq->q, scx_bpf_now());
		place_task(cpu, pt, false);
		if (arrays_gives_away(cpu, prev))
			return;
	}
	if (rules == STAIR_RSDL)
		walk_pushed(cpu, rq);
	if (arrays_pick(cpu, pt) || !pt)
		return;
	enter_rotation(rq, pt);
	set_current(rq, prev, pt);
}

void BPF_STRUCT_OPS(sd_running, struct task_struct *p)
{
	u32 cpu = scx_bpf_task_cpu(p);
	struct rq *rq = rq_of(cpu);
	struct task_ctx *t = ctx_of(p);

	if (!t)
		return;
	change_queue(t, cpu);
	enter_rotation(rq, t);
	stair_run(&t->a, scx_bpf_now());
	arrays_started(cpu, p, t);
}

/* rule 5.3. */
void BPF_STRUCT_OPS(sd_tick, struct task_struct *p)
{
	u32 cpu = scx_bpf_task_cpu(p);
	struct rq *rq = rq_of(cpu);
	struct task_ctx *t = ctx_of(p);

	if (!t || rq->curr_pid != p->pid)
		return;
	stair_charge(&t->a, &rq->q, scx_bpf_now());
	if (tick_task(cpu, t))
		STAT_INC(steps);
	else if (!t->boosted)
		return;
	t->boosted = false;
	rq->curr = t->a.at;
	scx_bpf_task_set_slice(p, 0);
}

void BPF_STRUCT_OPS(sd_stopping, struct task_struct *p, bool runnable)
{
	struct rq *rq = rq_of(scx_bpf_task_cpu(p));
	u64 now = scx_bpf_now();
	struct task_ctx *t = ctx_of(p);

	if (!t || rq->curr_pid != p->pid)
		return;
	stair_charge(&t->a, &rq->q, now);
	arrays_stopped(rq, t, now);
}

void BPF_STRUCT_OPS(sd_quiescent, struct task_struct *p, u64 deq_flags)
{
	arrays_quiescent(p);
}

/* rule 5.4. */
bool BPF_STRUCT_OPS(sd_yield, struct task_struct *from, struct task_struct *to)
{
	struct rq *rq = rq_of(scx_bpf_task_cpu(from));
	struct task_ctx *t = ctx_of(from);

	if (t && rq->curr_pid == from->pid) {
		stair_charge(&t->a, &rq->q, scx_bpf_now());
		stair_expire(&cfg, &t->a, &rq->q, next_arrival(rq));
		rq->curr = t->a.at;
	}
	scx_bpf_task_set_slice(from, 0);
	return false;
}

/* The task is off its queue while its nice value or policy changes. */
void BPF_STRUCT_OPS(sd_set_weight, struct task_struct *p, u32 weight)
{
	struct task_ctx *t = ctx_of(p);
	struct rq *rq;
	u32 nice;

	if (!t)
		return;
	rq = rq_of(t->cpu);
	nice = nice_of(p);
	t->worsened = nice > t->a.nice;
	t->a.batch = p->policy == SCHED_BATCH;
	stair_renice(&cfg, &t->a, &rq->q, nice, next_arrival(rq));
	set_weight(t, stair_weight(&cfg, nice));
}

s32 BPF_STRUCT_OPS(sd_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	struct task_struct *parent = bpf_get_current_task_btf();
	struct task_ctx *t, *pt;
	u64 now = scx_bpf_now();

	t = new_ctx(p);
	if (!t)
		return -ENOMEM;
	t->a.nice = nice_of(p);
	t->a.batch = p->policy == SCHED_BATCH;
	t->a.since_ns = now;
	t->weight = stair_weight(&cfg, t->a.nice);
	t->is_new = args->fork;
	pt = parent_ctx(args, parent);
	if (!pt)
		return 0;
	t->cpu = pt->cpu;
	if (rq_of(pt->cpu)->curr_pid == parent->pid)
		stair_charge(&pt->a, &rq_of(pt->cpu)->q, now);
	stair_fork(&pt->a, &t->a, now);
	return 0;
}

/* From another class, or when the policy is loaded: a rotation begins. */
void BPF_STRUCT_OPS(sd_enable, struct task_struct *p)
{
	struct task_ctx *t = ctx_of(p);
	struct rq *rq;

	if (!t || t->is_new)
		return;
	t->cpu = cpu_index(scx_bpf_task_cpu(p));
	rq = rq_of(t->cpu);
	t->a.nice = nice_of(p);
	t->weight = stair_weight(&cfg, t->a.nice);
	stair_begin(&cfg, &t->a, &rq->q, rq->q.epoch, next_arrival(rq));
}

void BPF_STRUCT_OPS(sd_cpu_online, s32 cpu)
{
	cpu_comes(cpu);
}

void BPF_STRUCT_OPS(sd_cpu_offline, s32 cpu)
{
	arrays_cpu_offline(cpu);
}

void BPF_STRUCT_OPS(sd_cpu_release, s32 cpu, struct scx_cpu_release_args *args)
{
	arrays_cpu_release(cpu, args);
}

void BPF_STRUCT_OPS(sd_cpu_acquire, s32 cpu, struct scx_cpu_acquire_args *args)
{
	arrays_cpu_acquire(cpu);
}

s32 BPF_STRUCT_OPS_SLEEPABLE(sd_init)
{
	u64 rr_us = 6000;
	s32 err = init_queues();

	if (err)
		return err;
	if (rules == STAIR_SD)
		rr_us = 10000 * (1 + ilog2_u32(nr_online));
	stair_init(&cfg, rules, (rr_interval_us ? rr_interval_us : rr_us) * NSEC_PER_USEC);
	return timer_start(tick_ns());
}

SCX_OPS_DEFINE(sd_ops, .select_cpu = (void *)sd_select_cpu, .enqueue = (void *)sd_enqueue,
	       .dispatch = (void *)sd_dispatch, .tick = (void *)sd_tick,
	       .runnable = (void *)sd_runnable, .running = (void *)sd_running,
	       .stopping = (void *)sd_stopping, .quiescent = (void *)sd_quiescent,
	       .yield = (void *)sd_yield, .set_weight = (void *)sd_set_weight,
	       .init_task = (void *)sd_init_task, .enable = (void *)sd_enable,
	       .cpu_online = (void *)sd_cpu_online, .cpu_offline = (void *)sd_cpu_offline,
	       .cpu_release = (void *)sd_cpu_release, .cpu_acquire = (void *)sd_cpu_acquire,
	       .init = (void *)sd_init, .flags = SCX_OPS_ENQ_LAST | SCX_OPS_ENQ_EXITING,
	       .name = "sd");
