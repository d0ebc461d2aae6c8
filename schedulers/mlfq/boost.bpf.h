/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The timer that looks at waiting tasks: it lifts those that starve (windows), or
 * all of them (textbook). A part of scx_mlfq.bpf.c, which defines before it its
 * counters and struct mlfq_config cfg.
 */
#pragma once

#include "../lib/periodic.bpf.h"

/* A lifted task keeps its place in time, so that the one that waited longest is first at the top. */
static __always_inline void walk_and_boost(u32 dsq)
{
	u64 now = scx_bpf_now();
	struct task_struct *p;
	struct mlfq_task *t;

	for_each_queued(it, p, dsq)
	{
		t = ctx_of(p);
		if (!t)
			continue;
		if (mlfq_starve(&cfg, t, now))
			STAT_INC(starved);
		else if (mlfq_refresh(&cfg, t, now))
			STAT_INC(boosts);
		else
			continue;
		scx_bpf_dsq_move_set_slice(it, kernel_slice(t));
		scx_bpf_dsq_move_set_vtime(it, queue_key(t->level, t->place.joined_ns));
		scx_bpf_dsq_move_vtime(it, p, dsq, 0);
	}
}

__noinline s32 boost_queue(u32 dsq)
{
	bpf_rcu_read_lock();
	walk_and_boost(dsq);
	bpf_rcu_read_unlock();
	return 0;
}

/* A busy CPU sees at its next tick that a waiting task is above its own. */
static u64 on_timer(void)
{
	u32 cpu = 0;

	boost_queue(SHARED_DSQ);
	for_range(cpu, 0, nr_cpus) boost_queue(CPU_DSQ(cpu));
	return mlfq_to_period_end(&cfg, scx_bpf_now());
}
