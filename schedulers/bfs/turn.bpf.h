/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What modern does between ticks. While a task waits that should run instead of
 * the one that does, the CPU looks every first_turn_us: for one that could not
 * preempt at its wake-up, or one that has not begun.
 *
 * A task that wakes when its deadline has passed is due. It begins with a first
 * turn. When that is over and others wait that were due at their wake-ups, the
 * task goes behind the last of them, once. So n equal tasks that are woken
 * at once have all begun after n - 1 turns, and not after n - 1 slices. Hogs are
 * not due, and none waits longer for it.
 *
 * A part of scx_bfs.bpf.c, which defines before it first_turn_us, kick_cpu()
 * and set_key().
 */
#pragma once

#include "../lib/oneshot.bpf.h"

ONESHOTS(look_timers, MAX_CPUS);

static __always_inline struct bfs_hint *shared_hint(u32 cpu)
{
	return &plain[cpu_index(cpu_llc[cpu_index(cpu)])];
}

/* Does a task wait that should have preempted? The bounds may say so wrongly; the pick is exact. */
static __always_inline bool finds_better(const struct bfs_cpu *c, u32 cpu)
{
	u64 own = c->own.bound, all = shared_hint(cpu)->bound;

	return (c->waiting_key != BFS_EMPTY && before64(c->waiting_key, c->key)) ||
	       (own != BFS_EMPTY && (own == BFS_LOOK || before64(own, c->key))) ||
	       (all != BFS_EMPTY && (all == BFS_LOOK || before64(all, c->key)));
}

/* The key of the last task that waits here for its first turn; 0: none. */
static __always_inline u64 last_due(const struct bfs_cpu *c, u32 cpu)
{
	u64 own = c->own.due_key, all = shared_hint(cpu)->due_key;

	return own && (!all || before64(all, own)) ? own : all;
}

/* A look may come at any time within a turn, so half of one is enough. */
static __always_inline bool had_a_turn(const struct bfs_cpu *c, u64 now)
{
	return now - c->since_ns >= first_turn_us * (NSEC_PER_USEC / 2);
}

/* Is it time for the first turn of another? */
static __always_inline bool turn_is_over(const struct bfs_cpu *c, u32 cpu, u64 now)
{
	return first_turn_us && c->due && had_a_turn(c, now) && last_due(c, cpu);
}

static __always_inline void start_looking(u32 cpu)
{
	struct bfs_cpu *c = bfs_cpu(cpu);

	if (first_turn_us && !c->looking)
		c->looking = start_oneshot(&look_timers, cpu, first_turn_us * NSEC_PER_USEC, 0);
}

/* Is there more to it than waiting for one's turn? */
static __always_inline bool has_to_look(const struct bfs_cpu *c, u32 cpu)
{
	return finds_better(c, cpu) || (c->due && last_due(c, cpu));
}

/* A task is queued, or handed over to this CPU. */
static __always_inline void note_waiting(struct bfs_hint *hint, const struct task_struct *p,
					 const struct bfs_task *t, u32 cpu)
{
	if (!MODERN)
		return;
	if (t->due && (!hint->due_key || !before64(t->key, hint->due_key))) {
		hint->due_key = t->key;
		hint->due_pid = p->pid;
	}
	if (t->due || before64(t->key, bfs_cpu(cpu)->key))
		start_looking(cpu);
}

static __always_inline void forget_waiting(struct bfs_hint *hint, const struct task_struct *p)
{
	if (hint->due_pid == p->pid)
		hint->due_key = 0;
}

/* It runs: from now on its deadline counts again. */
static __always_inline void return_to_deadline(const struct task_struct *p, struct bfs_task *t,
					       u64 now)
{
	if (!t->behind)
		return;
	t->behind = 0;
	set_key(p, t, now);
}

static __always_inline void begin_turn(const struct task_struct *p, struct bfs_task *t,
				       struct bfs_cpu *c, u32 cpu, u64 now)
{
	return_to_deadline(p, t, now);
	c->due = t->due;
	if (!t->due)
		return;
	forget_waiting(&c->own, p);
	forget_waiting(shared_hint(cpu), p);
	if (last_due(c, cpu))
		start_looking(cpu);
}

/* The task is off its CPU, or about to be, though it could go on. Its key is set next. */
static __always_inline void end_turn(struct bfs_task *t, struct bfs_cpu *c, u32 cpu, u64 now)
{
	if (!turn_is_over(c, cpu, now))
		return;
	STAT_INC(first_turns);
	c->due = t->due = false;
	t->behind = last_due(c, cpu);
}

static s32 look_fires(void *map, u32 *key, struct bpf_timer *timer)
{
	u32 cpu = *key;
	struct bfs_cpu *c = bfs_cpu(cpu);
	u64 now;

	c->looking = false;
	if (c->key == BFS_EMPTY || !has_to_look(c, cpu))
		return 0;
	c->looking = !bpf_timer_start(timer, first_turn_us * NSEC_PER_USEC, 0);
	now = scx_bpf_now();
	if ((had_a_turn(c, now) && finds_better(c, cpu)) || turn_is_over(c, cpu, now))
		kick_cpu(cpu, SCX_KICK_PREEMPT);
	return 0;
}

static __always_inline s32 init_looking(u32 cpu)
{
	return init_oneshot(&look_timers, cpu, look_fires) ? 0 : -EINVAL;
}
