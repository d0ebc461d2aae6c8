/* SPDX-License-Identifier: GPL-2.0-only */
/* What the run queues and tasks of o1, sd, cfs and eevdf have in common: a queue for each CPU. */
#pragma once

#include "domains.h"

/* A CPU's state of balance at one level. */
struct sd_state {
	u64 last_ticks; /* when this domain was balanced last */
	u32 interval_ms;
	u32 failed; /* balances in a row that moved nothing */
	bool imbalanced; /* eevdf: affinity kept the level below from being balanced */
};

/* A policy's struct rq begins with these. */
#define RQ_MEMBERS                                                                          \
	s64 weight; /* of all runnable tasks, the running one included */                   \
	s32 nr; /* of these tasks */                                                        \
	s32 curr_pid; /* the running task; 0: none of this policy */                        \
	bool online;                                                                        \
	bool strays; /* tasks wait here that the kernel counts elsewhere */                 \
	u64 refuses_until_ns; /* it could not run what it was given: it is going offline */ \
	u64 next_balance; /* ticks */                                                       \
	struct sd_state sd[SD_LEVEL_ROWS];                                                  \
	s32 push_pid; /* active balance: this task, running here, goes to push_cpu */       \
	u32 push_cpu;                                                                       \
	u64 excluded_by; /* the balance that found all tasks here pinned */

/* A policy's struct task_ctx begins with these. */
#define TASK_MEMBERS                                         \
	u64 last_ran_ns;                                     \
	u64 waits_since_ns;                                  \
	u32 cpu; /* whose queue it counts on */              \
	bool queued; /* counts there: runnable or running */ \
	bool is_new; /* forked, and never queued yet */
