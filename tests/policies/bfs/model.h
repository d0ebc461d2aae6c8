/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A machine and its queues as plain arrays, behind the names that bfs.h asks
 * for. The pick and the search for a CPU run here line for line as they do in
 * the kernel.
 */
#pragma once

#include <assert.h>

#include "../random.h"

#undef __always_inline
#define __always_inline inline __attribute__((always_inline, unused))
#define TEST_CPUS 16
#define TEST_TASKS 40

#define cpu_index(cpu) ((cpu) % TEST_CPUS)
static unsigned cpu_llc[TEST_CPUS], cpu_node[TEST_CPUS], cpu_core[TEST_CPUS], nr_nodes;
static unsigned cpu_by_llc[TEST_CPUS], llc_first[TEST_CPUS + 1];

#include "bfs.h"

#define CHECK(what)                                                                             \
	do {                                                                                    \
		if (!(what)) {                                                                  \
			fprintf(stderr, "%s:%d: not so: %s (case %lu of seed %lu)\n", __FILE__, \
				__LINE__, #what, test_case, test_seed);                         \
			exit(1);                                                                \
		}                                                                               \
	} while (0)

static unsigned long test_case, test_seed = 1;

static inline void start_case(unsigned long number)
{
	test_case = number;
	random_state = test_seed * 0x100000001b3ULL ^ number;
}

struct model_task {
	struct bfs_task t;
	u32 last; /* the CPU it ran on last */
	u32 allowed; /* a bit for each CPU */
	u32 sticky_on; /* 1 + CPU */
	u32 queue;
	u64 key; /* in its queue */
	u64 inserted;
	bool queued;
};

static struct model_task model[TEST_TASKS];
static u32 model_tasks, model_cpus, model_llcs;
static u64 model_inserts;
static struct bfs_cpu model_cpu[TEST_CPUS];
static u32 model_idle; /* a bit for each CPU */
static struct bfs_config cfg;

#define bfs_cpu(cpu) (&model_cpu[cpu_index(cpu)])
#define bfs_allowed(who, cpu) (((const struct model_task *)(who))->allowed >> (cpu) & 1)
#define bfs_cpu_idle(who, cpu) ((void)(who), model_idle >> (cpu) & 1)
#define bfs_busy_around(who, cpu) bfs_look_around(who, cpu)

#include "preempt.h"

/* 4 CPUs a cache, 8 a node, 2 threads a core if smt. Of 24 nodes, 0 and 20 are there: 20 is beyond the domain of 0. */
static inline void build_machine(u32 cpus, bool smt)
{
	u32 second = below(2) ? 20 : 1;

	nr_nodes = second + 4;
	model_cpus = cpus;
	model_llcs = (cpus + 3) / 4;
	for (u32 cpu = 0; cpu < TEST_CPUS; cpu++) {
		cpu_llc[cpu] = cpu / 4;
		cpu_node[cpu] = cpu / 8 * second;
		cpu_core[cpu] = smt ? cpu / 2 : cpu;
		cpu_by_llc[cpu] = cpu;
	}
	for (u32 llc = 0; llc <= TEST_CPUS; llc++)
		llc_first[llc] = 4 * llc < cpus ? 4 * llc : cpus;
	memset(model_cpu, 0, sizeof(model_cpu));
}

/* rule 1.4.7: as CPU a sees b; the NODE domain is a's node and the next fifteen. */
static inline u32 locality_311(u32 a, u32 b)
{
	if (cpu_llc[a] == cpu_llc[b])
		return 0;
	for (u32 step = 0; step < 16; step++)
		if ((cpu_node[a] + step) % nr_nodes == cpu_node[b])
			return 1;
	return 3;
}

/* A dispatch queue: by key, equal keys in the order of insertion. */
static inline bool comes_before(const struct model_task *a, const struct model_task *b)
{
	return a->key != b->key ? before64(a->key, b->key) : a->inserted < b->inserted;
}

/* The first of a queue after `after` (NULL: of all). */
static inline struct model_task *next_queued(u32 queue, const struct model_task *after)
{
	struct model_task *first = NULL;

	for (u32 i = 0; i < model_tasks; i++) {
		struct model_task *m = &model[i];

		if (m->queued && m->queue == queue && (!after || comes_before(after, m)) &&
		    (!first || comes_before(m, first)))
			first = m;
	}
	return first;
}

static inline struct model_task *next_allowed(u32 queue, u32 cpu, const struct model_task *after)
{
	struct model_task *m = next_queued(queue, after);

	while (m && !(m->allowed >> cpu & 1))
		m = next_queued(queue, m);
	return m;
}

static inline void model_insert(struct model_task *m, u32 queue, u64 key)
{
	m->queued = true;
	m->queue = queue;
	m->key = key;
	m->inserted = ++model_inserts;
}

static inline struct model_task *fill_head(struct model_task *m, struct bfs_head *head)
{
	if (!m)
		return NULL;
	head->key = m->key;
	head->seq = m->t.seq;
	head->deadline = m->t.deadline;
	head->level = m->t.level;
	return m;
}

#define bfs_first(queue, cpu, head) (!!fill_head(next_allowed(queue, cpu, NULL), head))
#define BFS_FOR_EACH(queue, cpu, head)                                                       \
	for (struct model_task *at = fill_head(next_allowed(queue, cpu, NULL), &(head)); at; \
	     at = fill_head(next_allowed(queue, cpu, at), &(head)))

static inline void bfs_age(u32 from, u32 to, u64 limit)
{
	struct model_task *m;

	while ((m = next_queued(from, NULL)) && !before64(limit, m->key))
		model_insert(m, to, m->t.seq);
}

/* Any true bound is as good as another. */
static inline u64 bfs_bound(u32 queue)
{
	struct model_task *m = next_queued(queue, NULL);

	if (!m)
		return draw() % 2 ? BFS_EMPTY : BFS_LOOK;
	return draw() % 4 ? m->key - (draw() % 2 ? 0 : below(1 << 30)) : BFS_LOOK;
}

static u64 model_present[16];
#define bfs_groups_present(set) (model_present[set])
#define bfs_domain_cpu(domain) ((domain) * 4)
#define bfs_look_at_level(level, cpu, now_ns, prev, choice)                                   \
	bfs_pick_level(&cfg, level, cpu, cfg.rules == BFS_311 ? model_llcs : 1, now_ns, prev, \
		       choice)

static inline u64 bfs_sticky_word(u32 word)
{
	u64 bits = 0;

	for (u32 i = 0; !word && i < model_tasks; i++)
		if (model[i].queued && model[i].sticky_on)
			bits |= 1ULL << (model[i].sticky_on - 1);
	return bits;
}

static inline bool bfs_any_sticks(void)
{
	return bfs_sticky_word(0);
}

#include "pick.h"
