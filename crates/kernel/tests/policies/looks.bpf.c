/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Takes the first CPU that is marked idle, and leaves the mark. */
#include <scx.h>

s32 BPF_STRUCT_OPS(looks_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	const struct cpumask *idle = scx_bpf_get_idle_cpumask();
	u32 cpu = bpf_cpumask_first(idle);

	scx_bpf_put_idle_cpumask(idle);
	return cpu < scx_bpf_nr_cpu_ids() ? cpu : prev_cpu;
}

void BPF_STRUCT_OPS(looks_enqueue, struct task_struct *p, u64 enq_flags)
{
	scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, SCX_SLICE_DFL, enq_flags);
}

SCX_OPS_DEFINE(looks_ops, .select_cpu = (void *)looks_select_cpu, .enqueue = (void *)looks_enqueue,
	       .name = "looks");
