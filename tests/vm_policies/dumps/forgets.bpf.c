/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Broken: a task of nice 19 is taken in enqueue and put into no queue, so that it never runs again. */
#include <scx.h>

#define NICE_19 139

void BPF_STRUCT_OPS(forgets_enqueue, struct task_struct *p, u64 enq_flags)
{
	if (p->static_prio == NICE_19)
		return;
	scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, SCX_SLICE_DFL, enq_flags);
}

SCX_OPS_DEFINE(forgets_ops, .enqueue = (void *)forgets_enqueue, .name = "forgets");
