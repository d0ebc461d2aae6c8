/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The last task of a CPU goes into its local queue, or into a shared one, and nobody kicks the CPU. */
#include <scx.h>

#define QUEUE 0

CHOICE(rules, 0, "local,shared", "where the last task of a CPU goes");

s32 BPF_STRUCT_OPS(last_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	return prev_cpu;
}

void BPF_STRUCT_OPS(last_enqueue, struct task_struct *p, u64 enq_flags)
{
	if (enq_flags & SCX_ENQ_LAST)
		scx_bpf_dsq_insert(p, rules == 0 ? SCX_DSQ_LOCAL : QUEUE, 5 * NSEC_PER_MSEC,
				   enq_flags);
	else
		scx_bpf_dsq_insert(p, QUEUE, 5 * NSEC_PER_MSEC, enq_flags);
}

void BPF_STRUCT_OPS(last_dispatch, s32 cpu, struct task_struct *prev)
{
	scx_bpf_dsq_move_to_local(QUEUE);
}

s32 BPF_STRUCT_OPS_SLEEPABLE(last_init)
{
	return scx_bpf_create_dsq(QUEUE, -1);
}

SCX_OPS_DEFINE(last_ops, .select_cpu = (void *)last_select_cpu, .enqueue = (void *)last_enqueue,
	       .dispatch = (void *)last_dispatch, .init = (void *)last_init,
	       .flags = SCX_OPS_ENQ_LAST | SCX_OPS_ENQ_EXITING, .name = "last");
