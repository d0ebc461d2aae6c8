/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Planted bug: each control group has a queue of its own, and dispatch looks only
 * where somebody is counted to wait. A task is counted once, in the group where
 * it began to wait: one that is moved meanwhile waits in a queue where nobody looks.
 */
#include <scx/common.bpf.h>

char _license[] SEC("license") = "GPL";

#define SLICE_NS (3 * 1000 * 1000ULL)
#define GROUPS 64

struct task_ctx {
	/* Its group's place. */
	u32 group;
	/* Where it is counted, if it waits. */
	u32 counted_in;
	bool waits;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct task_ctx);
} tasks SEC(".maps");

/* By places: the queues that there are, 0 for none, and how many wait there. */
static u64 queues[GROUPS];
static u32 waiting[GROUPS];
static u32 turn;

static u32 place_of(u64 queue)
{
	u32 i;

	for (i = 0; i < GROUPS; i++) {
		if (queues[i] == queue)
			return i;
	}
	return 0;
}

s32 BPF_STRUCT_OPS(moved_uncounted_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	return prev_cpu;
}

void BPF_STRUCT_OPS(moved_uncounted_enqueue, struct task_struct *p, u64 enq_flags)
{
	u64 since = enq_flags & SCX_ENQ_WAKEUP ? scx_bpf_now() : p->scx.dsq_vtime;
	struct task_ctx *t = bpf_task_storage_get(&tasks, p, 0, 0);
	s32 cpu = scx_bpf_task_cpu(p);

	if (!t)
		return;
	if (!t->waits) {
		t->waits = true;
		t->counted_in = t->group % GROUPS;
		__sync_fetch_and_add(&waiting[t->counted_in], 1);
	}
	scx_bpf_dsq_insert_vtime(p, queues[t->group % GROUPS], SLICE_NS, since, enq_flags);
	if (p->nr_cpus_allowed > 1)
		cpu = scx_bpf_pick_idle_cpu(p->cpus_ptr, 0);
	if (cpu >= 0)
		scx_bpf_kick_cpu(cpu, SCX_KICK_IDLE);
}

/* The groups take turns. */
void BPF_STRUCT_OPS(moved_uncounted_dispatch, s32 cpu, struct task_struct *prev)
{
	u32 tries, i;

	for (tries = 0; tries < GROUPS; tries++) {
		i = turn++ % GROUPS;
		if (waiting[i] && queues[i] && scx_bpf_dsq_move_to_local(queues[i], 0))
			return;
	}
}

void BPF_STRUCT_OPS(moved_uncounted_running, struct task_struct *p)
{
	struct task_ctx *t = bpf_task_storage_get(&tasks, p, 0, 0);

	if (t && t->waits) {
		t->waits = false;
		__sync_fetch_and_sub(&waiting[t->counted_in % GROUPS], 1);
	}
}

void BPF_STRUCT_OPS(moved_uncounted_stopping, struct task_struct *p, bool runnable)
{
	scx_bpf_task_set_dsq_vtime(p, scx_bpf_now());
}

void BPF_STRUCT_OPS(moved_uncounted_enable, struct task_struct *p)
{
	scx_bpf_task_set_dsq_vtime(p, scx_bpf_now());
}

void BPF_STRUCT_OPS(moved_uncounted_cpu_release, s32 cpu, struct scx_cpu_release_args *args)
{
	scx_bpf_reenqueue_local();
}

s32 BPF_STRUCT_OPS_SLEEPABLE(moved_uncounted_init_task, struct task_struct *p,
			     struct scx_init_task_args *args)
{
	struct task_ctx *t;

	t = bpf_task_storage_get(&tasks, p, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!t)
		return -ENOMEM;
	t->group = place_of(args->cgroup->kn->id);
	return 0;
}

void BPF_STRUCT_OPS(moved_uncounted_cgroup_move, struct task_struct *p, struct cgroup *from,
		    struct cgroup *to)
{
	struct task_ctx *t = bpf_task_storage_get(&tasks, p, 0, 0);

	if (t)
		t->group = place_of(to->kn->id);
}

s32 BPF_STRUCT_OPS_SLEEPABLE(moved_uncounted_cgroup_init, struct cgroup *cgrp,
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

void BPF_STRUCT_OPS(moved_uncounted_cgroup_exit, struct cgroup *cgrp)
{
	u64 queue = cgrp->kn->id;

	queues[place_of(queue)] = 0;
	scx_bpf_destroy_dsq(queue);
}

SCX_OPS_DEFINE(moved_uncounted_ops, .select_cpu = (void *)moved_uncounted_select_cpu,
	       .enqueue = (void *)moved_uncounted_enqueue,
	       .dispatch = (void *)moved_uncounted_dispatch,
	       .running = (void *)moved_uncounted_running,
	       .stopping = (void *)moved_uncounted_stopping,
	       .enable = (void *)moved_uncounted_enable,
	       .cpu_release = (void *)moved_uncounted_cpu_release,
	       .init_task = (void *)moved_uncounted_init_task,
	       .cgroup_move = (void *)moved_uncounted_cgroup_move,
	       .cgroup_init = (void *)moved_uncounted_cgroup_init,
	       .cgroup_exit = (void *)moved_uncounted_cgroup_exit, .name = "moved_uncounted");
