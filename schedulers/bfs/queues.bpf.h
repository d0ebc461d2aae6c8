/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What preempt.h and pick.h ask for, said with DSQs, task storage and CPU masks.
 * A part of scx_bfs.bpf.c, which defines before it struct bfs_config cfg.
 */
#pragma once

static struct bfs_cpu cpu_states[MAX_CPUS];
static struct bfs_hint plain[MAX_CPUS]; /* of BFS_PLAIN(llc) */
static u64 groups_present[MAX_CPUS * 4]; /* of bfs_group_set() */
static u64 sticky_words[MAX_CPUS / 64];

#define bfs_cpu(cpu) (&cpu_states[cpu_index(cpu)])
#define bfs_groups_present(set) (groups_present[(set) & (MAX_CPUS * 4 - 1)])
#define bfs_domain_cpu(domain) (cpu_by_llc[cpu_index(llc_first[cpu_index(domain)])])
#define bfs_sticky_word(word) (sticky_words[(word) & (MAX_CPUS / 64 - 1)])

/* The compiler makes this one expression, which costs less than a loop for any number of CPUs. */
static __always_inline bool bfs_any_sticks(void)
{
	u64 bits = 0;
	u32 word;

	for (word = 0; word < MAX_CPUS / 64; word++)
		bits |= sticky_words[word];
	return bits;
}

/*
 * rule 0.2: may a queued task be moved to this CPU? A task that disabled its migration
 * may not, whatever its mask says.
 */
static __always_inline bool may_run_on(const struct task_struct *p, u32 cpu)
{
	if (p->migration_disabled && scx_bpf_task_cpu(p) != cpu)
		return false;
	return bpf_cpumask_test_cpu(cpu, p->cpus_ptr);
}

/*
 * One CPU only: such a task waits in that CPU's own queue. Before 6.18 running
 * a policy counts as disabled migration of the current task; if in doubt it is
 * not pinned, which may_run_on() makes safe.
 */
static __always_inline bool is_pinned(const struct task_struct *p)
{
	if (p->nr_cpus_allowed == 1)
		return true;
	return p->migration_disabled && p->migration_disabled > (p == bpf_get_current_task_btf());
}

/* Is it a task of sched_ext, not of a real-time class above (rule 0.8)? */
static __always_inline bool is_ours(const struct task_struct *p)
{
	return p->prio >= MAX_RT_PRIO;
}

/* The task in question and the idle CPUs of the moment. */
struct wakee {
	struct task_struct *p;
	const struct cpumask *idle;
};

/* An offline CPU may be marked idle: it went idle last of all. */
static __always_inline bool wakee_allowed(const struct wakee *w, u32 cpu)
{
	return !bfs_cpu(cpu)->offline && bpf_cpumask_test_cpu(cpu, w->p->cpus_ptr);
}

#define bfs_allowed(who, cpu) wakee_allowed(who, cpu)
#define bfs_cpu_idle(who, cpu) bpf_cpumask_test_cpu(cpu, ((const struct wakee *)(who))->idle)

/* A function of its own, which the verifier follows once and not for every CPU. */
__noinline u32 busy_around(u32 cpu);

#define bfs_busy_around(who, cpu) busy_around(cpu)

#include "preempt.h"

__noinline u32 busy_around(u32 cpu)
{
	struct wakee w = { .idle = scx_bpf_get_idle_cpumask() };
	u32 busy = bfs_look_around(&w, cpu);

	scx_bpf_put_idle_cpumask(w.idle);
	return busy;
}

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct bfs_task);
} tasks SEC(".maps");

static __always_inline struct bfs_task *task_of(struct task_struct *p)
{
	return bpf_task_storage_get(&tasks, p, NULL, 0);
}

static __always_inline bool fill_head(struct task_struct *p, u32 cpu, struct bfs_head *head)
{
	struct bfs_task *t;

	if (!may_run_on(p, cpu))
		return false;
	t = task_of(p);
	if (!t)
		return false;
	head->key = p->scx.dsq_vtime;
	head->seq = t->seq;
	head->deadline = t->deadline;
	head->level = t->level;
	return true;
}

#define BFS_FOR_EACH(queue, cpu, head) \
	struct task_struct *__queued;  \
	for_each_queued(__it, __queued, queue) if (fill_head(__queued, cpu, &(head)))

/* The hint of a queue that has one; the others are always looked at. */
static __always_inline struct bfs_hint *hint_of(u32 queue)
{
	if (queue >= BFS_OWN(0))
		return &bfs_cpu(queue - BFS_OWN(0))->own;
	return &plain[cpu_index(queue)];
}

#define bfs_bound(queue) (hint_of(queue)->bound)

/*
 * The kernel inserts a task only after ops.enqueue() has returned. Whatever
 * this CPU does next, the insertion before is done then.
 */
static __always_inline void finish_insert(void)
{
	struct bfs_cpu *here = bfs_cpu(bpf_get_smp_processor_id());
	u32 queue = here->inserting;

	if (!queue)
		return;
	here->inserting = 0;
	__sync_fetch_and_sub(&hint_of(queue - 1)->underway, 1);
}

static __always_inline void lower_bound(struct bfs_hint *hint, u64 key)
{
	u64 bound;

	__sync_fetch_and_add(&hint->inserts, 1);
	bound = hint->bound;
	if (bound == BFS_LOOK || (bound != BFS_EMPTY && !before64(key, bound)))
		return;
	if (__sync_val_compare_and_swap(&hint->bound, bound, key) != bound)
		hint->bound = BFS_LOOK;
}

/* ops.enqueue() is about to insert a task of that key. */
static __always_inline void begin_insert(u32 queue, u64 key)
{
	finish_insert();
	bfs_cpu(bpf_get_smp_processor_id())->inserting = queue + 1;
	__sync_fetch_and_add(&hint_of(queue)->underway, 1);
	lower_bound(hint_of(queue), key);
}

/*
 * A bound may rise only to what a look at the queue showed, and only if no CPU
 * was inserting before or began to meanwhile: what is underway may be in the
 * queue already, or not yet.
 */
static __always_inline void raise_bound(struct bfs_hint *hint, u64 inserts, bool quiet, u64 bound)
{
	if (!quiet)
		return;
	hint->bound = bound;
	if (__sync_fetch_and_add(&hint->inserts, 0) != inserts)
		hint->bound = BFS_LOOK;
}

/* The first task of a queue that may run here; what the queue begins with is noted on the way. */
static __always_inline bool bfs_first(u32 queue, u32 cpu, struct bfs_head *head)
{
	struct bfs_hint *hint = hint_of(queue);
	u64 inserts = __sync_fetch_and_add(&hint->inserts, 0), bound = BFS_EMPTY;
	bool found = false, quiet = !__sync_fetch_and_add(&hint->underway, 0);
	struct task_struct *p;

	for_each_queued(it, p, queue)
	{
		if (bound == BFS_EMPTY)
			bound = p->scx.dsq_vtime;
		if (!fill_head(p, cpu, head))
			continue;
		found = true;
		break;
	}
	if (!bfs_in_jiffies(cfg.rules))
		raise_bound(hint, inserts, quiet, bound);
	return found;
}

/* rule 1.7.1: from U to E, each in its place among those that came before and after it. */
static __always_inline void bfs_age(u32 from, u32 to, u64 limit)
{
	struct task_struct *p;

	for_each_queued(it, p, from)
	{
		struct bfs_task *t = task_of(p);

		if (!t || before64(limit, p->scx.dsq_vtime))
			break;
		scx_bpf_dsq_move_set_vtime(it, t->seq);
		scx_bpf_dsq_move_vtime(it, p, to, 0);
	}
}

/* A function of its own, which the verifier follows once and not for every level. */
struct bfs_choice;
__noinline int pick_level(u32 level, u32 cpu, u64 now_ns, const struct bfs_task *prev,
			  struct bfs_choice *choice);

#define bfs_look_at_level(level, cpu, now_ns, prev, choice) \
	pick_level(level, cpu, now_ns, prev, choice)

#include "pick.h"

/* The sets of groups of a level: in 311 one for each cache. */
static __always_inline u32 group_domains(void)
{
	return rules == BFS_311 ? nr_llcs : 1;
}

__noinline int pick_level(u32 level, u32 cpu, u64 now_ns, const struct bfs_task *prev,
			  struct bfs_choice *choice)
{
	if (choice)
		bfs_pick_level(&cfg, level, cpu, group_domains(), now_ns, prev, choice);
	return 0;
}

/* Bring the chosen task to this CPU. False: another CPU was faster. */
static __always_inline bool take(const struct bfs_choice *choice, u32 cpu)
{
	struct task_struct *p;

	if (choice->from == BFS_QUEUE)
		return scx_bpf_dsq_move_to_local(choice->queue);
	for_each_queued(it, p, choice->queue)
	{
		struct bfs_task *t = task_of(p);

		if (t && t->seq == choice->seq && may_run_on(p, cpu))
			return scx_bpf_dsq_move(it, p, SCX_DSQ_LOCAL, 0);
	}
	return false;
}

/* The task sticks to the CPU, in place of the one that did so before. */
static __always_inline void set_sticky(u32 cpu, u32 pid)
{
	__sync_lock_test_and_set(&bfs_cpu(cpu)->sticky, pid);
	__sync_fetch_and_or(&bfs_sticky_word(cpu / 64), 1ULL << (cpu & 63));
}

/* Other CPUs need not look into the own queue, unless another task has come to stick in between. */
static __always_inline void hide_own(u32 cpu)
{
	u64 bit = 1ULL << (cpu & 63), *word = &bfs_sticky_word(cpu / 64);
	struct bfs_cpu *c = bfs_cpu(cpu);

	__sync_fetch_and_and(word, ~bit);
	if (__sync_fetch_and_add(&c->sticky, 0) || c->crowded)
		__sync_fetch_and_or(word, bit);
}

/* The task does not stick to the CPU any more. One that did so before may still be in the own queue, for all CPUs to see. */
static __always_inline void clear_sticky(u32 cpu, u32 pid)
{
	struct bfs_cpu *c = bfs_cpu(cpu);

	if (__sync_val_compare_and_swap(&c->sticky, pid, 0) == pid && !c->crowded)
		hide_own(cpu);
}

/* The task no longer sticks to any CPU, however that came. */
static __always_inline void leave_sticky(const struct task_struct *p, struct bfs_task *t)
{
	if (!t->sticky_on)
		return;
	clear_sticky(t->sticky_on - 1, p->pid);
	t->sticky_on = 0;
}
