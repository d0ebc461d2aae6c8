/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Planted bug: last in, first out. */
#include <scx.h>

#define SHARED 0

void BPF_STRUCT_OPS(starves_enqueue, struct task_struct *p, u64 enq_flags)
{
	scx_bpf_dsq_insert(p, SHARED, SCX_SLICE_DFL, enq_flags | SCX_ENQ_HEAD);
}

void BPF_STRUCT_OPS(starves_dispatch, s32 cpu, struct task_struct *prev)
{
	scx_bpf_dsq_move_to_local(SHARED);
}

s32 BPF_STRUCT_OPS_SLEEPABLE(starves_init)
{
	return scx_bpf_create_dsq(SHARED, -1);
}

SCX_OPS_DEFINE(starves_ops, .enqueue = (void *)starves_enqueue,
	       .dispatch = (void *)starves_dispatch, .init = (void *)starves_init,
	       .name = "starves");
