/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Slots, quotas and weights of sd.h over all nice values. */
#include "sd.h"
#include "../random.h"

/* rule 5.5, another way: k is added for each slot, and every 40 make it the task's. */
static void test_matrix(void)
{
	u32 nice = round_nr, k = 40 - nice, sum = 0, count = 0;
	u64 row = stair_row(STAIR_SD, false, nice);

	for (u32 slot = 0; slot < 40; slot++) {
		bool mine = (sum += k) >= 40;

		if (mine)
			sum -= 40;
		count += mine;
		check((row >> slot & 1) == mine, "nice %u, slot %u", nice, slot);
	}
	check(count == k && row >> 39 & 1, "nice %u: %u slots", nice, count);
	/* Batch tasks: as many, at the end; RSDL: all from the own level down. */
	check(stair_row(STAIR_SD, true, nice) == stair_row(STAIR_RSDL, false, nice), "%u", nice);
	check(stair_row(STAIR_RSDL, false, nice) == ((1ULL << 40) - 1) >> nice << nice, "%u", nice);
}

/* The rows that the rule names: all, every second, every fourth, the last. */
static void test_rows(void)
{
	static const u32 every[][2] = { { 0, 1 }, { 20, 2 }, { 30, 4 }, { 39, 40 } };
	u32 nice = every[round_nr][0], step = every[round_nr][1];

	for (u32 slot = 1; slot <= 40; slot++)
		check(stair_entitled(nice, slot - 1) == (slot % step == 0), "nice %u, slot %u",
		      nice, slot);
}

static void test_quota(void)
{
	struct stair_config rsdl, sd;
	u32 nice = round_nr;
	s32 n = (s32)nice - 20;
	double rr = 10e6, want = n < -6 ? rr * n * n / 40 : n > 0 ? rr / 2 : rr;

	stair_init(&rsdl, STAIR_RSDL, 6000000);
	stair_init(&sd, STAIR_SD, 10000000);
	check(stair_quota(&sd, nice) == (u64)want, "nice %d: %llu", n, stair_quota(&sd, nice));
	want = n < 0 ? 6e6 * (20 - n) / 20 : 6e6;
	check(stair_quota(&rsdl, nice) == (u64)want, "nice %d: %llu", n, stair_quota(&rsdl, nice));
	check(stair_weight(&sd, 20) == 128 && stair_weight(&rsdl, 20) == 128, "nice 0");
	check(stair_weight(&sd, 0) == 2560 && stair_weight(&rsdl, 39) == 6, "%u, %u",
	      stair_weight(&sd, 0), stair_weight(&rsdl, 39));
	/* Worse nice, never more. */
	if (nice)
		check(stair_weight(&sd, nice) <= stair_weight(&sd, nice - 1) &&
			      stair_weight(&rsdl, nice) <= stair_weight(&rsdl, nice - 1),
		      "nice %d", n);
}

static void test_first(void)
{
	u64 bits = draw() << between(0, 63) & (coin(2) ? ~0ULL : draw());
	u32 first = 0;

	while (first < 64 && !(bits >> first & 1))
		first++;
	check(stair_first(bits) == first, "%llx: %u", bits, stair_first(bits));
}

/* rule 5.2: whatever was left or taken too much, however little, a new rotation begins with a whole quota. */
static void test_new_rotation(void)
{
	static const s64 lefts[] = { -1, 0, 1, -3000000, 3000000 };
	struct stair_queue q = { .epoch = 8 };
	struct stair_config cfg;
	struct stair_task t = { .nice = 20, .at.epoch = 7, .left_ns = lefts[round_nr % 5] };

	stair_init(&cfg, round_nr < 5 ? STAIR_RSDL : STAIR_SD, 6000000);
	stair_place(&cfg, &t, &q, true, 2);
	check(t.left_ns == 6000000 && t.at.epoch == 8, "%lld", t.left_ns);
}

int main(int argc, char **argv)
{
	rounds(1, argv, 10, test_new_rotation);
	rounds(1, argv, 40, test_matrix);
	rounds(1, argv, 4, test_rows);
	rounds(1, argv, 40, test_quota);
	return rounds(argc, argv, 100000, test_first);
}
