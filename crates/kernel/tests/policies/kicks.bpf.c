/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Enqueues kick the CPU that the task was on: mode says how. */
#include <scx.h>

#define SHARED 0

CHOICE(mode, 0, "none,plain,preempt,idle,wait", "which flags the kick has");

s32 BPF_STRUCT_OPS(kicks_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	return prev_cpu;
}

void BPF_STRUCT_OPS(kicks_enqueue, struct task_struct *p, u64 enq_flags)
{
	static const u64 flags[] = { 0, 0, SCX_KICK_PREEMPT, SCX_KICK_IDLE,
				     SCX_KICK_PREEMPT | SCX_KICK_WAIT };

	scx_bpf_dsq_insert(p, SHARED, SCX_SLICE_DFL, enq_flags | (mode == 2 ? SCX_ENQ_HEAD : 0));
	if (mode && (enq_flags & SCX_ENQ_WAKEUP))
		scx_bpf_kick_cpu(0, flags[mode]);
}

void BPF_STRUCT_OPS(kicks_dispatch, s32 cpu, struct task_struct *prev)
{
	scx_bpf_dsq_move_to_local(SHARED);
}

s32 BPF_STRUCT_OPS_SLEEPABLE(kicks_init)
{
	return scx_bpf_create_dsq(SHARED, -1);
}

SCX_OPS_DEFINE(kicks_ops, .select_cpu = (void *)kicks_select_cpu, .enqueue = (void *)kicks_enqueue,
	       .dispatch = (void *)kicks_dispatch, .init = (void *)kicks_init, .name = "kicks");
