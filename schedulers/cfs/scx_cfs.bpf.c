/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * CFS bound to sched_ext: one DSQ per CPU, ordered by vruntime; the running
 * task is on no DSQ. The kernel's slice is only a backstop: slices end at the
 * tick, by cfs.h's rule. ops.runnable and ops.quiescent bracket the time in
 * which a task counts on a queue, whatever DSQ or CPU it is moved to.
 */
#include <scx.h>
#include "balance.bpf.h"

/* A task starts running, or is picked again without having been put back. */
static __always_inline void set_current(struct rq *rq, struct task_struct *p, struct task_ctx *t,
					u64 now)
{
	rq->curr_pid = p->pid;
	rq->curr_weight = t->weight;
	rq->curr_policy = p->policy;
	rq->curr_vr = t->vr;
	rq->curr_ran = 0;
	rq->curr_since_ns = now;
	t->picked_exec_ns = t->sum_exec_ns;
	cfs_clear_buddy(&rq->buddies, p->pid);
	scx_bpf_task_set_slice(p, cfs_slice(&prm, rq->nr, weight_of(rq), t->weight) +
					  SLICE_BACKSTOP_NS);
}

/* rules 2.2.3 and 2.2.4: p has become runnable on this CPU. */
static __always_inline void check_preempt(u32 cpu, struct task_struct *p, struct task_ctx *t)
{
	struct rq *rq = rq_of(cpu);
	struct cfs_entity curr = {}, e = {
		.vr = t->vr, .weight = t->weight, .policy = p->policy, .avg_wakeup = t->avg_wakeup
	};
	bool preempts;

	if (!rq->curr_pid)
		return;
	curr_entity(rq, scx_bpf_now(), &curr);
	preempts = cfs_preempts(&prm, &curr, &e, rq->nr);
	cfs_wake_buddies(&prm, &rq->buddies, preempts, rq->nr, rq->curr_pid, rq->curr_policy,
			 p->pid, p->policy);
	if (preempts) {
		STAT_INC(wakeup_preemptions);
		scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
	}
}

s32 BPF_STRUCT_OPS(cfs_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	u32 this = bpf_get_smp_processor_id();
	bool sync = wake_flags & SCX_WAKE_SYNC;
	s32 cpu;

	if (wake_flags & SCX_WAKE_FORK) {
		cpu = select_fork(p, this);
		if (cpu != (s32)this)
			STAT_INC(fork_moves);
	} else if (rules == CFS_3_6) {
		cpu = wake_3_6(p, this, prev_cpu, sync);
	} else if (rules == CFS_2_6_32) {
		cpu = wake_2_6_32(p, this, prev_cpu, sync);
	} else {
		cpu = wake_2_6_31(p, this, prev_cpu, sync);
	}
	return cpu >= 0 && allowed(p, cpu) ? cpu : prev_cpu;
}

/* 2.6.31, .32 (rule 2.2.3): the running task has woken another; its run time since the last time counts. */
static __always_inline void note_waker(u32 this)
{
	struct task_struct *waker = bpf_get_current_task_btf();
	struct rq *rq = rq_of(this);
	struct cfs_entity curr = {};
	struct task_ctx *w;
	u64 exec, now = scx_bpf_now();

	if (rules == CFS_3_6 || !bpf_in_task() || !waker || waker->pid != rq->curr_pid)
		return;
	w = ctx_of(waker);
	if (!w)
		return;
	curr_entity(rq, now, &curr);
	exec = w->sum_exec_ns + curr.ran - rq->curr_ran;
	w->avg_wakeup =
		cfs_avg(w->avg_wakeup, exec - (w->waker_base ? w->waker_base : w->woken_exec_ns));
	w->waker_base = exec;
}

/*
 * rule 2.2.1: a new task joins. t has the parent's vruntime on the parent's
 * queue; 2.6.31 placed it where it goes to, later eras where it came from.
 */
static __always_inline void place_new(struct task_ctx *t, u32 cpu)
{
	u32 at = rules == CFS_2_6_31 ? cpu : t->cpu;
	struct rq *rq = rq_of(at);

	t->vr = cfs_place_new(&prm, t->vr, queue_clock(rq, scx_bpf_now()),
			      cfs_vslice(&prm, rq->nr > 0 ? rq->nr : 0, weight_of(rq), t->weight));
	t->cpu = at;
	change_queue(t, cpu, vruntime_on(t, cpu));
}

/* rule 2.2.1: parent and child change places, so that the child is first. */
static __always_inline void swap_with_parent(struct rq *rq, struct task_ctx *t, u32 cpu)
{
	struct task_struct *parent = bpf_get_current_task_btf();
	struct task_ctx *pt;
	u64 vr;

	if (!parent || parent->pid != rq->curr_pid)
		return;
	pt = ctx_of(parent);
	if (!pt)
		return;
	charge(rq, pt, scx_bpf_now());
	if (!before64(pt->vr, t->vr))
		return;
	vr = pt->vr;
	pt->vr = t->vr;
	t->vr = vr;
	rq->curr_vr = pt->vr;
	scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
}

void BPF_STRUCT_OPS(cfs_runnable, struct task_struct *p, u64 enq_flags)
{
	u32 cpu = scx_bpf_task_cpu(p), this = bpf_get_smp_processor_id();
	struct rq *rq = rq_of(cpu);
	u64 now = scx_bpf_now(), idle;
	struct task_ctx *t = ctx_of(p);

	if (!t)
		return;
	t->weight = cfs_weight(p->static_prio, p->policy);
	rq->min_vr = queue_clock(rq, now);
	if (t->is_new) {
		place_new(t, cpu);
	} else {
		change_queue(t, cpu, vruntime_on(t, cpu)); /* rule 2.2.5 */
	}
	if (enq_flags & SCX_ENQ_WAKEUP) {
		note_waker(this);
		t->vr = cfs_place_wakeup(&prm, t->vr, rq->min_vr);
		t->woken_exec_ns = t->sum_exec_ns;
		if (rq->idle_since_ns) {
			idle = now - rq->idle_since_ns;
			rq->avg_idle_ns = idle > 2 * prm.migration_cost_ns
						  ? 2 * prm.migration_cost_ns
						  : cfs_avg(rq->avg_idle_ns, idle);
			rq->idle_since_ns = 0;
		}
	}
	account_in(t, cpu);
}

void BPF_STRUCT_OPS(cfs_enqueue, struct task_struct *p, u64 enq_flags)
{
	u32 cpu = scx_bpf_task_cpu(p);
	struct rq *rq = rq_of(cpu);
	struct task_ctx *t = ctx_of(p);
	bool is_new, arrives;

	if (!t) {
		scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, SCX_SLICE_DFL, enq_flags);
		return;
	}
	t->waits_since_ns = scx_bpf_now();
	change_queue(t, cpu, vruntime_on(t, cpu));
	if (push_to_other(p, t, rq))
		return;
	is_new = t->is_new;
	arrives = is_new || (enq_flags & SCX_ENQ_WAKEUP);
	t->is_new = false;
	if (is_new && prm.child_runs_first)
		swap_with_parent(rq, t, cpu);
	scx_bpf_dsq_insert_vtime(p, cpu, SLICE_BACKSTOP_NS, t->vr, enq_flags);
	count_as_left(rq, t->vr);
	if (arrives)
		check_preempt(cpu, p, t);
	else if (t->improved) /* rule 2.2.7: a pick decides, without a lead that is needed. */
		scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
	t->improved = t->worsened = false;
	kick_for_last(cpu, arrives, enq_flags);
}

static __always_inline bool feed_prev(struct rq *rq, struct task_struct *prev, struct task_ctx *pt)
{
	rq->prev_fed = true;
	return cfs_pick_feed(&rq->pick, &rq->buddies, prev->pid, pt->vr,
			     cfs_wakeup_gran(&prm, pt->weight));
}

/*
 * rule 2.2.4: the least vruntime, prev's included, unless a buddy has a claim.
 * prev (pt is NULL if it does not stay) is on no DSQ yet and goes behind its
 * equals. Buddies are looked for among the first 64.
 */
static __always_inline s32 pick(u32 cpu, struct rq *rq, struct task_struct *prev,
				struct task_ctx *pt)
{
	struct task_struct *p;
	struct task_ctx *t;
	bool more = true;
	u64 gran;

	rq->pick = (struct cfs_pick){};
	rq->walked = 0;
	rq->prev_fed = !pt;
	for_each_queued(it, p, cpu)
	{
		if (rq->walked++ >= CFS_PICK_LOOKS)
			break;
		if (pt && !rq->prev_fed && before64(pt->vr, p->scx.dsq_vtime)) {
			more = feed_prev(rq, prev, pt);
			if (!more)
				break;
		}
		gran = 0;
		if (!rq->pick.fed) {
			t = ctx_of(p);
			gran = cfs_wakeup_gran(&prm, t ? t->weight : CFS_NICE_0);
		}
		more = cfs_pick_feed(&rq->pick, &rq->buddies, p->pid, p->scx.dsq_vtime, gran);
		if (!more)
			break;
	}
	if (pt && !rq->prev_fed && more)
		feed_prev(rq, prev, pt);
	return cfs_pick_end(&rq->pick, &rq->buddies, rules);
}

static __always_inline bool take(u32 cpu, s32 pid)
{
	struct task_struct *p;

	for_each_queued(it, p, cpu) if (p->pid == pid) return scx_bpf_dsq_move(it, p, SCX_DSQ_LOCAL,
									       0);
	return false;
}

/*
 * What is taken from the DSQ here counts as the leftmost until it runs: the
 * queue's clock must not pass it meanwhile.
 */
void BPF_STRUCT_OPS(cfs_dispatch, s32 cpu, struct task_struct *prev)
{
	struct rq *rq = rq_of(cpu);
	u64 now = scx_bpf_now();
	struct task_ctx *pt = running_ctx(rq, prev);
	s32 pid, left, got;

	if (pt) {
		charge(rq, pt, now);
		/* Another CPU wants it, so it is put back, whichever task is next. */
		if (rq->push_pid == prev->pid) {
			refresh_left(cpu);
			scx_bpf_dsq_move_to_local(cpu);
			return;
		}
	}
	pid = pick(cpu, rq, prev, pt);
	left = rq->pick.left;
	rq->has_left = rq->pick.fed;
	rq->left_vr = rq->pick.left_vr;
	if (pt && pid == prev->pid) {
		set_current(rq, prev, pt, now);
		refresh_left(cpu);
		return;
	}
	if (pid && pid != left)
		STAT_INC(buddy_picks);
	if ((pid && pid != left && take(cpu, pid)) || scx_bpf_dsq_move_to_local(cpu))
		return;
	if (pid)
		send_back(cpu, false);
	if (pt) {
		set_current(rq, prev, pt, now);
	} else {
		got = pull_before_idle(cpu);
		if (got > 0) {
			__sync_fetch_and_add(&stat_newidle_pulls[cpu_index(cpu) * 8], got);
			refresh_left(cpu);
			scx_bpf_dsq_move_to_local(cpu);
			return;
		}
		if (nohz_owner < 0)
			nohz_owner = cpu;
	}
	refresh_left(cpu);
	rq->min_vr = queue_clock(rq, now);
}

void BPF_STRUCT_OPS(cfs_running, struct task_struct *p)
{
	u32 cpu = scx_bpf_task_cpu(p);
	struct rq *rq = rq_of(cpu);
	struct task_ctx *t = ctx_of(p);

	if (!t)
		return;
	change_queue(t, cpu, vruntime_on(t, cpu));
	rq->idle_since_ns = 0;
	set_current(rq, p, t, scx_bpf_now());
	refresh_left(cpu);
	/* rule 2.2.7: reniced while running. */
	if (t->improved || t->worsened)
		scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
	t->improved = t->worsened = false;
}

/* rule 2.2.2. */
void BPF_STRUCT_OPS(cfs_tick, struct task_struct *p)
{
	u32 cpu = scx_bpf_task_cpu(p);
	struct rq *rq = rq_of(cpu);
	struct task_ctx *t = ctx_of(p);
	enum cfs_tick verdict;

	if (!t || rq->curr_pid != p->pid)
		return;
	charge(rq, t, scx_bpf_now());
	refresh_left(cpu);
	rq->min_vr = queue_clock(rq, scx_bpf_now());
	verdict = cfs_check_tick(&prm, rq->nr > 0 ? rq->nr : 0, rq->curr_ran,
				 cfs_slice(&prm, rq->nr, weight_of(rq), t->weight), t->vr,
				 rq->has_left, rq->left_vr);
	if (verdict == CFS_TICK_KEEP)
		return;
	/* It ran long enough: no buddy mark may bring it back at once. */
	if (verdict == CFS_TICK_EXPIRED)
		cfs_clear_buddy(&rq->buddies, p->pid);
	STAT_INC(tick_preemptions);
	scx_bpf_task_set_slice(p, 0);
}

void BPF_STRUCT_OPS(cfs_stopping, struct task_struct *p, bool runnable)
{
	struct rq *rq = rq_of(scx_bpf_task_cpu(p));
	u64 now = scx_bpf_now(), ran;
	struct task_ctx *t = ctx_of(p);

	if (!t || rq->curr_pid != p->pid)
		return;
	charge(rq, t, now);
	t->last_ran_ns = now;
	/* 2.6.31, .32: a preempted task overlaps with the task that it woke by what it ran. */
	ran = t->sum_exec_ns - t->picked_exec_ns;
	if (runnable)
		t->avg_overlap = cfs_avg(t->avg_overlap, min_u64(ran, 2 * prm.migration_cost_ns));
	rq->min_vr = queue_clock(rq, now);
	rq->curr_pid = 0;
	/* The clock does not pass this vruntime before another task runs: the task may move to another queue by that clock. */
	count_as_left(rq, t->vr);
}

void BPF_STRUCT_OPS(cfs_quiescent, struct task_struct *p, u64 deq_flags)
{
	struct task_ctx *t = ctx_of(p);
	struct rq *rq;

	if (!t || !t->queued)
		return;
	rq = rq_of(t->cpu);
	if (deq_flags & SCX_DEQ_SLEEP) {
		if (t->waker_base)
			t->avg_overlap = cfs_avg(t->avg_overlap, t->sum_exec_ns - t->waker_base);
		else
			t->avg_wakeup = cfs_avg(t->avg_wakeup, prm.wakeup_gran_ns);
		t->waker_base = 0;
	}
	cfs_clear_buddy(&rq->buddies, p->pid);
	if (rq->push_pid == p->pid)
		rq->push_pid = 0;
	account_out(t);
}

/* rule 2.2.6: accounting only, and from 3.6 on the second best goes first once. */
bool BPF_STRUCT_OPS(cfs_yield, struct task_struct *from, struct task_struct *to)
{
	struct rq *rq = rq_of(scx_bpf_task_cpu(from));

	if (rq->nr > 1) {
		cfs_clear_buddy(&rq->buddies, from->pid);
		if (rules == CFS_3_6 && prm.buddies)
			rq->buddies.skip = from->pid;
	}
	scx_bpf_task_set_slice(from, 0);
	return false;
}

/* rule 2.2.7: the task is off its queue while the weight changes. */
void BPF_STRUCT_OPS(cfs_set_weight, struct task_struct *p, u32 weight)
{
	struct task_ctx *t = ctx_of(p);
	u32 now;

	if (!t)
		return;
	now = cfs_weight(p->static_prio, p->policy);
	t->improved = now > t->weight;
	t->worsened = now < t->weight;
	set_weight(t, now);
}

s32 BPF_STRUCT_OPS(cfs_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	struct task_struct *parent = bpf_get_current_task_btf();
	struct task_ctx *t, *pt;

	t = new_ctx(p);
	if (!t)
		return -ENOMEM;
	t->weight = cfs_weight(p->static_prio, p->policy);
	t->avg_wakeup = prm.wakeup_gran_ns;
	t->is_new = args->fork;
	pt = parent_ctx(args, parent);
	if (pt) {
		/* rule 2.2.1: the parent runs, and its vruntime is that of this moment. */
		if (parent->pid == rq_of(pt->cpu)->curr_pid)
			charge(rq_of(pt->cpu), pt, scx_bpf_now());
		t->cpu = pt->cpu;
		t->vr = pt->vr;
	}
	return 0;
}

/* From another class, or when the policy is loaded: start level with the queue. */
void BPF_STRUCT_OPS(cfs_enable, struct task_struct *p)
{
	struct task_ctx *t = ctx_of(p);

	if (!t || t->is_new)
		return;
	t->cpu = cpu_index(scx_bpf_task_cpu(p));
	t->vr = rq_of(t->cpu)->min_vr;
}

/* The table follows the number of CPUs, except in 2.6.31, which read it once at boot. */
static __always_inline void follow_cpus(u64 before)
{
	if (nr_online != before && rules != CFS_2_6_31)
		set_params(nr_online);
}

void BPF_STRUCT_OPS(cfs_cpu_online, s32 cpu)
{
	u64 before = nr_online;

	cpu_comes(cpu);
	follow_cpus(before);
}

void BPF_STRUCT_OPS(cfs_cpu_offline, s32 cpu)
{
	u64 before = nr_online;

	cpu_goes(cpu);
	follow_cpus(before);
	send_back(cpu, true);
}

void BPF_STRUCT_OPS(cfs_cpu_release, s32 cpu, struct scx_cpu_release_args *args)
{
	scx_bpf_reenqueue_local();
}

s32 BPF_STRUCT_OPS_SLEEPABLE(cfs_init)
{
	s32 cpu, err = init_queues();

	if (err)
		return err;
	set_params(nr_online);
	for_range(cpu, 0, nr_cpus) rq_of(cpu)->avg_idle_ns = 2 * prm.migration_cost_ns;
	return timer_start(tick_ns());
}

SCX_OPS_DEFINE(cfs_ops, .select_cpu = (void *)cfs_select_cpu, .enqueue = (void *)cfs_enqueue,
	       .dispatch = (void *)cfs_dispatch, .tick = (void *)cfs_tick,
	       .runnable = (void *)cfs_runnable, .running = (void *)cfs_running,
	       .stopping = (void *)cfs_stopping, .quiescent = (void *)cfs_quiescent,
	       .yield = (void *)cfs_yield, .set_weight = (void *)cfs_set_weight,
	       .init_task = (void *)cfs_init_task, .enable = (void *)cfs_enable,
	       .cpu_online = (void *)cfs_cpu_online, .cpu_offline = (void *)cfs_cpu_offline,
	       .cpu_release = (void *)cfs_cpu_release, .init = (void *)cfs_init,
	       .flags = SCX_OPS_ENQ_LAST | SCX_OPS_ENQ_EXITING, .name = "cfs");
