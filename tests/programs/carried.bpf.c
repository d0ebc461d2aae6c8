/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A scheduler that gives up unless its program (crates/loader/examples/carrier.rs) has set up constants, variables and
 * maps, and left out a callback. Tasks run in the order in which they come.
 */
#include <scx.h>

#define SHARED 0
#define MAGIC 4711
#define BPF_MAP_TYPE_HASH 1

/* Constants and variables that the program sets before it loads. */
const volatile u64 slice_us;
const volatile u32 weights[4];
u64 variable = 1;
/* What the syscall program has done. */
u64 primary;
/* What the scheduler itself does: 0 when it is attached. */
u32 inits;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 4);
	__type(key, u32);
	__type(value, u64);
} elements SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8);
	__type(key, u32);
	__type(value, u64);
} a_hash_with_a_long_name SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 2);
	__type(key, u32);
	__type(value, u64);
} per_cpu SEC(".maps");

struct primary_cpu {
	s32 cpu;
};

SEC("syscall")
int add_primary_cpu(struct primary_cpu *argument)
{
	u32 cpu = argument->cpu;

	if (cpu >= 64)
		return -EINVAL;
	if (primary & 1ULL << cpu)
		return -EEXIST;
	primary |= 1ULL << cpu;
	return 0;
}

/* Not in the kernel where the program leaves it out. */
SEC("syscall")
int left_out(void *argument)
{
	inits = MAGIC;
	return 0;
}

void BPF_STRUCT_OPS(carried_enqueue, struct task_struct *p, u64 enq_flags)
{
	scx_bpf_dsq_insert(p, SHARED, slice_us * NSEC_PER_USEC, enq_flags);
}

void BPF_STRUCT_OPS(carried_dispatch, s32 cpu, struct task_struct *prev)
{
	scx_bpf_dsq_move_to_local(SHARED);
}

/* The program takes it out. */
void BPF_STRUCT_OPS(carried_tick, struct task_struct *p)
{
	scx_bpf_error("a tick, which was taken out");
}

/* The text is in a section of the compiler's, which has no types. */
static __noinline char letter(const char *text, u32 at)
{
	return text[at & 3];
}

s32 BPF_STRUCT_OPS_SLEEPABLE(carried_init)
{
	u32 two = 2, one = 1;
	u64 *element = bpf_map_lookup_elem(&elements, &two);
	u64 *hashed = bpf_map_lookup_elem(&a_hash_with_a_long_name, &two);
	u64 *own = bpf_map_lookup_percpu_elem(&per_cpu, &one, 0);

	if (!slice_us || weights[3] != MAGIC)
		scx_bpf_error("constants were not set");
	else if (variable != MAGIC)
		scx_bpf_error("variables were not set");
	else if (!element || *element != MAGIC || !hashed || *hashed != MAGIC || !own ||
		 *own != MAGIC)
		scx_bpf_error("maps were not filled");
	else if (primary != 1)
		scx_bpf_error("the syscall program did not run once before");
	else if (letter("text", inits) != 't')
		scx_bpf_error("a text was not there");
	else if (inits++)
		scx_bpf_error("init ran before");
	return scx_bpf_create_dsq(SHARED, -1);
}

SCX_OPS_DEFINE(carried_ops, .enqueue = (void *)carried_enqueue,
	       .dispatch = (void *)carried_dispatch, .tick = (void *)carried_tick,
	       .init = (void *)carried_init, .name = "carried");
