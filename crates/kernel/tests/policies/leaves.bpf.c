/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Ends itself in good order, with a code. */
#include <scx.h>

void BPF_STRUCT_OPS(leaves_enqueue, struct task_struct *p, u64 enq_flags)
{
	scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, SCX_SLICE_DFL, enq_flags);
	scx_bpf_exit(0x17, "after %llu tasks", 1);
}

SCX_OPS_DEFINE(leaves_ops, .enqueue = (void *)leaves_enqueue, .name = "leaves");
