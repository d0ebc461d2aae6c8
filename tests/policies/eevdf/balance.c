/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Between CPUs (rules 3.11.2 and 3.11.5): averages against real exponentials, affinity, and what a balance moves. */
#include <math.h>

#include "check.h"

static void test_average(void)
{
	struct eevdf_avg avg = { .at_ns = draw() >> 2 };
	double want = 0, half = 32 * 1048576.0, highest = 0;
	u64 now = avg.at_ns;

	for (u32 i = 0; i < 60; i++) {
		u64 ns = coin(10) ? between(0, 400 * NSEC_PER_MSEC) : between(0, 3 * NSEC_PER_MSEC);
		u32 weight = coin(3) ? 0 : some_weight();
		double left = exp2(-(double)ns / half);

		now += ns;
		eevdf_avg_update(&avg, now, weight, 1, weight != 0);
		want = want * left + weight * (1 - left);
		highest = fmax(highest, want);
		/* Between the points of the table lie straight lines, 1.1 % beside the curve's slope. */
		check(fabs((avg.load >> EEVDF_AVG_SHIFT) - want) <= 2 + 0.011 * highest,
		      "%llu, not %f, after %u", avg.load >> EEVDF_AVG_SHIFT, want, i);
		check(avg.util >> EEVDF_AVG_SHIFT <= EEVDF_CAPACITY, "util %llu", avg.util);
	}
}

/* A balance never makes matters worse by count, and leaves what is even. */
static void test_even(void)
{
	u32 cpus = between(1, 8), nr = between(0, 20);
	struct eevdf_lb lb = { .busiest.id = -1,
			       .share_cache = coin(2),
			       .prefer_sibling = coin(2) };
	struct eevdf_avg avg = { .load = (u64)nr * 1024 << EEVDF_AVG_SHIFT,
				 .util = (u64)(nr ? 1024 : 0) << EEVDF_AVG_SHIFT,
				 .runnable = (u64)nr * 1024 << EEVDF_AVG_SHIFT };
	struct eevdf_group g;

	for (s32 side = 0; side < 2; side++) {
		eevdf_group_init(&g, side);
		for (u32 i = 0; i < cpus; i++)
			eevdf_group_feed(&g, &avg, nr);
		eevdf_group_end(&g, 117, false);
		lb.total_load += g.load;
		lb.total_cpus += g.cpus;
		if (!side)
			lb.local = g;
		else if (eevdf_busier(&g, &lb.busiest))
			lb.busiest = g;
	}
	eevdf_lb_end(&lb, between(0, 2), 117);
	check(lb.busiest.id < 0 && !lb.imbalance, "%lld of %u on %u", lb.imbalance, nr, cpus);
}

static struct eevdf_lb two(u32 here, u32 there, enum cpu_idle_type idle)
{
	struct eevdf_lb lb = { .busiest.id = -1, .share_cache = true };
	u32 nr[2] = { here, there };
	struct eevdf_group g;

	for (s32 side = 0; side < 2; side++) {
		struct eevdf_avg avg = { .load = (u64)nr[side] * 1024 << EEVDF_AVG_SHIFT,
					 .util = (u64)(nr[side] ? 1024 : 0) << EEVDF_AVG_SHIFT,
					 .runnable = (u64)nr[side] * 1024 << EEVDF_AVG_SHIFT };

		eevdf_group_init(&g, side);
		eevdf_group_feed(&g, &avg, nr[side]);
		eevdf_group_end(&g, 117, false);
		lb.total_load += g.load;
		lb.total_cpus++;
		if (!side)
			lb.local = g;
		else if (eevdf_busier(&g, &lb.busiest))
			lb.busiest = g;
	}
	eevdf_lb_end(&lb, idle, 117);
	return lb;
}

static void test_cases(void)
{
	struct eevdf_avg task = { .load = 1024 << EEVDF_AVG_SHIFT };
	struct eevdf_affinity a = { .imbalance_pct = 117 };
	struct eevdf_lb lb;

	/* An idle CPU beside one with two: half the difference. */
	lb = two(0, 2, CPU_NEWLY_IDLE);
	check(lb.busiest.id == 1 && lb.move == EEVDF_MOVE_TASK && lb.imbalance == 1, "0, 2: %lld",
	      lb.imbalance);
	lb = two(0, 9, CPU_IDLE);
	check(lb.imbalance == 4, "0, 9: %lld", lb.imbalance);
	/* One running task is nothing to take. */
	check(two(0, 1, CPU_IDLE).busiest.id < 0, "0, 1");
	/* The example of balance.h: nothing fits at first, a task after a failure. */
	lb = two(1, 2, CPU_NOT_IDLE);
	check(lb.busiest.id == 1 && lb.move == EEVDF_MOVE_LOAD && lb.imbalance == 512, "1, 2: %lld",
	      lb.imbalance);
	check(eevdf_lb_fit(lb.move, lb.imbalance, &task, 0) < 0 &&
		      eevdf_lb_fit(lb.move, lb.imbalance, &task, 1) == 1024,
	      "fit");
	check(two(2, 1, CPU_NOT_IDLE).busiest.id < 0, "2, 1");
	/* 16 % more is not worth it, 20 % is. */
	check(two(100, 116, CPU_NOT_IDLE).busiest.id < 0, "100, 116");
	check(two(100, 120, CPU_NOT_IDLE).imbalance == 10 * 1024, "100, 120");

	a.this_idle = a.share_cache = a.prev_idle = true;
	check(eevdf_wake_affine(&a) == EEVDF_PREV, "both idle");
	a.prev_idle = false;
	check(eevdf_wake_affine(&a) == EEVDF_THIS, "this idle");
	a.this_idle = false;
	a.sync = true;
	a.this_nr = 1;
	a.prev_idle = true;
	check(eevdf_wake_affine(&a) == EEVDF_THIS, "the waker will sleep");
	a.this_nr = 2;
	check(eevdf_wake_affine(&a) == EEVDF_PREV, "prev idle");
	a.prev_idle = a.sync = false;
	a.this_load = 1024;
	a.prev_load = 3072;
	a.wakee_load = 512;
	check(eevdf_wake_affine(&a) == EEVDF_THIS, "1536 against 2560 and bias");
	a.prev_load = 1024;
	check(eevdf_wake_affine(&a) == EEVDF_PREV, "1536 against 512");

	check(!eevdf_wake_wide(100, 3, 4) && !eevdf_wake_wide(15, 4, 4) &&
		      eevdf_wake_wide(16, 4, 4) && eevdf_wake_wide(4, 16, 4),
	      "wake_wide");
	check(eevdf_scan_limit(0, 16, 117) == 16 && eevdf_scan_limit(16 * 512, 16, 117) == 10 &&
		      eevdf_scan_limit(16 * 900, 16, 117) == 0,
	      "SIS_UTIL %u", eevdf_scan_limit(16 * 512, 16, 117));
	check(eevdf_interval(4, false, 4, 1000) == 4 && eevdf_interval(4, true, 4, 1000) == 63 &&
		      eevdf_interval(64, true, 64, 250) == 255 &&
		      eevdf_interval(256, true, 4, 250) == 100 &&
		      eevdf_interval(1, false, 4, 100) == 1,
	      "intervals");
}

int main(int argc, char **argv)
{
	rounds(1, argv, 1, test_cases);
	rounds(argc, argv, 20000, test_average);
	return rounds(argc, argv, 100000, test_even);
}
