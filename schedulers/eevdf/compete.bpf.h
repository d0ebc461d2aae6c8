/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Who competes for a CPU, and who waits with its group instead (rule 3.13.4).
 * Such a task is off the sums, and in a DSQ of its CPU aside from those that
 * compete. Who goes there, and who comes back, is settled when the CPU picks, under
 * the lock of its queue.
 */
#pragma once

#include "../lib/limits.bpf.h"
#include "pull.bpf.h"

STAT(put_aside, "tasks put aside because their control group has used up its cpu.max");

/* t joins those that compete for this CPU, where it counts from now on. */
static __always_inline void compete(struct rq *rq, struct task_struct *p, struct task_ctx *t,
				    u32 cpu)
{
	if (t->cgroup)
		weigh_in(rq, t, cpu);
	if (t->delayed && undelay(rq, p, t, cpu))
		return;
	eevdf_request(&prm, &t->e, p->se.custom_slice ? p->se.slice : 0);
	eevdf_place(&prm, &rq->sums, &t->e, t->is_new);
	enter(rq, t, cpu);
}

/* A task that has waited for too long goes on: sched_ext ejects a scheduler that keeps one waiting. */
static __always_inline bool is_held_back(const struct task_struct *p, const struct task_ctx *t,
					 u32 cpu, u64 now)
{
	return t->cgroup && is_throttled(t->cgroup, cpu) && may_wait(p) &&
	       before64(now, t->waits_since_ns + WAITS_AT_MOST_NS);
}

/* p, which is in nobody's queue any more, waits from now on. */
static __always_inline void put_aside(struct rq *rq, const struct task_struct *p,
				      struct task_ctx *t)
{
	STAT_INC(put_aside);
	if (rq->next_pid == p->pid)
		rq->next_pid = 0;
	if (rq->push_pid == p->pid)
		rq->push_pid = 0;
	t->queued = false;
	t->aside = true;
}

/* In ops.runnable: does p have to wait before it competes? A group that has used up nothing yet draws its first slice. */
static __always_inline bool waits_at_once(struct rq *rq, struct task_struct *p, struct task_ctx *t,
					  u32 cpu)
{
	if (!limited_groups)
		return false;
	charge_limits(cpu);
	if (!use_up(t->cgroup, cpu, 0) || !may_wait(p))
		return false;
	forget_delayed(p, t);
	put_aside(rq, p, t);
	return true;
}

static __always_inline void walk_and_put_aside(u64 dsq, u32 cpu, struct rq *rq, u64 now)
{
	struct task_struct *p;
	struct task_ctx *t;

	for_each_queued(it, p, dsq)
	{
		t = ctx_of(p);
		if (!t || t->cpu != cpu || !t->queued || !is_held_back(p, t, cpu, now))
			continue;
		scx_bpf_dsq_move_set_vtime(it, t->waits_since_ns);
		if (!scx_bpf_dsq_move_vtime(it, p, dsq_of(cpu, DSQ_ASIDE), 0))
			continue;
		track_task(t, now, true, false);
		count_out(rq, t);
		leave(rq, t, false);
		put_aside(rq, p, t);
	}
}

static __always_inline void walk_and_take_in(u32 cpu, struct rq *rq, u64 now)
{
	struct task_struct *p;
	struct task_ctx *t;

	for_each_queued(it, p, dsq_of(cpu, DSQ_ASIDE))
	{
		t = ctx_of(p);
		if (!t || !t->aside || is_held_back(p, t, cpu, now))
			continue;
		scx_bpf_dsq_move_set_vtime(it, t->e.v);
		if (!scx_bpf_dsq_move_vtime(it, p, waiting_dsq(cpu), 0))
			continue;
		track_task(t, now, false, false);
		compete(rq, p, t, cpu);
		t->aside = t->woken = t->is_new = false;
	}
}

/* In ops.dispatch, when somebody's limit ended or began here. */
static __noinline s32 settle_limits(u32 cpu)
{
	struct rq *rq = rq_of(cpu);
	u64 now = scx_bpf_now();

	rq->limits_due = false;
	track(rq, now);
	walk_and_put_aside(eligible_dsq(cpu), cpu, rq, now);
	walk_and_put_aside(waiting_dsq(cpu), cpu, rq, now);
	walk_and_take_in(cpu, rq, now);
	resort(cpu);
	return 0;
}
