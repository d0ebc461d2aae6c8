/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A queue that tasks leave when the policy goes: otherwise it could not be destroyed in exit. */
#include <scx/common.bpf.h>

char _license[] SEC("license") = "GPL";

#define QUEUE 1

u64 dq_count;
UEI_DEFINE(uei);

void BPF_STRUCT_OPS(queue, struct task_struct *p, u64 enq_flags)
{
	scx_bpf_dsq_insert(p, QUEUE, SCX_SLICE_DFL, enq_flags);
}

void BPF_STRUCT_OPS(leave, struct task_struct *p, u64 deq_flags)
{
	dq_count++;
}

void BPF_STRUCT_OPS(find, s32 cpu, struct task_struct *prev)
{
	scx_bpf_dsq_move_to_local(QUEUE, 0);
}

s32 BPF_STRUCT_OPS_SLEEPABLE(begin)
{
	return scx_bpf_create_dsq(QUEUE, -1);
}

void BPF_STRUCT_OPS(gone, struct scx_exit_info *info)
{
	scx_bpf_destroy_dsq(QUEUE);
	UEI_RECORD(uei, info);
}

SEC(".struct_ops.link")
struct sched_ext_ops ops = {
	.enqueue = (void *)queue,
	.dequeue = (void *)leave,
	.dispatch = (void *)find,
	.init = (void *)begin,
	.exit = (void *)gone,
	.name = "queueing",
};
