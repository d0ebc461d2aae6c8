/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keeps who waits in a queue of its own, and asks the kernel for an idle CPU. */
#include <scx.h>

#define BPF_MAP_TYPE_QUEUE 22

struct {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, 64);
	__type(value, u32);
} waiting SEC(".maps");

s32 BPF_STRUCT_OPS(keeps_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	bool idle = false;

	return scx_bpf_select_cpu_dfl(p, prev_cpu, wake_flags, &idle);
}

void BPF_STRUCT_OPS(keeps_enqueue, struct task_struct *p, u64 enq_flags)
{
	u32 pid = p->pid;

	if (bpf_map_push_elem(&waiting, &pid, 0))
		scx_bpf_error("more than 64 tasks");
}

void BPF_STRUCT_OPS(keeps_dispatch, s32 cpu, struct task_struct *prev)
{
	struct task_struct *p;
	u32 pid;

	if (bpf_map_pop_elem(&waiting, &pid))
		return;
	p = bpf_task_from_pid(pid);
	if (!p)
		return;
	scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, SCX_SLICE_DFL, 0);
	bpf_task_release(p);
}

SCX_OPS_DEFINE(keeps_ops, .select_cpu = (void *)keeps_select_cpu, .enqueue = (void *)keeps_enqueue,
	       .dispatch = (void *)keeps_dispatch, .name = "keeps");
