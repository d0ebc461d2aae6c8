/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The picks of pick.h against the published scan of one list, task by
 * task, on random queues: 1-16 CPUs, mixed nices, levels and affinities (rule
 * 1.9.9).
 */
#include "model.h"

static u64 now_ns;
static struct model_task *running; /* still runnable, and competing */

/* rule 1.4.8 */
static u32 locality_424(u32 a, u32 b)
{
	return a == b			    ? 0
	       : cpu_core[a] == cpu_core[b] ? 1
	       : cpu_llc[a] == cpu_llc[b]   ? 2
	       : cpu_node[a] == cpu_node[b] ? 3
					    : 4;
}

/* rule 1.5: what the scan compares; NULL-like ~0 never occurs. */
static u64 effective(const struct model_task *m, u32 cpu, u64 now)
{
	u64 deadline = m->t.deadline;

	switch (cfg.rules) {
	case BFS_232:
		return deadline > now ? deadline : now;
	case BFS_311:
		return deadline + locality_311(cpu, m->last) *
					  (bfs_ratios_100[m->t.u] * (cfg.rr_ns / 1000000) / 100);
	default:
		return m->sticky_on && m->sticky_on - 1 != cpu
			       ? deadline << locality_424(cpu, m->sticky_on - 1)
			       : deadline;
	}
}

/* The list is in the order of arrival; the running task has just been put at its tail. */
static const struct model_task *scan(u32 cpu, u64 now)
{
	for (u32 level = BFS_ISO; level <= BFS_IDLEPRIO; level++) {
		const struct model_task *best = NULL;
		u64 least = 0;

		for (u32 i = 0; i <= model_tasks; i++) {
			const struct model_task *m = i < model_tasks ? &model[i] : running;
			u64 value;

			if (!m || (i < model_tasks && !m->queued) || m->t.level != level ||
			    !(m->allowed >> cpu & 1))
				continue;
			value = effective(m, cpu, now);
			if (cfg.rules == BFS_311 && value < now)
				return m;
			if (!best || value < least) {
				best = m;
				least = value;
			}
		}
		if (best)
			return best;
	}
	return NULL;
}

/* What the binding does with an enqueue. */
static void enqueue(struct model_task *m)
{
	u32 domains = cfg.rules == BFS_311 ? model_llcs : 1;

	if (bfs_in_jiffies(cfg.rules)) {
		u32 set = bfs_group_set(m->t.level, domains > 1 ? cpu_llc[m->last] : 0, domains);
		u32 u = domains > 1 ? m->t.u : 0;

		model_present[set] |= 1ULL << u;
		model_insert(m, BFS_U(set * BFS_NICES + u), m->t.key);
	} else if (m->sticky_on) {
		model_insert(m, BFS_OWN(m->sticky_on - 1), m->t.key);
	} else if (__builtin_popcount(m->allowed) == 1) {
		model_insert(m, BFS_OWN(m->last), m->t.key);
	} else {
		model_insert(m, BFS_PLAIN(cfg.rules == BFS_MODERN ? cpu_llc[m->last] : 0),
			     m->t.key);
	}
}

static void draw_task(struct model_task *m, u64 seq_ns, bool mixed_levels)
{
	u32 all = (1u << model_cpus) - 1;
	u64 now = bfs_clock(&cfg, now_ns), spread;

	memset(m, 0, sizeof(*m));
	m->allowed = below(2) ? all : draw() & all;
	if (!m->allowed)
		m->allowed = 1u << below(model_cpus);
	do
		m->last = below(model_cpus);
	while (!(m->allowed >> m->last & 1));
	m->t.u = below(3) ? BFS_NICE0 : below(BFS_NICES);
	m->t.level = mixed_levels ? below(3) : BFS_NORMAL;
	spread = 2 * bfs_offset(&cfg, m->t.u);
	/* Few different values, so that ties are common. */
	m->t.deadline =
		now - spread / 2 + (below(2) ? spread * below(8) / 8 : draw() % (spread + 1));
	m->t.seq = seq_ns;
	m->t.key = bfs_key(&cfg, m->t.level, m->t.deadline, now);
}

static void draw_queue(u32 rules)
{
	u32 cpus = 1 + below(TEST_CPUS);
	bool mixed_levels = below(2);

	build_machine(cpus, below(2));
	bfs_configure(&cfg, rules, 0, cpus, below(2) ? 1000 : 250, 70);
	now_ns = 20 * NSEC_PER_SEC + draw() % NSEC_PER_SEC;
	memset(model_present, 0, sizeof(model_present));
	model_tasks = below(25);
	for (u32 i = 0; i < model_tasks; i++) {
		struct model_task *m = &model[i];
		u32 owner;

		draw_task(m, now_ns - NSEC_PER_SEC + i * 1000, mixed_levels);
		owner = m->last;
		/* At most one a CPU (rule 1.9.7). */
		if (rules >= BFS_424 && !below(4) && !model_cpu[owner].sticky) {
			m->sticky_on = 1 + owner;
			model_cpu[owner].sticky = true;
		}
		enqueue(m);
	}
}

static struct model_task *chosen(const struct bfs_choice *choice, u32 cpu)
{
	switch (choice->from) {
	case BFS_NOTHING:
		return NULL;
	case BFS_PREV:
		return running;
	case BFS_QUEUE:
		return next_allowed(choice->queue, cpu, NULL);
	}
	for (u32 i = 0; i < model_tasks; i++)
		if (model[i].queued && model[i].queue == choice->queue &&
		    model[i].t.seq == choice->seq)
			return &model[i];
	CHECK(!"the chosen task is not in its queue");
	return NULL;
}

static void pick(u32 cpu, struct bfs_choice *best)
{
	if (bfs_in_jiffies(cfg.rules)) {
		bfs_pick_fifo(cpu, now_ns, running ? &running->t : NULL, best);
		return;
	}
	if (running) {
		bfs_offer(best, BFS_PREV, ~0u, false, running->t.key, ~0ULL);
		best->level = running->t.level;
	}
	bfs_pick_plain(cpu, cfg.rules == BFS_MODERN ? model_llcs : 1, best);
	bfs_pick_remote(cpu, model_cpus, BFS_ISO, best);
}

/* Empty a queue pick by pick, from changing CPUs, as time goes by. */
static unsigned long compare(u32 rules)
{
	struct model_task prev;
	unsigned long picks = 0;

	draw_queue(rules);
	for (;;) {
		u32 cpu = below(model_cpus);
		struct bfs_choice best = {};
		const struct model_task *expected, *got;

		running = NULL;
		if (below(2)) {
			draw_task(&prev, now_ns, true);
			prev.last = cpu;
			prev.allowed |= 1u << cpu;
			running = &prev;
		}
		expected = scan(cpu, bfs_clock(&cfg, now_ns));
		pick(cpu, &best);
		got = chosen(&best, cpu);
		CHECK(got == expected);
		picks++;
		if (!got || got == running) {
			if (!below(8))
				return picks;
			continue;
		}
		((struct model_task *)got)->queued = false;
		now_ns += draw() % (20 * NSEC_PER_MSEC);
	}
}

int main(int argc, char **argv)
{
	unsigned long queues = argc > 1 ? strtoul(argv[1], NULL, 0) : 100000;
	unsigned long picks = 0;

	test_seed = argc > 2 ? strtoul(argv[2], NULL, 0) : 1;
	for (u32 rules = BFS_232; rules <= BFS_MODERN; rules++) {
		for (unsigned long number = 0; number < queues; number++) {
			start_case(number * 4 + rules);
			picks += compare(rules);
		}
	}
	printf("%lu picks in %lu queues of each version: all as the scan\n", picks, queues);
	return 0;
}
