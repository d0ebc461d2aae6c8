/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Has the callbacks about control groups beside those about run queues, to see in which order they are called. */
#include <scx/common.bpf.h>

char _license[] SEC("license") = "GPL";

#define SHARED 0
#define SLICE (5 * 1000 * 1000ULL)

void BPF_STRUCT_OPS(grouped_enqueue, struct task_struct *p, u64 enq_flags)
{
	scx_bpf_dsq_insert(p, SHARED, SLICE, enq_flags);
}

void BPF_STRUCT_OPS(grouped_dequeue, struct task_struct *p, u64 deq_flags)
{
}

void BPF_STRUCT_OPS(grouped_dispatch, s32 cpu, struct task_struct *prev)
{
	scx_bpf_dsq_move_to_local(SHARED);
}

void BPF_STRUCT_OPS(grouped_runnable, struct task_struct *p, u64 enq_flags)
{
}

void BPF_STRUCT_OPS(grouped_running, struct task_struct *p)
{
}

void BPF_STRUCT_OPS(grouped_stopping, struct task_struct *p, bool runnable)
{
}

void BPF_STRUCT_OPS(grouped_quiescent, struct task_struct *p, u64 deq_flags)
{
}

s32 BPF_STRUCT_OPS(grouped_cgroup_prep_move, struct task_struct *p, struct cgroup *from,
		   struct cgroup *to)
{
	return 0;
}

void BPF_STRUCT_OPS(grouped_cgroup_move, struct task_struct *p, struct cgroup *from,
		    struct cgroup *to)
{
}

s32 BPF_STRUCT_OPS_SLEEPABLE(grouped_init)
{
	return scx_bpf_create_dsq(SHARED, -1);
}

SCX_OPS_DEFINE(grouped_ops, .enqueue = (void *)grouped_enqueue, .dequeue = (void *)grouped_dequeue,
	       .dispatch = (void *)grouped_dispatch, .runnable = (void *)grouped_runnable,
	       .running = (void *)grouped_running, .stopping = (void *)grouped_stopping,
	       .quiescent = (void *)grouped_quiescent,
	       .cgroup_prep_move = (void *)grouped_cgroup_prep_move,
	       .cgroup_move = (void *)grouped_cgroup_move, .init = (void *)grouped_init,
	       .name = "grouped");
