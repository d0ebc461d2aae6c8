/* SPDX-License-Identifier: GPL-2.0-only */
/* cpu.max: what counts as a limit. */
#pragma once

#include "types.h"

/* What the CPUs cannot use up limits nobody. The kernel's "max" is more than that, too. */
static inline bool is_limit(u64 quota_us, u64 period_us, u32 cpus)
{
	return quota_us < period_us * cpus;
}
