/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Weights in control groups (rule 3.13) against fractions by hand, and another weight in the middle of a competition. */
#include <math.h>

#include "cgroup.h"
#include "check.h"

/* A group that has been as it is for long. */
static void settle(struct eevdf_demand *d, s64 runnable)
{
	*d = (struct eevdf_demand){ .runnable = runnable,
				    .load = (u64)runnable << EEVDF_AVG_SHIFT };
}

/* The parts of a group divide its weight by what is runnable, where nothing has changed lately. */
static void test_parts(void)
{
	u32 cpus = between(1, 8), weight = eevdf_cgroup_weight(between(1, 10000));
	struct eevdf_part part[8] = {};
	struct eevdf_cgroup g = { .weight = weight };
	u64 all = 0, sum = 0;

	for (u32 cpu = 0; cpu < cpus; cpu++) {
		settle(&part[cpu].here, coin(4) ? 0 : some_weight());
		all += part[cpu].here.runnable;
	}
	settle(&g.all, all);
	for (u32 cpu = 0; cpu < cpus; cpu++) {
		s64 got = eevdf_part_weight(&g, &part[cpu]), here = part[cpu].here.runnable;

		if (!here) {
			check(!got, "%lld for nobody", got);
			continue;
		}
		check(got == (s64)max_u64(EEVDF_PART_MIN, weight * here / all),
		      "%lld of %u for %lld of %llu", got, weight, here, all);
		sum += got;
	}
	check(sum <= weight + (u64)EEVDF_PART_MIN * cpus, "%llu of %u", sum, weight);
}

/* What was runnable elsewhere a while ago still takes its part, and that fades; who has just come counts in full at once. */
static void test_fading(void)
{
	struct eevdf_cgroup g = { .weight = 1024 };
	struct eevdf_part here = {}, there = {};
	u64 now = NSEC_PER_SEC;

	settle(&there.here, 1024);
	settle(&g.all, 1024);
	g.all.at_ns = there.here.at_ns = here.here.at_ns = now;
	/* All of it moves. */
	there.here.runnable = 0;
	here.here.runnable = 1024;
	check(eevdf_part_weight(&g, &here) == 512, "%lld at once", eevdf_part_weight(&g, &here));
	check(!eevdf_part_weight(&g, &there), "nobody is there");
	now += 32 << 20;
	eevdf_demand_track(&g.all, now);
	eevdf_demand_track(&here.here, now);
	/* Half of what was there is left: 512 beside 1024. */
	check(llabs(eevdf_part_weight(&g, &here) - 1024 * 2 / 3) <= 2, "%lld after a half life",
	      eevdf_part_weight(&g, &here));
	now += NSEC_PER_SEC;
	eevdf_demand_track(&g.all, now);
	eevdf_demand_track(&here.here, now);
	check(eevdf_part_weight(&g, &here) >= 1022, "%lld after a second",
	      eevdf_part_weight(&g, &here));
}

/* Through up to six levels, what a task weighs is the product of its fractions, rounded; and never nothing. */
static void test_levels(void)
{
	u32 weight = some_weight(), levels = between(1, 6);
	u64 fraction = (u64)weight << EEVDF_FRACTION_SHIFT;
	double want = weight;

	for (u32 level = 0; level < levels; level++) {
		struct eevdf_part part = { .weight = between(2, 102400) };

		part.here.runnable = (level ? 2 : weight) + between(0, 100000);
		fraction = eevdf_within(fraction, &part);
		want = want * part.weight / part.here.runnable;
		/* Each level rounds a fraction down, which the next may multiply. */
		if (want < 64 || want > 100000)
			break;
	}
	check(eevdf_whole(fraction) >= 1, "nothing");
	if (want >= 64 && want <= 100000)
		check(fabs(eevdf_whole(fraction) - want) <= 1 + want * 0.01, "%u, not %f",
		      eevdf_whole(fraction), want);
}

static s64 real(s64 virtual_ns, u32 weight)
{
	return virtual_ns * (s64)weight / EEVDF_NICE_0;
}

/* Another weight moves neither the average nor what is owed nor what is left of the request. */
static void test_reweight(void)
{
	struct eevdf_params prm = some_params();
	u64 start = draw() >> 1, average, v, d;
	struct eevdf_sums s = { .v0 = start };
	struct eevdf_entity e[8];
	u32 nr = between(1, 8), old, weight;
	struct literal l = { .near = start };

	for (u32 i = 0; i < nr; i++) {
		e[i] = (struct eevdf_entity){ .weight = some_weight(),
					      .slice_ns = prm.base_slice_ns };
		e[i].v = start + between(0, 5 * NSEC_PER_MSEC);
		e[i].d = e[i].v + eevdf_vdelta(e[i].slice_ns, e[i].weight);
		e[i].vprot = e[i].d;
		eevdf_join(&s, e[i].v, e[i].weight);
		s.v0 = eevdf_average(&s);
	}
	average = eevdf_average(&s);
	old = e[0].weight;
	v = e[0].v;
	d = e[0].d;
	weight = between(1, 100000);
	eevdf_reweight_queued(&s, &e[0], weight);
	s.v0 = average;
	for (u32 i = 0; i < nr; i++)
		literal_add(&l, e[i].v, e[i].weight);
	/* It was rounded to a nanosecond, which counted by the old weight. */
	check(eevdf_average(&s) == literal_average(&l), "the sums are others");
	check(llabs((s64)(eevdf_average(&s) - average)) <= 2 + (s64)((old + weight) / s.w),
	      "V moved by %lld", (s64)(eevdf_average(&s) - average));
	check(llabs(real(average - e[0].v, weight) - real(average - v, old)) <= 1 + weight / 1024,
	      "owed %lld, was %lld", real(average - e[0].v, weight), real(average - v, old));
	check(llabs(real(e[0].d - e[0].v, weight) - real(d - v, old)) <= 1 + weight / 1024,
	      "%lld left of the request, was %lld", real(e[0].d - e[0].v, weight),
	      real(d - v, old));
	check(e[0].vprot == e[0].d, "protected to another time");
	check(s.nr == nr, "%u compete", s.nr);
}

static void test_cases(void)
{
	check(eevdf_cgroup_weight(100) == 1024 && eevdf_cgroup_weight(1) == 10 &&
		      eevdf_cgroup_weight(10000) == 102400,
	      "cpu.weight");
	test_fading();
}

int main(int argc, char **argv)
{
	rounds(1, argv, 1, test_cases);
	rounds(argc, argv, 20000, test_parts);
	rounds(argc, argv, 20000, test_levels);
	return rounds(argc, argv, 20000, test_reweight);
}
