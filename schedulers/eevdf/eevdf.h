/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * EEVDF, the algorithm of one CPU: earliest eligible virtual deadline first.
 *
 * Every task is owed its weighted share of the CPU. v is what it had, in time
 * divided by weight (1024 is nice 0); V is the weighted average of all v, which
 * is what each should have had. A task that had no more than V is eligible: it is
 * owed time. Each task asks for its time in slices, and a slice asked for at v has
 * the virtual deadline d = v + slice * 1024 / weight. Of the eligible tasks the
 * one with the earliest deadline runs.
 *
 * An example on one CPU, slices of 0.7 ms, tasks of nice 0, in us:
 *
 *   A and B start with v = 0 and d = 700; V = 0. A runs to its deadline: v =
 *   700, next d = 1400, V = 350. A is above V, so it waits; B (v = 0, d = 700)
 *   runs its 700. Now V = 700, both are eligible again, A's d is not later
 *   than B's: A. They take turns of one slice, and the one ahead is never more
 *   than one slice ahead: that is the bound of EEVDF.
 *
 *   C has asked for slices of 0.1 ms (sched_setattr) and joins at v = V = 700:
 *   its d is 800, before the others' 1400. It runs 100 and is then ineligible
 *   (800 > V = 733) until A and B have moved V past 800, 200 us of their time
 *   in all. So it gets the same third of the CPU, in shorter turns that come
 *   sooner. No heuristic has looked at how it sleeps.
 *
 *   When C sleeps it is 100 ahead of V or behind: that lag is kept, and on
 *   waking it is placed at V - lag, as if no time had passed. No task gains by
 *   sleeping.
 *
 * Good at: shares, a bound on how far any task is from its due, latency that a
 * task may ask for. Bad at: V moves when tasks come and go, so that eligibility
 * flickers; more switches with mixed slices; protecting the running task to
 * its deadline (run to parity) trades wakeup latency for fewer switches.
 *
 * Rule numbers are those of docs/rules/eevdf.md. Three published rule sets are here.
 * pick.h has the pick and the wakeup.
 */
#pragma once

#include "types.h"

enum eevdf_era { EEVDF_6_6, EEVDF_6_12, EEVDF_7_2, EEVDF_ERAS };

#define EEVDF_NICE_0 1024
#define EEVDF_WEIGHT_IDLE 3
#define EEVDF_POLICY_NORMAL 0
#define EEVDF_POLICY_IDLE 5

/* rule 3.10.3: what a task may ask for. */
#define EEVDF_SLICE_MIN_NS (100 * NSEC_PER_USEC)
#define EEVDF_SLICE_MAX_NS (100 * NSEC_PER_MSEC)

static const u32 eevdf_nice_weight[40] = {
	88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916,
	9548,  7620,  6100,  4904,  3906,  3121,  2501,	 1991,	1586,  1277,
	1024,  820,   655,   526,   423,   335,	  272,	 215,	172,   137,
	110,   87,    70,    56,    45,	   36,	  29,	 23,	18,    15,
};

static inline u32 eevdf_weight(u32 static_prio, u32 policy)
{
	u32 index = static_prio - MAX_RT_PRIO;

	if (policy == EEVDF_POLICY_IDLE)
		return EEVDF_WEIGHT_IDLE;
	return eevdf_nice_weight[index < 40 ? index : 20];
}

/* What an era decides. */
struct eevdf_params {
	u32 era;
	u64 base_slice_ns;
	u64 unscaled_slice_ns; /* of one CPU */
	u64 tick_ns;
	u64 migration_cost_ns;
	bool parity;  /* RUN_TO_PARITY: protect the running task */
	bool place_lag;
	bool rel_deadline; /* a task that moves keeps its distance to its deadline */
	bool delay_dequeue;
	bool preempt_short;
	bool next_buddy;
	bool wakeup_preempt;
};

/* rule 3.1 for n CPUs, and which of the rules an era has. */
static inline void eevdf_params_init(struct eevdf_params *prm, u32 era, u32 n, u32 hz)
{
	prm->era = era;
	prm->unscaled_slice_ns = (era == EEVDF_7_2 ? 700 : 750) * NSEC_PER_USEC;
	prm->base_slice_ns = prm->unscaled_slice_ns * (1 + ilog2_u32(n > 8 ? 8 : n));
	prm->tick_ns = NSEC_PER_SEC / (hz ? hz : 250);
	prm->migration_cost_ns = 500 * NSEC_PER_USEC;
	prm->parity = true;
	prm->place_lag = true;
	prm->rel_deadline = era != EEVDF_6_6;
	prm->delay_dequeue = era != EEVDF_6_6;
	prm->preempt_short = era != EEVDF_6_6;
	prm->next_buddy = false; /* 7.2 has it, switched off */
	prm->wakeup_preempt = true;
}

/* One task in the competition. */
struct eevdf_entity {
	u64 v;  /* service received, in virtual time */
	u64 d;  /* virtual deadline; relative to v while rel is set */
	u64 vprot; /* up to here no other task is looked for (rule 3.6) */
	u64 slice_ns;
	s64 vlag; /* V - v when it left, in virtual time */
	u32 weight;
	bool custom; /* it asked for this slice */
	bool rel;
};

/*
 * rule 3.2: the sums over all that compete on a CPU, the running one and
 * delayed sleepers included. wv is the sum of v * weight modulo 2^64; relative
 * to v0, any value near V, the true sum fits. So entities come and go by
 * plain additions, and v0 may be moved at any time.
 */
struct eevdf_sums {
	u64 wv;
	u64 w;
	u64 v0;
	u32 nr;
};

/* Real time to virtual time. */
static inline u64 eevdf_vdelta(u64 ns, u32 weight)
{
	return weight == EEVDF_NICE_0 || !weight ? ns : ns * EEVDF_NICE_0 / weight;
}

static inline s64 eevdf_key_sum(const struct eevdf_sums *s)
{
	return (s64)(s->wv - s->w * s->v0);
}

/* rule 3.2: V, rounded down, so that an entity at V is eligible. */
static inline u64 eevdf_average(const struct eevdf_sums *s)
{
	s64 sum = eevdf_key_sum(s);

	if (!s->w)
		return s->v0;
	if (sum >= 0)
		return s->v0 + (u64)sum / s->w;
	return s->v0 - ((u64)-sum + s->w - 1) / s->w;
}

/* rule 3.3: v <= V, without the division. */
static inline bool eevdf_eligible(const struct eevdf_sums *s, u64 v)
{
	return eevdf_key_sum(s) >= (s64)(v - s->v0) * (s64)s->w;
}

static inline void eevdf_join(struct eevdf_sums *s, u64 v, u32 weight)
{
	s->wv += v * weight;
	s->w += weight;
	s->nr++;
}

static inline void eevdf_leave(struct eevdf_sums *s, u64 v, u32 weight)
{
	/* A task that comes to an empty queue begins where the last one left. */
	if (s->nr == 1)
		s->v0 = v;
	s->wv -= v * weight;
	s->w -= weight;
	s->nr--;
}

static inline s64 eevdf_clamp(s64 x, s64 limit)
{
	return x > limit ? limit : x < -limit ? -limit : x;
}

/* rule 3.2: two slices, a tick at least, in the entity's virtual time. */
static inline s64 eevdf_lag_limit(const struct eevdf_params *prm, const struct eevdf_entity *e)
{
	return eevdf_vdelta(max_u64(2 * e->slice_ns, prm->tick_ns), e->weight);
}

static inline s64 eevdf_lag(const struct eevdf_params *prm, u64 average,
			    const struct eevdf_entity *e)
{
	return eevdf_clamp((s64)(average - e->v), eevdf_lag_limit(prm, e));
}

/* a * b / c towards zero, c > 0: BPF has no signed division. */
static inline s64 eevdf_scale(s64 a, u64 b, u64 c)
{
	return a < 0 ? -(s64)((u64)-a * b / c) : (s64)((u64)a * b / c);
}

/* What a task asks for; 0 is nothing in particular (rule 3.10.3). */
static inline void eevdf_request(const struct eevdf_params *prm, struct eevdf_entity *e, u64 ns)
{
	e->custom = ns && prm->era != EEVDF_6_6;
	e->slice_ns = e->custom ? max_u64(EEVDF_SLICE_MIN_NS, min_u64(ns, EEVDF_SLICE_MAX_NS))
				: prm->base_slice_ns;
}

/*
 * rule 3.7: e joins, s without it. To still have its lag once it counts
 * itself, it is placed further away: lag * (W + w) / W.
 */
static inline void eevdf_place(const struct eevdf_params *prm, const struct eevdf_sums *s,
			       struct eevdf_entity *e, bool initial)
{
	u64 vslice;
	s64 lag = 0;

	if (!e->custom)
		e->slice_ns = prm->base_slice_ns;
	vslice = eevdf_vdelta(e->slice_ns, e->weight);
	if (prm->place_lag && s->nr && s->w)
		lag = eevdf_scale(e->vlag, s->w + e->weight, s->w);
	e->v = eevdf_average(s) - lag;
	if (e->rel) {
		e->d += e->v;
		e->rel = false;
		return;
	}
	e->d = e->v + (initial ? vslice / 2 : vslice);
}

/* rules 3.7 and 3.8: e goes, s still with it. sleep: its deadline is not kept. */
static inline void eevdf_unplace(const struct eevdf_params *prm, const struct eevdf_sums *s,
				 struct eevdf_entity *e, bool sleep)
{
	e->vlag = eevdf_lag(prm, eevdf_average(s), e);
	if (prm->rel_deadline && !sleep) {
		e->d -= e->v;
		e->rel = true;
	}
}

/* Another weight, off the queue: the same real time is another virtual one. */
static inline void eevdf_reweight(struct eevdf_entity *e, u32 weight)
{
	if (!weight || weight == e->weight)
		return;
	e->vlag = eevdf_scale(e->vlag, e->weight, weight);
	if (e->rel)
		e->d = eevdf_scale((s64)e->d, e->weight, weight);
	e->weight = weight;
}

/* Another weight while e competes: what it is owed, in real time, stays the same, and V with it. */
static inline void eevdf_reweight_queued(struct eevdf_sums *s, struct eevdf_entity *e, u32 weight)
{
	u64 average = eevdf_average(s), v = e->v;

	eevdf_leave(s, v, e->weight);
	e->v = average - eevdf_scale((s64)(average - v), e->weight, weight);
	e->d = e->v + eevdf_scale((s64)(e->d - v), e->weight, weight);
	e->vprot = e->v + eevdf_scale((s64)(e->vprot - v), e->weight, weight);
	e->weight = weight;
	eevdf_join(s, e->v, weight);
}

/* rule 3.4: the slice is used up, the next one is asked for. */
static inline bool eevdf_renew(const struct eevdf_params *prm, struct eevdf_entity *e)
{
	if (before64(e->v, e->d))
		return false;
	if (!e->custom)
		e->slice_ns = prm->base_slice_ns;
	e->d = e->v + eevdf_vdelta(e->slice_ns, e->weight);
	return true;
}

/* Charge the running entity; true: its slice ended (rule 3.4). */
static inline bool eevdf_charge(const struct eevdf_params *prm, struct eevdf_sums *s,
				struct eevdf_entity *curr, u64 ran_ns)
{
	u64 delta = eevdf_vdelta(ran_ns, curr->weight);

	curr->v += delta;
	s->wv += delta * curr->weight;
	return eevdf_renew(prm, curr);
}

/* rule 3.10.2 */
static inline void eevdf_forfeit(const struct eevdf_params *prm, struct eevdf_sums *s,
				 struct eevdf_entity *curr)
{
	u64 forfeit = curr->d - curr->v;

	if (prm->era == EEVDF_7_2) {
		if (!eevdf_eligible(s, curr->v))
			return;
		curr->v += forfeit;
		s->wv += forfeit * curr->weight;
	}
	curr->vprot = curr->v;
	curr->d += eevdf_vdelta(curr->slice_ns, curr->weight);
}
