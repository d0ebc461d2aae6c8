/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Broken: what a program runs on one CPU only has a slice that never ends, so that nobody after it gets that CPU. */
#include <scx.h>

void BPF_STRUCT_OPS(endless_enqueue, struct task_struct *p, u64 enq_flags)
{
	bool endless = p->mm && p->nr_cpus_allowed == 1;

	scx_bpf_dsq_insert(p, endless ? SCX_DSQ_LOCAL : SCX_DSQ_GLOBAL,
			   endless ? SCX_SLICE_INF : SCX_SLICE_DFL, enq_flags);
}

SCX_OPS_DEFINE(endless_ops, .enqueue = (void *)endless_enqueue, .name = "endless");
