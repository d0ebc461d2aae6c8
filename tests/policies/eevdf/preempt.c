/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Wakeup preemption and protection (rules 3.6, 3.8 and 3.9) against the rules read one after the other over the whole queue. */
#include "check.h"

#define MOST 12

static struct eevdf_entity all[MOST]; /* 0 is current, 1 the wakee, the others wait */
static struct eevdf_params prm;
static struct literal whole;
static bool sleeps[MOST]; /* delayed: nobody's buddy */
static u32 count;
static s32 next;

static bool eligible(u32 i)
{
	return literal_eligible(&whole, all[i].v);
}

/* rule 3.5 with `buddy` as the next one; protect: whether current's protection counts. */
static u32 fresh_pick(s32 buddy, bool protect)
{
	s32 best = -1;

	if (buddy >= 0 && eligible(buddy))
		return buddy;
	if (eligible(0) && protect && before64(all[0].v, all[0].vprot))
		return 0;
	for (u32 i = 1; i < count; i++) {
		/* Among equals who came first: the wakee came last. */
		bool later = best > 1 && i == 1;

		if (eligible(i) && (best < 0 || before64(all[i].d, all[best].d)) && !later)
			best = i;
		else if (eligible(i) && best == 1 && all[i].d == all[1].d)
			best = i;
	}
	if (eligible(0) && (best < 0 || before64(all[0].d, all[best].d)))
		best = 0;
	return best;
}

struct expected {
	bool preempt, next, sleeper;
	u64 vprot;
};

/* rule 3.8: in 7.2 whoever is picked and sleeps is taken out, before anything else is decided. */
static bool finds_sleeper(struct expected *x, u32 picked)
{
	x->sleeper = sleeps[picked];
	return x->sleeper;
}

static struct expected reference(const struct eevdf_wake *w)
{
	struct expected x = { .vprot = all[0].vprot };
	bool guarded = before64(all[0].v, all[0].vprot);
	bool brief = all[1].slice_ns < all[0].slice_ns;
	u64 least = ~0ULL, until;

	if (!prm.wakeup_preempt)
		return x;
	if (w->curr_policy == 5 && w->p_policy != 5) {
		x.preempt = true;
		x.vprot = guarded ? all[0].v : x.vprot;
		return x;
	}
	if ((w->curr_policy == 5) != (w->p_policy == 5) || w->p_policy != 0)
		return x;
	if (prm.era != EEVDF_7_2) {
		if (prm.era == EEVDF_6_12 && brief && eligible(1) &&
		    (before64(all[1].d, all[0].d) || !eligible(0)) && guarded)
			all[0].vprot = x.vprot = all[0].v;
		x.preempt = fresh_pick(next, true) == 1;
		return x;
	}
	if (brief) {
		if (finds_sleeper(&x, fresh_pick(next, false)))
			return x;
		x.preempt = fresh_pick(next, false) == 1;
		if (x.preempt) {
			x.vprot = guarded ? all[0].v : x.vprot;
			return x;
		}
	} else {
		if (w->fork)
			return x;
		x.next = prm.next_buddy && (next < 0 || !before64(all[next].d, all[1].d));
		if (x.next && w->sync) {
			x.preempt = before64(all[1].d, all[0].d) &&
				    w->curr_ran_ns >= (w->selected ? 125000 : 500000);
			return x;
		}
		if (finds_sleeper(&x, fresh_pick(x.next ? 1 : next, true)))
			return x;
		x.preempt = fresh_pick(x.next ? 1 : next, true) == 1;
		if (x.preempt)
			return x;
	}
	for (u32 i = 1; i < count; i++)
		least = min_u64(least, all[i].slice_ns);
	until = all[0].v + least * 1024 / all[0].weight;
	if (before64(until, x.vprot))
		x.vprot = until;
	return x;
}

static void test(void)
{
	static const u32 policies[] = { 0, 0, 0, 3, 5 };
	struct eevdf_sums s = { .v0 = draw() };
	struct eevdf_entity curr;
	struct eevdf_verdict got;
	struct expected want;
	struct eevdf_wake w;

	prm = some_params();
	prm.wakeup_preempt = !coin(20);
	prm.next_buddy = coin(2);
	count = between(2, MOST);
	whole = (struct literal){ .near = s.v0 };
	for (u32 i = 0; i < count; i++) {
		all[i] = (struct eevdf_entity){
			.v = s.v0 + between(0, 8) * 500000 - 2000000,
			.weight = some_weight(),
		};
		eevdf_request(&prm, &all[i], coin(3) ? between(1, 8) * 500000 : 0);
		all[i].d = all[i].v + between(0, 6) * 500000;
		eevdf_join(&s, all[i].v, all[i].weight);
		literal_add(&whole, all[i].v, all[i].weight);
	}
	all[0].vprot = all[0].v + between(0, 4) * 500000 - 500000;
	next = count > 2 && prm.era == EEVDF_7_2 && prm.next_buddy && coin(2)
		       ? (s32)between(2, count - 1)
		       : -1;
	for (u32 i = 0; i < count; i++)
		sleeps[i] = i > 1 && (s32)i != next && coin(3);
	w = (struct eevdf_wake){
		.curr_policy = policies[between(0, 4)],
		.p_policy = policies[between(0, 4)],
		.curr_ran_ns = coin(2) ? 0 : between(0, 1000000),
		.least_slice_ns = ~0ULL,
		.has_next = next >= 0,
		.fork = coin(5),
		.sync = coin(2),
		.selected = coin(2),
	};
	if (next >= 0) {
		w.next_d = all[next].d;
		w.next_eligible = eligible(next);
	}
	for (u32 i = 1; i < count; i++) {
		w.least_slice_ns = min_u64(w.least_slice_ns, all[i].slice_ns);
		if (i == 1 || !eligible(i) || (w.has_best && !before64(all[i].d, w.best_d)))
			continue;
		w.has_best = true;
		w.best_sleeps = sleeps[i];
		w.best_d = all[i].d;
	}
	curr = all[0];
	got = eevdf_wakeup(&prm, &s, &curr, &all[1], &w);
	want = reference(&w);
	check(got.preempt == want.preempt, "era %u: %d, not %d", prm.era, got.preempt,
	      want.preempt);
	check(got.sleeper == want.sleeper, "era %u: sleeper %d, not %d", prm.era, got.sleeper,
	      want.sleeper);
	check(got.next == want.next, "era %u: buddy %d, not %d", prm.era, got.next, want.next);
	check(curr.vprot == want.vprot, "era %u: protected to %+lld, not %+lld", prm.era,
	      (s64)(curr.vprot - curr.v), (s64)(want.vprot - curr.v));
}

/* rule 3.6: to the deadline, or a shorter slice's length if one waits (7.2). */
static void test_protect(void)
{
	struct eevdf_entity e = { .v = draw(), .weight = some_weight() };
	u64 least = between(1, 80) * 100000, want;

	prm = some_params();
	prm.parity = !coin(4);
	eevdf_request(&prm, &e, coin(2) ? between(1, 80) * 100000 : 0);
	e.d = e.v + between(0, 10000000);
	want = e.d;
	if (prm.era != EEVDF_7_2) {
		if (!prm.parity)
			want = e.v;
	} else {
		u64 slice = prm.parity ? least : 700000;

		if (slice < e.slice_ns && slice * 1024 / e.weight < e.d - e.v)
			want = e.v + slice * 1024 / e.weight;
	}
	eevdf_protect(&prm, &e, least);
	check(e.vprot == want, "era %u: %lld, not %lld", prm.era, (s64)(e.vprot - e.v),
	      (s64)(want - e.v));
}

int main(int argc, char **argv)
{
	rounds(argc, argv, 200000, test_protect);
	return rounds(argc, argv, 300000, test);
}
