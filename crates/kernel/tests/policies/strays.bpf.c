/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Planted bugs: accesses that the verifier refuses. Each is a function, so that the compiler keeps them apart. */
#include <scx.h>

CHOICE(how, 0, "array,constant,task,null", "which of them");

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

void BPF_STRUCT_OPS(strays_enqueue, struct task_struct *p, u64 enq_flags)
{
	if (how == 0)
		array(p);
	else if (how == 1)
		constant(p);
	else if (how == 2)
		task(p);
	else
		null(p);
	scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, SCX_SLICE_DFL, enq_flags);
}

SCX_OPS_DEFINE(strays_ops, .enqueue = (void *)strays_enqueue, .name = "strays");
