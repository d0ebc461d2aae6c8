/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The queue of one CPU: two DSQs, and the delayed sleepers beside them. In the
 * first wait the ineligible, by v; in the second those that were eligible, by
 * deadline. A pick first brings over the tasks that have become eligible, then takes the
 * first of the second; as V can fall, it looks again whether that one still is
 * eligible, and puts it back if not. So the pick is exact, and costs a few
 * moves however many wait. In a third DSQ are those that wait with their group and
 * do not compete (compete.bpf.h).
 */
#pragma once

#include "rq.bpf.h"

enum dsq_kind { DSQ_WAITING, DSQ_ELIGIBLE, DSQ_ASIDE, DSQ_KINDS };

static __always_inline u64 dsq_of(u32 cpu, u32 kind)
{
	return kind * MAX_CPUS + cpu;
}

static __always_inline u64 waiting_dsq(u32 cpu)
{
	return dsq_of(cpu, DSQ_WAITING);
}

static __always_inline u64 eligible_dsq(u32 cpu)
{
	return dsq_of(cpu, DSQ_ELIGIBLE);
}

static __always_inline void queue_insert(u32 cpu, struct rq *rq, struct task_struct *p,
					 const struct task_ctx *t, u64 enq_flags)
{
	if (eevdf_eligible(&rq->sums, t->e.v))
		scx_bpf_dsq_insert_vtime(p, eligible_dsq(cpu), SLICE_BACKSTOP_NS, t->e.d,
					 enq_flags);
	else
		scx_bpf_dsq_insert_vtime(p, waiting_dsq(cpu), SLICE_BACKSTOP_NS, t->e.v, enq_flags);
}

/*
 * The task keeps counting here until it runs there. So it preempts who has come
 * there since, as no pick looks at it.
 */
static __always_inline void push_task(struct task_struct *p, struct task_ctx *t, u32 cpu)
{
	scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL_ON | cpu, SLICE_BACKSTOP_NS, SCX_ENQ_PREEMPT);
}

static __always_inline void note_best(struct rq *rq, s32 pid, u64 d)
{
	if (rq->best_pid && !eevdf_before(d, rq->best_d))
		return;
	rq->best_pid = pid;
	rq->best_d = d;
}

/* Where moving is not allowed: the best of both DSQs, leaving all where they are. */
static __always_inline void look_for_best(u32 cpu, struct rq *rq)
{
	struct task_struct *p;
	struct task_ctx *t;

	rq->best_pid = 0;
	for_each_queued(it, p, eligible_dsq(cpu))
	{
		t = ctx_of(p);
		if (!t || t->cpu != cpu || !eevdf_eligible(&rq->sums, t->e.v))
			continue;
		note_best(rq, p->pid, t->e.d);
		break;
	}
	for_each_queued(it, p, waiting_dsq(cpu))
	{
		t = ctx_of(p);
		if (!t || t->cpu != cpu)
			continue;
		if (!eevdf_eligible(&rq->sums, t->e.v))
			break;
		note_best(rq, p->pid, t->e.d);
	}
}

/* From dispatch: the best of both DSQs, which is then the first eligible of the second. */
static __always_inline void sort_and_find(u32 cpu, struct rq *rq)
{
	struct task_struct *p;
	struct task_ctx *t;

	for_each_queued(it, p, waiting_dsq(cpu))
	{
		t = ctx_of(p);
		if (!t || t->cpu != cpu)
			continue;
		if (!eevdf_eligible(&rq->sums, t->e.v))
			break;
		scx_bpf_dsq_move_set_vtime(it, t->e.d);
		scx_bpf_dsq_move_vtime(it, p, eligible_dsq(cpu), 0);
	}
	rq->best_pid = 0;
	for_each_queued(it, p, eligible_dsq(cpu))
	{
		t = ctx_of(p);
		if (!t || t->cpu != cpu)
			continue;
		if (eevdf_eligible(&rq->sums, t->e.v)) {
			note_best(rq, p->pid, t->e.d);
			break;
		}
		scx_bpf_dsq_move_set_vtime(it, t->e.v);
		scx_bpf_dsq_move_vtime(it, p, waiting_dsq(cpu), 0);
	}
}

/* rule 3.8: of the delayed sleepers, the one that would be picked before the best. */
static __always_inline s32 delayed_first(struct rq *rq)
{
	struct eevdf_delayed *entry;
	s32 i;

	rq->best_delayed = -1;
	if (!rq->nr_delayed)
		return -1;
	for_range(i, 0, rq->delayed_top)
	{
		entry = delayed_at(rq, i);
		if (!entry->pid || !eevdf_eligible(&rq->sums, entry->v))
			continue;
		if (rq->best_delayed < 0
			    ? rq->best_pid && !eevdf_before(entry->d, rq->best_d)
			    : !eevdf_before(entry->d, delayed_at(rq, rq->best_delayed)->d))
			continue;
		rq->best_delayed = i;
	}
	return rq->best_delayed;
}

/* A caller that gets true has to take the sleeper out of the sums. */
static __always_inline bool claim_delayed(struct rq *rq, u32 index, s32 pid)
{
	if (!pid || __sync_val_compare_and_swap(&delayed_at(rq, index)->pid, pid, 0) != pid)
		return false;
	__sync_fetch_and_add(&rq->nr_delayed, -1);
	return true;
}

static __always_inline void drop_delayed(struct rq *rq, u32 index)
{
	struct eevdf_delayed *s = delayed_at(rq, index);

	if (!claim_delayed(rq, index, s->pid))
		return;
	eevdf_leave(&rq->sums, s->v, s->weight);
	rq->sums.v0 = eevdf_average(&rq->sums);
}

/* rule 3.8: t, just blocked, stays in the competition if it is above its share. */
static __always_inline bool delay(struct rq *rq, struct task_struct *p, struct task_ctx *t)
{
	struct eevdf_delayed *entry;
	s32 i, found = -1;

	if (!prm.delay_dequeue || (p->flags & PF_EXITING) || eevdf_eligible(&rq->sums, t->e.v))
		return false;
	/* The lowest free entry; delayed_top falls back only when all are free. */
	if (!rq->nr_delayed)
		rq->delayed_top = 0;
	for_range(i, 0, NR_DELAYED)
	{
		if (!delayed_at(rq, i)->pid) {
			found = i;
			break;
		}
	}
	if (found < 0) {
		STAT_INC(delays_refused);
		return false;
	}
	if ((u32)found >= rq->delayed_top)
		rq->delayed_top = found + 1;
	entry = delayed_at(rq, found);
	entry->v = t->e.v;
	entry->d = t->e.d;
	entry->slice_ns = t->e.slice_ns;
	entry->weight = t->e.weight;
	entry->pid = p->pid;
	__sync_fetch_and_add(&rq->nr_delayed, 1);
	t->delayed_index = found;
	t->delayed = true;
	STAT_INC(delayed);
	return true;
}

/* rule 3.8: t wakes on the CPU where it is delayed; true: it is in the sums again. */
static __always_inline bool undelay(struct rq *rq, struct task_struct *p, struct task_ctx *t,
				    u32 cpu)
{
	bool mine;

	t->delayed = false;
	mine = claim_delayed(rq_of(t->cpu), t->delayed_index, p->pid);
	/* Picked meanwhile: its lag was positive then, and DELAY_ZERO forgets that. */
	t->e.vlag = 0;
	if (!mine)
		return false;
	if (t->cpu != cpu) {
		t->e.vlag = eevdf_lag(&prm, rq_of(t->cpu)->sums.v0, &t->e);
		if (t->e.vlag > 0)
			t->e.vlag = 0;
		leave_note(rq_of(t->cpu), t->e.v, t->e.weight);
		return false;
	}
	eevdf_unplace(&prm, &rq->sums, &t->e, true);
	if (t->e.vlag > 0) {
		eevdf_leave(&rq->sums, t->e.v, t->e.weight);
		t->e.vlag = 0;
		return false;
	}
	t->queued = true;
	count_in(rq, t);
	return true;
}

/* The task goes to another class, changes weight or ends while it is delayed. */
static __always_inline void forget_delayed(struct task_struct *p, struct task_ctx *t)
{
	struct rq *rq = rq_of(t->cpu);

	if (!t->delayed)
		return;
	t->delayed = false;
	t->e.vlag = 0;
	if (!claim_delayed(rq, t->delayed_index, p->pid))
		return;
	t->e.vlag = eevdf_lag(&prm, rq->sums.v0, &t->e);
	if (t->e.vlag > 0)
		t->e.vlag = 0;
	leave_note(rq, t->e.v, t->e.weight);
}

/*
 * The shortest slice of those that wait and of the delayed sleepers. As long as
 * no task that waits asked for another, all of them have the base slice.
 */
static __always_inline u64 least_slice(u32 cpu, struct rq *rq, u64 own)
{
	struct eevdf_delayed *entry;
	struct task_struct *p;
	struct task_ctx *t;
	s32 half, i;

	rq->best_d = own;
	if (rq->nr_delayed) {
		for_range(i, 0, rq->delayed_top)
		{
			entry = delayed_at(rq, i);
			if (entry->pid && entry->slice_ns < rq->best_d)
				rq->best_d = entry->slice_ns;
		}
	}
	if (!rq->nr_custom)
		return rq->sums.nr > 1 ? min_u64(rq->best_d, prm.base_slice_ns) : own;
	for_range(half, 0, 2)
	{
		for_each_queued(it, p, half ? eligible_dsq(cpu) : waiting_dsq(cpu))
		{
			t = ctx_of(p);
			if (t && t->e.slice_ns < rq->best_d)
				rq->best_d = t->e.slice_ns;
		}
	}
	return rq->best_d;
}

static __always_inline bool take_from(u64 dsq, u32 cpu, s32 pid)
{
	struct task_struct *p;

	for_each_queued(it, p, dsq)
	{
		if (p->pid != pid)
			continue;
		if (!bpf_cpumask_test_cpu(cpu, p->cpus_ptr))
			return false;
		return scx_bpf_dsq_move(it, p, SCX_DSQ_LOCAL, 0);
	}
	return false;
}

static __always_inline bool take(u32 cpu, s32 pid)
{
	return take_from(eligible_dsq(cpu), cpu, pid) || take_from(waiting_dsq(cpu), cpu, pid);
}
