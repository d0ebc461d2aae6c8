/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The pick of scx_mlfq, both rule sets, against lists of levels, literally: to
 * the tail when woken, yielded or with a quantum used, to the head when
 * preempted; one CPU. The reference has its own levels, quanta and clocks.
 */
#include "../queue/model.h"
#include "mlfq/mlfq.h"

#define TICK_NS 4000000ULL

static struct mlfq_config cfg;
static struct mlfq_task task[TASKS];
static u32 all[TASKS];
static s32 running;
static u64 now, picks;

/* The reference. */
static struct lists list;
static struct {
	s32 level, base;
	u64 used_ns, waits_since, joined, boosted;
	bool awake, starved;
} ref[TASKS];
static bool lifts; /* in this history somebody was lifted while he waited or ran */

static u64 ref_quantum(u32 t)
{
	u64 quantum = cfg.quantum_ns;

	if (cfg.rules == MLFQ_WINDOWS)
		return ref[t].starved ? quantum * cfg.long_quanta : quantum;
	for (s32 level = MLFQ_TOP; level > ref[t].level; level--)
		quantum *= 2;
	return quantum;
}

/* Among those of its level, before whoever joined later. */
static void ref_place(u32 t)
{
	u32 level = ref[t].level, i = 0;

	while (i < list.len[level] && ref[list.task[level][i]].joined < ref[t].joined)
		i++;
	memmove(&list.task[level][i + 1], &list.task[level][i],
		(list.len[level] - i) * sizeof(u32));
	list.task[level][i] = t;
	list.len[level]++;
}

/* Textbook: the boost of all, at multiples of the period. */
static bool ref_boost(u32 t)
{
	if (cfg.rules != MLFQ_TEXTBOOK || ref[t].boosted == now / cfg.period_ns)
		return false;
	ref[t].boosted = now / cfg.period_ns;
	ref[t].level = MLFQ_TOP;
	ref[t].used_ns = 0;
	lifts = true;
	return true;
}

/*
 * Preempted, or compared with the others: the head of its level, but behind
 * those who were lifted to it and have waited longer.
 */
static void ref_head(u32 t)
{
	ref_boost(t);
	if (lifts)
		ref_place(t);
	else
		list_head(&list, ref[t].level, t);
}

static void invariants(u32 t)
{
	check(task[t].base <= task[t].level && task[t].level <= MLFQ_TOP, "task %u: %u above %u", t,
	      task[t].level, task[t].base);
	check((s32)task[t].level == ref[t].level, "task %u: level %u, not %d", t, task[t].level,
	      ref[t].level);
}

static void rest(u32 t)
{
	queue_waits(&task[t].place, now);
	ref[t].waits_since = now;
	queue_insert(t, mlfq_key(&cfg, &task[t], now));
}

static void ref_join(u32 t)
{
	ref_boost(t);
	ref[t].joined = now;
	list_tail(&list, ref[t].level, t);
}

static void pick(bool to_tail)
{
	s32 prev = running, expected, got, first;
	u64 key = 0;

	if (prev >= 0) {
		if (to_tail)
			ref_join(prev);
		else
			ref_head(prev);
		key = mlfq_key(&cfg, &task[prev], now);
		invariants(prev);
	}
	expected = list_first(&list);
	list_remove(&list, expected);
	first = queue_first(all, 0);
	got = prev >= 0 && queue_goes_on(key, first >= 0, first >= 0 ? queue[first].key : 0)
		      ? prev
		      : first;
	check(got == expected, "picked %d (level %d), the lists say %d (level %d), prev %d", got,
	      got < 0 ? -1 : ref[got].level, expected, expected < 0 ? -1 : ref[expected].level,
	      prev);
	picks++;
	if (got == prev)
		return;
	if (prev >= 0)
		rest(prev);
	if (got >= 0) {
		queue[got].here = false;
		queue_runs(&task[got].place, 0);
	}
	running = got;
}

static void run(u64 ns)
{
	u32 t = running;
	bool over;

	if (running < 0)
		return;
	queue_charge(&task[t].place, ns);
	ref[t].used_ns += ns;
	check(mlfq_refresh(&cfg, &task[t], now) == ref_boost(t), "task %u", t);
	over = ref[t].used_ns + TICK_NS / 2 > ref_quantum(t);
	check(queue_slice_over(&task[t].place, TICK_NS) == over, "task %u used %llu", t,
	      ref[t].used_ns);
	if (!over)
		return;
	if (ref[t].starved || ref[t].level == ref[t].base)
		ref[t].level = ref[t].base;
	else
		ref[t].level--;
	ref[t].starved = false;
	ref[t].used_ns = 0;
	pick(true);
}

/* It blocks so long after a tick; a quantum that ran out meanwhile is used. */
static void sleeps(u32 t, u64 ns)
{
	now += ns;
	queue_charge(&task[t].place, ns);
	ref[t].used_ns += ns;
	mlfq_sleep(&cfg, &task[t]);
	if (ref[t].used_ns >= ref_quantum(t)) {
		ref[t].level = ref[t].starved || ref[t].level == ref[t].base ? ref[t].base
									     : ref[t].level - 1;
		ref[t].starved = false;
		ref[t].used_ns = 0;
	}
	invariants(t);
}

/* The scan: windows lifts who waits too long, textbook lifts all; each keeps its place in time. */
static void scan(void)
{
	for (u32 t = 0; t < TASKS; t++) {
		bool lifted = false, by_rule;

		if (!queue[t].here)
			continue;
		if (cfg.rules == MLFQ_WINDOWS && !ref[t].starved &&
		    now - ref[t].waits_since > cfg.starved_ns) {
			list_remove(&list, t);
			ref[t].starved = true;
			ref[t].level = MLFQ_TOP;
			ref[t].used_ns = 0;
			lifted = lifts = true;
		} else if (cfg.rules == MLFQ_TEXTBOOK) {
			list_remove(&list, t);
			lifted = ref_boost(t);
			if (!lifted)
				ref_place(t);
		}
		if (lifted)
			ref_place(t);
		by_rule = mlfq_starve(&cfg, &task[t], now) || mlfq_refresh(&cfg, &task[t], now);
		check(by_rule == lifted, "task %u", t);
		if (by_rule)
			queue_insert(t, queue_key(task[t].level, task[t].place.joined_ns));
		invariants(t);
	}
}

static void wake(u32 t, u32 boost)
{
	s32 lifted = ref[t].base + (s32)boost;

	ref[t].awake = true;
	if (cfg.rules == MLFQ_WINDOWS) {
		lifted = lifted > MLFQ_TOP ? MLFQ_TOP : lifted;
		ref[t].level = ref[t].level > lifted ? ref[t].level : lifted;
	}
	ref_join(t);
	mlfq_wake(&cfg, &task[t], boost);
	rest(t);
	invariants(t);
	pick(false);
}

static void event(void)
{
	u32 t = below(TASKS), base;
	u64 ns = 1 + draw() % (3 * TICK_NS);

	now += ns;
	run(ns);
	now++;
	switch (below(9)) {
	case 0: /* preempted by something above all, which ends */
		if (running < 0)
			return;
		ref_head(running);
		rest(running);
		running = -1;
		now += 1 + below(1000);
		pick(false);
		return;
	case 1:
	case 2:
		if (running < 0)
			return;
		sleeps(running, draw() % (2 * TICK_NS));
		ref[running].awake = false;
		running = -1;
		pick(false);
		return;
	case 3:
		if (running < 0)
			return;
		queue_leave(&task[running].place);
		pick(true);
		return;
	case 4: /* in half of the histories */
		if (round_nr & 2)
			return;
		now += draw() % NSEC_PER_SEC;
		scan();
		pick(false);
		return;
	case 5: /* nice changes while it sleeps */
		if (ref[t].awake)
			return;
		base = mlfq_base(&cfg, 100 + below(40), !below(8));
		if (cfg.rules == MLFQ_WINDOWS && (s32)base != ref[t].base) {
			ref[t].base = ref[t].level = base;
			ref[t].starved = false;
			ref[t].used_ns = 0;
		}
		mlfq_rebase(&cfg, &task[t], base);
		invariants(t);
		return;
	default:
		if (!ref[t].awake)
			wake(t, below(9));
	}
}

static void configure(u32 rules)
{
	cfg = (struct mlfq_config){ .rules = rules,
				    .bottom = MLFQ_TOP - 1 - below(7),
				    .quantum_ns = (2 + below(8)) * TICK_NS,
				    .period_ns = NSEC_PER_SEC,
				    .starved_ns = (1 + below(4)) * NSEC_PER_SEC,
				    .long_quanta = 1 + below(4) };
}

static void test_history(void)
{
	u32 events = 40 + below(120);

	configure(round_nr % 2);
	memset(task, 0, sizeof(task));
	memset(ref, 0, sizeof(ref));
	memset(queue, 0, sizeof(queue));
	memset(&list, 0, sizeof(list));
	memset(all, 0xff, sizeof(all));
	running = -1;
	lifts = false;
	now = 1 + (below(2) ? 0 : draw() >> 8);
	for (u32 t = 0; t < TASKS; t++) {
		task[t].base = mlfq_base(&cfg, 100 + below(40), !below(8));
		mlfq_start(&cfg, &task[t], now);
		ref[t].base = task[t].base;
		ref[t].level = cfg.rules == MLFQ_TEXTBOOK ? MLFQ_TOP : ref[t].base;
		ref[t].boosted = now / cfg.period_ns;
	}
	for (u32 i = 0; i < events; i++)
		event();
}

/* rule 6.2.8.1: a boost has decayed after (level - base) quanta, neither before nor after. */
static void test_decay(void)
{
	struct mlfq_task t = {};
	u32 boost = below(20), lifted, quanta = 0;

	configure(MLFQ_WINDOWS);
	t.base = mlfq_base(&cfg, 100 + below(40), false);
	mlfq_start(&cfg, &t, 0);
	mlfq_wake(&cfg, &t, boost);
	lifted = t.level;
	check(lifted <= MLFQ_TOP && lifted == (t.base + boost > 15 ? 15 : t.base + boost), "%u",
	      lifted);
	while (t.level > t.base) {
		queue_charge(&t.place, cfg.quantum_ns - 1);
		check(t.place.left_ns == 1, "%llu", t.place.left_ns);
		queue_charge(&t.place, 1 + below(1000));
		mlfq_key(&cfg, &t, 1);
		quanta++;
	}
	check(quanta == lifted - t.base, "%u quanta from %u to %u", quanta, lifted, t.base);
}

/* rules 6.2.5 and 6.2.7: scans and boosts are at the multiples of the period, whenever the policy was loaded. */
static void test_period_end(void)
{
	u64 at = draw() >> 1, left, before;

	configure(MLFQ_TEXTBOOK);
	cfg.period_ns = (100 + below(9900)) * 1000000ULL;
	left = mlfq_to_period_end(&cfg, at);
	before = mlfq_period(&cfg, at);
	check(mlfq_period(&cfg, at + left - 1) == before, "%llu after %llu", left, at);
	check(mlfq_period(&cfg, at + left) == before + 1, "%llu after %llu", left, at);
	check(mlfq_to_period_end(&cfg, at + left) == cfg.period_ns, "%llu", at + left);
}

/* The table of bases: nice 0 is 8, monotone, within 1..15; SCHED_IDLE 0. */
static void test_base(void)
{
	cfg.rules = MLFQ_WINDOWS;
	check(mlfq_base(&cfg, 120, false) == 8 && mlfq_base(&cfg, 100, false) == 15, "nice 0, -20");
	check(mlfq_base(&cfg, 139, false) == 1 && mlfq_base(&cfg, 120, true) == 0, "nice 19, idle");
	for (u32 prio = 101; prio < 140; prio++)
		check(mlfq_base(&cfg, prio, false) <= mlfq_base(&cfg, prio - 1, false), "%u", prio);
}

int main(int argc, char **argv)
{
	rounds(1, argv, 1, test_base);
	rounds(argc, argv, 50000, test_decay);
	rounds(argc, argv, 50000, test_period_end);
	rounds(argc, argv, 200000, test_history);
	printf("%llu picks, all as the lists say\n", picks);
	return 0;
}
