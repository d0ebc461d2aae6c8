/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Asks to be told of tasks that have migration disabled. */
#include <scx.h>

void BPF_STRUCT_OPS(sections_enqueue, struct task_struct *p, u64 enq_flags)
{
	scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, SCX_SLICE_DFL, enq_flags);
}

SCX_OPS_DEFINE(sections_ops, .enqueue = (void *)sections_enqueue,
	       .flags = SCX_OPS_ENQ_MIGRATION_DISABLED, .name = "sections");
