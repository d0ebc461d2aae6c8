/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Planted bug: every 50th task that comes in goes nowhere. */
#include <scx.h>

static u64 count;

void BPF_STRUCT_OPS(loses_enqueue, struct task_struct *p, u64 enq_flags)
{
	if (++count % 50)
		scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, SCX_SLICE_DFL, enq_flags);
}

SCX_OPS_DEFINE(loses_ops, .enqueue = (void *)loses_enqueue, .timeout_ms = 5000, .name = "loses");
