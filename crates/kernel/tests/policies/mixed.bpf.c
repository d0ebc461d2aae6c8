/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Planted bug: one queue by arrival and by virtual time at once. */
#include <scx.h>

#define SHARED 7

static u64 count;

void BPF_STRUCT_OPS(mixed_enqueue, struct task_struct *p, u64 enq_flags)
{
	if (++count & 1)
		scx_bpf_dsq_insert(p, SHARED, SCX_SLICE_DFL, enq_flags);
	else
		scx_bpf_dsq_insert_vtime(p, SHARED, SCX_SLICE_DFL, count, enq_flags);
}

void BPF_STRUCT_OPS(mixed_dispatch, s32 cpu, struct task_struct *prev)
{
	scx_bpf_dsq_move_to_local(SHARED);
}

s32 BPF_STRUCT_OPS_SLEEPABLE(mixed_init)
{
	return scx_bpf_create_dsq(SHARED, -1);
}

SCX_OPS_DEFINE(mixed_ops, .enqueue = (void *)mixed_enqueue, .dispatch = (void *)mixed_dispatch,
	       .init = (void *)mixed_init, .name = "mixed");
