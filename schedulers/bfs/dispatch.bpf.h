/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a CPU does that looks for its next task: it lets go of who stuck here
 * before, settles with the task that it runs, and picks. A part of
 * scx_bfs.bpf.c, which defines before it what wake-ups and control groups need.
 */
#pragma once

/* What stuck to the CPU, but for this task, competes everywhere from now on (rule 1.5.10). */
static __always_inline void let_go(u32 cpu, u32 but_pid)
{
	struct task_struct *p;

	for_each_queued(it, p, BFS_OWN(cpu))
	{
		struct bfs_task *t = task_of(p);
		u32 llc = MODERN ? cpu_llc[cpu_index(cpu)] : 0;

		if (!t || is_pinned(p) || p->pid == but_pid)
			continue;
		if (!scx_bpf_dsq_move_vtime(it, p, BFS_PLAIN(llc), 0))
			continue;
		lower_bound(&plain[cpu_index(llc)], t->key);
		kick_other_idle(p, cpu);
	}
}

/* What stuck before, or to a CPU that is abandoned, competes everywhere. */
__noinline s32 let_go_of_crowd(u32 cpu)
{
	struct bfs_cpu *c = bfs_cpu(cpu);

	c->crowded = false;
	let_go(cpu, c->sticky);
	if (!c->sticky)
		hide_own(cpu);
	return 0;
}

static __always_inline void let_go_of_abandoned(void)
{
	u32 cpu;

	__sync_fetch_and_and(&attention, ~BFS_ABANDONED);
	for_range(cpu, 0, nr_cpus)
	{
		if (bfs_cpu(cpu)->crowded)
			let_go_of_crowd(cpu);
	}
}

static __always_inline void unstick(u32 cpu)
{
	clear_sticky(cpu, bfs_cpu(cpu)->sticky);
	let_go(cpu, 0);
}

/*
 * The rare part of a dispatch. Returns the task that runs, if it is one of ours
 * and its control groups have time left.
 */
static __always_inline struct task_struct *pay_attention(u32 cpu, struct task_struct *prev)
{
	u64 now = scx_bpf_now();
	struct bfs_task *t;

	if (attention & BFS_ABANDONED)
		let_go_of_abandoned();
	if (!has_limits())
		return prev;
	t = prev ? task_of(prev) : NULL;
	if (t && who_blocks(prev, t, now))
		prev = NULL;
	if (blocked_groups)
		put_heads_aside(cpu, now);
	return prev;
}

/*
 * 424 and modern: the queues against the task that runs, if it may go on, which
 * is behind all that are queued at equal keys (rules 0.1 and 0.4).
 */
static __always_inline void pick(u32 cpu, const struct bfs_task *prev, struct bfs_choice *best)
{
	if (prev) {
		bfs_offer(best, BFS_PREV, ~0u, false, prev->key, ~0ULL);
		best->level = prev->level;
	}
	bfs_pick_plain(cpu, MODERN ? nr_llcs : 1, best);
	bfs_pick_remote(cpu, nr_cpus, iso_policy ? BFS_ISO : BFS_NORMAL, best);
}

/* The queues that this CPU is the first to look at, in no particular order. */
static __always_inline bool take_any(u32 cpu)
{
	if (bfs_in_jiffies(rules))
		return scx_bpf_dsq_move_to_local(BFS_E(BFS_NORMAL * BFS_NICES)) ||
		       scx_bpf_dsq_move_to_local(BFS_U(BFS_NORMAL * BFS_NICES));
	return scx_bpf_dsq_move_to_local(BFS_OWN(cpu)) ||
	       scx_bpf_dsq_move_to_local(BFS_PLAIN(MODERN ? cpu_llc[cpu_index(cpu)] : 0));
}

/* ops.running() is not called for a task that goes on (rule 0.3). */
static __always_inline void keep_prev(struct task_struct *prev, struct bfs_task *t,
				      struct bfs_cpu *c, u32 cpu, u64 now)
{
	STAT_INC(kept);
	set_dither(c, now);
	return_to_deadline(prev, t, now);
	publish(c, t);
	scx_bpf_task_set_slice(prev, kernel_slice(t));
	if (c->sticky)
		unstick(cpu);
}

static __always_inline void count_pick(u32 cpu, const struct bfs_choice *best)
{
	if (bfs_in_jiffies(rules))
		return;
	if (best->queue >= BFS_OWN(0)) {
		if (best->queue != BFS_OWN(cpu))
			STAT_INC(stolen);
	} else if (MODERN && best->queue != cpu_llc[cpu_index(cpu)]) {
		STAT_INC(far_picks);
	}
}

/*
 * rules 1.1.2 and 1.3.9: the running task is in no queue, and goes on if nothing
 * there is before it. Another that is chosen is brought here, unless it was lost to
 * another CPU. A function of its own, which the verifier follows once and not for
 * every attempt.
 */
__noinline int attempt_pick(u32 cpu, const struct bfs_task *prev)
{
	struct bfs_choice best = {};

	if (bfs_in_jiffies(rules))
		bfs_pick_fifo(cpu, scx_bpf_now(), prev, &best);
	else
		pick(cpu, prev, &best);
	if (best.from == BFS_NOTHING || best.from == BFS_PREV)
		return best.from;
	if (!take(&best, cpu)) {
		STAT_INC(lost_races);
		return BFS_LOST;
	}
	count_pick(cpu, &best);
	return best.from;
}

void BPF_STRUCT_OPS(bfs_dispatch, s32 cpu, struct task_struct *prev)
{
	struct bfs_cpu *c = bfs_cpu(cpu);
	struct bfs_task *t = NULL;
	int from = BFS_NOTHING;
	u32 attempt;
	u64 now = 0;

	finish_insert();
	if (attention)
		prev = pay_attention(cpu, prev);
	if (c->crowded)
		let_go_of_crowd(cpu);
	/* ops.dispatch is called with a prev that has blocked, too. */
	if (prev && prev->scx.flags & SCX_TASK_QUEUED)
		t = task_of(prev);
	if (t) {
		now = scx_bpf_now();
		/* rule 1.3.3 */
		if (bfs_deschedule(&cfg, t, now))
			STAT_INC(refills);
		end_turn(t, c, cpu, now);
		set_key(prev, t, now);
	}
	for (attempt = 0; attempt < 4; attempt++) {
		from = attempt_pick(cpu, t);
		if (from != BFS_LOST)
			break;
	}
	if (from == BFS_QUEUE || from == BFS_INSIDE) {
		/* The running task is about to stick; the one that does so until now was passed over by this pick. */
		if (t && c->sticky)
			unstick(cpu);
		return;
	}
	if (t) {
		keep_prev(prev, t, c, cpu, now);
		return;
	}
	/* Never idle beside a queue, however many races were lost. */
	if (attempt && take_any(cpu))
		return;
	c->level = BFS_IDLE_CPU;
	c->key = BFS_EMPTY;
	/* What was handed over to this CPU went elsewhere: two idle CPUs would kick each other for ever. */
	c->waiting_key = BFS_EMPTY;
	if (MODERN)
		preempt_faithless_waker(cpu);
}
