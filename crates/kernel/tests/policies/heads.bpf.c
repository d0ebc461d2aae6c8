/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who comes last is served first, by flags whose bits differ between releases. */
#include <scx.h>

#define SHARED 0

void BPF_STRUCT_OPS(heads_enqueue, struct task_struct *p, u64 enq_flags)
{
	if (p->nr_cpus_allowed > 1 && (enq_flags & SCX_ENQ_WAKEUP) && !enq_cpu_selected(enq_flags))
		scx_bpf_error("woken without a CPU: flags %llu", enq_flags);
	scx_bpf_dsq_insert(p, SHARED, SCX_SLICE_DFL, SCX_ENQ_HEAD);
}

void BPF_STRUCT_OPS(heads_dispatch, s32 cpu, struct task_struct *prev)
{
	scx_bpf_dsq_move_to_local(SHARED);
}

s32 BPF_STRUCT_OPS_SLEEPABLE(heads_init)
{
	return scx_bpf_create_dsq(SHARED, -1);
}

SCX_OPS_DEFINE(heads_ops, .enqueue = (void *)heads_enqueue, .dispatch = (void *)heads_dispatch,
	       .init = (void *)heads_init, .name = "heads");
