/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Planted bugs: accesses that the verifier refuses. Each is a function, so that the compiler keeps them apart. */
#include <scx.h>

CHOICE(how, 0, "array,constant,task,null,page", "which of them");

#define BPF_MAP_TYPE_ARENA 33
#define BPF_F_MMAPABLE (1 << 10)
#define ARENA_AT (1ull << 44)

struct {
	__uint(type, BPF_MAP_TYPE_ARENA);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 8);
	enum { arena_at = ARENA_AT } map_extra;
} arena SEC(".maps");

u64 counts[4];
const volatile u64 one = 1;

static __noinline void array(struct task_struct *p)
{
	counts[(u32)p->pid * 1000]++;
}

static __noinline void constant(struct task_struct *p)
{
	*(volatile u64 *)&one = p->pid;
}

static __noinline void task(struct task_struct *p)
{
	p->static_prio = p->pid;
}

static __noinline void null(struct task_struct *p)
{
	*(volatile u64 *)16 = p->pid;
}

static __noinline void page(struct task_struct *p)
{
	*(volatile u64 __attribute__((address_space(1))) *)(ARENA_AT + 4096) = p->pid;
}

void BPF_STRUCT_OPS(strays_enqueue, struct task_struct *p, u64 enq_flags)
{
	if (how == 0)
		array(p);
	else if (how == 1)
		constant(p);
	else if (how == 2)
		task(p);
	else if (how == 3)
		null(p);
	else
		page(p);
	scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, SCX_SLICE_DFL, enq_flags);
}

SCX_OPS_DEFINE(strays_ops, .enqueue = (void *)strays_enqueue, .name = "strays");
