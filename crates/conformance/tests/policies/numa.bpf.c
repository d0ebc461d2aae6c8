/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Asks for idle CPUs of a node, which needs a flag of struct sched_ext_ops. */
#include <scx/common.bpf.h>

char _license[] SEC("license") = "GPL";

const volatile unsigned int __COMPAT_SCX_PICK_IDLE_IN_NODE;
UEI_DEFINE(uei);

s32 BPF_STRUCT_OPS(choose, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	int node = __COMPAT_scx_bpf_cpu_node(prev_cpu);
	s32 cpu = __COMPAT_scx_bpf_pick_idle_cpu_node(p->cpus_ptr, node,
						      __COMPAT_SCX_PICK_IDLE_IN_NODE);

	if (cpu >= 0 && __COMPAT_scx_bpf_cpu_node(cpu) != node)
		scx_bpf_error("CPU %d is of another node", cpu);
	return cpu >= 0 ? cpu : prev_cpu;
}

void BPF_STRUCT_OPS(gone, struct scx_exit_info *info)
{
	UEI_RECORD(uei, info);
}

SEC(".struct_ops.link")
struct sched_ext_ops ops = {
	.select_cpu = (void *)choose,
	.exit = (void *)gone,
	.name = "near",
};
