/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Multilevel feedback queues: what a task did lately decides its level, the
 * highest level runs, equals take turns of one quantum. Two rule sets.
 *
 * windows: a task has a base level by nice, and a dynamic one that is raised
 * when a wait ends and sinks by one for every quantum used, down to the base.
 * An example, one CPU, quanta of 31.25 ms: hog H and reader R, both nice 0,
 * base 8. R wakes from the disk: 8 + 1 = 9, above H at 8, and runs at once. It
 * reads and sleeps again after 2 ms, fifteen times: then its quantum is used
 * up, it sinks to 8 and is an equal of H until the next wake-up lifts it. L at
 * nice 19 has base 1: it never runs beside H, but for one long quantum at level
 * 15 every 4 to 5 s, because a scan once a second lifts tasks that starve.
 *
 * textbook: all tasks start at the top with a short quantum. A task that uses it
 * up, at once or bit by bit, sinks by one level and gets a quantum twice as long;
 * one that blocks before stays. Every second all go back to the top. H sinks 8, 16,
 * 32, 64 ms down to the bottom within 120 ms; R, 2 ms at a time, is above it
 * from then on, and L is like H: nice levels are not heeded.
 *
 * Good at: answering tasks that mostly sleep, without being told which ones do;
 * few switches among hogs. Bad at: shares (a busy level above starves all below,
 * but for the boosts); and under the windows rules a task that sleeps shortly
 * before its quantum ends never sinks for long, as each sleep lifts it again.
 *
 * Rule numbers are those of docs/rules/rt-and-mlfq.md.
 */
#pragma once

#include "../lib/queue.h"

enum mlfq_rules { MLFQ_WINDOWS, MLFQ_TEXTBOOK };

/* rule 6.2.1: levels 16 to 31 are real time, which here is the kernel's own class above. */
#define MLFQ_TOP 15
#define MLFQ_NORMAL 8
#define MLFQ_NICE0 120 /* static_prio */

struct mlfq_config {
	u32 rules;
	u32 bottom; /* textbook: the lowest level */
	u64 quantum_ns; /* textbook: of the top level */
	u64 period_ns; /* between two scans (windows), two boosts (textbook) */
	u64 starved_ns; /* windows: ready for so long */
	u32 long_quanta; /* windows: what a starved task gets */
};

struct mlfq_task {
	struct queue_place place;
	u64 period; /* textbook: the boost that it has had */
	u32 base, level;
	bool starved; /* windows: at the top for one long quantum */
	bool asleep;
};

/* rule 6.2.1: nice 0 is normal (8), -20 is 15, 19 is 1; SCHED_IDLE is 0. The steps between are this project's. */
static inline u32 mlfq_base(const struct mlfq_config *cfg, u32 static_prio, bool idle_policy)
{
	if (cfg->rules == MLFQ_TEXTBOOK)
		return cfg->bottom;
	if (idle_policy)
		return 0;
	if (static_prio > MLFQ_NICE0)
		return MLFQ_NORMAL - (static_prio - MLFQ_NICE0) * 7 / 19;
	return MLFQ_NORMAL + (MLFQ_NICE0 - static_prio) * 7 / 20;
}

/* rules 6.2.4 and 6.2.7 */
static inline u64 mlfq_quantum(const struct mlfq_config *cfg, const struct mlfq_task *t)
{
	if (cfg->rules == MLFQ_TEXTBOOK)
		return cfg->quantum_ns << ((MLFQ_TOP - t->level) & 15);
	return t->starved ? cfg->quantum_ns * cfg->long_quanta : cfg->quantum_ns;
}

static inline u64 mlfq_period(const struct mlfq_config *cfg, u64 now_ns)
{
	return now_ns / (cfg->period_ns ? cfg->period_ns : NSEC_PER_SEC);
}

/* Nanoseconds until the next scan or boost: all are at multiples of the period, so that tasks that run and tasks that wait are boosted together. */
static inline u64 mlfq_to_period_end(const struct mlfq_config *cfg, u64 now_ns)
{
	return cfg->period_ns - now_ns % (cfg->period_ns ? cfg->period_ns : NSEC_PER_SEC);
}

/* rule 6.2.7, a new task: windows at its base, textbook at the top. */
static inline void mlfq_start(const struct mlfq_config *cfg, struct mlfq_task *t, u64 now_ns)
{
	t->level = cfg->rules == MLFQ_TEXTBOOK ? MLFQ_TOP : t->base;
	t->starved = false;
	t->period = mlfq_period(cfg, now_ns);
	t->place.left_ns = mlfq_quantum(cfg, t);
}

/* rule 6.2.3, a wait has ended: windows lifts above the base, never past the top; textbook leaves the task where it was. */
static inline void mlfq_wake(const struct mlfq_config *cfg, struct mlfq_task *t, u32 boost)
{
	u32 lifted = t->base + boost < MLFQ_TOP ? t->base + boost : MLFQ_TOP;

	t->asleep = false;
	if (cfg->rules == MLFQ_WINDOWS && t->level < lifted)
		t->level = lifted;
}

/* rules 6.2.2 and 6.2.7, quantum end: one level down, to the base at most; at the tail. A task that was lifted from starving goes back to the base at once. */
static inline void mlfq_expire(const struct mlfq_config *cfg, struct mlfq_task *t)
{
	if (t->starved || t->level <= t->base)
		t->level = t->base;
	else
		t->level--;
	t->starved = false;
	t->place.left_ns = mlfq_quantum(cfg, t);
	queue_leave(&t->place);
}

/* A wait begins. rule 6.2.2: a quantum that ran out between two ticks is used up first, so that it takes no lift of rule 6.2.3. */
static inline void mlfq_sleep(const struct mlfq_config *cfg, struct mlfq_task *t)
{
	t->asleep = true;
	if (!t->place.left_ns)
		mlfq_expire(cfg, t);
	queue_leave(&t->place);
}

/* rule 6.2.7, textbook: the boost of all, carried out when the task is next looked at. */
static inline bool mlfq_refresh(const struct mlfq_config *cfg, struct mlfq_task *t, u64 now_ns)
{
	if (cfg->rules != MLFQ_TEXTBOOK || t->period == mlfq_period(cfg, now_ns))
		return false;
	mlfq_start(cfg, t, now_ns);
	return true;
}

/* rule 6.2.5, windows, ready for too long: the top, for one long quantum. Its place is its old one. */
static inline bool mlfq_starve(const struct mlfq_config *cfg, struct mlfq_task *t, u64 now_ns)
{
	if (cfg->rules != MLFQ_WINDOWS || t->starved ||
	    !queue_starves(t->place.waits_since_ns, now_ns, cfg->starved_ns))
		return false;
	t->level = MLFQ_TOP;
	t->starved = true;
	t->place.left_ns = mlfq_quantum(cfg, t);
	return true;
}

/* Nice or policy has changed: the new base, no boost, a fresh quantum. */
static inline void mlfq_rebase(const struct mlfq_config *cfg, struct mlfq_task *t, u32 base)
{
	if (cfg->rules == MLFQ_TEXTBOOK || base == t->base)
		return;
	t->base = t->level = base;
	t->starved = false;
	t->place.left_ns = mlfq_quantum(cfg, t);
}

/*
 * The key of a task that is queued, or that goes on unless others are before it.
 * rule 6.2.6: the highest level first; at the tail of its level, or, preempted by a higher
 * one, at the head with the rest of its quantum: it has kept its place.
 */
static inline u64 mlfq_key(const struct mlfq_config *cfg, struct mlfq_task *t, u64 now_ns)
{
	if (!mlfq_refresh(cfg, t, now_ns) && !t->place.left_ns)
		mlfq_expire(cfg, t);
	queue_join(&t->place, now_ns);
	return queue_key(t->level, t->place.joined_ns);
}
