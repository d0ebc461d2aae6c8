/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Planted bug: each control group has a queue of its own, which is there as long
 * as the group, and a task stays with the queue of the group that it began in:
 * nobody heeds that it moves. When that group goes, its queue is gone.
 */
#include <scx/common.bpf.h>

char _license[] SEC("license") = "GPL";

#define SLICE_NS (3 * 1000 * 1000ULL)
#define GROUPS 64

struct task_ctx {
	u64 queue;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct task_ctx);
} tasks SEC(".maps");

/* The queues that there are; 0: none. */
static u64 queues[GROUPS];
static u32 turn;

static u64 now_or_before(struct task_struct *p, u64 enq_flags)
{
	return enq_flags & SCX_ENQ_WAKEUP ? scx_bpf_now() : p->scx.dsq_vtime;
}

s32 BPF_STRUCT_OPS(group_queue_gone_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	return prev_cpu;
}

void BPF_STRUCT_OPS(group_queue_gone_enqueue, struct task_struct *p, u64 enq_flags)
{
	struct task_ctx *t = bpf_task_storage_get(&tasks, p, 0, 0);
	s32 cpu = scx_bpf_task_cpu(p);

	if (!t)
		return;
	scx_bpf_dsq_insert_vtime(p, t->queue, SLICE_NS, now_or_before(p, enq_flags), enq_flags);
	if (p->nr_cpus_allowed > 1)
		cpu = scx_bpf_pick_idle_cpu(p->cpus_ptr, 0);
	if (cpu >= 0)
		scx_bpf_kick_cpu(cpu, SCX_KICK_IDLE);
}

/* The groups take turns. */
void BPF_STRUCT_OPS(group_queue_gone_dispatch, s32 cpu, struct task_struct *prev)
{
	u32 tries, i;

	for (tries = 0; tries < GROUPS; tries++) {
		i = turn++ % GROUPS;
		if (queues[i] && scx_bpf_dsq_move_to_local(queues[i], 0))
			return;
	}
}

void BPF_STRUCT_OPS(group_queue_gone_stopping, struct task_struct *p, bool runnable)
{
	scx_bpf_task_set_dsq_vtime(p, scx_bpf_now());
}

void BPF_STRUCT_OPS(group_queue_gone_enable, struct task_struct *p)
{
	scx_bpf_task_set_dsq_vtime(p, scx_bpf_now());
}

void BPF_STRUCT_OPS(group_queue_gone_cpu_release, s32 cpu, struct scx_cpu_release_args *args)
{
	scx_bpf_reenqueue_local();
}

s32 BPF_STRUCT_OPS_SLEEPABLE(group_queue_gone_init_task, struct task_struct *p,
			     struct scx_init_task_args *args)
{
	struct task_ctx *t;

	t = bpf_task_storage_get(&tasks, p, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!t)
		return -ENOMEM;
	t->queue = args->cgroup->kn->id;
	return 0;
}

s32 BPF_STRUCT_OPS_SLEEPABLE(group_queue_gone_cgroup_init, struct cgroup *cgrp,
			     struct scx_cgroup_init_args *args)
{
	u64 queue = cgrp->kn->id;
	u32 i;

	for (i = 0; i < GROUPS; i++) {
		if (!queues[i]) {
			queues[i] = queue;
			return scx_bpf_create_dsq(queue, -1);
		}
	}
	return -ENOSPC;
}

void BPF_STRUCT_OPS(group_queue_gone_cgroup_exit, struct cgroup *cgrp)
{
	u64 queue = cgrp->kn->id;
	u32 i;

	for (i = 0; i < GROUPS; i++) {
		if (queues[i] == queue)
			queues[i] = 0;
	}
	scx_bpf_destroy_dsq(queue);
}

SCX_OPS_DEFINE(group_queue_gone_ops, .select_cpu = (void *)group_queue_gone_select_cpu,
	       .enqueue = (void *)group_queue_gone_enqueue,
	       .dispatch = (void *)group_queue_gone_dispatch,
	       .stopping = (void *)group_queue_gone_stopping,
	       .enable = (void *)group_queue_gone_enable,
	       .cpu_release = (void *)group_queue_gone_cpu_release,
	       .init_task = (void *)group_queue_gone_init_task,
	       .cgroup_init = (void *)group_queue_gone_cgroup_init,
	       .cgroup_exit = (void *)group_queue_gone_cgroup_exit, .name = "group_queue_gone");
