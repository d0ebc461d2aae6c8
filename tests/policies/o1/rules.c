/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Slices, priorities and the interactivity test of o1.h over all nice values,
 * bonuses and usual tick rates, against the rules in jiffies as 2.6.22 has them.
 */
#include "o1.h"
#include "../random.h"

static const u32 hzs[] = { 100, 250, 1000 };

static void test_slices(void)
{
	struct o1_config cfg = { .hz = hzs[round_nr % 3], .cpus = 1 };
	s32 nice = (s32)(round_nr / 3) - 20;
	u32 sp = 120 + nice;
	/* rule 4.1 in ms, cut to ticks where 2.6.22 cuts. */
	u32 base = (nice < 0 ? 400 : 100) * cfg.hz / 1000, least = 5 * cfg.hz / 1000;
	u32 want = base * (140 - sp) / 20;

	if (!least)
		least = 1;
	if (want < least)
		want = least;
	check(o1_timeslice(&cfg, sp) == want, "nice %d: %u, not %u ticks", nice,
	      o1_timeslice(&cfg, sp), want);
	/* rule 4.11.2: never above 800 ms. */
	check(want * 1000 / cfg.hz <= 800 && want >= 1, "%u ticks", want);
	check(o1_weight(&cfg, sp) == want * 128 / (cfg.hz / 10), "nice %d", nice);
	if (nice == -20 || nice == 0 || nice == 19)
		check(cfg.hz != 1000 || want == (nice < 0 ? 800u : nice ? 5u : 100u), "%u", want);
}

/* Every nice value with every sleep_avg in steps of 5 ms and one ns around each. */
static void test_priorities(void)
{
	struct o1_config cfg = { .hz = hzs[round_nr % 3], .cpus = 1 + round_nr % 7 };
	s32 nice = (s32)(round_nr / 3) % 40 - 20;
	u32 sp = 120 + nice;

	for (u64 at = 0; at <= 200; at++) {
		for (s32 off = -1; off <= 1; off++) {
			u64 avg = at * 5 * NSEC_PER_MSEC + off;
			struct o1_task t = { .static_prio = sp };
			u64 jiffies;
			u32 bonus, below, want_granularity;
			s32 prio, delta;

			if ((s64)avg < 0 || avg > NSEC_PER_SEC)
				continue;
			jiffies = avg / (NSEC_PER_SEC / cfg.hz);
			bonus = jiffies * 10 / cfg.hz;
			prio = (s32)sp - ((s32)bonus - 5);
			prio = prio < 100 ? 100 : prio > 139 ? 139 : prio;
			o1_set_prio(&t, o1_prio(sp, avg));
			check(o1_bonus(avg) == bonus, "%llu: %u, not %u", avg, o1_bonus(avg),
			      bonus);
			check((s32)t.prio == prio && t.at.level == (u32)prio - 100,
			      "nice %d, %llu: %u, not %d", nice, avg, t.prio, prio);
			/* rule 4.11.2: within 5 of the static priority. */
			check(t.prio + 5 >= sp && t.prio <= sp + 5, "%u", t.prio);
			delta = (nice + 20) * 10 / 40 - 20 * 10 / 40 + 2;
			check(o1_interactive(&t) == (prio <= (s32)sp - delta), "nice %d, bonus %u",
			      nice, bonus);
			below = 10 - bonus ? 10 - bonus : 1;
			want_granularity = (10 * cfg.hz / 1000) * (1u << (below - 1)) * cfg.cpus;
			check(o1_granularity(&cfg, avg) == want_granularity, "%u",
			      want_granularity);
		}
	}
	/* rule 4.6: the ceiling, in jiffies. */
	check(o1_ceiling_ns(&cfg, sp) == (cfg.hz * (5 + ((nice + 20) * 10 / 40 - 5 + 2) + 1) / 10 -
					  1) * (NSEC_PER_SEC / cfg.hz),
	      "nice %d", nice);
}

/* rule 4.6: a sleep of the ceiling counts in full, one that is longer by anything lifts to it, and no further. */
static void test_ceiling(void)
{
	struct o1_config cfg = { .hz = hzs[round_nr % 3], .cpus = 1 };
	u32 sp = 100 + round_nr / 3;
	u64 ceiling = o1_ceiling_ns(&cfg, sp);

	for (u32 more = 0; more < 2; more++) {
		struct o1_task t = { .static_prio = sp, .user = true, .sleep_avg_ns = 5 };

		o1_slept(&cfg, &t, ceiling + more);
		check(t.sleep_avg_ns == min_u64(more ? ceiling : ceiling + 5, NSEC_PER_SEC),
		      "%llu after %llu", t.sleep_avg_ns, ceiling + more);
	}
}

/* How many of the 11 bonuses count as interactive, at the nice values that 2.6.22 tells of. */
static void test_interactive(void)
{
	static const struct {
		s32 nice;
		u32 bonuses;
	} rows[] = { { -20, 9 }, { -10, 7 }, { 0, 4 }, { 10, 2 }, { 19, 0 } };
	u32 count = 0;

	for (u32 bonus = 0; bonus <= 10; bonus++) {
		struct o1_task t = { .static_prio = 120 + rows[round_nr].nice };

		/* Unclamped, as the table is: far from both ends. */
		t.prio = t.static_prio + 5 - bonus;
		count += o1_interactive(&t);
	}
	check(count == rows[round_nr].bonuses, "nice %d: %u", rows[round_nr].nice, count);
}

int main(int argc, char **argv)
{
	rounds(1, argv, 3 * 40, test_slices);
	rounds(1, argv, 5, test_interactive);
	rounds(1, argv, 3 * 40, test_ceiling);
	return rounds(argc, argv, 3 * 40 * 7, test_priorities);
}
