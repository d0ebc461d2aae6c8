/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where a new task begins (rules 2.2.8.4, 3.11.4 and 4.10.8). Before this
 * header a policy defines
 *	domain_at(level)	its struct sched_domain of that level
 *	idlest_group(p, cpu, level)	a CPU of the idlest group, or -1 to stay in cpu's
 *	idlest_cpu(p, member, level, cpu)	the idlest CPU of member's span that p may use, or -1
 */
#pragma once

/* From the widest level that places new tasks down: the idlest group, the idlest CPU in it, and on from there. */
static __noinline s32 select_fork(struct task_struct *p, u32 cpu)
{
	u32 level;
	s32 i, member, found;

	for (i = 0; i < SD_NODE; i++) {
		level = SD_NODE - i;
		if (!level_exists(cpu, level) || !(domain_at(level)->flags & SD_FORK))
			continue;
		member = idlest_group(p, cpu, level);
		if (member < 0)
			continue;
		found = idlest_cpu(p, member, level - 1, cpu);
		if (found >= 0)
			cpu = found;
	}
	return cpu;
}
