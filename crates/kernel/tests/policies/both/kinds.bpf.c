/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Uses maps of the kinds that schedulers have less often: queue, stack, ring buffer, maps of maps, arena. Says itself
 * when one of them does not do what the kernel's does.
 */
#include "expect.h"

#define BPF_MAP_TYPE_ARRAY_OF_MAPS 12
#define BPF_MAP_TYPE_HASH_OF_MAPS 13
#define BPF_MAP_TYPE_QUEUE 22
#define BPF_MAP_TYPE_STACK 23
#define BPF_MAP_TYPE_RINGBUF 27
#define BPF_MAP_TYPE_ARENA 33
#define BPF_F_MMAPABLE (1 << 10)
#define PAGE_SIZE 4096
#define SHARED 0
#define BPF_EXIST 2
#define BPF_RB_RING_SIZE 1
#define __arena __attribute__((address_space(1)))

struct {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, 3);
	__type(value, u64);
} queue SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_STACK);
	__uint(max_entries, 3);
	__type(value, u64);
} stack SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, PAGE_SIZE);
} events SEC(".maps");

struct inner {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 4);
	__type(key, u32);
	__type(value, u64);
} first SEC(".maps"), second SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 3);
	__type(key, u32);
	__array(values, struct inner);
} array_of SEC(".maps") = { .values = { [0] = &first, [2] = &second } };

struct {
	__uint(type, BPF_MAP_TYPE_HASH_OF_MAPS);
	__uint(max_entries, 3);
	__type(key, u32);
	__array(values, struct inner);
} hash_of SEC(".maps") = { .values = { [1] = &second } };

struct {
	__uint(type, BPF_MAP_TYPE_ARENA);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 8);
	enum { ARENA_AT = 1ull << 44 } map_extra;
} arena SEC(".maps");

void __arena *bpf_arena_alloc_pages(void *map, void __arena *addr, u32 page_cnt, int node_id,
				    u64 flags) __ksym;
void bpf_arena_free_pages(void *map, void __arena *ptr, u32 page_cnt) __ksym;

struct node {
	struct node __arena *next;
	u64 value;
};

static struct node __arena *head;
static u64 pushed;

static void lines(void)
{
	u64 value = 1;

	EXPECT(bpf_map_pop_elem(&queue, &value) == -ENOENT && value == 0);
	for (value = 1; value <= 3; value++) {
		EXPECT(!bpf_map_push_elem(&queue, &value, 0));
		EXPECT(!bpf_map_push_elem(&stack, &value, 0));
	}
	EXPECT(bpf_map_push_elem(&queue, &value, 0) == -E2BIG);
	EXPECT(!bpf_map_push_elem(&queue, &value, BPF_EXIST));
	EXPECT(!bpf_map_push_elem(&stack, &value, BPF_EXIST));
	EXPECT(!bpf_map_peek_elem(&queue, &value) && value == 2);
	EXPECT(!bpf_map_pop_elem(&queue, &value) && value == 2);
	EXPECT(!bpf_map_pop_elem(&queue, &value) && value == 3);
	EXPECT(!bpf_map_pop_elem(&queue, &value) && value == 4);
	EXPECT(!bpf_map_pop_elem(&stack, &value) && value == 4);
	EXPECT(!bpf_map_peek_elem(&stack, &value) && value == 3);
	EXPECT(!bpf_map_pop_elem(&stack, &value) && value == 3);
	EXPECT(!bpf_map_pop_elem(&stack, &value) && value == 2);
	EXPECT(bpf_map_peek_elem(&stack, &value) == -ENOENT);
}

static void rings(void)
{
	u64 *record, *other;

	EXPECT(bpf_ringbuf_query(&events, BPF_RB_RING_SIZE) == PAGE_SIZE);
	record = bpf_ringbuf_reserve(&events, PAGE_SIZE - 16, 0);
	if (!record) {
		scx_bpf_error("no record");
		return;
	}
	record[0] = 1;
	record[1] = 2;
	other = bpf_ringbuf_reserve(&events, 16, 0);
	EXPECT(!other);
	if (other)
		bpf_ringbuf_discard(other, 0);
	EXPECT(bpf_ringbuf_output(&events, &pushed, sizeof(pushed), 0) == -EAGAIN);
	bpf_ringbuf_discard(record, 0);
}

static void maps_of_maps(void)
{
	u32 outer = 2, none = 1, key = 3;
	void *map = bpf_map_lookup_elem(&array_of, &outer);
	u64 *value = map ? bpf_map_lookup_elem(map, &key) : NULL;
	u64 *same;

	EXPECT(value);
	if (value)
		*value = 77;
	same = bpf_map_lookup_elem(&second, &key);
	EXPECT(same && *same == 77);
	map = bpf_map_lookup_elem(&hash_of, &none);
	same = map ? bpf_map_lookup_elem(map, &key) : NULL;
	EXPECT(same && *same == 77);
	EXPECT(!bpf_map_lookup_elem(&array_of, &none));
	EXPECT(!bpf_map_lookup_elem(&hash_of, &outer));
}

/* A list in the arena, written here and walked through in every dispatch. */
static void pages(void)
{
	char __arena *memory = bpf_arena_alloc_pages(&arena, NULL, 2, -1, 0);
	char __arena *more = bpf_arena_alloc_pages(&arena, NULL, 7, -1, 0);
	struct node __arena *node;
	int i;

	EXPECT(memory && !more);
	if (!memory)
		return;
	for_range(i, 0, 16)
	{
		node = (struct node __arena *)(memory + PAGE_SIZE - 64 + i * sizeof(*node));
		EXPECT(!node->value && !node->next);
		node->value = i + 1;
		node->next = head;
		head = node;
	}
	more = bpf_arena_alloc_pages(&arena, memory + 4 * PAGE_SIZE, 1, -1, 0);
	EXPECT(more == memory + 4 * PAGE_SIZE);
	EXPECT(!bpf_arena_alloc_pages(&arena, more, 1, -1, 0));
	*(u64 __arena *)more = 5;
	bpf_arena_free_pages(&arena, more, 1);
	EXPECT(bpf_arena_alloc_pages(&arena, more, 1, -1, 0) == more);
	EXPECT(*(u64 __arena *)more == 0);
}

void BPF_STRUCT_OPS(kinds_enqueue, struct task_struct *p, u64 enq_flags)
{
	u64 pid = p->pid;

	scx_bpf_dsq_insert(p, SHARED, SCX_SLICE_DFL, enq_flags);
	bpf_ringbuf_output(&events, &pid, sizeof(pid), 0);
}

void BPF_STRUCT_OPS(kinds_dispatch, s32 cpu, struct task_struct *prev)
{
	struct node __arena *node = head;
	void *map = &arena;
	u64 sum = 0;
	int i;

	/* The kernel takes addresses in an arena only of a program that names the map. */
	barrier_var(map);
	for_range(i, 0, 16)
	{
		if (!node)
			break;
		sum += node->value;
		node = node->next;
	}
	if (sum != 16 * 17 / 2)
		scx_bpf_error("the list's sum is %llu", sum);
	scx_bpf_dsq_move_to_local(SHARED);
}

s32 BPF_STRUCT_OPS_SLEEPABLE(kinds_init)
{
	lines();
	rings();
	maps_of_maps();
	pages();
	return scx_bpf_create_dsq(SHARED, -1);
}

SCX_OPS_DEFINE(kinds_ops, .enqueue = (void *)kinds_enqueue, .dispatch = (void *)kinds_dispatch,
	       .init = (void *)kinds_init, .name = "kinds");
