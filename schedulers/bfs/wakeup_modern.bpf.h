/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Wake-ups of modern. A task that can run at once is placed where it will: on
 * an idle CPU, which is marked busy, or on the CPU whose task it preempts. Only a
 * task that has to wait is queued. A part of scx_bfs.bpf.c, which defines before it
 * what wakeup_published.bpf.h names, and arrive().
 */
#pragma once

/*
 * An idle CPU for p, marked busy, or -1. The last CPU if all of its core is
 * idle; else a whole idle core of its cache; else an idle thread of it; else
 * whatever the kernel finds, whole cores first.
 */
static __always_inline s32 claim_marked(struct task_struct *p, u32 last)
{
	const struct cpumask *idle, *cores;
	u32 llc = cpu_llc[cpu_index(last)], i = 0;
	s32 core = -1, thread = -1;

	/* Without SMT the last CPU is a whole core. */
	if (cpu_sibling[cpu_index(last)] == last && bfs_cpu(last)->key == BFS_EMPTY &&
	    bpf_cpumask_test_cpu(last, p->cpus_ptr) && scx_bpf_test_and_clear_cpu_idle(last))
		return last;
	idle = scx_bpf_get_idle_cpumask();
	if (!bpf_cpumask_intersects(idle, p->cpus_ptr)) {
		scx_bpf_put_idle_cpumask(idle);
		return -1;
	}
	cores = scx_bpf_get_idle_smtmask();
	if (bpf_cpumask_test_cpu(last, cores) && bpf_cpumask_test_cpu(last, p->cpus_ptr)) {
		core = last;
	} else {
		for_range(i, llc_first[cpu_index(llc)], llc_first[cpu_index(llc) + 1])
		{
			u32 cpu = cpu_by_llc[cpu_index(i)];

			if (!bpf_cpumask_test_cpu(cpu, idle) ||
			    !bpf_cpumask_test_cpu(cpu, p->cpus_ptr))
				continue;
			if (thread < 0 || cpu == last)
				thread = cpu;
			if (bpf_cpumask_test_cpu(cpu, cores)) {
				core = cpu;
				break;
			}
		}
	}
	scx_bpf_put_idle_cpumask(cores);
	scx_bpf_put_idle_cpumask(idle);
	if (core >= 0 && scx_bpf_test_and_clear_cpu_idle(core))
		return core;
	core = scx_bpf_pick_idle_cpu(p->cpus_ptr, SCX_PICK_IDLE_CORE);
	if (core >= 0)
		return core;
	if (thread >= 0 && scx_bpf_test_and_clear_cpu_idle(thread))
		return thread;
	return scx_bpf_pick_idle_cpu(p->cpus_ptr, 0);
}

/* The same, online: an offline CPU may be marked idle, until it is claimed; so may many of them. */
static __always_inline s32 claim_idle(struct task_struct *p, u32 last)
{
	s32 cpu = claim_marked(p, last);
	u32 attempt = 0;

	if (cpu < 0 || !bfs_cpu(cpu)->offline)
		return cpu;
	for_range(attempt, 0, MAX_CPUS)
	{
		cpu = scx_bpf_pick_idle_cpu(p->cpus_ptr, 0);
		if (cpu < 0 || !bfs_cpu(cpu)->offline)
			return cpu;
	}
	return -1;
}

static __always_inline void preempt(struct task_struct *p, struct bfs_task *t, struct bfs_cpu *c,
				    u64 now, u64 enq_flags)
{
	STAT_INC(preemptions);
	/* Marked as taken: the next wake-up looks for another CPU. */
	c->key = t->key;
	c->since_ns = now;
	scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, kernel_slice(t), enq_flags | SCX_ENQ_PREEMPT);
}

/* May t preempt what c runs? Not if that was switched in a moment ago; IDLEPRIO preempts no task (rule 1.4.4). */
static __always_inline bool may_preempt(const struct bfs_task *t, const struct bfs_cpu *c, u64 now)
{
	return !t->idleprio && before64(t->key, c->key) &&
	       now - c->since_ns >= preempt_after_us * NSEC_PER_USEC;
}

/* Is t before everything that waits for this CPU? Then it may go straight to its local queue, one at a time. */
static __always_inline bool is_next(const struct bfs_task *t, const struct bfs_cpu *c, u32 llc)
{
	u64 own = c->own.bound, all = plain[cpu_index(llc)].bound;

	return c->waiting_key == BFS_EMPTY &&
	       (own == BFS_EMPTY || (own != BFS_LOOK && !before64(own, t->key))) &&
	       (all == BFS_EMPTY || (all != BFS_LOOK && !before64(all, t->key)));
}

static __always_inline void hand_over(struct task_struct *p, struct bfs_task *t, struct bfs_cpu *c,
				      u32 llc, u64 enq_flags)
{
	STAT_INC(handed_over);
	c->waiting_key = t->key;
	plain[cpu_index(llc)].handed_over = true;
	scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, kernel_slice(t), enq_flags);
}

/* In p's cache, the CPU whose task has the latest key (rule 1.4.4) of those that may be preempted by t. */
static __always_inline s32 find_latest(struct task_struct *p, const struct bfs_task *t, u32 llc,
				       u64 now)
{
	s32 latest = -1;
	u64 key = 0;
	u32 i = 0;

	for_range(i, llc_first[cpu_index(llc)], llc_first[cpu_index(llc) + 1])
	{
		u32 cpu = cpu_by_llc[cpu_index(i)];
		struct bfs_cpu *c = bfs_cpu(cpu);

		if (c->key == BFS_EMPTY || (latest >= 0 && !before64(key, c->key)))
			continue;
		if (!may_preempt(t, c, now) || !bpf_cpumask_test_cpu(cpu, p->cpus_ptr))
			continue;
		key = c->key;
		latest = cpu;
	}
	return latest;
}

/*
 * A waker that says it is about to sleep (sync) is believed for sync_grace_us:
 * the task that it wakes is handed to its CPU and runs when the waker blocks. If
 * the waker goes on, a tick or an idle CPU notices.
 */
static __always_inline s32 place(struct task_struct *p, struct bfs_task *t, s32 prev_cpu, bool sync)
{
	u64 now = scx_bpf_now();
	u32 llc = cpu_llc[cpu_index(prev_cpu)];
	struct bfs_cpu *c;
	s32 cpu;

	/* ops.enqueue() puts it aside. */
	if (has_limits() && who_blocks(p, t, now))
		return prev_cpu;
	cpu = claim_idle(p, prev_cpu);
	arrive(p, t, now, true);
	if (cpu >= 0) {
		STAT_INC(idle_claims);
		/* A real-time task may come for that CPU at the same moment. */
		scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, kernel_slice(t), SCX_ENQ_IMMED);
		return cpu;
	}
	if (sync) {
		cpu = bpf_get_smp_processor_id();
		c = bfs_cpu(cpu);
		if (now - c->since_ns < sync_grace_us * NSEC_PER_USEC) {
			if (c->key == BFS_EMPTY || !is_ours(bpf_get_current_task_btf()) ||
			    cpu_llc[cpu_index(cpu)] != llc || !is_next(t, c, llc) ||
			    !bpf_cpumask_test_cpu(cpu, p->cpus_ptr))
				return prev_cpu;
			hand_over(p, t, c, llc, 0);
			return cpu;
		}
	}
	cpu = find_latest(p, t, llc, now);
	if (cpu < 0)
		return prev_cpu;
	preempt(p, t, bfs_cpu(cpu), now, 0);
	return cpu;
}

/* A task for one CPU only can be taken by no other, so the local DSQ is as good as any queue. */
static __always_inline void enqueue_pinned(struct task_struct *p, struct bfs_task *t, u32 cpu,
					   u64 now, u64 enq_flags)
{
	struct bfs_cpu *c = bfs_cpu(cpu);
	u32 llc = cpu_llc[cpu_index(cpu)];

	if (c->key == BFS_EMPTY) {
		/* Idle, or about to be: it is woken by this. The others of a burst wait in order. */
		if (c->waiting_key != BFS_EMPTY) {
			insert_own(p, t, cpu, enq_flags);
			return;
		}
		c->waiting_key = t->key;
		scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, kernel_slice(t), enq_flags);
		return;
	}
	if (may_preempt(t, c, now)) {
		preempt(p, t, c, now, enq_flags);
		return;
	}
	if (is_next(t, c, llc)) {
		/* Unlike above, its waker said nothing. */
		note_waiting(&c->own, p, t, cpu);
		hand_over(p, t, c, llc, enq_flags);
		return;
	}
	insert_own(p, t, cpu, enq_flags);
}

static __always_inline void enqueue_modern(struct task_struct *p, struct bfs_task *t, u64 now,
					   u64 enq_flags)
{
	u32 cpu = scx_bpf_task_cpu(p);

	if (has_limits() && put_aside(p, t, now, enq_flags))
		return;
	/* It was the last here, and its control group had no time left when this CPU looked for another. */
	if (enq_flags & SCX_ENQ_LAST)
		kick_cpu(cpu, 0);
	if (is_pinned(p)) {
		if (t->descheduled)
			insert_own(p, t, cpu, enq_flags);
		else
			enqueue_pinned(p, t, cpu, now, enq_flags);
		return;
	}
	/*
	 * Only a task that was interrupted sticks, for it will run again in a
	 * moment. A task that used its slice up waits for its turn, on any CPU:
	 * three equals on two CPUs get two thirds each.
	 */
	if (t->descheduled && !t->renewed)
		insert_sticky(p, t, cpu, enq_flags);
	else
		insert_plain(p, t, cpu, enq_flags);
	kick_idle(p);
}

/*
 * A CPU with nothing to do looks for a task that was handed over and waits
 * behind a waker that went on. The waker is preempted; it sticks to its CPU,
 * where this CPU then finds it. The hint is cleared before the look: who hands
 * over meanwhile sets it again.
 */
static __always_inline void preempt_faithless_waker(u32 cpu)
{
	u32 llc = cpu_llc[cpu_index(cpu)], i = 0;
	struct bfs_hint *hint = &plain[cpu_index(llc)];

	if (!hint->handed_over || !__sync_lock_test_and_set(&hint->handed_over, false))
		return;
	for_range(i, llc_first[cpu_index(llc)], llc_first[cpu_index(llc) + 1])
	{
		u32 other = cpu_by_llc[cpu_index(i)];

		if (other == cpu || bfs_cpu(other)->waiting_key == BFS_EMPTY)
			continue;
		hint->handed_over = true;
		kick_cpu(other, SCX_KICK_PREEMPT);
		return;
	}
}
