/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Gives up by itself, with a message, when a task of nice 19 comes. */
#include <scx.h>

#define NICE_19 139

void BPF_STRUCT_OPS(refuses_enqueue, struct task_struct *p, u64 enq_flags)
{
	if (p->static_prio == NICE_19)
		scx_bpf_error("no place for %s[%d]", (u64)p->comm, p->pid);
	scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, SCX_SLICE_DFL, enq_flags);
}

SCX_OPS_DEFINE(refuses_ops, .enqueue = (void *)refuses_enqueue, .name = "refuses");
