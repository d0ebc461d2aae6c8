/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * sched_ext constants that have not moved since 6.12 (include/linux/sched/ext.h,
 * kernel/sched/ext.c, include/linux/sched.h).
 */
#pragma once

enum bpf_map_type {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_TASK_STORAGE = 29,
};

enum {
	BPF_F_NO_PREALLOC = 1,
	BPF_LOCAL_STORAGE_GET_F_CREATE = 1,
};

#define SCX_DSQ_FLAG_BUILTIN (1ULL << 63)
#define SCX_DSQ_FLAG_LOCAL_ON (1ULL << 62)
#define SCX_DSQ_INVALID (SCX_DSQ_FLAG_BUILTIN | 0)
#define SCX_DSQ_GLOBAL (SCX_DSQ_FLAG_BUILTIN | 1)
#define SCX_DSQ_LOCAL (SCX_DSQ_FLAG_BUILTIN | 2)
/* SCX_DSQ_LOCAL_ON | cpu: that CPU's local queue. */
#define SCX_DSQ_LOCAL_ON (SCX_DSQ_FLAG_BUILTIN | SCX_DSQ_FLAG_LOCAL_ON)

#define SCX_SLICE_DFL (20 * NSEC_PER_MSEC)
#define SCX_SLICE_INF (~0ULL)

#define SCX_KICK_IDLE 1ULL
#define SCX_KICK_PREEMPT 2ULL
#define SCX_KICK_WAIT 4ULL

#define SCX_PICK_IDLE_CORE 1ULL

#define SCX_OPS_KEEP_BUILTIN_IDLE (1ULL << 0)
#define SCX_OPS_ENQ_LAST (1ULL << 1)
#define SCX_OPS_ENQ_EXITING (1ULL << 2)
#define SCX_OPS_SWITCH_PARTIAL (1ULL << 3)
/* Since 6.14, which is a reason not to ask for it where older kernels are to load the policy. */
#define SCX_OPS_ENQ_MIGRATION_DISABLED (1ULL << 4)

/* p->scx.flags: runnable, and of this class */
#define SCX_TASK_QUEUED 1U

#define SCX_ECODE_ACT_RESTART (1ULL << 48)
#define SCX_ECODE_RSN_HOTPLUG (1ULL << 32)

#define SCHED_NORMAL 0
#define SCHED_BATCH 3
#define SCHED_IDLE 5

#define PF_IDLE 0x00000002
#define PF_EXITING 0x00000004
#define PF_WQ_WORKER 0x00000020
#define PF_KTHREAD 0x00200000
