/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whole histories on one CPU: eevdf.h and pick.h drive it, and every pick is
 * compared with rule 3.5 read literally over all entities. The invariants
 * of rule 3.12 are checked on the way.
 */
#include "check.h"

#define MOST 24

struct task {
	struct eevdf_entity e;
	u64 ran_ns, gap_ns, worst_gap_ns;
	bool queued;
};

static struct task tasks[MOST];
static struct eevdf_params prm;
static struct eevdf_sums sums;
static u64 tick_ns, now_ns, slice_max_ns;
static u32 count;
static s32 curr, next;
static u64 picks;

static struct literal literally(void)
{
	struct literal l = { .near = sums.v0 };

	for (u32 i = 0; i < count; i++)
		if (tasks[i].queued)
			literal_add(&l, tasks[i].e.v, tasks[i].e.weight);
	return l;
}

static bool eligible(const struct literal *l, s32 i)
{
	return i >= 0 && tasks[i].queued && literal_eligible(l, tasks[i].e.v);
}

/* rule 3.5, word by word, and so rule 3.12.3. */
static s32 reference(bool protect)
{
	struct literal l = literally();
	s32 best = -1;

	if (sums.nr == 1 && curr >= 0)
		return curr;
	if (next >= 0 && eligible(&l, next))
		return next;
	if (protect && eligible(&l, curr) && before64(tasks[curr].e.v, tasks[curr].e.vprot))
		return curr;
	for (s32 i = 0; i < (s32)count; i++)
		if (i != curr && eligible(&l, i) &&
		    (best < 0 || before64(tasks[i].e.d, tasks[best].e.d)))
			best = i;
	if (eligible(&l, curr) && (best < 0 || before64(tasks[curr].e.d, tasks[best].e.d)))
		best = curr;
	return best;
}

/* What the binding does, with the queue as an array. */
static s32 pick(void)
{
	struct eevdf_entity *c = curr >= 0 ? &tasks[curr].e : NULL;
	s32 best = -1;

	if (c && sums.nr == 1)
		return curr;
	if (next >= 0 && eevdf_eligible(&sums, tasks[next].e.v))
		return next;
	if (eevdf_stays(&sums, c))
		return curr;
	for (s32 i = 0; i < (s32)count; i++)
		if (i != curr && tasks[i].queued && eevdf_eligible(&sums, tasks[i].e.v) &&
		    (best < 0 || eevdf_before(tasks[i].e.d, tasks[best].e.d)))
			best = i;
	return eevdf_wins(&sums, c, best >= 0, best >= 0 ? tasks[best].e.d : 0) ? curr : best;
}

static u64 least_slice(s32 except)
{
	u64 least = ~0ULL;

	for (s32 i = 0; i < (s32)count; i++)
		if (i != except && tasks[i].queued && tasks[i].e.slice_ns < least)
			least = tasks[i].e.slice_ns;
	return least;
}

static void schedule(void)
{
	s32 want = reference(true), got = pick();
	struct literal l = literally();

	picks++;
	check(got == want, "era %u: %d, not %d; curr %d next %d, %u queued", prm.era, got, want,
	      curr, next, sums.nr);
	check(eligible(&l, got) || sums.nr == 1, "picked an ineligible one");
	if (got == curr)
		return;
	curr = got;
	if (next == got)
		next = -1;
	tasks[got].worst_gap_ns = max_u64(tasks[got].worst_gap_ns, now_ns - tasks[got].gap_ns);
	eevdf_protect(&prm, &tasks[got].e, least_slice(got));
}

static void join(u32 i, bool initial)
{
	eevdf_place(&prm, &sums, &tasks[i].e, initial);
	tasks[i].queued = true;
	eevdf_join(&sums, tasks[i].e.v, tasks[i].e.weight);
	sums.v0 = eevdf_average(&sums);
}

static void leave(u32 i, bool sleep)
{
	s64 limit = max_u64(2 * tasks[i].e.slice_ns, prm.tick_ns) * 1024 / tasks[i].e.weight;

	eevdf_unplace(&prm, &sums, &tasks[i].e, sleep);
	check(llabs(tasks[i].e.vlag) <= limit, "lag %lld, limit %lld", tasks[i].e.vlag, limit);
	eevdf_leave(&sums, tasks[i].e.v, tasks[i].e.weight);
	tasks[i].queued = false;
	if (next == (s32)i)
		next = -1;
	if (curr == (s32)i)
		curr = -1;
}

static void run(u64 ns)
{
	struct eevdf_entity *c = &tasks[curr].e;
	bool ended = eevdf_charge(&prm, &sums, c, ns);

	now_ns += ns;
	tasks[curr].ran_ns += ns;
	tasks[curr].gap_ns = now_ns;
	sums.v0 = eevdf_average(&sums);
	if (eevdf_due(&prm, &sums, c, ended)) {
		if (next == curr)
			next = -1;
		schedule();
	}
}

static void start(bool requests, bool mixed)
{
	prm = some_params();
	prm.next_buddy = prm.era == EEVDF_7_2 && coin(2);
	tick_ns = prm.tick_ns;
	count = between(2, MOST);
	sums = (struct eevdf_sums){ .v0 = draw() };
	curr = next = -1;
	now_ns = slice_max_ns = 0;
	for (u32 i = 0; i < count; i++) {
		tasks[i] = (struct task){ .e.weight = mixed ? eevdf_nice_weight[between(12, 28)]
							    : 1024 };
		eevdf_request(&prm, &tasks[i].e,
			      requests && coin(3) ? between(1, 10) * NSEC_PER_MSEC / 4 : 0);
		slice_max_ns = max_u64(slice_max_ns, tasks[i].e.slice_ns);
		join(i, true);
	}
	schedule();
}

/* rule 3.12.4: nobody is further from its due than a slice and what a tick adds. */
static void test_hogs(void)
{
	s64 bound, due;
	u64 elapsed = 0, total = 0, ns;

	start(coin(2), coin(2));
	for (u32 turn = 0; turn < 60 * count; turn++) {
		/* The end of a slice is seen at a tick, or exactly. */
		ns = coin(2) ? tick_ns : between(1, tick_ns);
		elapsed += ns;
		run(ns);
	}
	for (u32 i = 0; i < count; i++)
		total += tasks[i].e.weight;
	for (u32 i = 0; i < count; i++) {
		due = (u64)((unsigned __int128)elapsed * tasks[i].e.weight / total);
		bound = slice_max_ns + 2 * tick_ns;
		check(llabs(due - (s64)tasks[i].ran_ns) <= bound,
		      "%u of %u: weight %u of %llu ran %llu of %llu ns, bound %lld", i, count,
		      tasks[i].e.weight, total, tasks[i].ran_ns, elapsed, bound);
	}
}

/* rule 3.12.5, a shorter slice: the same share, no longer gaps. Equal weights, the first asks for less. */
static void test_request(void)
{
	u64 elapsed = 0;

	start(false, false);
	if (prm.era == EEVDF_6_6)
		return;
	leave(0, true);
	eevdf_request(&prm, &tasks[0].e, prm.base_slice_ns / 5);
	join(0, false);
	if (curr < 0)
		schedule();
	prm.tick_ns = tick_ns = prm.base_slice_ns / 10;
	/* It comes from whole slices: let the lag of those be worked off. */
	for (u32 turn = 0; turn < 40 * count; turn++)
		run(tick_ns);
	for (u32 i = 0; i < count; i++)
		tasks[i].worst_gap_ns = tasks[i].ran_ns = 0;
	for (u32 turn = 0; turn < 400 * count; turn++) {
		elapsed += tick_ns;
		run(tick_ns);
	}
	check(llabs((s64)(elapsed / count - tasks[0].ran_ns)) <= (s64)(2 * prm.base_slice_ns),
	      "share %llu of %llu", tasks[0].ran_ns, elapsed / count);
	/* In turns of whole slices it would be gone for count - 1 of them. */
	check(count < 4 || tasks[0].worst_gap_ns < (count - 1) * prm.base_slice_ns * 2 / 3,
	      "era %u, %u tasks: gap %llu", prm.era, count, tasks[0].worst_gap_ns);
}

/* Everything at once: sleeping, waking with preemption, yielding, renicing, buddies. */
static void test_history(void)
{
	struct eevdf_verdict verdict;
	struct eevdf_wake w;
	u32 i;

	start(coin(2), true);
	for (u32 turn = 0; turn < 200; turn++) {
		i = between(0, count - 1);
		if (coin(4) && curr >= 0) {
			if (sums.nr > 1) {
				i = curr;
				leave(i, true);
				schedule();
			}
		} else if (!tasks[i].queued) {
			w = (struct eevdf_wake){ .has_next = next >= 0,
						 .sync = coin(3),
						 .selected = coin(2),
						 .fork = coin(10) };
			join(i, w.fork);
			if (next >= 0) {
				w.next_d = tasks[next].e.d;
				w.next_eligible = eevdf_eligible(&sums, tasks[next].e.v);
			}
			for (s32 k = 0; k < (s32)count; k++)
				if (k != curr && k != (s32)i && tasks[k].queued &&
				    eevdf_eligible(&sums, tasks[k].e.v) &&
				    (!w.has_best || eevdf_before(tasks[k].e.d, w.best_d))) {
					w.has_best = true;
					w.best_d = tasks[k].e.d;
				}
			w.least_slice_ns = least_slice(curr);
			verdict = eevdf_wakeup(&prm, &sums, &tasks[curr].e, &tasks[i].e, &w);
			if (verdict.next)
				next = i;
			if (verdict.preempt)
				schedule();
		} else if (coin(8)) {
			eevdf_forfeit(&prm, &sums, &tasks[curr].e);
			schedule();
		} else if (coin(8) && sums.nr > 1 && (s32)i != curr) {
			leave(i, false);
			eevdf_reweight(&tasks[i].e, eevdf_nice_weight[between(12, 28)]);
			join(i, false);
		} else {
			run(between(1, 3 * tick_ns));
		}
	}
}

int main(int argc, char **argv)
{
	rounds(argc, argv, 3000, test_hogs);
	rounds(argc, argv, 1000, test_request);
	rounds(argc, argv, 100000, test_history);
	printf("%llu picks\n", picks);
	return 0;
}
