/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * EEVDF's decisions: which task runs, for how long undisturbed, and whether a woken
 * task takes the CPU (rules 3.5, 3.6 and 3.9). The binding keeps the
 * queue and says which task of it is the best: the earliest deadline among the
 * eligible, first come first among equals.
 */
#pragma once

#include "eevdf.h"

/* Deadlines: strictly earlier. */
static inline bool eevdf_before(u64 a, u64 b)
{
	return before64(a, b);
}

/*
 * rule 3.6: curr was picked from the queue; least_slice_ns is the shortest of
 * those that wait. 6.6 and 6.12 protect to the deadline.
 */
static inline void eevdf_protect(const struct eevdf_params *prm, struct eevdf_entity *curr,
				 u64 least_slice_ns)
{
	u64 slice = curr->slice_ns, until;

	curr->vprot = prm->parity ? curr->d : curr->v;
	if (prm->era != EEVDF_7_2)
		return;
	slice = min_u64(slice, prm->parity ? least_slice_ns : prm->unscaled_slice_ns);
	until = curr->v + eevdf_vdelta(slice, curr->weight);
	curr->vprot = curr->d;
	if (slice != curr->slice_ns && before64(until, curr->d))
		curr->vprot = until;
}

/* A task with a shorter slice waits now (7.2). */
static inline void eevdf_shorten(struct eevdf_entity *curr, u64 least_slice_ns)
{
	u64 until = curr->v + eevdf_vdelta(least_slice_ns, curr->weight);

	if (before64(until, curr->vprot))
		curr->vprot = until;
}

static inline bool eevdf_protected(const struct eevdf_entity *curr)
{
	return before64(curr->v, curr->vprot);
}

/* rule 3.10.1: after a charge, does the CPU have to pick again? ended: eevdf_charge said so. */
static inline bool eevdf_due(const struct eevdf_params *prm, const struct eevdf_sums *s,
			     const struct eevdf_entity *curr, bool ended)
{
	if (s->nr <= 1)
		return false;
	if (ended)
		return true;
	if (prm->era == EEVDF_6_6 || eevdf_protected(curr))
		return false;
	/* 6.12: only if a shorter slice had it cancelled. */
	return prm->era == EEVDF_7_2 || (prm->preempt_short && !eevdf_eligible(s, curr->v));
}

/* rule 3.5, before the queue is looked at: curr (may be NULL) goes on. */
static inline bool eevdf_stays(const struct eevdf_sums *s, const struct eevdf_entity *curr)
{
	return curr && (s->nr == 1 || (eevdf_eligible(s, curr->v) && eevdf_protected(curr)));
}

/* rule 3.5, at the end: curr against the best of the queue, if any. */
static inline bool eevdf_wins(const struct eevdf_sums *s, const struct eevdf_entity *curr,
			      bool has_best, u64 best_d)
{
	if (!curr)
		return false;
	return !has_best || (eevdf_eligible(s, curr->v) && eevdf_before(curr->d, best_d));
}

/* A wakeup: p is about to join the queue and counts in the sums already. */
struct eevdf_wake {
	u32 curr_policy, p_policy;
	u64 curr_ran_ns; /* since it was charged last */
	u64 least_slice_ns; /* of those that wait, p included */
	u64 best_d, next_d; /* of the others in the queue */
	bool has_best;  /* an eligible one waits */
	bool best_sleeps; /* ... or sleeps, delayed (rule 3.8) */
	bool has_next;  /* there is a next buddy */
	bool next_eligible;
	bool fork, sync;
	bool selected;  /* a CPU was looked for */
};

struct eevdf_verdict {
	bool preempt;
	bool next; /* p becomes the next buddy */
	bool sleeper; /* nothing yet: the pick chose the best, which sleeps. It is to be taken out, and p to be asked about again */
};

/* Would a fresh pick take p? */
static inline bool eevdf_picks_wakee(const struct eevdf_sums *s, const struct eevdf_entity *curr,
				     const struct eevdf_entity *p, const struct eevdf_wake *w,
				     bool p_is_next, bool protect)
{
	bool curr_ok = eevdf_eligible(s, curr->v);

	if (p_is_next ? eevdf_eligible(s, p->v) : w->has_next && w->next_eligible)
		return p_is_next;
	if (curr_ok && protect && eevdf_protected(curr))
		return false;
	if (!eevdf_eligible(s, p->v) || (w->has_best && !eevdf_before(p->d, w->best_d)))
		return false;
	return !(curr_ok && eevdf_before(curr->d, p->d));
}

/* rule 3.8 in 7.2: would that pick take the best of the others first? */
static inline bool eevdf_picks_best(const struct eevdf_sums *s, const struct eevdf_entity *curr,
				    const struct eevdf_entity *p, const struct eevdf_wake *w,
				    bool p_is_next, bool protect)
{
	bool curr_ok = eevdf_eligible(s, curr->v);

	if (p_is_next ? eevdf_eligible(s, p->v) : w->has_next && w->next_eligible)
		return false;
	if (!w->has_best || (curr_ok && protect && eevdf_protected(curr)))
		return false;
	if (eevdf_eligible(s, p->v) && eevdf_before(p->d, w->best_d))
		return false;
	return !(curr_ok && eevdf_before(curr->d, w->best_d));
}

/* rule 3.9 in 6.12: a shorter slice cancels the protection if p has a claim at all. */
static inline bool eevdf_short_claim(const struct eevdf_sums *s, const struct eevdf_entity *curr,
				     const struct eevdf_entity *p)
{
	return p->slice_ns < curr->slice_ns && eevdf_eligible(s, p->v) &&
	       (eevdf_before(p->d, curr->d) || !eevdf_eligible(s, curr->v));
}

/* rule 3.9 in 7.2. */
static inline struct eevdf_verdict eevdf_wakeup_7_2(const struct eevdf_params *prm,
						    const struct eevdf_sums *s,
						    struct eevdf_entity *curr,
						    const struct eevdf_entity *p,
						    const struct eevdf_wake *w)
{
	struct eevdf_verdict verdict = {};
	bool brief = prm->preempt_short && p->slice_ns < curr->slice_ns;
	u64 patience = prm->migration_cost_ns >> (w->selected ? 2 : 0);

	if (!brief) {
		if (w->fork)
			return verdict;
		verdict.next = prm->next_buddy && w->p_policy != EEVDF_POLICY_IDLE &&
			       !(w->has_next && eevdf_before(w->next_d, p->d));
		/* A waker that says it will sleep is given some time to do so. */
		if (verdict.next && w->sync) {
			verdict.preempt = eevdf_before(p->d, curr->d) && w->curr_ran_ns >= patience;
			return verdict;
		}
	}
	verdict.sleeper = w->best_sleeps && eevdf_picks_best(s, curr, p, w, verdict.next, !brief);
	if (verdict.sleeper)
		return verdict;
	verdict.preempt = eevdf_picks_wakee(s, curr, p, w, verdict.next, !brief);
	if (verdict.preempt && brief)
		curr->vprot = eevdf_protected(curr) ? curr->v : curr->vprot;
	else if (!verdict.preempt && prm->parity)
		eevdf_shorten(curr, w->least_slice_ns);
	return verdict;
}

/* rule 3.9. */
static inline struct eevdf_verdict
eevdf_wakeup(const struct eevdf_params *prm, const struct eevdf_sums *s, struct eevdf_entity *curr,
	     const struct eevdf_entity *p, const struct eevdf_wake *w)
{
	bool curr_idle = w->curr_policy == EEVDF_POLICY_IDLE;
	bool p_idle = w->p_policy == EEVDF_POLICY_IDLE;
	struct eevdf_verdict verdict = {};

	if (!prm->wakeup_preempt)
		return verdict;
	if (curr_idle && !p_idle) {
		curr->vprot = eevdf_protected(curr) ? curr->v : curr->vprot;
		verdict.preempt = true;
		return verdict;
	}
	if (curr_idle != p_idle || w->p_policy != EEVDF_POLICY_NORMAL)
		return verdict;
	if (prm->era == EEVDF_7_2)
		return eevdf_wakeup_7_2(prm, s, curr, p, w);
	if (prm->preempt_short && eevdf_short_claim(s, curr, p))
		curr->vprot = eevdf_protected(curr) ? curr->v : curr->vprot;
	verdict.preempt = eevdf_picks_wakee(s, curr, p, w, false, true);
	return verdict;
}
