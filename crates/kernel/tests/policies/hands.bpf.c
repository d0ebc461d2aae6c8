/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lets wake-ups be left to the CPU on which the task is to run; otherwise as simple as can be, on the last CPU. */
#include <scx.h>

#define SCX_OPS_ALLOW_QUEUED_WAKEUP (1 << 5)

s32 BPF_STRUCT_OPS(hands_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	return prev_cpu;
}

void BPF_STRUCT_OPS(hands_enqueue, struct task_struct *p, u64 enq_flags)
{
	scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, SCX_SLICE_DFL, enq_flags);
}

SCX_OPS_DEFINE(hands_ops, .select_cpu = (void *)hands_select_cpu, .enqueue = (void *)hands_enqueue,
	       .flags = SCX_OPS_ALLOW_QUEUED_WAKEUP, .name = "hands");
