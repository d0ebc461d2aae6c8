/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The pick with buddies (rule 2.2.4) and wakeup preemption (rule 2.2.3) against
 * references that read the rules literally and see the whole queue at once.
 */
#include <string.h>

#include "check.h"

#define MOST 40

struct queued {
	u64 vr;
	u32 weight;
	s32 pid;
};

static struct queued queue[MOST];
static u32 count;

/* rule 2.2.4: a buddy b replaces the leftmost unless b.vr - left.vr > gran(left). */
static const struct queued *fair(s32 pid, const struct queued *left, const struct cfs_params *prm)
{
	for (u32 i = 0; pid && i < count; i++)
		if (queue[i].pid == pid)
			return (s64)(queue[i].vr - left->vr) >
					       (s64)(prm->wakeup_gran_ns * 1024 / left->weight)
				       ? NULL
				       : &queue[i];
	return NULL;
}

static s32 reference(const struct cfs_buddies *b, const struct cfs_params *prm)
{
	const struct queued *left = &queue[0], *choice = left, *other;

	if (prm->era == CFS_2_6_31) {
		if ((other = fair(b->next, left, prm)))
			return other->pid;
		if ((other = fair(b->last, left, prm)))
			return other->pid;
		return left->pid;
	}
	if (prm->era == CFS_3_6 && b->skip == left->pid && count > 1 &&
	    fair(queue[1].pid, left, prm))
		choice = &queue[1];
	if ((other = fair(b->last, left, prm)))
		choice = other;
	if (prm->era == CFS_3_6 && (other = fair(b->next, left, prm)))
		choice = other;
	return choice->pid;
}

static s32 some_pid(void)
{
	/* Often nobody, sometimes somebody who is not queued any more. */
	return coin(2)	 ? 0
	       : coin(8) ? 1000
	       : coin(2) ? queue[0].pid
			 : queue[between(0, count - 1)].pid;
}

static void test_pick(void)
{
	struct cfs_params prm = some_params();
	struct cfs_pick pick = {};
	struct cfs_buddies b;
	u64 vr = draw();
	s32 got, want;

	count = between(1, MOST);
	for (u32 i = 0; i < count; i++) {
		queue[i] = (struct queued){ .vr = vr,
					    .weight = some_weight(),
					    .pid = 1 + (i * 7 + round_nr) % MOST };
		/* Equals, exactly one granularity apart, and anything. */
		vr += coin(4)	? 0
		      : coin(6) ? cfs_wakeup_gran(&prm, queue[0].weight)
				: between(0, 3 * NSEC_PER_MSEC);
	}
	b = (struct cfs_buddies){ .next = some_pid(), .last = some_pid(), .skip = some_pid() };
	/* 2.6.32 never sets next, 3.6 alone sets skip. */
	if (prm.era == CFS_2_6_32)
		b.next = 0;
	if (prm.era != CFS_3_6)
		b.skip = 0;
	for (u32 i = 0; i < count; i++)
		if (!cfs_pick_feed(&pick, &b, queue[i].pid, queue[i].vr,
				   cfs_wakeup_gran(&prm, queue[i].weight)))
			break;
	got = cfs_pick_end(&pick, &b, prm.era);
	want = reference(&b, &prm);
	check(got == want, "era %u: %d, not %d; next %d last %d skip %d, %u queued", prm.era, got,
	      want, b.next, b.last, b.skip, count);
}

/* rule 2.2.3 in real numbers instead of integers where no rounding can matter. */
static void test_preempt(void)
{
	struct cfs_params prm = some_params();
	struct cfs_entity curr, p;
	u32 nr = between(2, 12);
	long double gran;
	bool want;

	curr = (struct cfs_entity){ .vr = draw(),
				    .ran = between(0, 100) * NSEC_PER_MSEC / 4,
				    .weight = some_weight(),
				    .policy = (u32[]){ 0, 0, 0, 3, 5 }[between(0, 4)] };
	p = (struct cfs_entity){ .vr = curr.vr - between(0, 60) * NSEC_PER_MSEC / 2 +
				       between(0, 20) * NSEC_PER_MSEC,
				 .avg_wakeup = between(0, prm.wakeup_gran_ns),
				 .weight = some_weight(),
				 .policy = (u32[]){ 0, 0, 0, 3, 5 }[between(0, 4)] };
	prm.wakeup_preempt = !coin(20);
	gran = prm.wakeup_gran_ns;
	if (prm.era != CFS_3_6) {
		long double left = 2.0L * p.avg_wakeup * nr - curr.ran;

		gran = left < 0 ? 0 : left < gran ? left : gran;
	}
	want = prm.wakeup_preempt && (long double)(s64)(curr.vr - p.vr) > 0 &&
	       (long double)(s64)(curr.vr - p.vr) > (u64)(gran * 1024 / p.weight);
	if (p.policy != 0)
		want = prm.era == CFS_3_6 && curr.policy == 5 && p.policy != 5;
	else if (curr.policy == 5)
		want = true;
	check(cfs_preempts(&prm, &curr, &p, nr) == want,
	      "era %u: want %d, ahead %lld, policies %u %u", prm.era, want, (s64)(curr.vr - p.vr),
	      curr.policy, p.policy);
}

/* rule 2.2.4, who becomes a buddy: one row a case. */
static void test_set(void)
{
	static const struct {
		u32 era, nr, curr_policy, p_policy, preempts;
		s32 next, last;
	} rows[] = {
		{ CFS_2_6_31, 2, 0, 0, 0, 2, 1 }, { CFS_2_6_31, 2, 0, 0, 1, 2, 1 },
		{ CFS_2_6_31, 2, 5, 0, 1, 2, 0 }, { CFS_2_6_31, 2, 0, 5, 0, 0, 1 },
		{ CFS_2_6_32, 9, 0, 0, 0, 0, 0 }, { CFS_2_6_32, 4, 0, 0, 1, 0, 0 },
		{ CFS_2_6_32, 5, 0, 0, 1, 0, 1 }, { CFS_3_6, 9, 0, 0, 0, 0, 0 },
		{ CFS_3_6, 7, 0, 0, 1, 2, 0 },	  { CFS_3_6, 8, 0, 0, 1, 2, 1 },
		{ CFS_3_6, 8, 5, 0, 1, 2, 0 },
	};
	struct cfs_buddies b = {};
	struct cfs_params prm;

	cfs_params_init(&prm, rows[round_nr].era, 4);
	cfs_wake_buddies(&prm, &b, rows[round_nr].preempts, rows[round_nr].nr, 1,
			 rows[round_nr].curr_policy, 2, rows[round_nr].p_policy);
	check(b.next == rows[round_nr].next && b.last == rows[round_nr].last, "next %d last %d",
	      b.next, b.last);
	cfs_clear_buddy(&b, 2);
	check(b.next == 0 && b.last == rows[round_nr].last, "cleared: next %d last %d", b.next,
	      b.last);
}

int main(int argc, char **argv)
{
	rounds(1, argv, 11, test_set);
	rounds(argc, argv, 300000, test_preempt);
	return rounds(argc, argv, 300000, test_pick);
}
