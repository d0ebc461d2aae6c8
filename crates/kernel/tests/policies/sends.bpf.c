/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sends who may run on CPU 1 there, whoever else is idle. */
#include <scx.h>

s32 BPF_STRUCT_OPS(sends_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	return prev_cpu;
}

void BPF_STRUCT_OPS(sends_enqueue, struct task_struct *p, u64 enq_flags)
{
	u64 to = bpf_cpumask_test_cpu(1, p->cpus_ptr) ? SCX_DSQ_LOCAL_ON | 1 : SCX_DSQ_LOCAL;

	scx_bpf_dsq_insert(p, to, SCX_SLICE_DFL, enq_flags);
}

SCX_OPS_DEFINE(sends_ops, .select_cpu = (void *)sends_select_cpu, .enqueue = (void *)sends_enqueue,
	       .name = "sends");
