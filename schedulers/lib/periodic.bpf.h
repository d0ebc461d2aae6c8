/* SPDX-License-Identifier: GPL-2.0-only */
/* A timer that calls the policy again and again. A policy defines on_timer(), declared here, and calls timer_start(). */
#pragma once

/* Do what is due; returns the nanoseconds until the next call. */
static u64 on_timer(void);

struct periodic_timer {
	struct bpf_timer timer;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct periodic_timer);
} periodic_timers SEC(".maps");

static s32 timer_fire(void *map, s32 *key, struct bpf_timer *timer)
{
	bpf_timer_start(timer, on_timer(), 0);
	return 0;
}

/* In ops.init: the first call comes in so many nanoseconds. */
static __always_inline s32 timer_start(u64 ns)
{
	u32 zero = 0;
	struct periodic_timer *t = bpf_map_lookup_elem(&periodic_timers, &zero);

	if (!t)
		return -EINVAL;
	bpf_timer_init(&t->timer, &periodic_timers, CLOCK_MONOTONIC);
	bpf_timer_set_callback(&t->timer, timer_fire);
	return bpf_timer_start(&t->timer, ns, 0);
}
