/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How much a balance pulls (rule 4.10.3), against the order of questions of
 * 2.6.22 over all groups at once, and what must hold whatever comes out.
 */
#include "../lib/balance.h"
#include "../random.h"

#define GROUPS 4
#define CPUS 4

struct group {
	u64 load, weight, nr, power, capacity;
};

/* 0: balanced; else the weight to pull from *busiest. Group 0 is the local one. */
static u64 reference(const struct group *g, u32 groups, u32 pct, s32 *busiest)
{
	u64 total = 0, power = 0, most = 0, avg, this_load, task, own, pull, imbalance = 0;
	u64 now, moved = 0, gone, come;
	u32 times = 2;

	*busiest = -1;
	this_load = g[0].load * 1024 / g[0].power;
	for (u32 i = 0; i < groups; i++) {
		u64 load = g[i].load * 1024 / g[i].power;

		total += g[i].load;
		power += g[i].power;
		if (i && load > most && g[i].nr > g[i].capacity) {
			most = load;
			*busiest = i;
		}
	}
	if (*busiest < 0 || this_load >= most || !g[*busiest].nr)
		return 0;
	avg = total * 1024 / power;
	if (this_load >= avg || 100 * most <= pct * this_load)
		return 0;
	task = g[*busiest].weight / g[*busiest].nr;
	if (most <= task)
		return 0;
	if (most >= avg) {
		pull = most - avg < most - task ? most - avg : most - task;
		imbalance = pull * g[*busiest].power;
		if ((avg - this_load) * g[0].power < imbalance)
			imbalance = (avg - this_load) * g[0].power;
		imbalance /= 1024;
		if (imbalance >= task)
			return imbalance;
	}
	own = g[0].nr ? g[0].weight / g[0].nr : 128;
	if (g[0].nr && task > own)
		times = 1;
	if (most - this_load >= task * times)
		return task;
	now = (g[*busiest].power * (task < most ? task : most) +
	       g[0].power * (own < this_load ? own : this_load)) /
	      1024;
	gone = task * 1024 / g[*busiest].power;
	if (most > gone)
		moved = g[*busiest].power * (task < most - gone ? task : most - gone);
	come = (most * g[*busiest].power < task * 1024 ? most * g[*busiest].power : task * 1024) /
	       g[0].power;
	moved += g[0].power * (own < this_load + come ? own : this_load + come);
	return moved / 1024 > now ? task : 0;
}

static void test_pull(void)
{
	struct group g[GROUPS] = {};
	u32 groups = between(2, GROUPS), level = coin(3) ? SD_NODE : coin(2) ? SD_CPU : SD_MC;
	u32 pct = coin(2) ? 125 : 110;
	struct lb_stats lb;
	s32 busiest;
	u64 want, got;

	lb_init(&lb, LB_2_6_22, level, false);
	for (u32 i = 0; i < groups; i++) {
		u32 cpus = between(1, CPUS);
		struct lb_group fed;

		lb_group_init(&fed, i, !i);
		for (u32 cpu = 0; cpu < cpus; cpu++) {
			u32 nr = coin(3) ? 0 : between(1, 4);
			u64 weight = 0, load;

			for (u32 task = 0; task < nr; task++)
				weight += coin(2) ? 128 : between(3, 1024);
			/* An average may be above or below the moment. */
			load = coin(2) ? weight : weight * between(50, 150) / 100;
			lb_group_feed(&fed, load, weight, nr);
			/* Each CPU a core, two of them a cache. */
			sd_span_add(&fed.span, cpu, cpu / 2);
			g[i].load += load;
			g[i].weight += weight;
			g[i].nr += nr;
		}
		g[i].power = level == SD_NODE ? (cpus + 1) / 2 * 1024 : 1024;
		g[i].capacity = g[i].power / 1024;
		lb_feed(&lb, &fed);
	}
	want = reference(g, groups, pct, &busiest);
	got = lb_end(&lb, CPU_NOT_IDLE, pct);
	check(got == want, "level %u: %llu, not %llu", level, got, want);
	check(lb.busiest == (want ? busiest : -1), "group %d, not %d", lb.busiest,
	      want ? busiest : -1);
	/* Whoever gives had more than the receiver, and is not emptied of all it had. */
	if (got)
		check(g[busiest].load * g[0].power > g[0].load * g[busiest].power &&
			      got <= g[busiest].load,
		      "%llu of %llu", got, g[busiest].load);
}

/* rule 4.10.1: 100 ms are 100 ticks, 25 or 10. */
static void test_real_time(void)
{
	static const u32 cases[][3] = { { 0, 1000, 1024 }, { 1, 1000, 1025 }, { 99, 1000, 1150 },
					{ 99, 250, 1530 }, { 50, 100, 1664 }, { 99, 0, 1530 } };

	for (u32 i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		u32 got = lb_real_time_weight(cases[i][0], cases[i][1]);

		check(got == cases[i][2], "priority %u at %u Hz: %u", cases[i][0], cases[i][1],
		      got);
	}
}

int main(int argc, char **argv)
{
	test_real_time();
	return rounds(argc, argv, 300000, test_pull);
}
