/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Planted bug: asks for a node's idle CPUs without the flag that has the kernel track them so. */
#include <scx.h>

s32 scx_bpf_pick_idle_cpu_node(const cpumask_t *cpus_allowed, s32 node, u64 flags) __ksym;

s32 BPF_STRUCT_OPS(nodeless_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	s32 cpu = scx_bpf_pick_idle_cpu_node(p->cpus_ptr, 0, 0);

	return cpu < 0 ? prev_cpu : cpu;
}

SCX_OPS_DEFINE(nodeless_ops, .select_cpu = (void *)nodeless_select_cpu, .name = "nodeless");
