/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel's tick. */
#pragma once

/* The time between two timer interrupts. */
static __always_inline u64 tick_ns(void)
{
	return NSEC_PER_SEC / (tick_hz ? tick_hz : 250);
}
