/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Control groups share the CPUs by their weights: a queue for each, and a
 * clock, which goes the slower the greater the weight. Whoever is free takes
 * from the group whose clock is furthest behind. Groups are weighed against
 * each other wherever they are in the tree.
 */
#include <scx/common.bpf.h>

char _license[] SEC("license") = "GPL";

UEI_DEFINE(uei);

#define MOST_GROUPS 32
/* Groups whose tasks may not run on a CPU, one after the other. */
#define MOST_TRIES 8
#define SLICE (5 * 1000 * 1000ULL)
#define DEFAULT_WEIGHT 100
/* No clock is. */
#define FAR_AHEAD (1ULL << 62)

struct group {
	u64 id;
	u64 weight;
	u64 clock;
	/* Tasks that run or want to. */
	s64 runnable;
	/* Nobody else has this place. */
	u64 taken;
};

/* Where a group is among all. */
struct place {
	u32 place;
	u32 known;
};

/* A task, and up to when its group was charged for it. A slice is no measure: it ends at a tick, which may be late. */
struct member {
	u64 charged_ns;
	u32 place;
};

struct group groups[MOST_GROUPS];
/* How far the clock of whoever was last served has come: who returns begins here. */
u64 now_clock;

struct {
	__uint(type, BPF_MAP_TYPE_CGRP_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct place);
} places SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct member);
} members SEC(".maps");

static u32 place_of_group(struct cgroup *cgrp)
{
	struct place *at = bpf_cgrp_storage_get(&places, cgrp, 0, 0);
	u32 place = at && at->known ? at->place : 0;

	return place < MOST_GROUPS ? place : 0;
}

static u32 place_of_task(struct task_struct *p)
{
	struct member *m = bpf_task_storage_get(&members, p, 0, 0);

	return m && m->place < MOST_GROUPS ? m->place : 0;
}

/* The group's clock goes on by what the task ran. */
static void charge(struct task_struct *p)
{
	struct member *m = bpf_task_storage_get(&members, p, 0, 0);
	u64 ran = p->se.sum_exec_runtime;
	struct group *g;

	if (!m || m->place >= MOST_GROUPS)
		return;
	g = &groups[m->place];
	__sync_fetch_and_add(&g->clock, (ran - m->charged_ns) * DEFAULT_WEIGHT /
						(g->weight ?: DEFAULT_WEIGHT));
	m->charged_ns = ran;
}

s32 BPF_STRUCT_OPS(shares_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	bool is_idle = false;

	return scx_bpf_select_cpu_dfl(p, prev_cpu, wake_flags, &is_idle);
}

void BPF_STRUCT_OPS(shares_enqueue, struct task_struct *p, u64 enq_flags)
{
	u32 place = place_of_task(p);

	scx_bpf_dsq_insert(p, place, SLICE, enq_flags);
}

/* A group that had nobody to serve has lost what it was behind. */
void BPF_STRUCT_OPS(shares_runnable, struct task_struct *p, u64 enq_flags)
{
	u32 place = place_of_task(p);

	if (place < MOST_GROUPS && !__sync_fetch_and_add(&groups[place].runnable, 1) &&
	    (s64)(groups[place].clock - now_clock) < 0)
		groups[place].clock = now_clock;
}

void BPF_STRUCT_OPS(shares_quiescent, struct task_struct *p, u64 deq_flags)
{
	u32 place = place_of_task(p);

	if (place < MOST_GROUPS)
		__sync_fetch_and_add(&groups[place].runnable, -1);
}

u32 furthest_behind(u64 passed);

/* Of the groups with a task that waits, but for those passed. The verifier need not tell one from the other. */
__noinline u32 furthest_behind(u64 passed)
{
	u64 least = now_clock + FAR_AHEAD, clock;
	u32 place, best = MOST_GROUPS;

	bpf_for(place, 0, MOST_GROUPS) {
		if (passed & 1ULL << place || !scx_bpf_dsq_nr_queued(place))
			continue;
		clock = groups[place].clock;
		if ((s64)(clock - least) < 0) {
			best = place;
			least = clock;
		}
	}
	return best;
}

void BPF_STRUCT_OPS(shares_dispatch, s32 cpu, struct task_struct *prev)
{
	bool goes_on = prev && prev->scx.flags & SCX_TASK_QUEUED;
	u32 tries, best, own = goes_on ? place_of_task(prev) : 0;
	u64 passed = 0;

	if (goes_on)
		charge(prev);
	for (tries = 0; tries < MOST_TRIES; tries++) {
		best = furthest_behind(passed);
		if (best >= MOST_GROUPS)
			return;
		/* Whoever runs here is in no queue. */
		if (goes_on && best != own && own < MOST_GROUPS &&
		    (s64)(groups[own].clock - groups[best].clock) < 0) {
			prev->scx.slice = SLICE;
			return;
		}
		if (scx_bpf_dsq_move_to_local(best)) {
			if ((s64)(groups[best].clock - now_clock) > 0)
				now_clock = groups[best].clock;
			return;
		}
		/* None of its tasks may run here. */
		passed |= 1ULL << best;
	}
}

void BPF_STRUCT_OPS(shares_stopping, struct task_struct *p, bool runnable)
{
	charge(p);
}

static void remember(struct task_struct *p, struct cgroup *cgrp)
{
	struct member *m = bpf_task_storage_get(&members, p, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (!m)
		return;
	m->place = place_of_group(cgrp);
	m->charged_ns = p->se.sum_exec_runtime;
}

s32 BPF_STRUCT_OPS(shares_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	remember(p, args->cgroup);
	return 0;
}

/* It is off its run queue: its old group has lost it, and its new one will get it. */
void BPF_STRUCT_OPS(shares_cgroup_move, struct task_struct *p, struct cgroup *from,
		    struct cgroup *to)
{
	remember(p, to);
}

s32 BPF_STRUCT_OPS(shares_cgroup_init, struct cgroup *cgrp, struct scx_cgroup_init_args *args)
{
	struct place *at;
	u32 place;

	at = bpf_cgrp_storage_get(&places, cgrp, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!at)
		return -ENOMEM;
	for (place = 0; place < MOST_GROUPS; place++) {
		if (__sync_val_compare_and_swap(&groups[place].taken, 0, 1))
			continue;
		groups[place].id = cgrp->kn->id;
		groups[place].weight = args->weight;
		groups[place].clock = now_clock;
		groups[place].runnable = 0;
		at->place = place;
		at->known = 1;
		return 0;
	}
	return -ENOSPC;
}

void BPF_STRUCT_OPS(shares_cgroup_exit, struct cgroup *cgrp)
{
	groups[place_of_group(cgrp) & (MOST_GROUPS - 1)].taken = 0;
}

void BPF_STRUCT_OPS(shares_cgroup_set_weight, struct cgroup *cgrp, u32 weight)
{
	groups[place_of_group(cgrp) & (MOST_GROUPS - 1)].weight = weight;
}

s32 BPF_STRUCT_OPS_SLEEPABLE(shares_init)
{
	s32 place, error;

	for (place = 0; place < MOST_GROUPS; place++) {
		error = scx_bpf_create_dsq(place, -1);
		if (error)
			return error;
	}
	return 0;
}

void BPF_STRUCT_OPS(shares_exit, struct scx_exit_info *ei)
{
	UEI_RECORD(uei, ei);
}

SCX_OPS_DEFINE(shares_ops, .select_cpu = (void *)shares_select_cpu,
	       .enqueue = (void *)shares_enqueue, .dispatch = (void *)shares_dispatch,
	       .runnable = (void *)shares_runnable, .quiescent = (void *)shares_quiescent,
	       .stopping = (void *)shares_stopping, .init_task = (void *)shares_init_task,
	       .cgroup_move = (void *)shares_cgroup_move, .cgroup_init = (void *)shares_cgroup_init,
	       .cgroup_exit = (void *)shares_cgroup_exit,
	       .cgroup_set_weight = (void *)shares_cgroup_set_weight, .init = (void *)shares_init,
	       .exit = (void *)shares_exit, .name = "shares");
