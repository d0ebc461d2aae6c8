/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Planted bug: everybody to CPU 0, allowed there or not. */
#include <scx.h>

void BPF_STRUCT_OPS(affinity_enqueue, struct task_struct *p, u64 enq_flags)
{
	scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL_ON | 0, SCX_SLICE_DFL, enq_flags);
}

SCX_OPS_DEFINE(affinity_ops, .enqueue = (void *)affinity_enqueue, .name = "affinity");
