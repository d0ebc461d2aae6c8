/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Planted bugs: spin locks as the verifier does not let them be used. */
#include <scx.h>

CHOICE(how, 0, "twice,free,kept", "which of them");

struct bpf_spin_lock {
	u32 val;
};

struct bpf_spin_lock lock SEC(".bss.lock");

static __noinline void twice(void)
{
	bpf_spin_lock(&lock);
	bpf_spin_lock(&lock);
}

static __noinline void free(void)
{
	bpf_spin_unlock(&lock);
}

static __noinline void kept(void)
{
	bpf_spin_lock(&lock);
}

void BPF_STRUCT_OPS(locks_enqueue, struct task_struct *p, u64 enq_flags)
{
	scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, SCX_SLICE_DFL, enq_flags);
	if (how == 0)
		twice();
	else if (how == 1)
		free();
	else
		kept();
}

SCX_OPS_DEFINE(locks_ops, .enqueue = (void *)locks_enqueue, .name = "locks");
