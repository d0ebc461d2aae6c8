/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sums, eligibility, placement and lag (rules 3.1, 3.2, 3.3, 3.4 and 3.7) against literal arithmetic over the whole queue. */
#include "../weights.h"
#include "check.h"

#define MOST 40

static struct eevdf_entity all[MOST];
static struct eevdf_params prm;
static struct eevdf_sums sums;
static u32 count;

static struct literal literally(void)
{
	struct literal l = { .near = all[0].v };

	for (u32 i = 0; i < count; i++)
		literal_add(&l, all[i].v, all[i].weight);
	return l;
}

static void fill(u32 least)
{
	u64 base = draw();

	prm = some_params();
	count = between(least, MOST - 1);
	sums = (struct eevdf_sums){ .v0 = base };
	for (u32 i = 0; i < count; i++) {
		all[i] = (struct eevdf_entity){
			.v = base + between(0, 80 * NSEC_PER_MSEC) - 40 * NSEC_PER_MSEC,
			.weight = some_weight(),
			.slice_ns = prm.base_slice_ns,
		};
		if (coin(4))
			eevdf_request(&prm, &all[i], between(1, 200 * NSEC_PER_MSEC));
		eevdf_join(&sums, all[i].v, all[i].weight);
		if (coin(3))
			sums.v0 = eevdf_average(&sums);
	}
}

static void test_average(void)
{
	struct literal l;
	u64 v;

	fill(1);
	l = literally();
	check(eevdf_average(&sums) == literal_average(&l), "%llu, not %llu", eevdf_average(&sums),
	      literal_average(&l));
	check(eevdf_eligible(&sums, eevdf_average(&sums)), "the average itself");
	for (u32 i = 0; i < count; i++)
		check(eevdf_eligible(&sums, all[i].v) == literal_eligible(&l, all[i].v),
		      "entity %u at V %+lld", i, (s64)(all[i].v - literal_average(&l)));
	v = literal_average(&l) + between(0, 2) - 1;
	check(eevdf_eligible(&sums, v) == literal_eligible(&l, v), "at V %+lld",
	      (s64)(v - literal_average(&l)));
	/* rule 3.12.1: the sum of lag times weight is 0, but for the division. */
	{
		s128 total = 0;

		for (u32 i = 0; i < count; i++)
			total += (s128)(s64)(eevdf_average(&sums) - all[i].v) * all[i].weight;
		check(total <= 0 && -total < l.w, "sum of lags %lld", (s64)total);
	}
	while (count) {
		count--;
		eevdf_leave(&sums, all[count].v, all[count].weight);
	}
	check(!sums.w && !sums.nr && !sums.wv, "not empty: %llu %u %llu", sums.w, sums.nr, sums.wv);
	check(eevdf_average(&sums) == all[0].v, "an empty queue forgot where it was");
}

/* rules 3.7 and 3.12.2: who leaves and comes back has the lag it had, within its limits. */
static void test_place(void)
{
	struct eevdf_entity *e;
	s64 lag, limit, got, error;
	u64 relative, vslice;
	bool sleep = coin(2), initial = coin(4);
	s128 inflated;
	struct literal rest = { 0 };

	fill(2);
	e = &all[count - 1];
	e->d = e->v + between(0, 20 * NSEC_PER_MSEC);
	relative = e->d - e->v;
	lag = eevdf_average(&sums) - e->v;
	limit = max_u64(2 * e->slice_ns, prm.tick_ns) * 1024 / e->weight;
	eevdf_unplace(&prm, &sums, e, sleep);
	check(e->vlag == (lag > limit	 ? limit
			  : lag < -limit ? -limit
					 : lag),
	      "%lld of %lld", e->vlag, lag);
	eevdf_leave(&sums, e->v, e->weight);
	lag = e->vlag;
	count--;
	rest.near = all[0].v;
	for (u32 i = 0; i < count; i++)
		literal_add(&rest, all[i].v, all[i].weight);
	/* The others may move meanwhile. */
	for (u32 i = 0; i < count; i++) {
		u64 more = between(0, NSEC_PER_MSEC);

		all[i].v += more;
		sums.wv += more * all[i].weight;
		rest.wv += (s128)more * all[i].weight;
	}
	prm.place_lag = !coin(8);
	eevdf_place(&prm, &sums, e, initial);
	inflated = prm.place_lag ? (s128)lag * (rest.w + e->weight) / rest.w : 0;
	check(e->v == literal_average(&rest) - (u64)(s64)inflated, "placed %lld off",
	      (s64)(e->v - literal_average(&rest) + (u64)(s64)inflated));
	vslice = e->slice_ns * 1024 / e->weight;
	if (prm.rel_deadline && !sleep)
		check(e->d - e->v == relative, "deadline %lld, not %llu", (s64)(e->d - e->v),
		      relative);
	else
		check(e->d - e->v == vslice / (initial ? 2 : 1), "deadline %lld of %llu",
		      (s64)(e->d - e->v), vslice);
	eevdf_join(&sums, e->v, e->weight);
	count++;
	got = eevdf_average(&sums) - e->v;
	error = got - (prm.place_lag ? lag : 0);
	check(error >= -2 && error <= 2, "lag %lld came back as %lld", lag, got);
}

/* rule 3.4, and what a change of weight keeps: real time. */
static void test_deadline(void)
{
	struct eevdf_entity *e = &all[0], before;
	u64 ran = between(0, 10 * NSEC_PER_MSEC);
	u32 weight = some_weight();
	bool ended;

	fill(1);
	e->d = e->v + e->slice_ns * 1024 / e->weight;
	before = *e;
	ended = eevdf_charge(&prm, &sums, e, ran);
	check(e->v == before.v + ran * 1024 / e->weight, "charged %lld", (s64)(e->v - before.v));
	check(ended == !before64(e->v, before.d), "ended %d", ended);
	check(e->d == (ended ? e->v + e->slice_ns * 1024 / e->weight : before.d), "deadline");
	check(literally().wv == (s128)(s64)(sums.wv - sums.w * all[0].v), "sums");
	e->vlag = (s64)between(0, 2 * NSEC_PER_MSEC) - NSEC_PER_MSEC;
	before = *e;
	eevdf_reweight(e, weight);
	check(llabs(e->vlag * weight - before.vlag * before.weight) <= weight, "lag in real time");
}

/* rules 3.1 and 3.10.3 and the versions, number by number. */
static void test_constants(void)
{
	static const u64 base_us[EEVDF_ERAS][5] = {
		{ 750, 1500, 2250, 3000, 3000 },
		{ 750, 1500, 2250, 3000, 3000 },
		{ 700, 1400, 2100, 2800, 2800 },
	};
	static const u32 cpus[5] = { 1, 3, 4, 8, 64 };
	struct eevdf_entity e = { .weight = 1024 };
	struct eevdf_params p;

	for (u32 era = 0; era < EEVDF_ERAS; era++)
		for (u32 i = 0; i < 5; i++) {
			eevdf_params_init(&p, era, cpus[i], 250);
			check(p.base_slice_ns == base_us[era][i] * 1000, "%u CPUs: %llu", cpus[i],
			      p.base_slice_ns);
			check(p.rel_deadline == (era > 0) && p.delay_dequeue == (era > 0) &&
				      p.preempt_short == (era > 0) && !p.next_buddy,
			      "era %u", era);
		}
	eevdf_request(&p, &e, 0);
	check(!e.custom && e.slice_ns == 2800000, "%llu", e.slice_ns);
	eevdf_request(&p, &e, 1);
	check(e.custom && e.slice_ns == 100000, "%llu", e.slice_ns);
	eevdf_request(&p, &e, 3000000);
	check(e.custom && e.slice_ns == 3000000, "%llu", e.slice_ns);
	eevdf_request(&p, &e, ~0ULL);
	check(e.custom && e.slice_ns == 100000000, "%llu", e.slice_ns);
	for (u32 u = 0; u < 40; u++)
		check(eevdf_weight(100 + u, 0) == published_weight[u], "nice %d", (s32)u - 20);
	check(eevdf_weight(120, 0) == 1024 && eevdf_weight(100, 0) == 88761 &&
		      eevdf_weight(139, 0) == 15 && eevdf_weight(120, 5) == 3,
	      "weights");
}

int main(int argc, char **argv)
{
	rounds(1, argv, 1, test_constants);
	rounds(argc, argv, 200000, test_average);
	rounds(argc, argv, 200000, test_place);
	return rounds(argc, argv, 200000, test_deadline);
}
