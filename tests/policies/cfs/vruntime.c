/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The invariants of rule 2.3 on one CPU that cfs.h drives: hogs of random
 * weights, ticks of 1 to 10 ms, sleepers and new tasks coming and going.
 */
#include "check.h"

#define MOST 24

struct task {
	u64 vr, ran_ns;
	u32 weight;
	bool queued;
};

static struct task tasks[MOST];
static struct cfs_params prm;
static u64 min_vr, tick_ns;
static u32 count, nr;
static u64 total;

static s32 leftmost(s32 except)
{
	s32 best = -1;

	for (u32 i = 0; i < count; i++)
		if (tasks[i].queued && (s32)i != except &&
		    (best < 0 || before64(tasks[i].vr, tasks[best].vr)))
			best = i;
	return best;
}

static void follow(s32 curr)
{
	s32 left = leftmost(curr);
	u64 before = min_vr;

	min_vr = cfs_min_vruntime(min_vr, curr >= 0, curr >= 0 ? tasks[curr].vr : 0, left >= 0,
				  left >= 0 ? tasks[left].vr : 0);
	check(!before64(min_vr, before), "min_vruntime fell from %llu to %llu", before, min_vr);
	/* rule 2.1.3: and it is that of the least, whether that runs or waits */
	if (min_vr != before || (left >= 0 && curr >= 0))
		check(min_vr == cfs_later(before, tasks[leftmost(-1)].vr),
		      "min_vruntime is %llu, the least %llu", min_vr, tasks[leftmost(-1)].vr);
}

/* Run the leftmost until the tick rule ends its slice; a task alone, for some ticks. */
static void run_one(void)
{
	s32 curr = leftmost(-1), left = leftmost(curr);
	u64 ran = 0, slice, alone = between(1, 20) * tick_ns;

	do {
		ran += tick_ns;
		tasks[curr].ran_ns += tick_ns;
		tasks[curr].vr += cfs_vdelta(tick_ns, tasks[curr].weight);
		follow(curr);
		slice = cfs_slice(&prm, nr, total, tasks[curr].weight);
	} while ((nr > 1 || ran < alone) &&
		 cfs_check_tick(&prm, nr, ran, slice, tasks[curr].vr, left >= 0,
				left >= 0 ? tasks[left].vr : 0) == CFS_TICK_KEEP);
}

static void join(u32 i)
{
	tasks[i].queued = true;
	nr++;
	total += tasks[i].weight;
}

static void leave(u32 i)
{
	tasks[i].queued = false;
	nr--;
	total -= tasks[i].weight;
}

static void start(u32 lo, u32 hi, bool equal)
{
	count = between(lo, hi);
	prm = some_params();
	tick_ns = (u64[]){ 1, 4, 10 }[between(0, 2)] * NSEC_PER_MSEC;
	min_vr = draw(); /* also near the wrap */
	nr = total = 0;
	for (u32 i = 0; i < count; i++) {
		tasks[i] =
			(struct task){ .vr = min_vr,
				       .weight = equal ? 1024 : cfs_nice_weight[between(10, 30)] };
		join(i);
	}
}

/* rule 2.3.2, the spread of vruntimes: a slice and a tick at most, so shares follow weights. */
static void test_hogs(void)
{
	u64 elapsed = 0, vslice, vtick = 0, least, most, want, error;
	u32 i;

	start(2, MOST, coin(2));
	for (i = 0; i < count; i++)
		vtick = max_u64(vtick, cfs_vdelta(tick_ns, tasks[i].weight));
	/* The virtual length of a slice is the same for all weights. */
	vslice = cfs_vdelta(cfs_slice(&prm, nr, total, tasks[0].weight), tasks[0].weight) +
		 CFS_NICE_0;
	for (u32 turn = 0; turn < 40 * count; turn++) {
		run_one();
		least = most = tasks[0].vr;
		for (i = 1; i < count; i++) {
			least = before64(tasks[i].vr, least) ? tasks[i].vr : least;
			most = cfs_later(tasks[i].vr, most);
		}
		check(most - least <= vslice + vtick, "spread %llu, slice %llu, tick %llu",
		      most - least, vslice, vtick);
	}
	for (i = 0; i < count; i++)
		elapsed += tasks[i].ran_ns;
	for (i = 0; i < count; i++) {
		want = (u64)((unsigned __int128)elapsed * tasks[i].weight / total);
		error = want > tasks[i].ran_ns ? want - tasks[i].ran_ns : tasks[i].ran_ns - want;
		check(error <= (vslice + vtick) * tasks[i].weight / CFS_NICE_0 + tick_ns,
		      "weight %u of %llu ran %llu of %llu ns", tasks[i].weight, total,
		      tasks[i].ran_ns, elapsed);
	}
}

/* rules 2.3.1, 2.3.3 and 2.3.4: the clock never goes back, credit is bounded, a debit for the new. */
static void test_comers(void)
{
	u64 before, floor, debit, parent;
	u32 i;

	start(2, MOST, false);
	for (u32 turn = 0; turn < 400; turn++) {
		i = between(0, count - 1);
		if (tasks[i].queued && nr > 1) {
			leave(i);
			follow(-1);
		} else if (!tasks[i].queued && coin(4)) {
			/* Its own slice as it will be with it, in virtual time: the same for every weight. */
			debit = (nr + 1 > prm.nr_latency ? (nr + 1) * prm.min_gran_ns
							 : prm.latency_ns) *
				1024 / (total + tasks[i].weight);
			parent = min_vr + between(0, 50) * NSEC_PER_MSEC -
				 between(0, 50) * NSEC_PER_MSEC;
			tasks[i].vr = cfs_place_new(&prm, parent, min_vr,
						    cfs_vslice(&prm, nr, total, tasks[i].weight));
			check(!before64(tasks[i].vr, min_vr),
			      "new task %llu before the queue's clock", min_vr - tasks[i].vr);
			before = prm.era == CFS_2_6_31 ? min_vr + debit
						       : cfs_later(parent, min_vr + debit);
			check(tasks[i].vr - before + 2000 <= 4000, "new task at %llu, not %llu",
			      tasks[i].vr - min_vr, before - min_vr);
			join(i);
		} else if (!tasks[i].queued) {
			before = tasks[i].vr;
			floor = min_vr -
				(prm.era == CFS_2_6_31 ? prm.latency_ns : prm.latency_ns / 2);
			tasks[i].vr = cfs_place_wakeup(&prm, before, min_vr);
			check(!before64(tasks[i].vr, before), "waking took %llu back",
			      before - tasks[i].vr);
			check(!before64(tasks[i].vr, floor), "credit of %llu",
			      min_vr - tasks[i].vr);
			check(tasks[i].vr == before || tasks[i].vr == floor, "neither kept nor at "
									     "the floor");
			join(i);
		}
		run_one();
	}
}

/* rule 2.2.5: a task moved to another queue keeps its distance to the queue's clock, both ways. */
static void test_move(void)
{
	u64 vr = draw(), from = vr - between(0, NSEC_PER_SEC), to = draw();
	u64 moved = cfs_move_vruntime(vr, from, to);

	check(moved - to == vr - from, "distance %llu", moved - to);
	check(cfs_move_vruntime(moved, to, from) == vr, "there and back");
}

int main(int argc, char **argv)
{
	rounds(argc, argv, 100000, test_move);
	rounds(argc, argv, 1000, test_comers);
	return rounds(argc, argv, 1000, test_hogs);
}
