/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tables of rule 2.1.5, number by number. */
#include "../weights.h"
#include "check.h"

struct row {
	u32 era, cpus, latency_us, min_gran_us, wakeup_gran_us, nr_latency, credit_us, child_first;
};

static const struct row table[] = {
	{ CFS_2_6_31, 1, 20000, 4000, 5000, 5, 20000, 1 },
	{ CFS_2_6_31, 2, 40000, 8000, 10000, 5, 40000, 1 },
	{ CFS_2_6_31, 4, 60000, 12000, 15000, 5, 60000, 1 },
	{ CFS_2_6_31, 8, 80000, 16000, 20000, 5, 80000, 1 },
	{ CFS_2_6_31, 16, 100000, 20000, 25000, 5, 100000, 1 },
	{ CFS_2_6_31, 1024, 200000, 44000, 55000, 5, 200000, 1 },
	{ CFS_2_6_32, 1, 5000, 1000, 1000, 5, 2500, 0 },
	{ CFS_2_6_32, 2, 10000, 2000, 2000, 5, 5000, 0 },
	{ CFS_2_6_32, 4, 15000, 3000, 3000, 5, 7500, 0 },
	{ CFS_2_6_32, 8, 20000, 4000, 4000, 5, 10000, 0 },
	{ CFS_2_6_32, 16, 25000, 5000, 5000, 5, 12500, 0 },
	{ CFS_3_6, 1, 6000, 750, 1000, 8, 3000, 0 },
	{ CFS_3_6, 2, 12000, 1500, 2000, 8, 6000, 0 },
	{ CFS_3_6, 4, 18000, 2250, 3000, 8, 9000, 0 },
	{ CFS_3_6, 8, 24000, 3000, 4000, 8, 12000, 0 },
	{ CFS_3_6, 16, 24000, 3000, 4000, 8, 12000, 0 },
	{ CFS_3_6, 7, 18000, 2250, 3000, 8, 9000, 0 },
};

static void test(void)
{
	const struct row *row = &table[round_nr];
	struct cfs_params prm;

	cfs_params_init(&prm, row->era, row->cpus);
	check(prm.latency_ns == row->latency_us * 1000ULL, "latency %llu", prm.latency_ns);
	check(prm.min_gran_ns == row->min_gran_us * 1000ULL, "min_gran %llu", prm.min_gran_ns);
	check(prm.wakeup_gran_ns == row->wakeup_gran_us * 1000ULL, "gran %llu", prm.wakeup_gran_ns);
	check(prm.nr_latency == row->nr_latency, "nr_latency %u", prm.nr_latency);
	check(prm.sleeper_credit_ns == row->credit_us * 1000ULL, "credit %llu",
	      prm.sleeper_credit_ns);
	check(prm.child_runs_first == row->child_first, "child_runs_first %u",
	      prm.child_runs_first);
	check(prm.migration_cost_ns == 500000, "migration_cost %llu", prm.migration_cost_ns);
}

/* rule 2.2.11.1: busy, idle, going idle, wake-up, fork. */
static const u8 load_indices[LB_3_6 + 1][SD_LEVELS][5] = {
	[LB_2_6_22] = { [SD_SMT] = { 0, 0, 1, 0, 0 },
			[SD_MC] = { 2, 1, 2, 1, 1 },
			[SD_CPU] = { 2, 1, 2, 1, 1 },
			[SD_NODE] = { 3, 2, 0, 1, 1 } },
	[LB_2_6_31] = { [SD_SMT] = { 0, 0, 0, 0, 0 },
			[SD_MC] = { 2, 0, 0, 1, 1 },
			[SD_CPU] = { 2, 1, 2, 1, 1 },
			[SD_NODE] = { 3, 2, 2, 1, 1 } },
	[LB_2_6_32] = { [SD_SMT] = { 0, 0, 0, 0, 0 },
			[SD_MC] = { 2, 0, 0, 0, 0 },
			[SD_CPU] = { 2, 1, 0, 0, 0 },
			[SD_NODE] = { 3, 2, 0, 0, 0 } },
	[LB_3_6] = { [SD_SMT] = { 0, 0, 0, 0, 0 },
		     [SD_MC] = { 2, 0, 0, 0, 0 },
		     [SD_CPU] = { 2, 1, 0, 0, 0 },
		     [SD_NODE] = { 3, 2, 0, 0, 0 } },
};

/* rules 2.2.11.1, 4.10.6 and 4.10.8, and of what a level's CPUs share. */
static u32 flags_of(u32 era, u32 level)
{
	bool smt = level == SD_SMT, mc = level == SD_MC, node = level == SD_NODE;
	u32 flags = 0;

	if (era == LB_2_6_31 ? smt : era == LB_2_6_22 ? !node : true)
		flags |= SD_NEWIDLE;
	if (era == LB_2_6_22 ? node : era != LB_3_6 || !node)
		flags |= SD_FORK;
	if (!node || era == LB_2_6_31 || era == LB_2_6_32)
		flags |= SD_AFFINE;
	if (era == LB_2_6_31 || (era == LB_2_6_22 && node))
		flags |= SD_WAKE_BALANCE;
	if (level == SD_CPU ? era >= LB_2_6_32 : mc && era == LB_2_6_32)
		flags |= SD_PREFER_SIBLING;
	if (smt)
		flags |= SD_SHARE_POWER;
	if (mc || (smt && era == LB_3_6))
		flags |= SD_SHARE_CACHE;
	return flags;
}

/* rules 2.2.11.1, 2.2.11.3, 2.2.11.4 and 4.10.2: every level of every kernel. */
static void test_domains(void)
{
	for (u32 era = LB_2_6_22; era <= LB_3_6; era++) {
		for (u32 level = SD_SMT; level < SD_LEVELS; level++) {
			const struct sched_domain *sd = lb_domain(era, level);
			const u8 *want = load_indices[era][level];
			bool smt = level == SD_SMT, node = level == SD_NODE;

			check(sd->min_ms == (node ? 8 : 1) && sd->max_ms == (node  ? 32
									     : smt ? 2
										   : 4),
			      "era %u level %u: interval", era, level);
			check(sd->busy_factor == (node ? 32 : 64), "era %u level %u: %u", era,
			      level, sd->busy_factor);
			check(sd->imbalance_pct == (smt ? 110 : 125), "era %u level %u: %u %%", era,
			      level, sd->imbalance_pct);
			check(sd->nice_tries == (node ? 2 : !smt), "era %u level %u: %u tries", era,
			      level, sd->nice_tries);
			check(sd->busy_idx == want[0] && sd->idle_idx == want[1] &&
				      sd->newidle_idx == want[2] && sd->wake_idx == want[3] &&
				      sd->fork_idx == want[4],
			      "era %u level %u: load indices", era, level);
			check(sd->flags == flags_of(era, level), "era %u level %u: %x, not %x", era,
			      level, sd->flags, flags_of(era, level));
		}
	}
}

/* rules 2.1.1, 2.2.9 and 2.2.11.1: weights, the example of cfs.h, the missing pull, intervals. */
static void test_constants(void)
{
	struct cfs_params prm;
	u32 era, level;

	cfs_params_init(&prm, CFS_3_6, 1);
	for (u32 u = 0; u < 40; u++)
		check(cfs_weight(100 + u, 0) == published_weight[u], "nice %d", (s32)u - 20);
	check(cfs_weight(120, 0) == 1024 && cfs_weight(100, 0) == 88761 && cfs_weight(139, 0) == 15,
	      "nice 0, -20, 19");
	check(cfs_weight(120, CFS_IDLE_POLICY) == 3, "SCHED_IDLE");
	check(cfs_slice(&prm, 2, 1359, 1024) == 4520971, "%llu", cfs_slice(&prm, 2, 1359, 1024));
	check(cfs_period(&prm, 8) == 6000000 && cfs_period(&prm, 9) == 6750000, "period");
	for (era = LB_2_6_31; era <= LB_3_6; era++) {
		check(lb_domain(era, SD_CPU)->imbalance_pct == 125 &&
			      lb_domain(era, SD_SMT)->imbalance_pct == 110,
		      "era %u", era);
		check(lb_domain(era, SD_CPU)->min_ms == 1 && lb_domain(era, SD_CPU)->max_ms == 4,
		      "era %u", era);
		check(lb_domain(era, SD_NODE)->min_ms == 8 && lb_domain(era, SD_NODE)->max_ms == 32,
		      "era %u", era);
		check(lb_domain(era, SD_CPU)->busy_factor == 64 &&
			      lb_domain(era, SD_NODE)->busy_factor == 32,
		      "era %u", era);
		for (level = SD_SMT; level < SD_LEVELS; level++)
			check(!!(lb_domain(era, level)->flags & SD_NEWIDLE) ==
				      (era != LB_2_6_31 || level == SD_SMT),
			      "era %u level %u", era, level);
	}
	check(lb_interval(LB_2_6_31, lb_domain(LB_2_6_31, SD_MC), 4, CPU_NOT_IDLE, 2, 250) == 64,
	      "256 ms");
	check(lb_interval(LB_2_6_31, lb_domain(LB_2_6_31, SD_MC), 4, CPU_IDLE, 2, 250) == 1, "4 "
											     "ms");
	check(lb_interval(LB_3_6, lb_domain(LB_3_6, SD_MC), 4, CPU_NOT_IDLE, 2, 250) == 50, "HZ * "
											    "2 / "
											    "10");
}

int main(int argc, char **argv)
{
	rounds(1, argv, 1, test_constants);
	rounds(1, argv, 1, test_domains);
	return rounds(argc, argv, sizeof(table) / sizeof(table[0]), test);
}
