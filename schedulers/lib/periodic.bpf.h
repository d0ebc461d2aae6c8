/* SPDX-License-Identifier: GPL-2.0-only */
/* A timer that calls the policy again and again. A policy defines on_timer(), declared here, and calls timer_start(). */
#pragma once

#include "oneshot.bpf.h"

/* Do what is due; returns the nanoseconds until the next call. */
static u64 on_timer(void);

ONESHOTS(periodic_timers, 1);

static s32 timer_fire(void *timers, u32 *number, struct bpf_timer *timer)
{
	bpf_timer_start(timer, on_timer(), 0);
	return 0;
}

/* In ops.init: the first call comes in so many nanoseconds. */
static __always_inline s32 timer_start(u64 ns)
{
	bool starts = init_oneshot(&periodic_timers, 0, timer_fire) &&
		      start_oneshot(&periodic_timers, 0, ns, 0);

	return starts ? 0 : -EINVAL;
}
