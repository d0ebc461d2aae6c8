/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The O(1) scheduler of Linux 2.6.22: long time slices in two arrays of
 * priority lists, and a guess at which tasks are interactive.
 *
 * Each task has a time slice by its nice value (800 ms at -20, 100 at 0, 5 at
 * 19). The best non-empty list of the active array runs, first come first
 * served. A task that has used up its slice gets a new one and goes to the expired
 * array; when the active array is empty the two are swapped.
 *
 * The guess is sleep_avg, 0 to 1 s: sleeping adds to it, running takes from
 * it, slower the higher it is. It shifts the priority by up to 5 either way,
 * and a task far enough on the good side is "interactive" and goes back to
 * the active array when its slice ends. An example, nice 0 (120):
 *
 *   A hog H has sleep_avg 0: priority 120 + 5 = 125. An editor E that has
 *   slept for 10 s since its last key is set to the ceiling of a single sleep,
 *   0.8 s less a tick (a bonus of 7 of 10): priority 120 - 2 = 118, just
 *   interactive. A key wakes it: 118 < 125, it preempts H at once. After many
 *   short sleeps sleep_avg reaches 1 s: priority 115; from there running 1 ms
 *   takes 0.1 ms of it, later a little more, so that it may run for 2.4 s in
 *   all (0.9 + 0.8 + 0.7) before it counts as a hog, 100 ms a slice,
 *   and H waits in the expired array while E and its like keep the active one
 *   busy: for at most 1 s for each runnable task ("starving"), then even an
 *   interactive task expires.
 *
 * Good at: few switches, and latency of what sleeps as people do. Bad at: what
 * only looks so (a sleeper that burns CPU stays interactive for seconds; video
 * and X count as hogs when busy), expired tasks beside many interactive ones,
 * and evenness at negative nice, where slices are 400 ms and more.
 *
 * Rule numbers are those of docs/rules/o1.md.
 */
#pragma once

#include "../lib/arrays.h"

#define O1_MAX_PRIO 140
#define O1_MAX_BONUS 10
#define O1_MAX_SLEEP_NS NSEC_PER_SEC
#define O1_BONUS_NS (O1_MAX_SLEEP_NS / O1_MAX_BONUS)
#define O1_INTERACTIVE_DELTA 2
#define O1_CHILD_PENALTY_PCT 95
#define O1_EXIT_WEIGHT 3
#define O1_ON_RUNQUEUE_PCT 30

struct o1_config {
	u32 hz;
	u32 cpus; /* online */
};

/* How a task slept, and what its wait on the run queue is worth at its next pick (rule 4.5). */
enum o1_sleep {
	O1_NORMAL, /* not woken since it ran, or paid already: nothing */
	O1_NONINTERACTIVE, /* at its ceiling by one long sleep: nothing */
	O1_WOKEN, /* by another task: 30 % */
	O1_INTERRUPTED, /* by an interrupt: all of it */
};

struct o1_task {
	struct array_place at;
	u64 sleep_avg_ns;
	u64 timestamp_ns; /* when it last was switched, or woken */
	u32 slice; /* ticks left */
	u32 static_prio, prio; /* 100..139 */
	u32 sleep_type;
	bool first_slice; /* still what the parent gave */
	bool batch;
	bool user; /* has memory of its own: not a kernel thread */
};

struct o1_queue {
	u64 epoch;
	u64 expired_ticks; /* when the first task expired; 0: none has */
	u32 best_expired_prio; /* static */
};

static __always_inline u32 o1_ticks(const struct o1_config *cfg, u32 ms)
{
	u32 ticks = ms * cfg->hz / 1000;

	return ticks ? ticks : 1;
}

static __always_inline u64 o1_tick_ns(const struct o1_config *cfg)
{
	return NSEC_PER_SEC / cfg->hz;
}

/* rule 4.1: ticks. */
static __always_inline u32 o1_timeslice(const struct o1_config *cfg, u32 static_prio)
{
	u32 ticks = o1_ticks(cfg, static_prio < DEFAULT_PRIO ? 400 : 100);
	u32 least = o1_ticks(cfg, 5);

	ticks = ticks * (O1_MAX_PRIO - static_prio) / 20;
	return ticks > least ? ticks : least;
}

/* CB, 0..10. */
static __always_inline u32 o1_bonus(u64 sleep_avg_ns)
{
	return sleep_avg_ns / O1_BONUS_NS;
}

/* rule 4.2. */
static __always_inline u32 o1_prio(u32 static_prio, u64 sleep_avg_ns)
{
	u32 prio = static_prio + O1_MAX_BONUS / 2 - o1_bonus(sleep_avg_ns);

	return prio < MAX_RT_PRIO ? MAX_RT_PRIO : prio < O1_MAX_PRIO ? prio : O1_MAX_PRIO - 1;
}

/* rule 4.3: how far below its static priority a task of this nice value counts as interactive. */
static __always_inline s32 o1_delta(u32 static_prio)
{
	return (s32)((static_prio - MAX_RT_PRIO) * O1_MAX_BONUS / 40) - O1_MAX_BONUS / 2 +
	       O1_INTERACTIVE_DELTA;
}

static __always_inline bool o1_interactive(const struct o1_task *t)
{
	return (s32)t->prio <= (s32)t->static_prio - o1_delta(t->static_prio);
}

/* rule 4.6: what one sleep may lift sleep_avg to, one tick short of interactive by more than one step. */
static __always_inline u64 o1_ceiling_ns(const struct o1_config *cfg, u32 static_prio)
{
	u32 steps = O1_MAX_BONUS / 2 + o1_delta(static_prio) + 1;

	return steps * O1_BONUS_NS - o1_tick_ns(cfg);
}

/* rule 4.4.3: ticks that an interactive task runs before others of its list do. */
static __always_inline u32 o1_granularity(const struct o1_config *cfg, u64 sleep_avg_ns)
{
	u32 below = O1_MAX_BONUS - o1_bonus(sleep_avg_ns);

	return (o1_ticks(cfg, 10) << ((below ? below : 1) - 1)) * cfg->cpus;
}

static __always_inline void o1_set_prio(struct o1_task *t, u32 prio)
{
	t->prio = prio;
	t->at.level = prio - MAX_RT_PRIO;
}

/* The tail of a list of the active (0) or the expired (1) array. */
static __always_inline void o1_to_tail(struct o1_task *t, const struct o1_queue *q, u32 array,
				       u64 arrival)
{
	t->at.epoch = q->epoch + array;
	t->at.arrival = arrival;
}

/* rule 4.6: sleep counts, and the priority follows. */
static __always_inline u32 o1_slept(const struct o1_config *cfg, struct o1_task *t, u64 sleep_ns)
{
	u64 ceiling = o1_ceiling_ns(cfg, t->static_prio);

	if (!t->batch && sleep_ns) {
		if (t->user && sleep_ns > ceiling && t->sleep_avg_ns < ceiling) {
			t->sleep_avg_ns = ceiling;
			t->sleep_type = O1_NONINTERACTIVE;
		} else {
			t->sleep_avg_ns += sleep_ns;
		}
		t->sleep_avg_ns = min_u64(t->sleep_avg_ns, O1_MAX_SLEEP_NS);
	}
	return o1_prio(t->static_prio, t->sleep_avg_ns);
}

static __always_inline u64 o1_since(u64 then_ns, u64 now_ns)
{
	return before64(then_ns, now_ns) ? now_ns - then_ns : 0;
}

/* rule 4.6: awake. It joins the active array, a batch task the expired one. */
static __always_inline void o1_wake(const struct o1_config *cfg, struct o1_task *t,
				    struct o1_queue *q, u64 now_ns, bool from_interrupt,
				    u64 arrival)
{
	t->sleep_type = O1_NORMAL;
	o1_set_prio(t, o1_slept(cfg, t, o1_since(t->timestamp_ns, now_ns)));
	if (t->sleep_type == O1_NORMAL)
		t->sleep_type = from_interrupt ? O1_INTERRUPTED : O1_WOKEN;
	t->timestamp_ns = now_ns;
	o1_to_tail(t, q, t->batch, arrival);
}

/* rule 4.5: descheduled, or looked at and kept. The more it had slept, the less running costs it. */
static __always_inline void o1_switch_out(struct o1_task *t, u64 now_ns)
{
	u64 ran = min_u64(o1_since(t->timestamp_ns, now_ns), O1_MAX_SLEEP_NS);
	u32 bonus = o1_bonus(t->sleep_avg_ns);

	ran /= bonus ? bonus : 1;
	t->sleep_avg_ns -= min_u64(ran, t->sleep_avg_ns);
	t->timestamp_ns = now_ns;
}

/* rule 4.7: a task of this epoch runs. If it had expired, the active array was empty: swap. */
static __always_inline bool o1_swap(struct o1_queue *q, u64 epoch)
{
	if (!before64(q->epoch, epoch))
		return false;
	q->epoch = epoch;
	q->expired_ticks = 0;
	q->best_expired_prio = O1_MAX_PRIO;
	return true;
}

/* rule 4.5: picked. The wait of one that was woken counts as sleep; with a new priority it gets a new place as well. */
static __always_inline void o1_switch_in(const struct o1_config *cfg, struct o1_task *t, u64 now_ns,
					 u64 arrival)
{
	u64 waited = o1_since(t->timestamp_ns, now_ns);
	u32 prio;

	if (t->sleep_type == O1_WOKEN || t->sleep_type == O1_INTERRUPTED) {
		if (t->sleep_type == O1_WOKEN)
			waited = waited * (O1_ON_RUNQUEUE_PCT * 128 / 100) / 128;
		prio = o1_slept(cfg, t, waited);
		if (prio != t->prio) {
			o1_set_prio(t, prio);
			t->at.arrival = arrival;
		}
	}
	t->sleep_type = O1_NORMAL;
	t->timestamp_ns = now_ns;
}

/* rule 4.4.2: the first expired task has waited for long enough, or a better one than this has expired. */
static __always_inline bool o1_starving(const struct o1_config *cfg, const struct o1_queue *q,
					u32 static_prio, u32 nr, u64 now_ticks)
{
	if (static_prio > q->best_expired_prio)
		return true;
	return q->expired_ticks && now_ticks - q->expired_ticks > (u64)10 * o1_ticks(cfg, 100) * nr;
}

enum o1_tick { O1_KEEP, O1_EXPIRED, O1_REINSERTED, O1_ROUND_ROBIN };

/* rules 4.4.1, 4.4.2 and 4.4.3. All but KEEP ask for a reschedule. `arrival` is the number of a task that goes to a tail. */
static __always_inline enum o1_tick o1_tick(const struct o1_config *cfg, struct o1_task *t,
					    struct o1_queue *q, u32 nr, u64 now_ticks, u64 arrival)
{
	u32 slice = o1_timeslice(cfg, t->static_prio), every;

	/* Expired, but not rescheduled yet. */
	if (before64(q->epoch, t->at.epoch))
		return O1_EXPIRED;
	if (t->slice <= 1) {
		o1_set_prio(t, o1_prio(t->static_prio, t->sleep_avg_ns));
		t->slice = slice;
		t->first_slice = false;
		if (!q->expired_ticks)
			q->expired_ticks = now_ticks;
		if (o1_interactive(t) && !o1_starving(cfg, q, t->static_prio, nr, now_ticks)) {
			o1_to_tail(t, q, 0, arrival);
			return O1_REINSERTED;
		}
		o1_to_tail(t, q, 1, arrival);
		if (t->static_prio < q->best_expired_prio)
			q->best_expired_prio = t->static_prio;
		return O1_EXPIRED;
	}
	t->slice--;
	every = o1_granularity(cfg, t->sleep_avg_ns);
	if (!o1_interactive(t) || t->slice < every || (slice - t->slice) % every)
		return O1_KEEP;
	o1_to_tail(t, q, 0, arrival);
	return O1_ROUND_ROBIN;
}

/* rule 4.8: a new task shares what is left of its parent's slice. True: nothing is left, tick the parent now. */
static __always_inline bool o1_fork(struct o1_task *parent, struct o1_task *child, u64 now_ns)
{
	child->slice = (parent->slice + 1) / 2;
	child->first_slice = true;
	child->sleep_avg_ns = parent->sleep_avg_ns;
	child->timestamp_ns = now_ns;
	parent->slice /= 2;
	if (parent->slice)
		return false;
	parent->slice = 1;
	return true;
}

/* rule 4.8: in whole steps. */
static __always_inline u64 o1_forked_sleep_avg(u64 sleep_avg_ns, u32 pct)
{
	return o1_bonus(sleep_avg_ns) * pct / 100 * O1_BONUS_NS;
}

/* rule 4.8: the new task is queued: last in its list; or before its parent (runs_first), which then has to go. */
static __always_inline void o1_join(struct o1_task *child, const struct o1_task *parent,
				    bool runs_first, const struct o1_queue *q, u64 arrival)
{
	child->sleep_avg_ns = o1_forked_sleep_avg(child->sleep_avg_ns, O1_CHILD_PENALTY_PCT);
	o1_set_prio(child, o1_prio(child->static_prio, child->sleep_avg_ns));
	o1_to_tail(child, q, child->batch, arrival);
	if (!runs_first)
		return;
	o1_set_prio(child, parent->prio);
	child->at.epoch = parent->at.epoch;
	child->at.arrival = parent->at.arrival - 1;
}

/* rule 4.8: a child is gone; what it had not used of its first slice is the parent's again, and hogs are charged to it. */
static __always_inline void o1_exit(const struct o1_config *cfg, struct o1_task *parent,
				    const struct o1_task *child, bool same_cpu)
{
	u32 most = o1_timeslice(cfg, child->static_prio);

	if (child->first_slice && same_cpu) {
		parent->slice += child->slice;
		if (parent->slice > most)
			parent->slice = most;
	}
	if (child->sleep_avg_ns < parent->sleep_avg_ns)
		parent->sleep_avg_ns =
			parent->sleep_avg_ns / (O1_EXIT_WEIGHT + 1) * O1_EXIT_WEIGHT +
			child->sleep_avg_ns / (O1_EXIT_WEIGHT + 1);
}

/* rule 4.9: a new nice value: to the tail of its new list. Below 0: better than before. */
static __always_inline s32 o1_renice(struct o1_task *t, u32 static_prio, u64 arrival)
{
	u32 old = t->prio;

	t->static_prio = static_prio;
	o1_set_prio(t, o1_prio(static_prio, t->sleep_avg_ns));
	t->at.arrival = arrival;
	return (s32)t->prio - (s32)old;
}

/* rule 4.10.1: what balance weighs a task by, 128 at nice 0. */
static __always_inline u32 o1_weight(const struct o1_config *cfg, u32 static_prio)
{
	return o1_timeslice(cfg, static_prio) * 128 / o1_ticks(cfg, 100);
}
