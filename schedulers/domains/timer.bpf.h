/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The timer that stands for the tick's softirq, and what it looks after besides
 * balance. Who includes this has defined before
 *
 *	struct task_ctx, ctx_of(p), rq_of(cpu), now_ticks(), STAT(rehomed)
 *	balance_tick()		once a tick
 *	boost_starved(cpu)	once a second, where tasks are
 *	send_home(it, p, t, home)	move a queued task to its CPU's queue; true if it was there to move
 */
#ifndef SCHEDLAB_DOMAINS_TIMER_H
#define SCHEDLAB_DOMAINS_TIMER_H

#define REFUSE_NS \
	(100 * NSEC_PER_MSEC) /* a CPU that could not run what it pulled gets nothing for so long */

u64 next_look; /* ticks; once a second for starved tasks */

/*
 * A CPU that is about to go offline still looks like any other for a while,
 * but what was pulled to it can no longer run there: it goes back to the CPU
 * whose run queue the kernel counts it on. What is counted here goes to this
 * CPU's local DSQ when the CPU is gone for us; the kernel then moves it on.
 */
static __always_inline void walk_and_send_back(u32 cpu, bool gone)
{
	struct task_struct *p;
	struct task_ctx *t;
	u32 home;

	for_each_queued(it, p, cpu)
	{
		home = scx_bpf_task_cpu(p);
		t = ctx_of(p);
		if (t && home != cpu) {
			if (!send_home(it, p, t, home))
				continue;
		} else if (!gone || !scx_bpf_dsq_move(it, p, SCX_DSQ_LOCAL_ON | cpu, 0)) {
			continue;
		}
		STAT_INC(rehomed);
	}
	rq_of(cpu)->strays = false;
	rq_of(cpu)->refuses_until_ns = scx_bpf_now() + REFUSE_NS;
	if (gone)
		scx_bpf_kick_cpu(cpu, 0);
}

__noinline s32 send_back(u32 cpu, bool gone)
{
	bpf_rcu_read_lock();
	walk_and_send_back(cpu, gone);
	bpf_rcu_read_unlock();
	return 0;
}

struct balance_timer {
	struct bpf_timer timer;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct balance_timer);
} balance_timers SEC(".maps");

static s32 balance_fire(void *map, s32 *key, struct bpf_timer *timer)
{
	s32 cpu;

	balance_tick();
	if (now_ticks() >= next_look) {
		next_look = now_ticks() + tick_hz;
		for_range(cpu, 0, nr_cpus) if (rq_of(cpu)->nr > 0) boost_starved(cpu);
		for_range(cpu, 0, nr_cpus) if (rq_of(cpu)->strays) send_back(cpu, false);
	}
	bpf_timer_start(timer, NSEC_PER_SEC / (tick_hz ? tick_hz : 250), 0);
	return 0;
}

static __always_inline s32 balance_start(void)
{
	u32 zero = 0;
	struct balance_timer *b = bpf_map_lookup_elem(&balance_timers, &zero);

	if (!b)
		return -EINVAL;
	bpf_timer_init(&b->timer, &balance_timers, CLOCK_MONOTONIC);
	bpf_timer_set_callback(&b->timer, balance_fire);
	return bpf_timer_start(&b->timer, NSEC_PER_SEC / (tick_hz ? tick_hz : 250), 0);
}

#endif
