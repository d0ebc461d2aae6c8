/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Planted race: a timer lets the second of a queue go before the first, and dispatch has taken the first meanwhile. */
#include "ring.bpf.h"

#define PERIOD_NS NSEC_PER_MSEC

struct swap_timer {
	struct bpf_timer timer;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct swap_timer);
} swap_timers SEC(".maps");

s32 BPF_STRUCT_OPS(timer_swaps_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	return stay(prev_cpu);
}

void BPF_STRUCT_OPS(timer_swaps_enqueue, struct task_struct *p, u64 enq_flags)
{
	if (confined(p))
		return insert_confined(p, enq_flags);
	append(p);
	kick_idle(p->cpus_ptr);
}

static __always_inline bool take(void)
{
	u32 first = head;

	if (first == tail)
		return false;
	head = first + 1;
	run(ring[first % RING]);
	return true;
}

void BPF_STRUCT_OPS(timer_swaps_dispatch, s32 cpu, struct task_struct *prev)
{
	if (scx_bpf_now() >> 21 & 1) {
		if (!take())
			take_confined(cpu);
	} else if (!take_confined(cpu)) {
		take();
	}
}

static __always_inline u32 weight_of(u32 pid)
{
	struct task_struct *p = bpf_task_from_pid(pid);
	u32 weight = 0;

	if (p) {
		weight = p->scx.weight;
		bpf_task_release(p);
	}
	return weight;
}

static int swap_fire(void *map, int *key, struct swap_timer *t)
{
	u32 at = head, first, second;

	/* Who was passed once is not again. */
	if (at % 2 == 0 && (s32)(tail - at) >= 2) {
		first = ring[at % RING];
		second = ring[(at + 1) % RING];
		if (weight_of(second) >= weight_of(first)) {
			ring[at % RING] = second;
			ring[(at + 1) % RING] = first;
		}
	}
	bpf_timer_start(&t->timer, PERIOD_NS, 0);
	return 0;
}

void BPF_STRUCT_OPS(timer_swaps_cpu_release, s32 cpu, struct scx_cpu_release_args *args)
{
	scx_bpf_reenqueue_local();
}

s32 BPF_STRUCT_OPS_SLEEPABLE(timer_swaps_init)
{
	u32 zero = 0;
	struct swap_timer *t = bpf_map_lookup_elem(&swap_timers, &zero);

	if (!t)
		return -EINVAL;
	bpf_timer_init(&t->timer, &swap_timers, CLOCK_MONOTONIC);
	bpf_timer_set_callback(&t->timer, swap_fire);
	bpf_timer_start(&t->timer, PERIOD_NS, 0);
	return create_queues();
}

SCX_OPS_DEFINE(timer_swaps_ops, .select_cpu = (void *)timer_swaps_select_cpu,
	       .enqueue = (void *)timer_swaps_enqueue, .dispatch = (void *)timer_swaps_dispatch,
	       .init = (void *)timer_swaps_init, .cpu_release = (void *)timer_swaps_cpu_release,
	       .name = "timer_swaps");
