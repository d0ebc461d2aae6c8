/* SPDX-License-Identifier: GPL-2.0-only */
/* Timers that fire once each time they are started, found by a number: one for each CPU, or for each control group. */
#pragma once

struct oneshot {
	struct bpf_timer timer;
};

#define ONESHOTS(name, nr)                        \
	struct {                                  \
		__uint(type, BPF_MAP_TYPE_ARRAY); \
		__uint(max_entries, nr);          \
		__type(key, u32);                 \
		__type(value, struct oneshot);    \
	} name SEC(".maps")

/* What a timer calls, with its number. */
typedef s32 (*oneshot_fires)(void *timers, u32 *number, struct bpf_timer *timer);

/* In ops.init, or when the number is given out. Those that were given out before may be initialized again. */
static __always_inline bool init_oneshot(void *timers, u32 number, oneshot_fires fires)
{
	struct oneshot *t = bpf_map_lookup_elem(timers, &number);

	if (!t)
		return false;
	bpf_timer_init(&t->timer, timers, CLOCK_MONOTONIC);
	return !bpf_timer_set_callback(&t->timer, fires);
}

/* False: it does not fire, as from a CPU that goes offline. Starting it again moves it. */
static __always_inline bool start_oneshot(void *timers, u32 number, u64 ns, u64 flags)
{
	struct oneshot *t = bpf_map_lookup_elem(timers, &number);

	return t && !bpf_timer_start(&t->timer, ns, flags);
}
