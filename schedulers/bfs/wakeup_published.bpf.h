/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Wake-ups of 232, 311 and 424: queue the task, then kick one CPU, which picks as
 * usual (rules 0.5, 1.3.6 and 1.3.8). A part of scx_bfs.bpf.c, which defines
 * before it its tunables, cfg, kernel_slice(), kick_cpu(), kick_idle() and the
 * functions insert_*().
 */
#pragma once

/* bfs_best_idle() for the idle CPUs of the moment, as a function of its own, which the verifier follows once. */
__noinline s32 best_idle(struct task_struct *p __arg_trusted, u32 last, u32 skip)
{
	struct wakee w = { .p = p, .idle = scx_bpf_get_idle_cpumask() };
	s32 cpu = -1;

	if (bpf_cpumask_intersects(w.idle, p->cpus_ptr))
		cpu = bfs_best_idle(&cfg, &w, last, nr_cpus, skip);
	scx_bpf_put_idle_cpumask(w.idle);
	return cpu;
}

/*
 * Any CPU but `skip`. The kicked one stays marked idle until it schedules (rule
 * 1.4.9), unless the tunable kick is "claimed" (rule 1.8).
 */
static __always_inline bool kick_best_idle(struct task_struct *p, u32 last, u32 skip)
{
	s32 cpu = best_idle(p, last, skip);

	if (cpu < 0)
		return false;
	if (kick == 2)
		scx_bpf_test_and_clear_cpu_idle(cpu);
	kick_cpu(cpu, 0);
	return true;
}

/* rules 1.3.8 and 1.4 */
static __always_inline void try_preempt(struct task_struct *p, struct bfs_task *t, u32 last,
					bool sync)
{
	struct wakee w = { .p = p };
	struct bfs_victim victim = {};

	if (kick_best_idle(p, last, ~0u)) {
		STAT_INC(idle_claims);
		return;
	}
	/* rule 1.3.6: a sync wake-up preempts no task */
	if (sync)
		return;
	w.idle = scx_bpf_get_idle_cpumask();
	bfs_find_victim(&cfg, t, &w, last, nr_cpus, &victim);
	scx_bpf_put_idle_cpumask(w.idle);
	if (bfs_beats(&cfg, t, &victim)) {
		STAT_INC(preemptions);
		kick_cpu(victim.cpu, SCX_KICK_PREEMPT);
	}
}

/* rule 1.3.7: the parent steps back, so that the child runs first. */
static __always_inline bool parent_steps_back(struct task_struct *p, const struct bfs_task *t)
{
	struct task_struct *parent = bpf_get_current_task_btf();

	return t->forked && parent->pid == p->real_parent->pid &&
	       (rules == BFS_424 || p->mm != parent->mm) && is_ours(parent);
}

static __always_inline void insert_published(struct task_struct *p, struct bfs_task *t, u32 last,
					     u64 enq_flags)
{
	if (bfs_in_jiffies(rules)) {
		u32 domains = group_domains();
		u32 domain = domains > 1 ? cpu_llc[cpu_index(last)] : 0,
		    u = domains > 1 ? t->u & 63 : 0;
		u32 set = bfs_group_set(t->level, domain, domains);

		scx_bpf_dsq_insert_vtime(p, BFS_U(set * BFS_NICES + u), kernel_slice(t), t->key,
					 enq_flags);
		__sync_fetch_and_or(&bfs_groups_present(set), 1ULL << u);
		return;
	}
	if (t->descheduled)
		insert_sticky(p, t, last, enq_flags);
	else if (is_pinned(p))
		insert_own(p, t, last, enq_flags);
	else
		insert_plain(p, t, last, enq_flags);
}

static __always_inline void enqueue_published(struct task_struct *p, struct bfs_task *t, u64 now,
					      u64 enq_flags)
{
	u32 last = scx_bpf_task_cpu(p);

	insert_published(p, t, last, enq_flags);
	if (t->descheduled) {
		/* For a task that was switched away from only a CPU that went idle is kicked. */
		kick_idle(p);
		return;
	}
	if (parent_steps_back(p, t) && best_idle(p, last, ~0u) < 0) {
		kick_cpu(bpf_get_smp_processor_id(), SCX_KICK_PREEMPT);
		return;
	}
	/* rule 1.3.11: a worse nice level gives no right to preempt (232: it does) */
	if (t->worsened && rules != BFS_232) {
		kick_idle(p);
		return;
	}
	try_preempt(p, t, last, t->sync);
}
