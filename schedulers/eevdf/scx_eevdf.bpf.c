/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * EEVDF bound to sched_ext. ops.runnable and ops.quiescent are when a task
 * joins and leaves the competition; the running task is on no DSQ, its entity
 * is kept in its CPU's queue. The kernel's slice is only a backstop: whether the
 * running task goes on is decided at ticks, at wakeups, and whenever the CPU
 * picks.
 */
#include <scx.h>
#include "compete.bpf.h"
#include "tree.bpf.h"

#define NOHZ_LOOKS 4 /* tasks of a busy CPU that an idle one is looked for */

/* rule 3.6: a task that was picked starts running. */
static __always_inline void set_current(u32 cpu, struct rq *rq, struct task_struct *p,
					struct task_ctx *t, u64 now)
{
	track(rq, now);
	track_task(t, now, true, false);
	if (t->cgroup) {
		reweigh(rq, &t->e, cpu, t->cgroup, t->nice_weight);
		rq->charged_ns = now;
		rq->charged_ran_ns = p->se.sum_exec_runtime;
	}
	rq->curr = t->e;
	rq->curr_pid = p->pid;
	rq->curr_policy = p->policy;
	rq->curr_cgroup = t->cgroup;
	rq->curr_nice_weight = t->nice_weight;
	rq->curr_since_ns = now;
	rq->idle_since_ns = 0;
	if (rq->next_pid == p->pid)
		rq->next_pid = 0;
	if (rq->starved_pid == p->pid)
		rq->starved_pid = 0;
	eevdf_protect(&prm, &rq->curr, least_slice(cpu, rq, t->e.slice_ns));
	scx_bpf_task_set_slice(p, SLICE_BACKSTOP_NS);
	start_hrtick(cpu, rq, now);
}

/* rule 3.9: p has become runnable on this CPU and counts there. */
static __always_inline void check_preempt(u32 cpu, struct rq *rq, struct task_struct *p,
					  struct task_ctx *t, bool selected)
{
	struct task_struct *waker = bpf_get_current_task_btf();
	bool by_task = waker && waker->pid && bpf_in_task();
	struct eevdf_verdict verdict = {};
	struct eevdf_wake w = {
		/* rule 3.13.3: what matters is what groups are to each other. */
		.curr_policy = rq->curr_cgroup == t->cgroup ? rq->curr_policy : EEVDF_POLICY_NORMAL,
		.p_policy = p->policy,
		.next_d = rq->next_d,
		.has_next = rq->next_pid != 0,
		.fork = t->is_new,
		/* Not told where the CPU was no question; most wakeups by a process are. */
		.sync = selected ? t->sync : by_task && waker->mm,
		.selected = selected,
	};
	s32 i;

	if (!rq->curr_pid)
		return;
	/* rule 3.8: a delayed sleeper that would be picked is taken out, which moves V, and the pick is repeated. */
	for_range(i, 0, NR_DELAYED + 1)
	{
		w.least_slice_ns = min_u64(least_slice(cpu, rq, t->e.slice_ns), t->e.slice_ns);
		w.next_eligible = w.has_next && eevdf_eligible(&rq->sums, rq->next_v);
		rq->best_pid = 0;
		/* Tasks besides these two wait. */
		if (rq->nr > 2)
			look_for_best(cpu, rq);
		w.best_sleeps = delayed_first(rq) >= 0;
		if (w.best_sleeps) {
			rq->best_d = delayed_at(rq, rq->best_delayed)->d;
			rq->best_pid = -1;
		}
		w.has_best = rq->best_pid != 0;
		w.best_d = rq->best_d;
		verdict = eevdf_wakeup(&prm, &rq->sums, &rq->curr, &t->e, &w);
		if (!verdict.sleeper)
			break;
		drop_delayed(rq, rq->best_delayed);
	}
	if (verdict.next) {
		rq->next_pid = p->pid;
		rq->next_v = t->e.v;
		rq->next_d = t->e.d;
	}
	if (verdict.preempt) {
		STAT_INC(wakeup_preemptions);
		scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
	}
}

s32 BPF_STRUCT_OPS(eevdf_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	struct task_struct *waker = bpf_get_current_task_btf();
	u32 this = bpf_get_smp_processor_id();
	struct task_ctx *t = ctx_of(p);
	s32 cpu;

	if (!t)
		return prev_cpu;
	t->sync = (wake_flags & SCX_WAKE_SYNC) && waker && !(waker->flags & PF_EXITING);
	if (wake_flags & SCX_WAKE_FORK) {
		cpu = select_fork(p, this);
		if (cpu != (s32)this)
			STAT_INC(fork_moves);
	} else if (t->delayed && delayed_at(rq_of(t->cpu), t->delayed_index)->pid == p->pid) {
		/* rule 3.8: it has never left its CPU. */
		cpu = prev_cpu;
	} else {
		cpu = select_wake(p, this, prev_cpu, t->sync);
	}
	return cpu >= 0 && allowed(p, cpu) ? cpu : prev_cpu;
}

void BPF_STRUCT_OPS(eevdf_runnable, struct task_struct *p, u64 enq_flags)
{
	u32 cpu = scx_bpf_task_cpu(p);
	struct rq *rq = rq_of(cpu);
	struct task_ctx *t = ctx_of(p);
	u64 now = scx_bpf_now(), idle;
	bool due;

	if (!t || t->queued)
		return;
	due = update_curr(rq, now);
	track(rq, now);
	track_task(t, now, false, false);
	t->woken = t->is_new || (enq_flags & SCX_ENQ_WAKEUP);
	if (t->woken && rq->idle_since_ns) {
		idle = min_u64(now - rq->idle_since_ns, 2 * prm.migration_cost_ns);
		rq->avg_idle_ns += (s64)(idle - rq->avg_idle_ns) >> 3;
		rq->idle_since_ns = 0;
	}
	if (t->cgroup && waits_at_once(rq, p, t, cpu))
		return;
	compete(rq, p, t, cpu);
	if (!rq->hrtick_active)
		start_hrtick(cpu, rq, now);
	if (due)
		scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
}

/* It waits with its group, or nothing is known of it. */
static __always_inline void enqueue_who_does_not_compete(struct task_struct *p, struct task_ctx *t,
							 u32 cpu, u64 enq_flags)
{
	if (!t || !t->aside) {
		scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, SCX_SLICE_DFL, enq_flags);
		return;
	}
	t->waits_since_ns = scx_bpf_now();
	scx_bpf_dsq_insert_vtime(p, dsq_of(cpu, DSQ_ASIDE), SLICE_BACKSTOP_NS, t->waits_since_ns,
				 enq_flags);
}

void BPF_STRUCT_OPS(eevdf_enqueue, struct task_struct *p, u64 enq_flags)
{
	u32 cpu = scx_bpf_task_cpu(p);
	struct rq *rq = rq_of(cpu);
	struct task_ctx *t = ctx_of(p);
	u64 now = scx_bpf_now();
	bool arrives;

	if (!t || !t->queued) {
		enqueue_who_does_not_compete(p, t, cpu, enq_flags);
		return;
	}
	t->waits_since_ns = now;
	update_curr(rq, now);
	if (t->cpu != cpu)
		change_queue(t, cpu);
	if (push_to_other(p, t, rq))
		return;
	arrives = t->woken || t->is_new;
	if (t->woken)
		check_preempt(cpu, rq, p, t, enq_cpu_selected(enq_flags));
	t->woken = t->is_new = t->sync = false;
	queue_insert(cpu, rq, p, t, enq_flags);
	kick_for_last(cpu, arrives, enq_flags);
}

enum { PICK_NONE, PICK_CURR, PICK_OTHER };

/* rule 3.5: what runs next is curr, if it still wants to, or on the local DSQ. */
static __noinline s32 pick(u32 cpu, bool curr_runs)
{
	struct rq *rq = rq_of(cpu);
	struct eevdf_entity *curr = curr_runs ? &rq->curr : NULL;
	s32 i, sleeper;

	if (rq->starved_pid && take(cpu, rq->starved_pid)) {
		STAT_INC(boosts);
		rq->starved_pid = 0;
		return PICK_OTHER;
	}
	rq->starved_pid = 0;
	for_range(i, 0, NR_DELAYED + 2)
	{
		if (curr_runs && rq->sums.nr == 1)
			return PICK_CURR;
		if (rq->next_pid && eevdf_eligible(&rq->sums, rq->next_v) && rq->sums.nr > 1) {
			if (take(cpu, rq->next_pid)) {
				STAT_INC(buddy_picks);
				return PICK_OTHER;
			}
			rq->next_pid = 0;
		}
		if (curr_runs && eevdf_stays(&rq->sums, &rq->curr))
			return PICK_CURR;
		sort_and_find(cpu, rq);
		sleeper = delayed_first(rq);
		if (sleeper < 0)
			break;
		if (curr_runs && eevdf_wins(&rq->sums, curr, true, delayed_at(rq, sleeper)->d))
			return PICK_CURR;
		drop_delayed(rq, sleeper);
	}
	if (curr_runs && eevdf_wins(&rq->sums, curr, rq->best_pid, rq->best_d))
		return PICK_CURR;
	if (rq->best_pid && take(cpu, rq->best_pid))
		return PICK_OTHER;
	if (scx_bpf_dsq_move_to_local(eligible_dsq(cpu)) ||
	    scx_bpf_dsq_move_to_local(waiting_dsq(cpu)))
		return PICK_OTHER;
	return curr_runs ? PICK_CURR : PICK_NONE;
}

/* The running task no longer does. */
static __always_inline void stop_current(u32 cpu, struct rq *rq, const struct task_struct *p,
					 struct task_ctx *t, u64 now)
{
	if (t->cgroup && limited_groups)
		charge_limits_finally(cpu, p->se.sum_exec_runtime);
	track(rq, now);
	track_task(t, now, true, true);
	t->e = rq->curr;
	t->last_ran_ns = now;
	rq->curr_pid = 0;
}

/* rule 3.13.4: prev, which would run on, waits with its group. The kernel puts it back into a queue. */
static __always_inline bool stops_for_limit(u32 cpu, struct rq *rq, struct task_struct *prev,
					    u64 now)
{
	struct task_ctx *t = ctx_of(prev);

	if (!t || !t->queued || !rq->curr_cgroup || !is_throttled(rq->curr_cgroup, cpu) ||
	    !may_wait(prev))
		return false;
	stop_current(cpu, rq, prev, t, now);
	count_out(rq, t);
	leave(rq, t, false);
	put_aside(rq, prev, t);
	return true;
}

/* Tasks that have waited since before then go to the local DSQ of the CPU that the kernel counts them on. */
static __noinline s32 send_away(u32 cpu, u64 before_ns)
{
	struct task_struct *p;
	struct task_ctx *t;
	s32 kind;

	for_range(kind, 0, DSQ_KINDS)
	{
		for_each_queued(it, p, dsq_of(cpu, kind))
		{
			t = ctx_of(p);
			if (!t || !before64(t->waits_since_ns, before_ns))
				continue;
			if (scx_bpf_dsq_move(it, p, SCX_DSQ_LOCAL_ON | scx_bpf_task_cpu(p), 0))
				STAT_INC(rehomed);
		}
	}
	return 0;
}

/*
 * A CPU that is going offline takes no task that the kernel counts elsewhere,
 * but the kernel says so only after an RCU grace period; and for that a task may
 * have to run that waits there. Such a CPU runs nothing, and its tasks wait. Once
 * a second another CPU looks, when it balances or goes idle.
 */
static __noinline s32 rescue(void)
{
	u64 now = scx_bpf_now();
	s32 cpu;

	if (before64(now_ticks(), next_rescue))
		return 0;
	next_rescue = now_ticks() + tick_hz;
	for_range(cpu, 0, nr_cpus)
	{
		if (rq_of(cpu)->nr > 0 && !rq_of(cpu)->curr_pid)
			send_away(cpu, now - NSEC_PER_SEC);
	}
	return 0;
}

/* rule 3.11.5, before the CPU goes idle */
static __noinline s32 pull_before_idle(u32 cpu)
{
	struct rq *rq = rq_of(cpu);
	s32 got;

	rq->idle_since_ns = scx_bpf_now();
	rescue();
	if (newidle || !rq->online || rq->avg_idle_ns < newidle_cost_us * NSEC_PER_USEC)
		return 0;
	got = rebalance(cpu, CPU_NEWLY_IDLE);
	if (got > 0)
		__sync_fetch_and_add(&stat_newidle_pulls[cpu_index(cpu) * 8], got);
	return got;
}

static __noinline s32 balance_now(u32 cpu)
{
	struct rq *rq = rq_of(cpu);
	s32 got;

	rq->balance_due = false;
	rescue();
	if (!rq->online || periodic)
		return 0;
	got = rebalance(cpu, rq->nr > 0 ? CPU_NOT_IDLE : CPU_IDLE);
	if (got > 0)
		__sync_fetch_and_add(&stat_balance_pulls[cpu_index(cpu) * 8], got);
	return got;
}

void BPF_STRUCT_OPS(eevdf_dispatch, s32 cpu, struct task_struct *prev)
{
	struct rq *rq = rq_of(cpu);
	u64 now = scx_bpf_now();
	bool curr_runs = prev && rq->curr_pid == prev->pid;
	s32 picked;

	update_curr(rq, now);
	track(rq, now);
	if (limited_groups)
		charge_limits(cpu);
	if (rq->limits_due) {
		if (curr_runs && stops_for_limit(cpu, rq, prev, now))
			curr_runs = false;
		settle_limits(cpu);
	}
	if (rq->balance_due)
		balance_now(cpu);
	/* Another CPU wants it, so it is put back, whichever task is next. */
	picked = pick(cpu, curr_runs && rq->push_pid != rq->curr_pid);
	if (picked == PICK_NONE && !curr_runs && pull_before_idle(cpu) > 0)
		picked = pick(cpu, false);
	if (picked == PICK_NONE)
		rq->hrtick_active = false;
	/* rule 3.10.4: its timer is not set again. */
	if (picked == PICK_CURR && prev)
		scx_bpf_task_set_slice(prev, SLICE_BACKSTOP_NS);
}

/*
 * The kernel goes on with a task that was put aside. If its group was changed while
 * it runs, it stops at once: no tick finds whoever is moved in and out often enough.
 * One that may not leave its CPU has to go on; ticks ask again.
 */
static __noinline s32 goes_on(struct task_struct *p, u32 cpu)
{
	struct rq *rq = rq_of(cpu);
	struct task_ctx *t = ctx_of(p);

	if (!t)
		return 0;
	t->aside = false;
	compete(rq, p, t, cpu);
	rq->limits_due = true;
	if (!p->migration_disabled)
		scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
	return 0;
}

void BPF_STRUCT_OPS(eevdf_running, struct task_struct *p)
{
	u32 cpu = scx_bpf_task_cpu(p);
	struct rq *rq = rq_of(cpu);
	struct task_ctx *t = ctx_of(p);
	u64 now = scx_bpf_now();

	if (!t || !(t->queued || t->aside))
		return;
	update_curr(rq, now);
	if (t->aside)
		goes_on(p, cpu);
	if (t->cpu != cpu)
		change_queue(t, cpu);
	set_current(cpu, rq, p, t, now);
}

/* A busy CPU kicks an idle one that may run one of its next tasks, so that it looks what it can pull. */
static __noinline s32 wake_idle_balancer(u32 this)
{
	const struct cpumask *idle;
	struct rq *rq = rq_of(this);
	struct task_struct *p;
	s32 half;
	u32 cpu;

	if (rq->nr < 2 || periodic)
		return 0;
	idle = scx_bpf_get_idle_cpumask();
	rq->walked = 0;
	for_range(half, 0, 2)
	{
		for_each_queued(it, p, half ? waiting_dsq(this) : eligible_dsq(this))
		{
			if (rq->walked++ >= NOHZ_LOOKS)
				break;
			cpu = bpf_cpumask_any_and_distribute(idle, p->cpus_ptr);
			if (cpu >= nr_cpus || !rq_of(cpu)->online)
				continue;
			rq_of(cpu)->balance_due = true;
			scx_bpf_kick_cpu(cpu, SCX_KICK_IDLE);
			rq->walked = NOHZ_LOOKS;
		}
	}
	scx_bpf_put_idle_cpumask(idle);
	return 0;
}

/*
 * This is no rule of EEVDF, by which SCHED_IDLE beside many other tasks may wait
 * for minutes; but
 * sched_ext ejects a scheduler that leaves a task waiting for 30 s.
 */
static __noinline s32 look_for_starved(u32 cpu)
{
	u64 now = scx_bpf_now(), limit = starvation_limit_ms * NSEC_PER_MSEC;
	struct rq *rq = rq_of(cpu);
	struct task_struct *p;
	struct task_ctx *t;
	s32 half;

	for_range(half, 0, 2)
	{
		for_each_queued(it, p, half ? eligible_dsq(cpu) : waiting_dsq(cpu))
		{
			t = ctx_of(p);
			if (!t || !before64(t->waits_since_ns + limit, now))
				continue;
			rq->starved_pid = p->pid;
			return 1;
		}
	}
	return 0;
}

/* rule 3.10.1 */
void BPF_STRUCT_OPS(eevdf_tick, struct task_struct *p)
{
	u32 cpu = scx_bpf_task_cpu(p);
	struct rq *rq = rq_of(cpu);
	u64 now = scx_bpf_now(), ticks = now_ticks();
	bool repick;

	if (rq->curr_pid != p->pid)
		return;
	repick = update_curr(rq, now);
	track(rq, now);
	if (rq->curr_cgroup) {
		/* rule 3.13.2 */
		weigh(rq->curr_cgroup, cpu, 0);
		reweigh_current(rq, cpu);
		/* rule 3.13.4 */
		if (limited_groups)
			charge_limits(cpu);
		repick |= rq->limits_due;
	}
	if (repick)
		STAT_INC(tick_preemptions);
	wake_idle_balancer(cpu);
	if (!before64(ticks, rq->next_look)) {
		rq->next_look = ticks + tick_hz;
		if (look_for_starved(cpu))
			repick = true;
	}
	if (!before64(ticks, rq->next_balance)) {
		rq->balance_due = true;
		repick = true;
	}
	if (repick)
		scx_bpf_task_set_slice(p, 0);
}

void BPF_STRUCT_OPS(eevdf_stopping, struct task_struct *p, bool runnable)
{
	u32 cpu = scx_bpf_task_cpu(p);
	struct rq *rq = rq_of(cpu);
	struct task_ctx *t = ctx_of(p);
	u64 now = scx_bpf_now();

	if (!t || rq->curr_pid != p->pid)
		return;
	update_curr(rq, now);
	stop_current(cpu, rq, p, t, now);
}

void BPF_STRUCT_OPS(eevdf_quiescent, struct task_struct *p, u64 deq_flags)
{
	u32 cpu = scx_bpf_task_cpu(p);
	bool sleep = deq_flags & SCX_DEQ_SLEEP;
	struct task_ctx *t = ctx_of(p);
	struct rq *rq;
	u64 now = scx_bpf_now();

	if (!t)
		return;
	if (!t->queued) {
		t->aside = false;
		return;
	}
	rq = rq_of(t->cpu);
	track_task(t, now, true, false);
	t->queued = false;
	if (rq->next_pid == p->pid)
		rq->next_pid = 0;
	if (rq->push_pid == p->pid)
		rq->push_pid = 0;
	if (t->cpu != cpu) {
		/* It waited on a CPU that had pulled it, and was not taken. */
		count_out(rq, t);
		t->e.vlag = eevdf_lag(&prm, rq->sums.v0, &t->e);
		leave_note(rq, t->e.v, t->e.weight);
		return;
	}
	update_curr(rq, now);
	track(rq, now);
	count_out(rq, t);
	if (!sleep || !delay(rq, p, t))
		leave(rq, t, sleep);
}

/* rule 3.10.2 */
bool BPF_STRUCT_OPS(eevdf_yield, struct task_struct *from, struct task_struct *to)
{
	struct rq *rq = rq_of(scx_bpf_task_cpu(from));

	if (rq->curr_pid == from->pid && rq->sums.nr > 1) {
		update_curr(rq, scx_bpf_now());
		if (rq->next_pid == from->pid)
			rq->next_pid = 0;
		eevdf_forfeit(&prm, &rq->sums, &rq->curr);
	}
	scx_bpf_task_set_slice(from, 0);
	return false;
}

/* rule 3.7: the task is off its queue while the weight changes. */
void BPF_STRUCT_OPS(eevdf_set_weight, struct task_struct *p, u32 weight)
{
	struct task_ctx *t = ctx_of(p);

	if (!t || t->queued)
		return;
	forget_delayed(p, t);
	t->nice_weight = eevdf_weight(p->static_prio, p->policy);
	/* In a group it gets its weight when it joins a queue. */
	if (!t->cgroup)
		eevdf_reweight(&t->e, t->nice_weight);
}

s32 BPF_STRUCT_OPS_SLEEPABLE(eevdf_cgroup_init, struct cgroup *cgrp,
			     struct scx_cgroup_init_args *args)
{
	return add_cgroup(cgrp, args);
}

void BPF_STRUCT_OPS_SLEEPABLE(eevdf_cgroup_exit, struct cgroup *cgrp)
{
	remove_cgroup(cgrp);
}

/* It is off its queue meanwhile. */
void BPF_STRUCT_OPS(eevdf_cgroup_move, struct task_struct *p, struct cgroup *from,
		    struct cgroup *to)
{
	struct task_ctx *t = ctx_of(p);

	if (!t || t->queued)
		return;
	forget_delayed(p, t);
	t->cgroup = place_of(to);
	if (!t->cgroup)
		eevdf_reweight(&t->e, t->nice_weight);
}

void BPF_STRUCT_OPS(eevdf_cgroup_set_bandwidth, struct cgroup *cgrp, u64 period_us, u64 quota_us,
		    u64 burst_us)
{
	set_cgroup_limit(cgrp, period_us, quota_us, burst_us);
}

void BPF_STRUCT_OPS(eevdf_cgroup_set_weight, struct cgroup *cgrp, u32 weight)
{
	set_cgroup_weight(cgrp, weight);
}

s32 BPF_STRUCT_OPS(eevdf_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	struct task_ctx *t = new_ctx(p);
	u64 now = scx_bpf_now();

	if (!t)
		return -ENOMEM;
	t->nice_weight = t->e.weight = eevdf_weight(p->static_prio, p->policy);
	if (bpf_core_field_exists(args->cgroup))
		t->cgroup = place_of(args->cgroup);
	t->e.slice_ns = prm.base_slice_ns;
	/* As heavy as it could be, until it shows what it is. */
	t->avg.at_ns = t->flips_at = now;
	t->avg.load = (u64)t->e.weight << EEVDF_AVG_SHIFT;
	t->is_new = args->fork;
	t->cpu = t->recent_cpu = cpu_index(scx_bpf_task_cpu(p));
	return 0;
}

/* To another class or to its end: it no longer competes. */
void BPF_STRUCT_OPS(eevdf_disable, struct task_struct *p)
{
	struct task_ctx *t = ctx_of(p);

	if (t)
		forget_delayed(p, t);
}

void BPF_STRUCT_OPS(eevdf_cpu_online, s32 cpu)
{
	cpu_comes(cpu);
	set_params(nr_online);
}

void BPF_STRUCT_OPS(eevdf_cpu_offline, s32 cpu)
{
	cpu_goes(cpu);
	set_params(nr_online);
	/* It is no longer asked to dispatch. */
	bpf_rcu_read_lock();
	send_away(cpu, scx_bpf_now() + 1);
	bpf_rcu_read_unlock();
	scx_bpf_kick_cpu(cpu, 0);
}

void BPF_STRUCT_OPS(eevdf_cpu_release, s32 cpu, struct scx_cpu_release_args *args)
{
	scx_bpf_reenqueue_local();
}

s32 BPF_STRUCT_OPS_SLEEPABLE(eevdf_init)
{
	const struct cpumask *online = scx_bpf_get_online_cpumask();
	u64 now = scx_bpf_now();
	struct rq *rq;
	s32 cpu, kind, err = 0;

	map_machine();
	for_range(cpu, 0, nr_cpus)
	{
		rq = rq_of(cpu);
		init_rq(cpu, online);
		rq->next_look = rq->next_balance;
		rq->avg.at_ns = now;
		scan_limit[cpu_index(first_of(cpu, SD_MC))] = len_of(cpu, SD_MC);
		for_range(kind, 0, DSQ_KINDS)
		{
			if (!err)
				err = scx_bpf_create_dsq(dsq_of(cpu, kind), -1);
		}
		if (err)
			break;
		err = init_hrtick(cpu);
		if (err)
			break;
	}
	scx_bpf_put_cpumask(online);
	if (err)
		return err;
	set_params(nr_online);
	for_range(cpu, 0, nr_cpus) rq_of(cpu)->avg_idle_ns = 2 * prm.migration_cost_ns;
	return 0;
}

SCX_OPS_DEFINE(eevdf_ops, .select_cpu = (void *)eevdf_select_cpu, .enqueue = (void *)eevdf_enqueue,
	       .dispatch = (void *)eevdf_dispatch, .tick = (void *)eevdf_tick,
	       .runnable = (void *)eevdf_runnable, .running = (void *)eevdf_running,
	       .stopping = (void *)eevdf_stopping, .quiescent = (void *)eevdf_quiescent,
	       .yield = (void *)eevdf_yield, .set_weight = (void *)eevdf_set_weight,
	       .init_task = (void *)eevdf_init_task, .disable = (void *)eevdf_disable,
	       .cpu_online = (void *)eevdf_cpu_online, .cpu_offline = (void *)eevdf_cpu_offline,
	       .cpu_release = (void *)eevdf_cpu_release, .cgroup_init = (void *)eevdf_cgroup_init,
	       .cgroup_exit = (void *)eevdf_cgroup_exit, .cgroup_move = (void *)eevdf_cgroup_move,
	       .cgroup_set_bandwidth = (void *)eevdf_cgroup_set_bandwidth,
	       .cgroup_set_weight = (void *)eevdf_cgroup_set_weight, .init = (void *)eevdf_init,
	       .flags = SCX_OPS_ENQ_LAST | SCX_OPS_ENQ_EXITING, .name = "eevdf");
