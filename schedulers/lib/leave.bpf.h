/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * In ops.cpu_offline: the CPU is not asked to dispatch any more, but waits until
 * no task is counted on it. All that are go to its local DSQ, from where the
 * kernel sends them on; those that disabled their migration run there.
 */
#pragma once

STAT(rehomed, "queued tasks sent on by a CPU that goes offline");

static __always_inline void walk_and_send_on(u32 dsq, u32 cpu)
{
	struct task_struct *p;

	for_each_queued(it, p, dsq)
	{
		if (scx_bpf_task_cpu(p) != (s32)cpu)
			continue;
		if (scx_bpf_dsq_move(it, p, SCX_DSQ_LOCAL_ON | cpu, 0))
			STAT_INC(rehomed);
	}
}

__noinline s32 send_on(u32 dsq, u32 cpu)
{
	bpf_rcu_read_lock();
	walk_and_send_on(dsq, cpu);
	bpf_rcu_read_unlock();
	return 0;
}

/*
 * Last: the CPU runs what was sent on. It has counted as idle since the kernel
 * began to take it down, and whoever kicked it for a task kicked nobody: those
 * that are idle look.
 */
static __always_inline void kick_who_stay(u32 cpu)
{
	u32 other;

	scx_bpf_kick_cpu(cpu, 0);
	for_range(other, 0, nr_cpus) scx_bpf_kick_cpu(other, SCX_KICK_IDLE);
}
