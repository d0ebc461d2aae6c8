/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Wants every task to run on CPU 0, at once, whatever runs there; or wants that of a queue, which runs nobody. */
#include <scx.h>

#define QUEUE 0
#define SCX_OPS_ALWAYS_ENQ_IMMED (1 << 7)

CHOICE(rules, 0, "cpu,queue", "where tasks are to run at once");

s32 BPF_STRUCT_OPS(insists_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	return 0;
}

void BPF_STRUCT_OPS(insists_enqueue, struct task_struct *p, u64 enq_flags)
{
	if (rules == 0)
		scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL_ON, SCX_SLICE_DFL, enq_flags);
	else
		scx_bpf_dsq_insert(p, QUEUE, SCX_SLICE_DFL, enq_flags | SCX_ENQ_IMMED);
}

s32 BPF_STRUCT_OPS_SLEEPABLE(insists_init)
{
	return scx_bpf_create_dsq(QUEUE, -1);
}

SCX_OPS_DEFINE(insists_ops, .select_cpu = (void *)insists_select_cpu,
	       .enqueue = (void *)insists_enqueue, .init = (void *)insists_init,
	       .flags = SCX_OPS_ALWAYS_ENQ_IMMED, .name = "insists");
