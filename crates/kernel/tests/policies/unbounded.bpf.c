/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Gives tasks a CPU for as long as they like, or for a millisecond, and hears of every tick. */
#include <scx.h>

#define SCX_SLICE_INF (~0ULL)

CHOICE(rules, 0, "infinite,finite", "how long a task may run");

void BPF_STRUCT_OPS(unbounded_enqueue, struct task_struct *p, u64 enq_flags)
{
	scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, rules == 0 ? SCX_SLICE_INF : NSEC_PER_MSEC, enq_flags);
}

s32 BPF_STRUCT_OPS(unbounded_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	return prev_cpu;
}

void BPF_STRUCT_OPS(unbounded_tick, struct task_struct *p)
{
}

SCX_OPS_DEFINE(unbounded_ops, .select_cpu = (void *)unbounded_select_cpu,
	       .enqueue = (void *)unbounded_enqueue, .tick = (void *)unbounded_tick,
	       .name = "unbounded");
