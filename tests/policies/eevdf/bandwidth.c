/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A group's pool and the allowances of its CPUs against a bookkeeping in which nothing gets lost. */
#include "cgroup.h"
#include "check.h"

#define CPUS 4

static struct eevdf_pool pool;
static struct eevdf_allowance allowances[CPUS];

static s64 all_there_is(void)
{
	s64 sum = pool.left_ns;

	for (u32 cpu = 0; cpu < CPUS; cpu++)
		sum += allowances[cpu].left_ns;
	return sum;
}

static void fill(void)
{
	s64 had = pool.left_ns, most = pool.quota_ns + pool.burst_ns;
	s64 expected = had + (s64)pool.quota_ns < most ? had + (s64)pool.quota_ns : most;

	eevdf_pool_fill(&pool);
	check(pool.left_ns == expected, "not as the books say");
}

static void draws(struct eevdf_allowance *here, u64 beside_ns)
{
	s64 there = all_there_is(), had = pool.left_ns, owes = -here->left_ns;
	s64 want = (s64)beside_ns + owes;
	bool has = eevdf_draw(&pool, here, beside_ns);

	check(all_there_is() == there, "not as the books say");
	check(has == (here->left_ns > 0), "not as the books say");
	if (want <= 0)
		check(pool.left_ns == had, "not as the books say");
	else if (had >= want)
		check(here->left_ns == (s64)beside_ns && pool.left_ns == had - want, "not as the "
										     "books say");
	else
		check(pool.left_ns <= 0 && here->left_ns == (had > 0 ? had : 0) - owes, "not as "
											"the books "
											"say");
}

static void give_back(struct eevdf_allowance *here)
{
	s64 there = all_there_is(), had = here->left_ns, kept = NSEC_PER_MSEC;
	bool worth = eevdf_give_back(&pool, here);

	check(all_there_is() == there, "not as the books say");
	check(here->left_ns == (had > kept ? kept : had), "not as the books say");
	check(worth == (had > kept && pool.throttled && pool.left_ns > 5 * (s64)NSEC_PER_MSEC),
	      "not as the books say");
}

static void random_case(void)
{
	pool = (struct eevdf_pool){ .quota_ns = 1000 * between(1000, 100000),
				    .period_ns = NSEC_PER_MSEC * between(1, 1000) };
	if (coin(2))
		pool.burst_ns = between(0, pool.quota_ns);
	for (u32 cpu = 0; cpu < CPUS; cpu++)
		allowances[cpu].left_ns = 0;
	for (u32 step = 0; step < 300; step++) {
		struct eevdf_allowance *here = &allowances[below(CPUS)];

		pool.throttled = below(3);
		if (coin(10))
			fill();
		else if (coin(4))
			give_back(here);
		else if (here->left_ns <= 0)
			draws(here, coin(4) ? 1 : 5 * NSEC_PER_MSEC);
		else
			here->left_ns -= between(0, 8 * NSEC_PER_MSEC);
	}
}

/* Periods end where they had ended if somebody had counted all of them. */
static void ends(void)
{
	struct eevdf_pool p = { .period_ns = 100, .ends_ns = 1000 };

	check(eevdf_until_next(&p, 950) == 50 && p.ends_ns == 1000, "not as the books say");
	check(eevdf_until_next(&p, 999) == 1, "not as the books say");
	check(eevdf_until_next(&p, 1000) == 100 && p.ends_ns == 1100, "not as the books say");
	check(eevdf_until_next(&p, 1730) == 70 && p.ends_ns == 1800, "not as the books say");
	p.period_ns = 0;
	check(eevdf_until_next(&p, 5000) == 1, "not as the books say");
}

int main(int argc, char **argv)
{
	rounds(1, argv, 1, ends);
	return rounds(argc, argv, 20000, random_case);
}
