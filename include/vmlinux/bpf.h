/* SPDX-License-Identifier: GPL-2.0-only */
/* BPF's own: kinds of maps, flags, and what a policy holds in its maps and on its stack. */
#pragma once

#include "../integers.h"

enum bpf_map_type {
	BPF_MAP_TYPE_UNSPEC,
	BPF_MAP_TYPE_HASH,
	BPF_MAP_TYPE_ARRAY,
	BPF_MAP_TYPE_PROG_ARRAY,
	BPF_MAP_TYPE_PERF_EVENT_ARRAY,
	BPF_MAP_TYPE_PERCPU_HASH,
	BPF_MAP_TYPE_PERCPU_ARRAY,
	BPF_MAP_TYPE_STACK_TRACE,
	BPF_MAP_TYPE_CGROUP_ARRAY,
	BPF_MAP_TYPE_LRU_HASH,
	BPF_MAP_TYPE_LRU_PERCPU_HASH,
	BPF_MAP_TYPE_LPM_TRIE,
	BPF_MAP_TYPE_ARRAY_OF_MAPS,
	BPF_MAP_TYPE_HASH_OF_MAPS,
	BPF_MAP_TYPE_QUEUE = 22,
	BPF_MAP_TYPE_STACK,
	BPF_MAP_TYPE_STRUCT_OPS = 26,
	BPF_MAP_TYPE_RINGBUF,
	BPF_MAP_TYPE_INODE_STORAGE,
	BPF_MAP_TYPE_TASK_STORAGE,
	BPF_MAP_TYPE_BLOOM_FILTER,
	BPF_MAP_TYPE_USER_RINGBUF,
	BPF_MAP_TYPE_CGRP_STORAGE,
	BPF_MAP_TYPE_ARENA,
};

enum {
	BPF_ANY,
	BPF_NOEXIST,
	BPF_EXIST,
	BPF_F_LOCK = 4,
};

/* Of bpf_map_create. */
enum {
	BPF_F_NO_PREALLOC = 1 << 0,
	BPF_F_NO_COMMON_LRU = 1 << 1,
	BPF_F_NUMA_NODE = 1 << 2,
	BPF_F_RDONLY = 1 << 3,
	BPF_F_WRONLY = 1 << 4,
	BPF_F_RDONLY_PROG = 1 << 7,
	BPF_F_WRONLY_PROG = 1 << 8,
	BPF_F_MMAPABLE = 1 << 10,
	BPF_F_INNER_MAP = 1 << 12,
	BPF_F_SEGV_ON_FAULT = 1 << 17,
	BPF_F_NO_USER_CONV = 1 << 18,
};

enum {
	BPF_LOCAL_STORAGE_GET_F_CREATE = 1,
};

/* Of bpf_loop. */
enum {
	BPF_MAX_LOOPS = 8 << 20,
};

enum {
	BPF_RB_NO_WAKEUP = 1,
	BPF_RB_FORCE_WAKEUP = 2,
};

enum {
	BPF_RB_AVAIL_DATA,
	BPF_RB_RING_SIZE,
	BPF_RB_CONS_POS,
	BPF_RB_PROD_POS,
};

enum {
	BPF_F_TIMER_ABS = 1,
	BPF_F_TIMER_CPU_PIN = 2,
};

#define BPF_F_INDEX_MASK 0xffffffffULL
#define BPF_F_CURRENT_CPU BPF_F_INDEX_MASK

/* What an iterator over tasks walks over. */
enum {
	BPF_TASK_ITER_ALL_PROCS,
	BPF_TASK_ITER_ALL_THREADS,
	BPF_TASK_ITER_PROC_THREADS,
};

/* How an iterator walks over cgroups. */
enum {
	BPF_CGROUP_ITER_ORDER_UNSPEC,
	BPF_CGROUP_ITER_SELF_ONLY,
	BPF_CGROUP_ITER_DESCENDANTS_PRE,
	BPF_CGROUP_ITER_DESCENDANTS_POST,
	BPF_CGROUP_ITER_ANCESTORS_UP,
	BPF_CGROUP_ITER_CHILDREN,
};

struct bpf_spin_lock {
	__u32 val;
};

struct bpf_res_spin_lock {
	__u32 val;
};

struct bpf_timer {
	__u64 __opaque[2];
} __attribute__((aligned(8)));

struct bpf_wq {
	__u64 __opaque[2];
} __attribute__((aligned(8)));

struct bpf_dynptr {
	__u64 __opaque[2];
} __attribute__((aligned(8)));

struct bpf_list_head {
	__u64 __opaque[2];
} __attribute__((aligned(8)));

struct bpf_list_node {
	__u64 __opaque[3];
} __attribute__((aligned(8)));

struct bpf_rb_root {
	__u64 __opaque[2];
} __attribute__((aligned(8)));

struct bpf_rb_node {
	__u64 __opaque[4];
} __attribute__((aligned(8)));

struct bpf_refcount {
	__u32 __opaque[1];
} __attribute__((aligned(4)));

struct bpf_iter_num {
	__u64 __opaque[1];
} __attribute__((aligned(8)));

struct bpf_iter_bits {
	__u64 __opaque[2];
} __attribute__((aligned(8)));

struct bpf_iter_css {
	__u64 __opaque[3];
} __attribute__((aligned(8)));

struct bpf_iter_task {
	__u64 __opaque[3];
} __attribute__((aligned(8)));

struct bpf_iter_scx_dsq {
	__u64 __opaque[6];
} __attribute__((aligned(8)));

struct bpf_perf_event_value {
	__u64 counter;
	__u64 enabled;
	__u64 running;
};
