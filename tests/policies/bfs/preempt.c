/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who is kicked, against each version's own search written down as published (rules 1.4 and 1.9.6). */
#include "model.h"

static u32 last, idle_allowed;
static struct model_task who;

static bool all_idle(u32 cpu, const unsigned *domain)
{
	for (u32 other = 0; other < model_cpus; other++)
		if (domain[other] == domain[cpu] && !(model_idle >> other & 1))
			return false;
	return true;
}

/* rule 1.4.5, 310-330: from the last CPU upward, cyclically; a rank of 0 or 1 ends the search. */
static s32 best_idle_310(void)
{
	s32 best = -1;
	u32 least = ~0u;

	for (u32 step = 0; step < model_cpus; step++) {
		u32 cpu = (last + step) % model_cpus, rank = 0;

		if (!(idle_allowed >> cpu & 1))
			continue;
		if (!all_idle(cpu, cpu_llc))
			rank += 1;
		if (locality_311(last, cpu) > 0)
			rank += 2;
		if (!all_idle(cpu, cpu_core))
			rank += 4;
		if (locality_311(last, cpu) > 1)
			rank += 8;
		if (rank <= 1)
			return cpu;
		if (rank < least) {
			least = rank;
			best = cpu;
		}
	}
	return best;
}

/* rule 1.4.6, 363-512 */
static s32 best_idle_424(void)
{
	s32 best = -1;
	u32 least = ~0u;

	if (idle_allowed >> last & 1)
		return last;
	for (u32 cpu = 0; cpu < model_cpus; cpu++) {
		u32 rank = 0;

		if (!(idle_allowed >> cpu & 1))
			continue;
		if (cpu_core[cpu] == cpu_core[last])
			rank += 1;
		else if (cpu_llc[cpu] == cpu_llc[last])
			rank += 2;
		else if (cpu_node[cpu] == cpu_node[last])
			rank += 8;
		else
			rank += 32;
		if (!all_idle(cpu, cpu_llc))
			rank += 4;
		if (!all_idle(cpu, cpu_core))
			rank += 16;
		if (rank < least) {
			least = rank;
			best = cpu;
		}
	}
	return best;
}

static s32 best_idle_232(void)
{
	if (idle_allowed >> last & 1)
		return last;
	return idle_allowed ? (s32)__builtin_ctz(idle_allowed) : -1;
}

/* The CPU that a version would preempt, or -1. No allowed CPU is idle. */
static s32 victim_232(void)
{
	u32 target = last;

	for (u32 cpu = 0; cpu < model_cpus; cpu++) {
		const struct bfs_cpu *c = &model_cpu[cpu], *t = &model_cpu[target];

		if (who.allowed >> cpu & 1 &&
		    (c->level > t->level || (c->level == t->level && c->deadline > t->deadline)))
			target = cpu;
	}
	if (who.t.level < model_cpu[target].level)
		return target;
	return !who.t.batch && !who.t.iso && !who.t.idleprio &&
			       who.t.level == model_cpu[target].level &&
			       who.t.deadline < model_cpu[target].deadline
		       ? (s32)target
		       : -1;
}

static s32 victim_304(void)
{
	u64 far = bfs_ratios_100[who.t.u] * (cfg.rr_ns / 1000000) / 100, latest = 0;
	s32 target = -1;
	u32 level = 0;

	for (u32 step = 0; step < model_cpus; step++) {
		/* Ties go to the last CPU, then to the lowest number. */
		u32 cpu = step == 0 ? last : step <= last ? step - 1 : step;
		u64 value = model_cpu[cpu].deadline - locality_311(cpu, last) * far;

		if (!(who.allowed >> cpu & 1))
			continue;
		if (target < 0 || model_cpu[cpu].level > level ||
		    (model_cpu[cpu].level == level && value > latest)) {
			target = cpu;
			level = model_cpu[cpu].level;
			latest = value;
		}
	}
	if (who.t.level < level)
		return target;
	return !who.t.batch && !who.t.iso && !who.t.idleprio && who.t.level == level &&
			       who.t.deadline < latest
		       ? target
		       : -1;
}

static s32 victim_424(void)
{
	s32 target = -1;
	u64 latest = 0;
	u32 level = 0;

	if (who.t.idleprio)
		return -1;
	for (u32 cpu = 0; cpu < model_cpus; cpu++) {
		const struct bfs_cpu *c = &model_cpu[cpu];

		if (!(who.allowed >> cpu & 1) || c->level < level)
			continue;
		if (c->level > level || c->deadline > latest) {
			target = cpu;
			level = c->level;
			latest = c->deadline;
		}
	}
	if (who.t.level != level)
		return who.t.level < level ? target : -1;
	return who.t.deadline < latest ? target : -1;
}

static void draw_moment(u32 rules)
{
	u32 cpus = 1 + below(TEST_CPUS), all = (1u << cpus) - 1;

	build_machine(cpus, below(2));
	bfs_configure(&cfg, rules, 0, cpus, 1000, 70);
	memset(&who, 0, sizeof(who));
	who.allowed = below(2) ? all : draw() & all;
	if (!who.allowed)
		who.allowed = 1u << below(cpus);
	who.t.u = below(BFS_NICES);
	who.t.batch = !below(6);
	who.t.iso = !who.t.batch && !below(6);
	who.t.idleprio = !who.t.batch && !who.t.iso && !below(6);
	who.t.level = bfs_level(who.t.iso, who.t.idleprio, below(2), below(2));
	who.t.deadline = 1000000 + below(300);
	last = below(cpus);
	model_idle = below(2) ? 0 : draw() & all;
	idle_allowed = model_idle & who.allowed;
	for (u32 cpu = 0; cpu < cpus; cpu++) {
		bool idle = model_idle >> cpu & 1;

		/* Few deadlines, so that there are ties. */
		model_cpu[cpu].level = idle ? BFS_IDLE_CPU : below(4) ? BFS_NORMAL : below(3);
		model_cpu[cpu].deadline = 1000000 + 30 * below(10);
	}
}

static void compare(u32 rules)
{
	struct bfs_victim victim = {};
	s32 idle, expected;
	u32 skip;

	draw_moment(rules);
	skip = below(3) ? ~0u : below(model_cpus);
	if (skip != ~0u)
		idle_allowed &= ~(1u << skip);
	idle = bfs_best_idle(&cfg, &who, last, model_cpus, skip);
	expected = rules == BFS_232   ? best_idle_232()
		   : rules == BFS_311 ? best_idle_310()
				      : best_idle_424();
	CHECK(idle == expected);
	if (idle >= 0 || skip != ~0u)
		return;
	bfs_find_victim(&cfg, &who.t, &who, last, model_cpus, &victim);
	expected = rules == BFS_232 ? victim_232() : rules == BFS_311 ? victim_304() : victim_424();
	CHECK((bfs_beats(&cfg, &who.t, &victim) ? (s32)victim.cpu : -1) == expected);
}

int main(int argc, char **argv)
{
	unsigned long moments = argc > 1 ? strtoul(argv[1], NULL, 0) : 100000;

	test_seed = argc > 2 ? strtoul(argv[2], NULL, 0) : 1;
	for (u32 rules = BFS_232; rules <= BFS_424; rules++) {
		for (unsigned long number = 0; number < moments; number++) {
			start_case(number * 4 + rules);
			compare(rules);
		}
	}
	printf("%lu wake-ups of each version: kicked as published\n", moments);
	return 0;
}
