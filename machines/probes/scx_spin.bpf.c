/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A probe of machines: first in, first out; at every wake-up as many idle instructions as it is told, and a kick. */
#include <scx.h>

#define SHARED 0

TUNABLE(u32, loops, 0, 0, 100000, "", "loops at each wake-up that do nothing");
TUNABLE(u32, kicks, 0, 0, 1, "", "kicks of the task's CPU at each wake-up");

void BPF_STRUCT_OPS(spin_enqueue, struct task_struct *p, u64 enq_flags)
{
	u32 i;

	for (i = 0; i < loops; i++)
		asm volatile("");
	scx_bpf_dsq_insert(p, SHARED, SCX_SLICE_DFL, enq_flags);
	if (kicks)
		scx_bpf_kick_cpu(scx_bpf_task_cpu(p), 0);
}

void BPF_STRUCT_OPS(spin_dispatch, s32 cpu, struct task_struct *prev)
{
	scx_bpf_dsq_move_to_local(SHARED);
}

s32 BPF_STRUCT_OPS_SLEEPABLE(spin_init)
{
	return scx_bpf_create_dsq(SHARED, -1);
}

SCX_OPS_DEFINE(spin_ops, .enqueue = (void *)spin_enqueue, .dispatch = (void *)spin_dispatch,
	       .init = (void *)spin_init, .flags = SCX_OPS_ENQ_EXITING, .name = "spin");
