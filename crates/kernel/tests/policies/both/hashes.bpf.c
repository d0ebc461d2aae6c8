/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Puts into maps, walks through them and takes out again. Says itself when one does not do what the kernel's does. */
#include "expect.h"

#define BPF_MAP_TYPE_HASH 1
#define BPF_MAP_TYPE_PERCPU_HASH 5
#define BPF_MAP_TYPE_CGRP_STORAGE 32
#define BPF_NOEXIST 1
#define BPF_EXIST 2
#define SHARED 0

struct cgroup *bpf_cgroup_from_id(u64 cgid) __ksym;
struct cgroup *bpf_cgroup_acquire(struct cgroup *cgrp) __ksym;
void bpf_cgroup_release(struct cgroup *cgrp) __ksym;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4);
	__type(key, u64);
	__type(value, u64);
} hash SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, 4);
	__type(key, u64);
	__type(value, u64);
} hash_per_cpu SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 2);
	__type(key, u32);
	__type(value, u64);
} per_cpu SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, u64);
} of_tasks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_CGRP_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, u64);
} of_cgroups SEC(".maps");

struct clock {
	struct bpf_timer timer;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct clock);
} clocks SEC(".maps");

static void put(void)
{
	u64 key = 5, value = 50, *found;

	EXPECT(bpf_map_update_elem(&hash, &key, &value, BPF_EXIST) == -ENOENT);
	EXPECT(!bpf_map_update_elem(&hash, &key, &value, BPF_NOEXIST));
	EXPECT(bpf_map_update_elem(&hash, &key, &value, BPF_NOEXIST) == -EEXIST);
	value = 51;
	EXPECT(!bpf_map_update_elem(&hash, &key, &value, 0));
	found = bpf_map_lookup_elem(&hash, &key);
	EXPECT(found && *found == 51);
	for (key = 6; key <= 8; key++)
		EXPECT(!bpf_map_update_elem(&hash, &key, &key, 0));
	EXPECT(bpf_map_update_elem(&hash, &key, &key, 0) == -E2BIG);
}

static long add(void *map, u64 *key, u64 *value, u64 *sum)
{
	*sum += *value;
	return 0;
}

static long first_only(void *map, u64 *key, u64 *value, u64 *met)
{
	*met = *key;
	return 1;
}

static void walk(void)
{
	u64 sum = 0, met = 0;

	EXPECT(bpf_for_each_map_elem(&hash, add, &sum, 0) == 4);
	EXPECT(sum == 51 + 6 + 7 + 8);
	EXPECT(bpf_for_each_map_elem(&hash, first_only, &met, 0) == 1 && met >= 5);
}

static void take(void)
{
	u64 key = 5;

	EXPECT(!bpf_map_delete_elem(&hash, &key));
	EXPECT(bpf_map_delete_elem(&hash, &key) == -ENOENT);
	EXPECT(!bpf_map_lookup_elem(&hash, &key));
}

static void copies(void)
{
	u64 key = 3, value = 30, *mine, *other;
	u32 place = 1;

	EXPECT(!bpf_map_update_elem(&hash_per_cpu, &key, &value, 0));
	EXPECT(!bpf_map_update_elem(&per_cpu, &place, &value, 0));
	mine = bpf_map_lookup_percpu_elem(&per_cpu, &place, 0);
	other = bpf_map_lookup_percpu_elem(&per_cpu, &place, 1);
	EXPECT(mine && other && *mine + *other == 30);
	mine = bpf_map_lookup_percpu_elem(&hash_per_cpu, &key, 0);
	other = bpf_map_lookup_percpu_elem(&hash_per_cpu, &key, 1);
	EXPECT(mine && other && *mine + *other == 30);
	EXPECT(!bpf_map_lookup_percpu_elem(&per_cpu, &place, 1 << 20));
}

void BPF_STRUCT_OPS(hashes_running, struct task_struct *p)
{
	u64 *value = bpf_task_storage_get(&of_tasks, p, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);

	EXPECT(value && *value == 0);
	if (value)
		*value = 7;
	value = bpf_task_storage_get(&of_tasks, p, NULL, 0);
	EXPECT(value && *value == 7);
	EXPECT(!bpf_task_storage_delete(&of_tasks, p));
	EXPECT(!bpf_task_storage_get(&of_tasks, p, NULL, 0));
	EXPECT(bpf_task_storage_delete(&of_tasks, p) == -ENOENT);
}

static void storage_of_cgroups(void)
{
	struct cgroup *root = bpf_cgroup_from_id(1), *none, *same;
	u64 *value;

	if (!root) {
		scx_bpf_error("there is no root cgroup");
		return;
	}
	none = bpf_cgroup_from_id(~0ULL);
	if (none)
		bpf_cgroup_release(none);
	EXPECT(!none);
	same = bpf_cgroup_acquire(root);
	if (same) {
		value = bpf_cgrp_storage_get(&of_cgroups, same, NULL,
					     BPF_LOCAL_STORAGE_GET_F_CREATE);
		if (value)
			*value = 9;
		bpf_cgroup_release(same);
	}
	value = bpf_cgrp_storage_get(&of_cgroups, root, NULL, 0);
	EXPECT(value && *value == 9);
	EXPECT(!bpf_cgrp_storage_delete(&of_cgroups, root));
	EXPECT(!bpf_cgrp_storage_get(&of_cgroups, root, NULL, 0));
	bpf_cgroup_release(root);
}

static int fired(void *map, u32 *key, struct clock *clock)
{
	scx_bpf_error("a timer that was cancelled");
	return 0;
}

static void timers(void)
{
	u32 key = 0;
	struct clock *clock = bpf_map_lookup_elem(&clocks, &key);

	if (!clock)
		return;
	EXPECT(!bpf_timer_init(&clock->timer, &clocks, CLOCK_MONOTONIC));
	EXPECT(!bpf_timer_set_callback(&clock->timer, fired));
	EXPECT(!bpf_timer_start(&clock->timer, 200 * NSEC_PER_MSEC, 0));
	EXPECT(bpf_timer_cancel(&clock->timer) == 1);
	EXPECT(bpf_timer_cancel(&clock->timer) == 0);
}

void BPF_STRUCT_OPS(hashes_enqueue, struct task_struct *p, u64 enq_flags)
{
	scx_bpf_dsq_insert(p, SHARED, SCX_SLICE_DFL, enq_flags);
}

void BPF_STRUCT_OPS(hashes_dispatch, s32 cpu, struct task_struct *prev)
{
	scx_bpf_dsq_move_to_local(SHARED);
}

s32 BPF_STRUCT_OPS_SLEEPABLE(hashes_init)
{
	put();
	walk();
	take();
	copies();
	storage_of_cgroups();
	timers();
	return scx_bpf_create_dsq(SHARED, -1);
}

SCX_OPS_DEFINE(hashes_ops, .enqueue = (void *)hashes_enqueue, .dispatch = (void *)hashes_dispatch,
	       .running = (void *)hashes_running, .init = (void *)hashes_init, .name = "hashes");
