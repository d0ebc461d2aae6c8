/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Planted bug: every task is inserted twice. */
#include <scx.h>

void BPF_STRUCT_OPS(twice_enqueue, struct task_struct *p, u64 enq_flags)
{
	scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, SCX_SLICE_DFL, enq_flags);
	scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, SCX_SLICE_DFL, enq_flags);
}

SCX_OPS_DEFINE(twice_ops, .enqueue = (void *)twice_enqueue, .name = "twice");
