/* SPDX-License-Identifier: GPL-2.0-only */
/* One task's life: its slice, its deadline, and what each event does to them. */
#pragma once

#include "rules.h"

/* What is special about the next time that a task is switched in. */
enum bfs_next_start {
	BFS_ORDINARY,
	BFS_GOES_ON, /* the kernel took it off the CPU and put it back, which is no schedule */
	BFS_PASSES_BY, /* its control group has no time: it runs only to be seen running */
};

/* rule 1.3.13: the CPUs of a queued task change. The kernel queues it anew, and it keeps its place. */
enum bfs_change {
	BFS_UNCHANGED,
	BFS_STAYS, /* it may still use its last CPU */
	BFS_MOVES, /* it may not, and is queued once more on one that it may use */
};

/* rule 1.1.3, and what modern adds to it. */
struct bfs_task {
	u64 deadline; /* in clock units */
	s64 slice_ns; /* what is left of its time slice */
	u64 since_ns; /* charged up to here while it runs */
	u64 origin_ns; /* when it was switched in, less what it had run by then */
	u64 slept_ns; /* asleep since the last refill (modern) */
	u64 key; /* the key it is, or was last, queued or running with */
	u64 seq; /* its place in the order of all enqueues */
	u32 ran_on; /* the CPU that it was last switched in on */
	u32 sticky_on; /* 1 + the CPU that it sticks to (rule 1.5.10); 0: none */
	u32 policy; /* as of when it was last read */
	u64 counted_ns; /* of what it ran, what its control groups were charged for (modern) */
	u64 waits_ns; /* runnable since then, as far as it was looked at for its control groups (modern) */
	u64 behind; /* the least key that it may have until it runs again (modern); 0: any */
	u32 group; /* its account in bandwidth.h; 0: none */
	u32 limits_known; /* limits made until it was last charged; 0: none counts yet (modern) */
	u8 u; /* nice + 20 */
	u8 level; /* enum bfs_level, as of its last enqueue */
	bool batch;
	bool iso; /* asked for SCHED_ISO */
	bool idleprio;
	bool sync; /* the wake-up under way is a sync one */
	bool forked; /* not yet enqueued for the first time */
	bool first_slice; /* lives on what it got from its parent (2xx/3xx) */
	bool ran; /* since its last enqueue, which bfs_settle() is to account for */
	bool descheduled; /* it was switched away from while runnable */
	bool renewed; /* since it was last switched in */
	u8 next_start; /* enum bfs_next_start */
	u8 cpus; /* enum bfs_change */
	bool due; /* its deadline had passed when it woke, and it has not had its first turn since (modern) */
	bool worsened; /* its nice level fell since its last enqueue */
};

/*
 * rule 1.3.1: the level at enqueue. An idle-priority task competes as NORMAL
 * while it is exiting; an ISO task while ISO tasks took more than their share.
 */
static __always_inline u32 bfs_level(bool iso, bool idleprio, bool refractory, bool suitable)
{
	if (idleprio)
		return suitable ? BFS_IDLEPRIO : BFS_NORMAL;
	return iso && !refractory ? BFS_ISO : BFS_NORMAL;
}

/*
 * rule 1.3.2: a new slice and a new deadline; no other rule renews a deadline.
 *
 * modern: time asleep since the last refill counts as time in the queue, so
 * the deadline is the one that a refill `slept_ns` ago would have given.
 */
static __always_inline void bfs_refill(const struct bfs_config *cfg, struct bfs_task *t, u64 now_ns)
{
	t->slice_ns = cfg->rr_ns;
	t->deadline = bfs_clock(cfg, now_ns) + bfs_offset(cfg, t->u);
	/* Up to 304 an idle-priority task waits as long again as nice 19 does. */
	if (cfg->rules == BFS_232 && t->idleprio)
		t->deadline += bfs_offset(cfg, BFS_NICES - 1);
	if (cfg->rules == BFS_MODERN)
		t->deadline -= min_u64(t->slept_ns, now_ns);
	t->slept_ns = 0;
	t->first_slice = false;
	t->renewed = true;
}

/* rule 1.3.4: 2xx/3xx count half a jiffy for no time at all and at most one jiffy; 4xx 1 ns for anything out of 1 ns..2 jiffies. */
static __always_inline u64 bfs_elapsed(const struct bfs_config *cfg, s64 elapsed_ns)
{
	s64 jiffy = cfg->jiffy_ns;

	if (cfg->rules == BFS_MODERN)
		return elapsed_ns > 0 ? elapsed_ns : 0;
	if (!bfs_in_jiffies(cfg->rules))
		return elapsed_ns < 1 || elapsed_ns > 2 * jiffy ? 1 : elapsed_ns;
	if (elapsed_ns <= 0)
		return cfg->jiffy_ns / 2;
	return elapsed_ns > jiffy ? jiffy : elapsed_ns;
}

/* Switched in. `ran_ns`: how long it ran so far, in all, as the kernel counts it. */
static __always_inline void bfs_start(struct bfs_task *t, u64 now_ns, u64 ran_ns)
{
	t->since_ns = now_ns;
	t->origin_ns = now_ns - ran_ns;
	t->ran = true;
	t->renewed = false;
}

/* Called at every tick and every schedule, so that the bounds above bite as they did. */
static __always_inline void bfs_charge(const struct bfs_config *cfg, struct bfs_task *t, u64 now_ns)
{
	t->slice_ns -= bfs_elapsed(cfg, now_ns - t->since_ns);
	t->since_ns = now_ns;
}

/* Charged at neither of them: only time that went by counts. */
static __always_inline void bfs_catch_up(const struct bfs_config *cfg, struct bfs_task *t,
					 u64 now_ns)
{
	if (before64(t->since_ns, now_ns))
		bfs_charge(cfg, t, now_ns);
}

/* rule 1.3.3: a slice that is used up is renewed. True: it was. */
static __always_inline bool bfs_renew(const struct bfs_config *cfg, struct bfs_task *t, u64 now_ns)
{
	if (t->slice_ns >= (s64)cfg->worn_ns && (!t->batch || bfs_in_jiffies(cfg->rules)))
		return false;
	bfs_refill(cfg, t, now_ns);
	return true;
}

/* rule 1.3.3: any switch away from a task, also when it blocks. True: it was renewed. */
static __always_inline bool bfs_deschedule(const struct bfs_config *cfg, struct bfs_task *t,
					   u64 now_ns)
{
	bfs_charge(cfg, t, now_ns);
	return bfs_renew(cfg, t, now_ns);
}

/*
 * The same for a task that stopped some time ago: what it has left is not looked
 * at before it is asked for again. It stopped as long after it was switched
 * in as it ran since; returns when that was. The kernel does not count what
 * interrupts took from it. `blocked`: it left the CPU by a schedule of its own,
 * which charges also where no time went by (rule 1.3.4).
 */
static __always_inline u64 bfs_settle(const struct bfs_config *cfg, struct bfs_task *t, u64 ran_ns,
				      bool blocked)
{
	u64 stopped_ns = t->origin_ns + ran_ns;

	if (before64(stopped_ns, t->since_ns))
		stopped_ns = t->since_ns;
	else if (blocked)
		bfs_charge(cfg, t, stopped_ns);
	else
		bfs_catch_up(cfg, t, stopped_ns);
	bfs_renew(cfg, t, stopped_ns);
	t->ran = false;
	return stopped_ns;
}

/*
 * Rule 1.3.5 is about the ticks of the emulated kernel. Where it has fewer than
 * this one, which has `kernel_hz` a second, the first in each of its jiffies is
 * one of them; else each is, also where one comes late and the next in time.
 */
static __always_inline bool bfs_tick_counts(const struct bfs_config *cfg, u32 kernel_hz,
					    u64 last_tick_ns, u64 now_ns)
{
	return cfg->jiffy_ns <= NSEC_PER_SEC / kernel_hz ||
	       now_ns / cfg->jiffy_ns != last_tick_ns / cfg->jiffy_ns;
}

/*
 * rule 1.3.5: is the slice over at this tick? `dither`: the task was switched
 * in within half a jiffy after the CPU's tick before.
 */
static __always_inline bool bfs_slice_over(const struct bfs_config *cfg, const struct bfs_task *t,
					   bool dither)
{
	if (cfg->rules == BFS_424 && dither)
		return t->slice_ns <= (s64)(cfg->jiffy_ns / 2);
	return t->slice_ns < (s64)cfg->worn_ns;
}

/* rule 1.3.6 */
static __always_inline void bfs_wake(struct bfs_task *t, u64 stopped_ns, u64 now_ns)
{
	if (before64(stopped_ns, now_ns))
		t->slept_ns += now_ns - stopped_ns;
}

/*
 * rule 1.3.7: the child takes the parent's deadline and half of its slice.
 * True: the parent has nothing left to run on.
 */
static __always_inline bool bfs_fork(const struct bfs_config *cfg, struct bfs_task *parent,
				     struct bfs_task *child, u64 now_ns)
{
	child->deadline = parent->deadline;
	child->forked = true;
	child->slept_ns = 0;
	if (bfs_in_jiffies(cfg->rules)) {
		child->first_slice = true;
		child->slice_ns = 0;
		if (parent->slice_ns > 0) {
			parent->slice_ns = (u64)parent->slice_ns / 2;
			child->slice_ns = parent->slice_ns;
		}
		return false;
	}
	if (parent->slice_ns >= 2 * (s64)cfg->worn_ns) {
		parent->slice_ns = (u64)parent->slice_ns / 2;
		child->slice_ns = parent->slice_ns;
		return false;
	}
	parent->slice_ns = 0;
	bfs_refill(cfg, child, now_ns);
	return true;
}

/* rule 1.3.7: a child that ends within its first slice gives the rest back (2xx/3xx). */
static __always_inline void bfs_give_back(const struct bfs_config *cfg, struct bfs_task *parent,
					  struct bfs_task *child)
{
	if (!child->first_slice || child->slice_ns <= 0)
		return;
	parent->slice_ns += child->slice_ns;
	if (parent->slice_ns > (s64)cfg->rr_ns)
		parent->slice_ns = cfg->rr_ns;
	child->first_slice = false;
	child->slice_ns = 0;
}

/* rule 1.3.11: the deadline moves by the difference. Returns -1 improved, 0 unchanged, 1 worsened. */
static __always_inline s32 bfs_renice(const struct bfs_config *cfg, struct bfs_task *t, u32 u)
{
	u32 old = t->u;

	t->deadline += bfs_offset(cfg, u) - bfs_offset(cfg, old);
	t->u = u;
	return u < old ? -1 : u > old;
}

/* rule 1.3.10: up to 311 a yield gives the slice up, so that the deadline is renewed; later it is a plain schedule. */
static __always_inline void bfs_yield(const struct bfs_config *cfg, struct bfs_task *t)
{
	if (bfs_in_jiffies(cfg->rules))
		t->slice_ns = 0;
}

/*
 * 424 and modern: the order of one queue that holds every level. A level is
 * 10 s of distance, and no deadline counts as further back than 4 s:
 *
 *	ISO		max(deadline, now - 4 s) - 10 s
 *	NORMAL		max(deadline, now - 4 s)
 *	IDLEPRIO	max(deadline, now - 4 s) + 10 s
 *
 * Between tasks queued within 5 s of each other that is the strict order of
 * levels; a task that has waited longer competes with the level above, and so
 * none trips the kernel's watchdog. The published levels have no such floor. 232
 * and 311 have a queue for each level and the floor in bfs_pick_fifo().
 */
static __always_inline u64 bfs_key(const struct bfs_config *cfg, u32 level, u64 deadline, u64 now)
{
	if (bfs_in_jiffies(cfg->rules))
		return deadline;
	if (before64(deadline, now - BFS_CLAMP_NS))
		deadline = now - BFS_CLAMP_NS;
	if (level == BFS_ISO)
		return deadline - BFS_FLOOR_NS;
	return level == BFS_IDLEPRIO ? deadline + BFS_FLOOR_NS : deadline;
}
