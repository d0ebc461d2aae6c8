/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which queued task runs next (rule 1.5), in the forms of rule 1.7.
 *
 * BFS scans one list. The same task is found from the heads of a few ordered
 * queues, because within a queue the order cannot depend on which CPU asks:
 *
 *	232, 311	per group a queue U by deadline and a queue E by arrival:
 *			tasks move from U to E when they are overdue. A group is the
 *			tasks of one level, cache domain and nice level, since for
 *			those the distance to the asking CPU is the same; where all
 *			CPUs share one cache one group a level does.
 *	424, modern	plain queues by deadline (modern: one a cache domain), and
 *			for each CPU a queue of its own, which holds its sticky task.
 *
 * Before this header a binding or a test defines the queues:
 *	bfs_first(queue, cpu, &head)	the first that may run on cpu; false: none
 *	BFS_FOR_EACH(queue, cpu, head)	walk, in order, those that may run on cpu
 *	bfs_age(from, to, limit)	move heads with key <= limit from U to E, where
 *					they are keyed by seq
 *	bfs_bound(queue)		as struct bfs_hint says
 *	bfs_groups_present(set)		bit u: group set * BFS_NICES + u may hold a task
 *	bfs_domain_cpu(domain)		a CPU of the cache domain
 *	bfs_sticky_word(word)		64 CPUs: to which of them a task may stick
 *	bfs_any_sticks()		is a bit set in any of these
 *	bfs_look_at_level(level, cpu, now_ns, prev, choice)	bfs_pick_level()
 */
#pragma once

#include "preempt.h"

enum bfs_from {
	BFS_NOTHING,
	BFS_PREV, /* the task that runs already */
	BFS_QUEUE, /* the first of `queue` that may run here */
	BFS_INSIDE, /* the task `seq` of `queue` */
	BFS_LOST, /* one that another CPU took first */
};

struct bfs_choice {
	u32 from;
	u32 queue;
	u64 key;
	u64 seq;
	u32 level;
	bool overdue;
};

/* Overdue tasks are before others; then the key decides, then the order of arrival. */
static __always_inline void bfs_offer(struct bfs_choice *best, u32 from, u32 queue, bool overdue,
				      u64 key, u64 seq)
{
	if (best->from != BFS_NOTHING) {
		if (best->overdue != overdue) {
			if (best->overdue)
				return;
		} else if (best->key != key) {
			if (before64(best->key, key))
				return;
		} else if (best->seq <= seq) {
			return;
		}
	}
	best->from = from;
	best->queue = queue;
	best->overdue = overdue;
	best->key = key;
	best->seq = seq;
}

/* rules 1.5.1 and 1.5.3: 232 compares max(deadline, now), 304-318 ask for deadline < now. */
static __always_inline u64 bfs_overdue_limit(const struct bfs_config *cfg, u64 now)
{
	return cfg->rules == BFS_232 ? now : now - 1;
}

static __always_inline bool bfs_is_overdue(const struct bfs_config *cfg, u64 deadline, u64 now)
{
	return !before64(bfs_overdue_limit(cfg, now), deadline);
}

/* rules 1.7.2 and 1.7.3: one group of the same distance `far` (in clock units) to the asking CPU. */
static __always_inline void bfs_pick_group(const struct bfs_config *cfg, u32 group, u32 cpu,
					   u64 far, u64 now, struct bfs_choice *best)
{
	struct bfs_head head = {}, due_later = {};
	bool waits;

	bfs_age(BFS_U(group), BFS_E(group), bfs_overdue_limit(cfg, now));
	/* Before E: another CPU may move a task there, and must not do so behind this one's back. */
	waits = bfs_first(BFS_U(group), cpu, &due_later);
	if (!far) {
		if (bfs_first(BFS_E(group), cpu, &head))
			bfs_offer(best, BFS_QUEUE, BFS_E(group), true, head.key, head.seq);
	} else {
		/* Overdue from here are those late by more than the distance; the first to have come wins. */
		BFS_FOR_EACH(BFS_E(group), cpu, head)
		{
			if (bfs_is_overdue(cfg, head.deadline + far, now)) {
				bfs_offer(best, BFS_INSIDE, BFS_E(group), true, head.key, head.seq);
				break;
			}
			bfs_offer(best, BFS_INSIDE, BFS_E(group), false, head.deadline + far,
				  head.seq);
		}
	}
	if (!best->overdue && waits)
		bfs_offer(best, BFS_QUEUE, BFS_U(group), false, due_later.key + far, due_later.seq);
}

/* Groups of one level and domain. */
static __always_inline u32 bfs_group_set(u32 level, u32 domain, u32 domains)
{
	return level * domains + domain;
}

/* rules 1.5.1 and 1.5.3, among the tasks of one level: the overdue first in, first out; else the earliest deadline. */
static __always_inline void bfs_pick_level(const struct bfs_config *cfg, u32 level, u32 cpu,
					   u32 domains, u64 now_ns, const struct bfs_task *prev,
					   struct bfs_choice *choice)
{
	u64 now = bfs_clock(cfg, now_ns);
	u32 domain = 0, u = 0;

	/* At the tail (rule 1.3.3): behind all arrivals, whose numbers may be ahead of the time. */
	if (prev && prev->level == level) {
		bool overdue = bfs_is_overdue(cfg, prev->deadline, now);

		bfs_offer(choice, BFS_PREV, 0, overdue, overdue ? BFS_EMPTY : prev->deadline,
			  ~0ULL);
	}
	for_range(domain, 0, domains)
	{
		u32 set = bfs_group_set(level, domain, domains);
		u64 present = bfs_groups_present(set);
		u32 distance = domains > 1 ? bfs_distance_311(cpu, bfs_domain_cpu(domain)) : 0;

		if (!present)
			continue;
		for_range(u, 0, BFS_NICES)
		{
			if (!(present >> u))
				break;
			if (present >> u & 1)
				bfs_pick_group(cfg, set * BFS_NICES + u, cpu,
					       distance * bfs_far(cfg, u), now, choice);
		}
	}
}

/*
 * rule 1.7.5: in the first level that has a task. `prev`, the task that runs,
 * is behind all others (NULL: it blocked). The floor: a level whose choice has
 * waited for 10 s goes before the better ones.
 */
static __always_inline void bfs_pick_fifo(u32 cpu, u64 now_ns, const struct bfs_task *prev,
					  struct bfs_choice *best)
{
	u32 level = 0;

	for_range(level, BFS_ISO, BFS_IDLEPRIO + 1)
	{
		struct bfs_choice choice = {};

		bfs_look_at_level(level, cpu, now_ns, prev, &choice);
		if (choice.from == BFS_NOTHING)
			continue;
		if (best->from == BFS_NOTHING ||
		    (choice.from != BFS_PREV && before64(choice.seq + BFS_FLOOR_NS, now_ns)))
			*best = choice;
	}
}

/* A queue whose bound says that it cannot win is not touched. */
static __always_inline bool bfs_may_beat(u64 bound, const struct bfs_choice *best)
{
	if (bound == BFS_EMPTY)
		return false;
	return bound == BFS_LOOK || best->from == BFS_NOTHING || !before64(best->key, bound);
}

static __always_inline void bfs_offer_first(u32 queue, u32 cpu, struct bfs_choice *best)
{
	struct bfs_head head = {};

	if (!bfs_may_beat(bfs_bound(queue), best) || !bfs_first(queue, cpu, &head))
		return;
	bfs_offer(best, BFS_QUEUE, queue, false, head.key, head.seq);
	if (best->queue == queue)
		best->level = head.level;
}

/* rules 1.5.7 and 1.7.4, what does not stick to another CPU: the own queue and the plain ones. */
static __always_inline void bfs_pick_plain(u32 cpu, u32 llcs, struct bfs_choice *best)
{
	u32 llc = 0;

	bfs_offer_first(BFS_OWN(cpu), cpu, best);
	bfs_offer_first(BFS_PLAIN(0), cpu, best);
	if (llcs > 1)
		for_range(llc, 1, llcs) bfs_offer_first(BFS_PLAIN(llc), cpu, best);
}

/*
 * rule 1.5.7: `deadline << L` puts what is sticky elsewhere after every
 * other task of its level, and the nearest first. So it matters only when
 * there is nothing else, or nothing but worse levels; `top` is the best level
 * in use.
 */
static __always_inline void bfs_pick_remote(u32 cpu, u32 cpus, u32 top, struct bfs_choice *best)
{
	struct bfs_choice remote = {};
	u32 word = 0, step = 0, nearest = 0;

	if ((best->from != BFS_NOTHING && best->level <= top) || !bfs_any_sticks())
		return;
	for_range(word, 0, (cpus + 63) / 64)
	{
		u64 bits = bfs_sticky_word(word);

		if (!bits)
			continue;
		for_range(step, 0, 64)
		{
			u32 owner = word * 64 + step, distance;
			struct bfs_head head = {};

			if (!(bits >> step))
				break;
			if (!(bits >> step & 1) || owner == cpu)
				continue;
			distance = bfs_distance_424(cpu, owner);
			if (!bfs_first(BFS_OWN(owner), cpu, &head))
				continue;
			if (remote.from != BFS_NOTHING) {
				u32 rank = head.level << 8 | distance;

				if (rank > nearest)
					continue;
				if (rank < nearest)
					remote.from = BFS_NOTHING;
			}
			nearest = head.level << 8 | distance;
			remote.level = head.level;
			bfs_offer(&remote, BFS_QUEUE, BFS_OWN(owner), false, head.key, head.seq);
		}
	}
	if (remote.from == BFS_NOTHING)
		return;
	if (best->from == BFS_NOTHING ||
	    (remote.level < best->level && before64(remote.key, best->key)))
		*best = remote;
}
