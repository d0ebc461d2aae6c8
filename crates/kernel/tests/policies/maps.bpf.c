/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Keeps books in maps of every kind and in a timer, and says itself when they do not agree.
 */
#include <scx.h>

#define INTERVAL (5 * NSEC_PER_MSEC)

struct book {
	u64 runs;
	u64 stops;
};

struct clock {
	u64 fired_at;
	struct bpf_timer timer;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct book);
} books SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, u64);
} others SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 2);
	__type(key, u32);
	__type(value, u64);
} per_cpu SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 3);
	__type(key, u32);
	__type(value, struct clock);
} clocks SEC(".maps");

static u64 running_now[MAX_CPUS];

static int fired(void *map, u32 *key, struct clock *clock)
{
	u64 now = scx_bpf_now();

	if (*key != 2)
		scx_bpf_error("timer of element %u", *key);
	if (clock->fired_at && now - clock->fired_at < INTERVAL)
		scx_bpf_error("timer early");
	clock->fired_at = now;
	bpf_timer_start(&clock->timer, INTERVAL, 0);
	scx_bpf_kick_cpu(0, 0);
	return 0;
}

void BPF_STRUCT_OPS(maps_running, struct task_struct *p)
{
	struct book *book = bpf_task_storage_get(&books, p, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	u64 *other = bpf_task_storage_get(&others, p, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	u32 key = 1;
	u64 *count = bpf_map_lookup_elem(&per_cpu, &key);

	if (!book || !other || !count) {
		scx_bpf_error("no value");
		return;
	}
	if (book->runs != book->stops || *other != book->runs)
		scx_bpf_error("books do not agree");
	book->runs++;
	(*other)++;
	if (*count != running_now[cpu_index(bpf_get_smp_processor_id())])
		scx_bpf_error("per-CPU values are mixed up");
	running_now[cpu_index(bpf_get_smp_processor_id())] = ++*count;
}

void BPF_STRUCT_OPS(maps_stopping, struct task_struct *p, bool runnable)
{
	struct book *book = bpf_task_storage_get(&books, p, NULL, 0);

	if (book)
		book->stops++;
	else
		scx_bpf_error("storage is gone");
}

s32 BPF_STRUCT_OPS(maps_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	if (bpf_task_storage_get(&books, p, NULL, 0))
		scx_bpf_error("a new task has storage");
	return 0;
}

s32 BPF_STRUCT_OPS_SLEEPABLE(maps_init)
{
	u32 key = 3;
	struct clock *clock = bpf_map_lookup_elem(&clocks, &key);

	if (clock)
		return -EINVAL;
	key = 2;
	clock = bpf_map_lookup_elem(&clocks, &key);
	if (!clock)
		return -ENOMEM;
	bpf_timer_init(&clock->timer, &clocks, CLOCK_MONOTONIC);
	bpf_timer_set_callback(&clock->timer, fired);
	return bpf_timer_start(&clock->timer, INTERVAL, 0);
}

SCX_OPS_DEFINE(maps_ops, .running = (void *)maps_running, .stopping = (void *)maps_stopping,
	       .init_task = (void *)maps_init_task, .init = (void *)maps_init, .name = "maps");
