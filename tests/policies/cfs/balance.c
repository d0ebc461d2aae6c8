/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Balance between CPUs against references that see the whole machine: load
 * averages, wake_affine (rules 2.2.8.2 and 2.2.10.1), idlest group, busiest
 * group and imbalance (rule 2.2.11.3). The references work on tables, with signed 128-bit
 * numbers, and know nothing of feeding.
 */
#include "check.h"

#define MOST_GROUPS 6
#define MOST_CPUS 4 /* in a group */

typedef __int128 wide;

struct cpu {
	u64 load, weight; /* load: as the index has it, from the right side */
	u32 nr;
};

static struct cpu cpus[MOST_GROUPS][MOST_CPUS];
static u32 groups, per_group, threads_per_core;

static u64 rounded(u64 a, u64 b)
{
	return (a + b / 2) / b;
}

static void some_machine(u32 level)
{
	static const u32 widths[] = { 1, 2, 4 };

	groups = between(2, MOST_GROUPS);
	per_group = level == SD_SMT ? 1 : widths[between(0, 2)];
	threads_per_core = per_group > 1 && coin(2) ? 2 : 1;
	for (u32 g = 0; g < groups; g++)
		for (u32 c = 0; c < per_group; c++) {
			struct cpu *cpu = &cpus[g][c];

			cpu->nr = coin(4) ? 0 : between(0, 5);
			cpu->weight = 0;
			for (u32 i = 0; i < cpu->nr; i++)
				cpu->weight += coin(3) ? some_weight() : 1024;
			cpu->load = coin(2) ? cpu->weight
					    : cpu->weight + between(0, 2048) -
						      min_u64(cpu->weight, 1024);
		}
}

/* rule 2.2.11.3 and the notes in balance.h: the power of a group of this machine. */
static u64 power_of(u32 era, u32 level)
{
	u32 cores = per_group / threads_per_core;

	if (level == SD_SMT)
		return era == LB_2_6_31 ? 1024 : 589;
	if (era == LB_2_6_31)
		return 1024;
	return cores * (threads_per_core == 2 ? 1178 : 1024);
}

struct table_row {
	wide avg, load, weight, nr, per_task, max_load, min_load, max_nr, min_nr, idle;
};

static struct table_row summary(u32 g, u64 power)
{
	struct table_row row = { .min_load = (wide)1 << 100, .min_nr = 1 << 30 };

	for (u32 c = 0; c < per_group; c++) {
		struct cpu *cpu = &cpus[g][c];

		row.load += cpu->load;
		row.weight += cpu->weight;
		row.nr += cpu->nr;
		row.idle += cpu->nr == 0;
		row.per_task += cpu->nr ? cpu->weight / cpu->nr : 0;
		row.max_load = cpu->load > row.max_load ? cpu->load : row.max_load;
		row.min_load = cpu->load < row.min_load ? cpu->load : row.min_load;
		row.max_nr = cpu->nr > row.max_nr ? cpu->nr : row.max_nr;
		row.min_nr = cpu->nr < row.min_nr ? cpu->nr : row.min_nr;
	}
	row.avg = row.load * 1024 / power;
	return row;
}

/* What the rules of an era say to pull to group 0, and from where (-1: balanced). */
static s32 reference(u32 era, u32 level, bool prefer, enum cpu_idle_type idle, u32 pct, u64 *amount)
{
	u64 power = power_of(era, level);
	struct table_row here = summary(0, power), row, busy = {};
	wide total = here.load, avg, capacity, task, room, pull, mine, gap;
	bool busy_uneven = false, force;
	wide busy_capacity = 0;
	s32 best = -1;

	*amount = 0;
	for (u32 g = 1; g < groups; g++) {
		bool uneven;

		row = summary(g, power);
		total += row.load;
		capacity = era == LB_2_6_31 ? power / 1024 : rounded(power, 1024);
		if (era == LB_3_6) {
			capacity = capacity ? capacity : 1;
			uneven = row.max_load - row.min_load >=
					 (row.nr ? row.weight / row.nr : 0) &&
				 row.max_nr - row.min_nr > 1;
		} else {
			uneven = row.max_load - row.min_load > 2 * (row.per_task * 1024 / power);
		}
		if (prefer && era == LB_2_6_32 && capacity > 1)
			capacity = 1;
		if (prefer && era == LB_3_6 && capacity > 1 &&
		    here.nr < (wide)(rounded(power, 1024) ?: 1))
			capacity = 1;
		if (row.avg > busy.avg && (row.nr > capacity || uneven)) {
			best = g;
			busy = row;
			busy_uneven = uneven;
			busy_capacity = capacity;
		}
	}
	if (best < 0 || !busy.nr)
		return -1;
	avg = total * 1024 / ((wide)power * groups);
	capacity = rounded(power, 1024) ? rounded(power, 1024) : 1;
	force = era == LB_3_6 && (busy_uneven || (idle == CPU_NEWLY_IDLE && here.nr < capacity &&
						  busy.nr >= capacity));
	if (!force) {
		if (here.avg >= busy.avg || here.avg >= avg)
			return -1;
		if (era == LB_3_6 && idle == CPU_IDLE && here.idle <= busy.idle + 1 &&
		    busy.nr <= per_group)
			return -1;
		if (!(era == LB_3_6 && idle == CPU_IDLE) && 100 * busy.avg <= pct * here.avg)
			return -1;
	}
	task = busy.weight / busy.nr;
	if (busy_uneven && task > avg)
		task = avg;
	if (era != LB_3_6 && busy.avg <= task)
		return -1;
	if (busy.avg >= avg) {
		pull = busy.avg - avg;
		if (era != LB_3_6 && busy.avg - task < pull)
			pull = busy.avg - task;
		gap = (busy.nr - busy_capacity) * 1024 * 1024 / power;
		if (era == LB_3_6 && !busy_uneven && gap < pull)
			pull = gap;
		room = here.avg < avg ? avg - here.avg : (wide)1 << 60;
		*amount = (pull < room ? pull : room) * power / 1024;
		if (*amount >= (u64)task)
			return best;
	}
	/* Less than a task: one whole task if the difference is worth one, or if more power is used after. */
	mine = here.nr ? here.weight / here.nr : 0;
	{
		wide scaled = task * 1024 / power, unit = era == LB_3_6 ? scaled : task;
		wide my_unit = era == LB_3_6 ? mine * 1024 / power : mine;
		wide times = here.nr && task > mine ? 1 : 2, more, now, moved, left;

		gap = busy.avg - here.avg + unit;
		now = (unit < busy.avg ? unit : busy.avg) +
		      (my_unit < here.avg ? my_unit : here.avg);
		left = busy.avg > scaled ? busy.avg - scaled : 0;
		more = era == LB_3_6
			       ? (scaled < busy.avg ? scaled : busy.avg) * power / power
			       : (task * 1024 < busy.avg * (wide)power ? task * 1024
								       : busy.avg * (wide)power) /
					 power;
		more += here.avg;
		moved = (unit < left ? unit : left) + (my_unit < more ? my_unit : more);
		*amount = gap < 0 || gap >= unit * times ||
					  moved * power / 1024 > now * power / 1024
				  ? task
				  : 0;
	}
	return best;
}

static void test_busiest(void)
{
	u32 era = between(LB_2_6_31, LB_3_6), level = between(SD_SMT, SD_CPU),
	    pct = coin(3) ? 110 : 125;
	enum cpu_idle_type idle = between(0, 2);
	bool prefer = coin(2);
	struct lb_group g;
	struct lb_stats lb;
	u64 got, want;
	s32 from;

	some_machine(level);
	lb_init(&lb, era, level, prefer);
	for (u32 i = 0; i < groups; i++) {
		lb_group_init(&g, i, i == 0);
		for (u32 c = 0; c < per_group; c++) {
			lb_group_feed(&g, cpus[i][c].load, cpus[i][c].weight, cpus[i][c].nr);
			sd_span_add(&g.span, i * per_group + c / threads_per_core, i);
		}
		lb_feed(&lb, &g);
	}
	got = lb_end(&lb, idle, pct);
	from = reference(era, level, prefer, idle, pct, &want);
	check(lb.busiest == from && got == want,
	      "era %u level %u idle %u prefer %u: %llu from %d, not %llu from %d", era, level, idle,
	      prefer, got, lb.busiest, want, from);
}

/* rule 2.2.8.4: half the imbalance percentage decides, and the least loaded other group. */
static void test_idlest(void)
{
	u64 power = 1024 * between(1, 4), loads[MOST_GROUPS], least = ~0ULL;
	u32 count = between(1, MOST_GROUPS), local = between(0, count - 1),
	    pct = coin(2) ? 110 : 125;
	struct lb_idlest find;
	s32 want = -1;

	lb_idlest_init(&find);
	for (u32 i = 0; i < count; i++) {
		loads[i] = coin(4) ? 0 : between(0, 8) * 512;
		lb_idlest_feed(&find, i, i == local, loads[i], power);
	}
	for (u32 i = 0; i < count; i++)
		if (i != local && loads[i] * 1024 / power < least) {
			least = loads[i] * 1024 / power;
			want = i;
		}
	if (want >= 0 &&
	    100.0 * (loads[local] * 1024 / power) < (100 + (pct - 100) / 2) * (double)least)
		want = -1;
	check(lb_idlest_end(&find, pct) == want, "want %d", want);
}

/* rules 2.2.8.2 and 2.2.8.3: the four reasons, one after the other. */
static void test_affine(void)
{
	u32 era = between(LB_2_6_31, LB_3_6);
	struct lb_wake w = { .this_load = between(0, 6) * 512,
			     .prev_load = between(0, 6) * 512,
			     .prev_target = between(0, 6) * 512,
			     .this_per_task = between(0, 4) * 512,
			     .waker_overlap_ns = between(0, 8) * 125000,
			     .wakee_overlap_ns = between(0, 8) * 125000,
			     .overlap_limit_ns = 500000,
			     .waker_weight = some_weight(),
			     .wakee_weight = some_weight(),
			     .imbalance_pct = coin(2) ? 110 : 125,
			     .sync = coin(2) };
	bool sync = w.sync, balanced, want;
	wide here = w.this_load;

	if (era != LB_3_6 && (w.waker_overlap_ns > 500000 || w.wakee_overlap_ns > 500000))
		sync = false;
	here -= sync ? w.waker_weight : 0;
	balanced = 100 * (here + w.wakee_weight) <=
		   (wide)(100 + (w.imbalance_pct - 100) / 2) * w.prev_load;
	if (era == LB_3_6 && here <= 0)
		balanced = true;
	want = balanced || (here <= (wide)w.prev_load && here + w.prev_target <= w.this_per_task);
	check(lb_wake_affine(era, &w) == want, "era %u sync %u: want %d", era, w.sync, want);
	want = (100 + (w.imbalance_pct - 100) / 2) * w.this_load <= 100 * w.prev_load;
	check(lb_wake_passive(&w) == want, "passive: want %d", want);
}

/* Index i is exact for i = 0, follows within rounding, reaches a steady weight, stays between old and new. */
static void test_loads(void)
{
	u64 load[LB_LOADS], before[LB_LOADS], weight = between(0, 100000);

	for (u32 i = 0; i < LB_LOADS; i++)
		load[i] = between(0, 100000);
	for (u32 tick = 0; tick < 600; tick++) {
		for (u32 i = 0; i < LB_LOADS; i++)
			before[i] = load[i];
		lb_load_update(load, weight);
		for (u32 i = 0; i < LB_LOADS; i++) {
			double want = before[i] + ((double)weight - before[i]) / (1 << i);

			check(load[i] >= min_u64(before[i], weight) &&
				      load[i] <= max_u64(before[i], weight),
			      "load %u", i);
			check(load[i] - want < 1.0 && want - load[i] < 1.0,
			      "load %u: %llu, want %f", i, load[i], want);
		}
	}
	for (u32 i = 0; i < LB_LOADS; i++) {
		check(load[i] == weight, "load %u: %llu, not %llu", i, load[i], weight);
		check(lb_source_load(weight, before, i) <= weight &&
			      lb_target_load(weight, before, i) >= weight,
		      "index %u", i);
	}
	check(lb_source_load(7, (u64[]){ 3, 9, 9, 9, 9 }, 1) == 3 &&
		      lb_target_load(7, (u64[]){ 3, 9, 9, 9, 9 }, 2) == 9 &&
		      lb_source_load(7, (u64[]){ 3, 9, 9, 9, 9 }, 0) == 7,
	      "index 1 is the last tick's");
}

/* rule 2.2.11.4: hot unless failed too often, in 3.6 never SCHED_IDLE; half a task must fit. */
static void test_moves(void)
{
	struct cfs_params prm = some_params();
	u32 failed = between(0, 3), tries = between(0, 2), weight = some_weight();
	u64 since = between(0, 1000000), left = between(0, 2048);
	bool buddy = coin(3);

	check(lb_stays(cfs_cache_hot(&prm, since, buddy, 0), failed, tries) ==
		      (failed <= tries && (buddy || since < 500000)),
	      "since %llu buddy %u failed %u", since, buddy, failed);
	check(cfs_cache_hot(&prm, since, buddy, CFS_IDLE_POLICY) ==
		      (prm.era != CFS_3_6 && (buddy || since < 500000)),
	      "SCHED_IDLE is never hot in 3.6");
	check(lb_fits(LB_3_6, weight, left) == (weight / 2 <= left), "weight %u left %llu", weight,
	      left);
	check(lb_fits(LB_2_6_22, weight, left) == (weight <= left), "weight %u left %llu", weight,
	      left);
}

int main(int argc, char **argv)
{
	rounds(argc, argv, 100000, test_affine);
	rounds(argc, argv, 100000, test_idlest);
	rounds(argc, argv, 200, test_loads);
	rounds(argc, argv, 10000, test_moves);
	return rounds(argc, argv, 500000, test_busiest);
}
