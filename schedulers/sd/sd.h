/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The rotating staircase deadline scheduler (RSDL) and its successor, the
 * staircase deadline scheduler (SD): two arrays of lists as in O(1), and not
 * one guess about which tasks are interactive.
 *
 * There are 40 slots, one after the other, and a nice value says in which of
 * them a task may run, for one quota of time each. It starts in its first
 * slot, goes one slot on for every quota used, and expires after its last one.
 * When no task is left in any slot the arrays are swapped: a rotation is over,
 * and all begin again. A task that sleeps through the end of a rotation begins
 * again as well, in its best slot, in which few are: that is all that makes
 * interactive tasks fast.
 *
 * RSDL: nice 0 starts at slot 20 and may use that one and all below, 20 of
 * them; nice 19 the last one only; nice -20 all 40. SD spreads the slots out,
 * so that tasks of all nice values take turns from early on: nice 0 has every
 * second, nice 10 every fourth. An example with quotas of 10 ms (nice 10: 5):
 *
 *   A at nice 0 and B at nice 10 on one CPU. A may use slots 2, 4, 6 .. 40, B
 *   4, 8 .. 40: A runs 10 ms in slot 2, A 10 and B 5 ms in slot 4, and so on
 *   until both have expired after 200 + 50 ms: B has a fifth. C at nice 0
 *   slept meanwhile; waking it is in slot 2, where no other is left, preempts
 *   and has 10 ms before it competes in slot 4 and 200 before it must wait for
 *   the rest of the rotation, 250 ms less what has gone by.
 *
 * RSDL has a quota for each slot besides (the sum of those that came to it):
 * once it is used up, each task still there goes one slot down (the minor
 * rotation), whatever it has left.
 *
 * Good at: shares that can be computed, bounded waits, simplicity. Bad at:
 * latency of a task that has used up its slots: it waits for the rest of the rotation,
 * which grows with the number of tasks and their nice values; X had to be
 * reniced. Rotations of different CPUs know nothing of each other: a task that
 * moves begins again.
 *
 * No source of either is at hand: much here is from memory. docs/rules/sd.md
 * says what, and numbers the rules. Names begin with stair, as sd_ is for domains.
 */
#pragma once

#include "../lib/arrays.h"

enum stair_rules { STAIR_RSDL, STAIR_SD };

#define STAIR_SLOTS ARRAY_LEVELS
#define STAIR_ROWS 64 /* a power of two, so that a mask bounds an index */

struct stair_config {
	u32 rules;
	u64 rr_ns;
	u64 row[STAIR_ROWS]; /* slots by nice + 20, a bit each */
	u64 batch_row[STAIR_ROWS];
};

struct stair_task {
	struct array_place at; /* rotation, slot, place in the slot's list */
	s64 left_ns; /* of this slot's quota; what is below 0 is taken from the next */
	u64 since_ns; /* charged until then */
	u32 nice; /* 0..39 */
	bool batch;
};

struct stair_queue {
	u64 epoch; /* the rotation */
	s64 slot_ns[2][STAIR_ROWS]; /* RSDL: quota left of each slot, in this rotation and the next */
	u64 pushed[STAIR_ROWS]; /* RSDL: tasks that arrived before this went down from that slot */
};

/* rule 5.5: in k of 40 slots, as evenly as integers allow; the last one always. */
static __always_inline bool stair_entitled(u32 nice, u32 slot)
{
	u32 k = STAIR_SLOTS - nice;

	return (slot + 1) * k / STAIR_SLOTS > slot * k / STAIR_SLOTS;
}

/* rules 5.2 and 5.5. Batch tasks in SD have as many slots, all at the end. */
static __always_inline u64 stair_row(u32 rules, bool batch, u32 nice)
{
	u64 row = 0;

	for (u32 slot = 0; slot < STAIR_SLOTS; slot++)
		if (rules == STAIR_RSDL || batch ? slot >= nice : stair_entitled(nice, slot))
			row |= 1ULL << slot;
	return row;
}

/* rule 5.1: SD's staircase begins below -6, where the square of nice is taken for 40ths. */
static __always_inline u64 stair_quota(const struct stair_config *cfg, u32 nice)
{
	s32 n = (s32)nice - 20;

	if (cfg->rules == STAIR_RSDL)
		return n < 0 ? cfg->rr_ns * (20 - n) / 20 : cfg->rr_ns;
	if (n < -6)
		return cfg->rr_ns * (n * n) / 40;
	return n > 0 ? cfg->rr_ns / 2 : cfg->rr_ns;
}

static __always_inline void stair_init(struct stair_config *cfg, u32 rules, u64 rr_ns)
{
	cfg->rules = rules;
	cfg->rr_ns = rr_ns;
	for (u32 nice = 0; nice < STAIR_SLOTS; nice++) {
		cfg->row[nice] = stair_row(rules, false, nice);
		cfg->batch_row[nice] = stair_row(rules, true, nice);
	}
}

/* What a rotation gives a hog, in 128ths of what nice 0 gets: for balance. */
static __always_inline u32 stair_weight(const struct stair_config *cfg, u32 nice)
{
	u64 weight = 128 * (STAIR_SLOTS - nice) * stair_quota(cfg, nice) / (20 * cfg->rr_ns);

	return weight ? weight : 1;
}

static __always_inline u32 stair_bounded(u32 index)
{
	return index & (STAIR_ROWS - 1);
}

/* The lowest bit's number; 64 if none is set. */
static __always_inline u32 stair_first(u64 bits)
{
	return bits ? __builtin_ctzll(bits) : 64;
}

static __always_inline u64 stair_slots(const struct stair_config *cfg, const struct stair_task *t)
{
	u32 nice = stair_bounded(t->nice);

	return t->batch ? cfg->batch_row[nice] : cfg->row[nice];
}

static __always_inline s64 *stair_slot_ns(struct stair_queue *q, u64 rotation, u32 slot)
{
	return &q->slot_ns[rotation & 1][stair_bounded(slot)];
}

/*
 * rules 5.2 and 5.7.1: into a slot, with a fresh quota for the task, and for the
 * slot. What was left is lost, what was taken too much is not.
 */
static __always_inline void stair_enter(const struct stair_config *cfg, struct stair_task *t,
					struct stair_queue *q, u32 slot)
{
	t->at.level = slot;
	if (t->left_ns > 0)
		t->left_ns = 0;
	t->left_ns += stair_quota(cfg, t->nice);
	*stair_slot_ns(q, t->at.epoch, slot) += t->left_ns;
}

/* What a task took too much is taken from its next slot, and not from those it leaves behind in this one. */
static __always_inline void stair_leave(const struct stair_task *t, struct stair_queue *q)
{
	if (t->left_ns < 0)
		*stair_slot_ns(q, t->at.epoch, t->at.level) -= t->left_ns;
}

/* rule 5.2: a new rotation: the first slot. */
static __always_inline void stair_begin(const struct stair_config *cfg, struct stair_task *t,
					struct stair_queue *q, u64 rotation, u64 arrival)
{
	t->at.epoch = rotation;
	t->at.arrival = arrival;
	stair_enter(cfg, t, q, stair_first(stair_slots(cfg, t)));
}

/* rules 5.2 and 5.4: to the end of the expired array. */
static __always_inline void stair_expire(const struct stair_config *cfg, struct stair_task *t,
					 struct stair_queue *q, u64 arrival)
{
	if (t->at.epoch == q->epoch)
		stair_leave(t, q);
	stair_begin(cfg, t, q, q->epoch + 1, arrival);
}

/*
 * rule 5.2: the quota is used up: the next slot down that the task may use, or
 * expired. It only ever goes down, so that no slot is used twice in a rotation.
 */
static __always_inline void stair_step(const struct stair_config *cfg, struct stair_task *t,
				       struct stair_queue *q, u64 arrival)
{
	u64 slots = stair_slots(cfg, t);
	u32 next = stair_first(slots & ~((2ULL << stair_bounded(t->at.level)) - 1));

	t->at.arrival = arrival;
	if (next >= STAIR_SLOTS) {
		stair_expire(cfg, t, q, arrival);
		return;
	}
	stair_leave(t, q);
	stair_enter(cfg, t, q, next);
}

/* It runs. Tasks that were pushed down together have one number: the first of them to run stays before the others. */
static __always_inline void stair_run(struct stair_task *t, u64 now_ns)
{
	t->since_ns = now_ns;
	t->at.arrival &= ~1ULL;
}

/* rule 5.3.1: task and slot pay for the time. */
static __always_inline void stair_charge(struct stair_task *t, struct stair_queue *q, u64 now_ns)
{
	u64 ran = before64(t->since_ns, now_ns) ? now_ns - t->since_ns : 0;

	t->left_ns -= ran;
	*stair_slot_ns(q, t->at.epoch, t->at.level) -= ran;
	t->since_ns = now_ns;
}

/*
 * rule 5.3.2, RSDL's minor rotation: a slot's quota is used up, and all tasks in
 * its list go to the end of the next one, at once. A queued task is moved when it
 * becomes the first (stair_pushed): until then its place does not matter. The odd
 * number puts them behind the running task, if that goes to the same slot.
 */
static __always_inline void stair_push(const struct stair_config *cfg, struct stair_queue *q,
				       u32 slot, u64 arrival)
{
	if (cfg->rules == STAIR_RSDL && *stair_slot_ns(q, q->epoch, slot) <= 0)
		q->pushed[stair_bounded(slot)] = arrival + 1;
}

/* True: the task's slot was pushed down after it had come; its new place is in `at`. */
static __always_inline bool stair_pushed(const struct stair_config *cfg, struct stair_task *t,
					 struct stair_queue *q)
{
	bool moved = false;

	if (cfg->rules != STAIR_RSDL || t->at.epoch != q->epoch)
		return false;
	for (u32 turn = 0; turn < STAIR_SLOTS; turn++) {
		u64 pushed = q->pushed[stair_bounded(t->at.level)];

		if (!before64(t->at.arrival, pushed))
			break;
		moved = true;
		if (t->at.level >= STAIR_SLOTS - 1) {
			stair_expire(cfg, t, q, pushed);
			break;
		}
		t->at.arrival = pushed;
		t->at.level++;
	}
	return moved;
}

/*
 * rule 5.2: where a runnable task is queued. `tail`: it was asleep or is new;
 * else it was preempted and has its place. More than one slot at a time is
 * passed only by a task that overran a whole quota, as with 5 ms and ticks of 10.
 */
static __always_inline void stair_place(const struct stair_config *cfg, struct stair_task *t,
					struct stair_queue *q, bool tail, u64 arrival)
{
	if (before64(t->at.epoch, q->epoch)) {
		if (t->left_ns < 0)
			t->left_ns = 0;
		stair_begin(cfg, t, q, q->epoch, arrival);
		return;
	}
	if (tail)
		t->at.arrival = arrival;
	else
		stair_pushed(cfg, t, q);
	for (u32 slots = 0; slots < STAIR_SLOTS && t->at.epoch == q->epoch; slots++) {
		if (t->left_ns > 0 &&
		    (cfg->rules == STAIR_SD || *stair_slot_ns(q, t->at.epoch, t->at.level) > 0))
			return;
		stair_step(cfg, t, q, arrival);
	}
}

/* rules 5.3.1 and 5.3.2, at a tick, charged: true asks for a reschedule. */
static __always_inline bool stair_tick(const struct stair_config *cfg, struct stair_task *t,
				       struct stair_queue *q, u64 arrival)
{
	u32 slot = t->at.level;
	bool over = t->left_ns <= 0;

	if (before64(q->epoch, t->at.epoch))
		return true;
	if (over)
		stair_place(cfg, t, q, true, arrival);
	stair_push(cfg, q, slot, arrival);
	if (!stair_pushed(cfg, t, q))
		return over;
	/* It was the first in its list. */
	t->at.arrival = arrival;
	return true;
}

/* rule 5.3.3, the major rotation: a task that had expired runs, as no other was left. */
static __always_inline bool stair_rotate(struct stair_queue *q, u64 rotation)
{
	if (!before64(q->epoch, rotation))
		return false;
	for (u32 slot = 0; slot < STAIR_SLOTS; slot++) {
		q->slot_ns[q->epoch & 1][slot] = 0;
		q->pushed[slot] = 0;
	}
	q->epoch = rotation;
	return true;
}

/* rule 5.4: a child has its parent's place, and half of what is left. */
static __always_inline void stair_fork(struct stair_task *parent, struct stair_task *child,
				       u64 now_ns)
{
	u64 left = parent->left_ns > 0 ? parent->left_ns : 0;

	child->at = parent->at;
	child->left_ns = (left + 1) / 2;
	child->since_ns = now_ns;
	parent->left_ns -= child->left_ns;
}

/* To another CPU, whose rotation is another: expired stays expired, the rest begins again. */
static __always_inline void stair_move(const struct stair_config *cfg, struct stair_task *t,
				       const struct stair_queue *from, struct stair_queue *to,
				       u64 arrival)
{
	if (before64(from->epoch, t->at.epoch))
		stair_begin(cfg, t, to, to->epoch + 1, arrival);
	else if (t->at.epoch != to->epoch)
		stair_begin(cfg, t, to, to->epoch, arrival);
}

/* A new nice value: the slots that are left are from now on those of the new one. */
static __always_inline void stair_renice(const struct stair_config *cfg, struct stair_task *t,
					 struct stair_queue *q, u32 nice, u64 arrival)
{
	s64 quota = stair_quota(cfg, nice);

	t->nice = nice;
	if (t->left_ns > quota)
		t->left_ns = quota;
	t->at.arrival = arrival;
	if (before64(q->epoch, t->at.epoch))
		stair_expire(cfg, t, q, arrival);
	else if (t->at.epoch == q->epoch &&
		 !(stair_slots(cfg, t) >> stair_bounded(t->at.level) & 1))
		stair_step(cfg, t, q, arrival);
}
