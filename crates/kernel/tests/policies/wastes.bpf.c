/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Planted bug: tasks stay on the CPU where they were, whoever else is idle. */
#include <scx.h>

s32 BPF_STRUCT_OPS(wastes_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	return 0;
}

void BPF_STRUCT_OPS(wastes_enqueue, struct task_struct *p, u64 enq_flags)
{
	scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, SCX_SLICE_DFL, enq_flags);
}

SCX_OPS_DEFINE(wastes_ops, .select_cpu = (void *)wastes_select_cpu,
	       .enqueue = (void *)wastes_enqueue, .name = "wastes");
