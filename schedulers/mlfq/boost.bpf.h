/* SPDX-License-Identifier: GPL-2.0-only */
/* The timer that looks at who waits: starved ones are lifted (windows), or all are (textbook). */
#ifndef SCHEDLAB_MLFQ_BOOST_H
#define SCHEDLAB_MLFQ_BOOST_H

struct boost_timer {
	struct bpf_timer timer;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct boost_timer);
} boost_timers SEC(".maps");

/* Each that is lifted keeps its place in time, so that who waited longest is first at the top. */
static __always_inline void walk_and_boost(u32 queue)
{
	u64 now = scx_bpf_now();
	struct task_struct *p;
	struct mlfq_task *t;

	for_each_queued(it, p, queue)
	{
		t = task_of(p);
		if (!t)
			continue;
		if (mlfq_starve(&cfg, t, now))
			STAT_INC(starved);
		else if (mlfq_refresh(&cfg, t, now))
			STAT_INC(boosts);
		else
			continue;
		scx_bpf_dsq_move_set_slice(it, kernel_slice(t));
		scx_bpf_dsq_move_set_vtime(it, line_key(t->level, t->place.joined_ns));
		scx_bpf_dsq_move_vtime(it, p, queue, 0);
	}
}

__noinline s32 boost_queue(u32 queue)
{
	bpf_rcu_read_lock();
	walk_and_boost(queue);
	bpf_rcu_read_unlock();
	return 0;
}

/* Busy CPUs see at their next tick who is above their task now. */
static s32 boost_fire(void *map, s32 *key, struct bpf_timer *timer)
{
	u32 cpu = 0;

	boost_queue(LINE_SHARED);
	for_range(cpu, 0, nr_cpus) boost_queue(LINE_OWN(cpu));
	bpf_timer_start(timer, cfg.period_ns, 0);
	return 0;
}

static __always_inline s32 boost_start(void)
{
	u32 zero = 0;
	struct boost_timer *b = bpf_map_lookup_elem(&boost_timers, &zero);

	if (!b)
		return -EINVAL;
	bpf_timer_init(&b->timer, &boost_timers, CLOCK_MONOTONIC);
	bpf_timer_set_callback(&b->timer, boost_fire);
	return bpf_timer_start(&b->timer, cfg.period_ns, 0);
}

#endif
