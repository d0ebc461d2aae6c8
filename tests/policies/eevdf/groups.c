/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Groups of CPUs by chance (rules 3.11.2, 3.11.3, 3.11.4 and 3.11.5), against the rules read one
 * after the other, in shares of a CPU instead of the kernel's units.
 */
#include <math.h>

#include "check.h"

#define MOST 8 /* CPUs of a group */

/* A group as the rules speak of it. */
struct group {
	u32 cpus, tasks, idle;
	u64 load, util, runnable;
	enum eevdf_group_type kind;
	u64 per_cpu; /* load */
};

static struct eevdf_avg avgs[MOST];
static u32 nrs[MOST], pct;
static bool pinned;

/* Few different values, so that groups are alike in much and limits are hit exactly. */
static u64 some_share(void)
{
	u64 share = between(0, 8) * 128;

	return coin(4) ? share * pct / 100 : share;
}

static struct eevdf_group some_group(s32 id, struct group *want)
{
	struct eevdf_group g;
	bool even = coin(2);
	u32 nr = below(4);

	*want = (struct group){ .cpus = coin(3) ? between(1, MOST) : between(1, 2) };
	pinned = coin(6);
	eevdf_group_init(&g, id);
	for (u32 i = 0; i < want->cpus; i++) {
		nrs[i] = even ? nr : below(4);
		avgs[i] = (struct eevdf_avg){
			.load = (some_share() * (1 + below(3)) << EEVDF_AVG_SHIFT) + below(1024),
			.util = (some_share() << EEVDF_AVG_SHIFT) + below(1024),
			.runnable =
				(some_share() * (1 + below(3)) << EEVDF_AVG_SHIFT) + below(1024),
		};
		eevdf_group_feed(&g, &avgs[i], nrs[i]);
		want->tasks += nrs[i];
		want->idle += nrs[i] == 0;
		want->load += avgs[i].load / 1024;
		want->util += avgs[i].util / 1024;
		want->runnable += avgs[i].runnable / 1024;
	}
	eevdf_group_end(&g, pct, pinned);
	return g;
}

/* rule 3.11.5: the kind of a group. A limit is a percentage, pct, of what it is held against. */
static void classify(struct group *g)
{
	u64 whole = 1024 * g->cpus;
	bool util_fits = g->util * pct<whole * 100, util_exceeds = g->util * pct> whole * 100;
	bool runnable_exceeds = g->runnable * 100 > whole * pct;

	g->per_cpu = g->load / g->cpus;
	if (g->tasks > g->cpus && (util_exceeds || runnable_exceeds))
		g->kind = EEVDF_OVERLOADED;
	else if (pinned)
		g->kind = EEVDF_IMBALANCED;
	else if (g->tasks < g->cpus || (util_fits && !runnable_exceeds))
		g->kind = EEVDF_SPARE;
	else
		g->kind = EEVDF_FULL;
}

static void test_group(void)
{
	struct eevdf_group g;
	struct group want;

	pct = coin(2) ? 117 : 110;
	g = some_group(between(0, 100), &want);
	classify(&want);
	check(g.cpus == want.cpus && g.nr == want.tasks && g.idle_cpus == want.idle, "%u CPUs, %u",
	      g.cpus, g.nr);
	check(g.load == want.load && g.util == want.util && g.runnable == want.runnable,
	      "load %llu util %llu runnable %llu", g.load, g.util, g.runnable);
	check(g.type == want.kind, "%d, not %d: %u on %u, util %llu, runnable %llu", g.type,
	      want.kind, g.nr, g.cpus, g.util, g.runnable);
	check(g.avg_load == want.per_cpu, "%llu, not %llu", g.avg_load, want.per_cpu);
}

/* Who is first in a list of criteria: -1, 0 or 1. */
static s32 order_of(u64 a, u64 b)
{
	return a < b ? -1 : a > b;
}

/* rules 3.11.4 and 3.11.5: two groups, which of them is the busier one and which the idler one. */
static void test_two(void)
{
	struct eevdf_group g[2], none = { .id = -1 };
	struct group w[2];
	s32 busier, idler;

	pct = coin(2) ? 117 : 110;
	for (u32 i = 0; i < 2; i++) {
		g[i] = some_group(i, &w[i]);
		classify(&w[i]);
	}
	if (coin(3)) {
		g[1] = g[0];
		w[1] = w[0];
		g[1].id = 1;
		if (coin(2)) {
			u32 more = below(3);

			g[1].nr += more;
			w[1].tasks += more;
		}
		if (coin(2)) {
			g[1].util = w[1].util = w[1].util + below(3);
		}
	}
	check(eevdf_busier(&g[0], &none) == (w[0].tasks > 0), "%u tasks", w[0].tasks);
	check(eevdf_idler(&g[0], &none), "the first");
	busier = idler = order_of(w[0].kind, w[1].kind);
	if (!busier && w[0].kind == EEVDF_SPARE) {
		busier = -order_of(w[0].idle, w[1].idle);
		busier = busier ? busier : order_of(w[0].tasks, w[1].tasks);
		idler = -order_of(w[0].idle, w[1].idle);
		idler = idler ? idler : order_of(w[0].util, w[1].util);
	} else if (!busier) {
		busier = idler = order_of(w[0].per_cpu, w[1].per_cpu);
	}
	check(eevdf_busier(&g[0], &g[1]) == (busier > 0 && w[0].tasks),
	      "kinds %d and %d, idle %u and %u", w[0].kind, w[1].kind, w[0].idle, w[1].idle);
	check(eevdf_idler(&g[0], &g[1]) == (idler < 0), "kinds %d and %d, idle %u and %u",
	      w[0].kind, w[1].kind, w[0].idle, w[1].idle);
}

/* rule 3.11.4: a new task leaves its group. */
static void test_leaves(void)
{
	struct eevdf_group here, best, none = { .id = -1 };
	struct group h, b;
	u64 margin;
	bool leaves;

	pct = coin(2) ? 117 : 110;
	here = some_group(0, &h);
	classify(&h);
	best = some_group(1, &b);
	classify(&b);
	if (h.kind == b.kind && coin(2)) {
		here.avg_load = h.per_cpu = between(0, 20) * 100;
		best.avg_load = b.per_cpu =
			coin(2) ? h.per_cpu * 100 / pct + below(3) - 1
				: h.per_cpu - (pct - 100) * 1024 / 100 + below(3) - 1;
		if ((s64)b.per_cpu < 0)
			best.avg_load = b.per_cpu = 0;
	}
	margin = 1024 * (pct - 100) / 100;
	if (h.kind != b.kind)
		leaves = b.kind < h.kind;
	else if (h.kind == EEVDF_SPARE)
		leaves = b.idle > h.idle;
	else
		leaves = h.per_cpu > b.per_cpu + margin && h.per_cpu * 100 > b.per_cpu * pct;
	check(eevdf_idlest(&here, &best, pct) == leaves, "kinds %d and %d: %llu and %llu", h.kind,
	      b.kind, h.per_cpu, b.per_cpu);
	check(!eevdf_idlest(&here, &none, pct), "nowhere to go");
	check(eevdf_idlest(&none, &best, pct), "nowhere to stay");
}

struct amount {
	bool balanced;
	enum eevdf_move what;
	u64 much;
};

/* Tasks that the other side has too many by, per CPU of both. */
static u64 too_many(const struct group *here, const struct group *there)
{
	double more = (double)there->tasks * here->cpus - (double)here->tasks * there->cpus;

	if (more <= 0)
		return 0;
	return here->cpus == there->cpus ? there->tasks - here->tasks
					 : ceil(2 * more / (here->cpus + there->cpus));
}

/* rule 3.11.5, in its order. */
static struct amount amount_of(const struct group *here, const struct group *there, u64 average,
			       bool idle, bool siblings, bool cache)
{
	struct amount none = { .balanced = true }, x = { .what = EEVDF_MOVE_TASK, .much = 1 };
	bool spread = siblings && here->kind == EEVDF_SPARE && too_many(here, there) > 1;

	if (there->kind == EEVDF_IMBALANCED)
		return x;
	if (here->kind > there->kind)
		return none;
	if (here->kind == EEVDF_OVERLOADED &&
	    (here->per_cpu >= there->per_cpu || here->per_cpu >= average ||
	     there->per_cpu * 100 <= here->per_cpu * pct))
		return none;
	if (!spread && there->kind != EEVDF_OVERLOADED &&
	    (!idle || (there->cpus > 1 && here->idle < there->idle + 2) || there->tasks == 1))
		return none;
	if (here->kind == EEVDF_SPARE && there->kind == EEVDF_OVERLOADED && !cache) {
		u64 whole = 1024 * here->cpus, room = whole > here->util ? whole - here->util : 0;

		if (room || !idle)
			x = (struct amount){ .what = EEVDF_MOVE_UTIL, .much = room };
	} else if (here->kind == EEVDF_SPARE) {
		if (there->cpus == 1 || siblings)
			x.much = too_many(here, there) / 2;
		else
			x.much = here->idle > there->idle ? (here->idle - there->idle) / 2 : 0;
	} else {
		x.what = EEVDF_MOVE_LOAD;
		x.much = 0;
		if (there->per_cpu > average && average > here->per_cpu) {
			u64 excess = (there->per_cpu - average) * there->cpus;
			u64 lack = (average - here->per_cpu) * here->cpus;

			x.much = excess < lack ? excess : lack;
		}
	}
	return x.much ? x : none;
}

static void test_amount(void)
{
	struct eevdf_lb lb = { .prefer_sibling = coin(2), .share_cache = coin(2) };
	enum cpu_idle_type idle = between(0, 2);
	struct group here, there, third;
	struct eevdf_group other;
	struct amount want;
	u64 load, cpus;

	pct = coin(2) ? 117 : 110;
	lb.local = some_group(0, &here);
	classify(&here);
	lb.busiest = some_group(1, &there);
	classify(&there);
	other = some_group(2, &third);
	if (lb.local.type == lb.busiest.type && coin(2)) {
		lb.local.avg_load = here.per_cpu = between(5, 20) * 100;
		lb.busiest.avg_load = there.per_cpu = here.per_cpu * pct / 100 + below(3) - 1;
	}
	load = here.load + there.load + other.load;
	cpus = here.cpus + there.cpus + third.cpus;
	lb.total_load = load;
	lb.total_cpus = cpus;
	if (!there.tasks)
		return;
	want = amount_of(&here, &there, load / cpus, idle != CPU_NOT_IDLE, lb.prefer_sibling,
			 lb.share_cache);
	eevdf_lb_end(&lb, idle, pct);
	check((lb.busiest.id < 0) == want.balanced,
	      "kinds %d and %d, idle %u and %u, tasks %u and %u on %u and %u, %u", here.kind,
	      there.kind, here.idle, there.idle, here.tasks, there.tasks, here.cpus, there.cpus,
	      idle);
	if (want.balanced) {
		check(!lb.imbalance, "%lld", lb.imbalance);
		return;
	}
	check(lb.move == want.what && lb.imbalance == (s64)want.much,
	      "kinds %d and %d: %d of %lld, not %d of %llu", here.kind, there.kind, lb.move,
	      lb.imbalance, want.what, want.much);
}

/* Which queue gives, and which of its tasks fit. */
static void test_queue(void)
{
	struct eevdf_lb lb = { .move = between(0, 2), .imbalance = between(0, 3000) };
	struct eevdf_avg avg = { .load = (between(0, 3000) << EEVDF_AVG_SHIFT) + below(1024),
				 .util = (between(0, 1024) << EEVDF_AVG_SHIFT) + below(1024) };
	u64 load = avg.load / 1024, util = avg.util / 1024, want, fits;
	u32 nr = below(4), failed = coin(4) ? between(30, 40) : below(5);
	s64 worth;

	if (coin(3))
		lb.imbalance = load;
	want = lb.move == EEVDF_MOVE_TASK ? nr : lb.move == EEVDF_MOVE_UTIL ? util + 1 : load + 1;
	if (!nr || (nr == 1 && (lb.move == EEVDF_MOVE_UTIL ||
				(lb.move == EEVDF_MOVE_LOAD && load > (u64)lb.imbalance))))
		want = 0;
	check(eevdf_lb_queue(&lb, &avg, nr) == want, "move %d: %llu, not %llu", lb.move,
	      eevdf_lb_queue(&lb, &avg, nr), want);

	/* After each failure half as much of a task is looked at. */
	load = load ? load : 1;
	fits = lb.move == EEVDF_MOVE_UTIL ? util : load;
	worth = lb.move == EEVDF_MOVE_TASK ? 1 : (s64)fits;
	if (coin(3))
		lb.imbalance = fits / exp2(failed);
	if (lb.move != EEVDF_MOVE_TASK && floor(fits / exp2(failed)) > lb.imbalance)
		worth = -1;
	check(eevdf_lb_fit(lb.move, lb.imbalance, &avg, failed) == worth,
	      "move %d, %llu of %lld after %u", lb.move, fits, lb.imbalance, failed);
}

/* rule 3.11.2 */
static void test_affine(void)
{
	struct eevdf_affinity a = {
		.this_idle = coin(3),
		.prev_idle = coin(3),
		.share_cache = coin(2),
		.sync = coin(2),
		.this_nr = below(4),
		.this_load = some_share() * (1 + below(3)),
		.prev_load = some_share() * (1 + below(3)),
		.waker_load = some_share(),
		.wakee_load = some_share(),
	};
	enum eevdf_affine want;
	s64 here, there;

	pct = a.imbalance_pct = coin(2) ? 117 : 110;
	if (coin(3))
		a.prev_load = a.this_load + 2 * a.wakee_load - (a.sync ? a.waker_load : 0);
	/* As if the waker were gone already, and the wakee here or there. */
	here = a.this_load + a.wakee_load - (a.sync ? a.waker_load : 0);
	there = a.prev_load > a.wakee_load ? a.prev_load - a.wakee_load : 0;
	if (a.this_idle && a.share_cache)
		want = a.prev_idle ? EEVDF_PREV : EEVDF_THIS;
	else if (a.sync && a.this_nr == 1)
		want = EEVDF_THIS;
	else if (a.prev_idle)
		want = EEVDF_PREV;
	else if (a.sync && a.waker_load > a.this_load)
		want = EEVDF_THIS;
	else
		want = 100 * here < (100 + (pct - 100) / 2) * there + (a.sync ? 1 : 0) ? EEVDF_THIS
										       : EEVDF_PREV;
	check(eevdf_wake_affine(&a) == want, "%lld here, %lld there", here, there);
}

/* rule 3.11.3: the share of CPUs that is left beside the square of what is used, at pct of it. */
static void test_scan_limit(void)
{
	u32 cpus = between(1, 64);
	u64 util = between(0, 1200) * cpus + below(cpus);
	double used = (double)(util / cpus) / 1024, lost;
	u32 got;

	pct = coin(2) ? 117 : 110;
	lost = used * used * pct / 100 * pct / 100;
	got = eevdf_scan_limit(util, cpus, pct);
	check(got == (lost >= 1 ? 0 : floor((1024 - floor(lost * 1024)) * cpus / 1024)),
	      "%u of %u at %f", got, cpus, used);
	check(!eevdf_scan_limit(util, 0, pct), "no CPU");
}

/* rule 3.11.5: intervals; 16 times as long when busy, less a tick, and a tenth of a second per CPU at most. */
static void test_interval(void)
{
	u32 hz = coin(2) ? 1000 : between(1, 4) * 100, online = between(1, 64),
	    ms = between(1, 512);
	bool busy = coin(2);
	double want = ceil((double)ms * (busy ? 16 : 1) * hz / 1000) - busy;

	want = fmax(1, fmin(want, hz * online / 10));
	check(eevdf_interval(ms, busy, online, hz) == want, "%llu, not %f",
	      eevdf_interval(ms, busy, online, hz), want);
}

int main(int argc, char **argv)
{
	rounds(argc, argv, 100000, test_group);
	rounds(argc, argv, 100000, test_two);
	rounds(argc, argv, 100000, test_leaves);
	rounds(argc, argv, 100000, test_queue);
	rounds(argc, argv, 100000, test_affine);
	rounds(argc, argv, 20000, test_scan_limit);
	rounds(argc, argv, 20000, test_interval);
	return rounds(argc, argv, 300000, test_amount);
}
