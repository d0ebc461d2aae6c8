/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Cannot do without what only later releases have. */
#include <scx.h>

struct task_struct *scx_bpf_dsq_peek(u64 dsq_id) __ksym;
struct task_struct *scx_bpf_cpu_curr(s32 cpu) __ksym;

void BPF_STRUCT_OPS(demands_dispatch, s32 cpu, struct task_struct *prev)
{
	if (!scx_bpf_dsq_peek(0) && scx_bpf_cpu_curr(cpu))
		return;
	scx_bpf_dsq_move_to_local(bpf_core_enum_value(enum scx_enq_flags, SCX_ENQ_CPU_SELECTED));
}

SCX_OPS_DEFINE(demands_ops, .dispatch = (void *)demands_dispatch, .name = "demands");
