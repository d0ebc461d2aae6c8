/* SPDX-License-Identifier: GPL-2.0-or-later */
/* First in, first out, but tasks of a better nice value go first and preempt; a reader of RCU goes into its CPU's queue. */
#include <scx.h>

#define SHARED 0

u64 arrivals;

s32 BPF_STRUCT_OPS(readers_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	return prev_cpu;
}

void BPF_STRUCT_OPS(readers_enqueue, struct task_struct *p, u64 enq_flags)
{
	bool better = p->static_prio < DEFAULT_PRIO;

	scx_bpf_dsq_insert_vtime(p, SHARED, SCX_SLICE_DFL, better ? 0 : ++arrivals, enq_flags);
	if (better)
		scx_bpf_kick_cpu(0, SCX_KICK_PREEMPT);
}

void BPF_STRUCT_OPS(readers_dispatch, s32 cpu, struct task_struct *prev)
{
	scx_bpf_dsq_move_to_local(SHARED);
}

s32 BPF_STRUCT_OPS_SLEEPABLE(readers_init)
{
	return scx_bpf_create_dsq(SHARED, -1);
}

SCX_OPS_DEFINE(readers_ops, .select_cpu = (void *)readers_select_cpu,
	       .enqueue = (void *)readers_enqueue, .dispatch = (void *)readers_dispatch,
	       .init = (void *)readers_init, .name = "readers");
