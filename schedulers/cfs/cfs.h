/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * CFS, the algorithm of one CPU: every task owns an equal, weighted share, and
 * the one that has had least of its share runs next.
 *
 * "Had" is counted in vruntime: time on the CPU divided by weight, 1024 being
 * nice 0. An example on one CPU with the 3.6 rules (latency 6 ms, minimum
 * 0.75 ms, wakeup granularity 1 ms):
 *
 *   Two hogs, A at nice 0 (weight 1024) and B at nice 5 (weight 335). The
 *   period of 6 ms is split by weight: A gets 6 * 1024 / 1359 = 4.52 ms, B
 *   1.48 ms. While A runs 4.52 ms its vruntime grows by 4.52 ms; B's grows by
 *   1.48 * 1024 / 335 = 4.52 ms as well. So always running the least vruntime
 *   gives A 75 % and B 25 %, with no other bookkeeping.
 *
 *   C wakes after a second of sleep, its vruntime far behind. It is placed at
 *   min_vruntime - 3 ms (half a latency, the sleeper's credit; 2.6.31 gave the
 *   whole 20 ms) and preempts A at once, because A is more than 1 ms ahead.
 *   It may then run about 3 ms before A is again the one furthest behind.
 *
 * Good at: proportional shares, cheap switches for tasks that sleep a lot, no
 * classification of tasks that could be wrong. Bad at: bounding latency (nr
 * tasks wait nr * minimum), and knowing anything beyond its own CPU: balance.h
 * is what makes shares even between CPUs, and it does so late and unevenly.
 *
 * Rule numbers are those of docs/rules/cfs.md. Three published rule sets are here.
 */
#pragma once

#include "types.h"

enum cfs_era { CFS_2_6_31, CFS_2_6_32, CFS_3_6, CFS_ERAS };

/* rule 2.1.1: the weight of nice 0; each step of nice is worth a factor of about 1.25. */
#define CFS_NICE_0 1024
#define CFS_WEIGHT_IDLE 3

/* Scheduling policies, as user space numbers them. */
#define CFS_NORMAL 0
#define CFS_IDLE_POLICY 5

static const u32 cfs_nice_weight[40] = {
	88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916,
	9548,  7620,  6100,  4904,  3906,  3121,  2501,	 1991,	1586,  1277,
	1024,  820,   655,   526,   423,   335,	  272,	 215,	172,   137,
	110,   87,    70,    56,    45,	   36,	  29,	 23,	18,    15,
};

/* What an era decides, in the units the rules use. */
struct cfs_params {
	u32 era;
	u32 nr_latency; /* tasks that fit into one latency */
	u64 latency_ns;
	u64 min_gran_ns;
	u64 wakeup_gran_ns;
	u64 migration_cost_ns; /* a task that ran less long ago is cache-hot */
	u64 sleeper_credit_ns;
	bool child_runs_first;
	bool wakeup_preempt;
	bool buddies;
	bool affine;
};

static inline u32 cfs_weight(u32 static_prio, u32 policy)
{
	u32 index = static_prio - MAX_RT_PRIO;

	if (policy == CFS_IDLE_POLICY)
		return CFS_WEIGHT_IDLE;
	return cfs_nice_weight[index < 40 ? index : 20];
}

/* rules 2.1.5 and 2.1.8, for n CPUs. */
static inline void cfs_params_init(struct cfs_params *prm, u32 era, u32 n)
{
	bool old = era == CFS_2_6_31;
	u32 factor = 1 + ilog2_u32(era == CFS_3_6 && n > 8 ? 8 : n);

	prm->era = era;
	prm->latency_ns = (old ? 20 : era == CFS_2_6_32 ? 5 : 6) * NSEC_PER_MSEC * factor;
	prm->min_gran_ns = (old ? 4000 : era == CFS_2_6_32 ? 1000 : 750) * NSEC_PER_USEC * factor;
	prm->wakeup_gran_ns = (old ? 5 : 1) * NSEC_PER_MSEC * factor;
	if (old) {
		prm->latency_ns = min_u64(prm->latency_ns, 200 * NSEC_PER_MSEC);
		prm->min_gran_ns = min_u64(prm->min_gran_ns, 200 * NSEC_PER_MSEC);
	}
	prm->nr_latency = era == CFS_3_6 ? 8 : 5;
	prm->migration_cost_ns = 500 * NSEC_PER_USEC;
	prm->sleeper_credit_ns = old ? prm->latency_ns : prm->latency_ns / 2;
	prm->child_runs_first = old;
	prm->wakeup_preempt = true;
	prm->buddies = true;
	prm->affine = true;
}

/* rule 2.1.2: real time to virtual time. */
static inline u64 cfs_vdelta(u64 ns, u32 weight)
{
	return weight == CFS_NICE_0 || !weight ? ns : ns * CFS_NICE_0 / weight;
}

/* rule 2.1.4: within this time each of nr tasks runs once. */
static inline u64 cfs_period(const struct cfs_params *prm, u32 nr)
{
	return nr <= prm->nr_latency ? prm->latency_ns : nr * prm->min_gran_ns;
}

/* rule 2.1.4: a task's part of the period; total is the queue's weight, the task's own included. */
static inline u64 cfs_slice(const struct cfs_params *prm, u32 nr, u64 total, u32 weight)
{
	return total ? cfs_period(prm, nr) * weight / total : cfs_period(prm, nr);
}

/* The slice of a task not yet queued, in its own virtual time. */
static inline u64 cfs_vslice(const struct cfs_params *prm, u32 nr, u64 total, u32 weight)
{
	return cfs_vdelta(cfs_slice(prm, nr + 1, total + weight, weight), weight);
}

static inline u64 cfs_later(u64 a, u64 b)
{
	return before64(a, b) ? b : a;
}

/* rule 2.1.3: the queue's clock follows its least vruntime and never goes back. */
static inline u64 cfs_min_vruntime(u64 min_vr, bool has_curr, u64 curr_vr, bool has_left,
				   u64 left_vr)
{
	u64 least = has_curr ? curr_vr : left_vr;

	if (!has_curr && !has_left)
		return min_vr;
	if (has_curr && has_left && before64(left_vr, least))
		least = left_vr;
	return cfs_later(min_vr, least);
}

/* rule 2.1.6: some of a sleep counts, and waking never lowers a vruntime. */
static inline u64 cfs_place_wakeup(const struct cfs_params *prm, u64 vr, u64 min_vr)
{
	return cfs_later(vr, min_vr - prm->sleeper_credit_ns);
}

/* rule 2.1.7: the time of this period is promised to other tasks already. vr is the parent's. */
static inline u64 cfs_place_new(const struct cfs_params *prm, u64 vr, u64 min_vr, u64 vslice)
{
	return prm->era == CFS_2_6_31 ? min_vr + vslice : cfs_later(vr, min_vr + vslice);
}

/* rule 2.2.5: on another queue a task keeps its distance to the queue's clock. */
static inline u64 cfs_move_vruntime(u64 vr, u64 from_min_vr, u64 to_min_vr)
{
	return vr - from_min_vr + to_min_vr;
}

/* Averages over about eight samples (rules 2.2.3, 2.2.8.2 and 2.2.11.6). */
static inline u64 cfs_avg(u64 avg, u64 sample)
{
	return avg + ((s64)(sample - avg) >> 3);
}

/* rule 2.2.2. */
enum cfs_tick { CFS_TICK_KEEP, CFS_TICK_EXPIRED, CFS_TICK_BEHIND };

static inline enum cfs_tick cfs_check_tick(const struct cfs_params *prm, u32 nr, u64 ran, u64 slice,
					   u64 curr_vr, bool has_left, u64 left_vr)
{
	if (nr <= 1 && (prm->era != CFS_2_6_31 || prm->wakeup_preempt))
		return CFS_TICK_KEEP;
	if (ran > slice)
		return CFS_TICK_EXPIRED;
	if (prm->era == CFS_2_6_31 || ran < prm->min_gran_ns || !has_left)
		return CFS_TICK_KEEP;
	return (s64)(curr_vr - left_vr) > (s64)slice ? CFS_TICK_BEHIND : CFS_TICK_KEEP;
}

/* The entity that asks or is asked whether it may go first. */
struct cfs_entity {
	u64 vr;
	u64 ran; /* CPU time since it was picked */
	u64 avg_wakeup; /* CPU time between two wakeups that it issues */
	u32 weight;
	u32 policy;
};

/* rule 2.2.3: what a wakeup must be ahead by, in the wakee's virtual time. */
static inline u64 cfs_wakeup_gran(const struct cfs_params *prm, u32 weight)
{
	return cfs_vdelta(prm->wakeup_gran_ns, weight);
}

/* rule 2.2.3 in 2.6.31 and .32: less for a wakee that soon wakes others, none once current had its time. */
static inline u64 cfs_adaptive_gran(const struct cfs_params *prm, const struct cfs_entity *curr,
				    const struct cfs_entity *p, u32 nr)
{
	u64 expected = 2 * p->avg_wakeup * nr;
	u64 gran = expected > curr->ran ? expected - curr->ran : 0;

	return cfs_vdelta(min_u64(gran, prm->wakeup_gran_ns), p->weight);
}

/* rule 2.2.3: does p, just woken, take the CPU from curr? nr counts both. */
static inline bool cfs_preempts(const struct cfs_params *prm, const struct cfs_entity *curr,
				const struct cfs_entity *p, u32 nr)
{
	s64 ahead = (s64)(curr->vr - p->vr);
	u64 gran;

	if (prm->era == CFS_3_6 && curr->policy == CFS_IDLE_POLICY && p->policy != CFS_IDLE_POLICY)
		return true;
	if (p->policy != CFS_NORMAL)
		return false;
	if (curr->policy == CFS_IDLE_POLICY)
		return true;
	if (!prm->wakeup_preempt || ahead <= 0)
		return false;
	gran = prm->era == CFS_3_6 ? cfs_wakeup_gran(prm, p->weight)
				   : cfs_adaptive_gran(prm, curr, p, nr);
	return ahead > (s64)gran;
}

/* rule 2.2.11.4: a task that has just run, or that is to be picked next, is cache-hot; in 3.6 SCHED_IDLE never is. */
static inline bool cfs_cache_hot(const struct cfs_params *prm, u64 since_ran_ns, bool buddy,
				 u32 policy)
{
	if (prm->era == CFS_3_6 && policy == CFS_IDLE_POLICY)
		return false;
	return buddy || since_ran_ns < prm->migration_cost_ns;
}

/* rule 2.2.4: pids with a claim to be picked out of order; 0 is none. */
struct cfs_buddies {
	s32 next, last, skip;
};

static inline void cfs_clear_buddy(struct cfs_buddies *b, s32 pid)
{
	if (b->next == pid)
		b->next = 0;
	if (b->last == pid)
		b->last = 0;
	if (b->skip == pid)
		b->skip = 0;
}

/* rule 2.2.4: after the check of rule 2.2.3. curr is 0 when the CPU runs no task of this policy. */
static inline void cfs_wake_buddies(const struct cfs_params *prm, struct cfs_buddies *b,
				    bool preempts, u32 nr, s32 curr, u32 curr_policy, s32 p,
				    u32 p_policy)
{
	bool last_ok = curr && curr_policy != CFS_IDLE_POLICY;

	if (!prm->buddies)
		return;
	if (prm->era == CFS_2_6_31) {
		if (last_ok)
			b->last = curr;
		if (p_policy != CFS_IDLE_POLICY)
			b->next = p;
		return;
	}
	if (!preempts)
		return;
	if (prm->era == CFS_3_6 && p_policy != CFS_IDLE_POLICY)
		b->next = p;
	if (nr >= prm->nr_latency && last_ok)
		b->last = curr;
}

/*
 * rule 2.2.4, the pick: feed the queue in vruntime order (the previous task
 * among them, behind its equals) until feed says enough, then ask. A buddy
 * counts only within one granularity of the leftmost, so no more is read.
 */
#define CFS_PICK_LOOKS 64 /* queued tasks that are looked at for a buddy */

struct cfs_pick {
	u64 left_vr, window;
	s32 left, second;
	u32 fed;
	bool next_ok, last_ok;
};

/* left_gran is read from the first task only: cfs_wakeup_gran of its weight. */
static inline bool cfs_pick_feed(struct cfs_pick *pick, const struct cfs_buddies *b, s32 pid,
				 u64 vr, u64 left_gran)
{
	if (!pick->fed) {
		pick->left = pid;
		pick->left_vr = vr;
		pick->window = left_gran;
	} else if ((s64)(vr - pick->left_vr) > (s64)pick->window) {
		return false;
	} else if (pick->fed == 1) {
		pick->second = pid;
	}
	pick->fed++;
	pick->next_ok |= b->next == pid;
	pick->last_ok |= b->last == pid;
	return (b->next && !pick->next_ok) || (b->last && !pick->last_ok) ||
	       (b->skip == pick->left && pick->fed < 2);
}

static inline s32 cfs_pick_end(const struct cfs_pick *pick, const struct cfs_buddies *b, u32 era)
{
	if (!pick->fed)
		return 0;
	if (era == CFS_2_6_31)
		return pick->next_ok ? b->next : pick->last_ok ? b->last : pick->left;
	if (era == CFS_3_6 && pick->next_ok)
		return b->next;
	if (pick->last_ok)
		return b->last;
	if (era == CFS_3_6 && b->skip == pick->left && pick->second)
		return pick->second;
	return pick->left;
}
