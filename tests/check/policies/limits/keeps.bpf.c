/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Keeps cpu.max: each group with a limit has an account, into which a period puts
 * the quota and from which the time of its tasks and of those below it is taken.
 * Below 0 they wait. The planted bugs are made of it: each defines what it does
 * wrong. With DEAF it says nowhere that it hears of limits.
 */
#include <scx/common.bpf.h>

char _license[] SEC("license") = "GPL";

#define READY 0
#define HELD 1
#define SLICE_NS (3 * 1000 * 1000ULL)
#define LOOK_NS (1000 * 1000ULL)
#define NO_LIMIT (~0ULL)
#define DEPTH 8

struct group {
	u64 parent;
	u64 quota_ns; /* 0: no limit */
	u64 period_ns;
	u64 burst_ns;
	u64 begun_ns;
	s64 left_ns;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, u64);
	__type(value, struct group);
} groups SEC(".maps");

struct task_ctx {
	u64 group;
	u64 counted_ns;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct task_ctx);
} tasks SEC(".maps");

struct clock {
	struct bpf_timer timer;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct clock);
} clocks SEC(".maps");

static void fill(struct group *g, u64 now)
{
	u64 periods = (now - g->begun_ns) / g->period_ns;
	s64 most = g->quota_ns + g->burst_ns;

	if (!periods)
		return;
	g->begun_ns += periods * g->period_ns;
	g->left_ns += periods * g->quota_ns;
	if (g->left_ns > most)
		g->left_ns = most;
}

/* Takes what the task ran since the last time from all its groups. True: one of them has nothing left. */
static bool charge(struct task_struct *p)
{
	struct task_ctx *t = bpf_task_storage_get(&tasks, p, 0, 0);
	u64 now = scx_bpf_now(), id, ran;
	bool none = false;
	u32 level;

	if (!t)
		return false;
	id = t->group;
	ran = p->se.sum_exec_runtime - t->counted_ns;
	t->counted_ns = p->se.sum_exec_runtime;
	bpf_for(level, 0, DEPTH) {
		struct group *g = bpf_map_lookup_elem(&groups, &id);

		if (!g)
			break;
		id = g->parent;
		if (!g->quota_ns)
			continue;
		fill(g, now);
		g->left_ns -= ran;
		none |= g->left_ns <= 0;
#ifdef IGNORES_THOSE_ABOVE
		break;
#endif
	}
	return none;
}

static void kick_for(struct task_struct *p)
{
	s32 cpu = scx_bpf_task_cpu(p);

	if (p->nr_cpus_allowed > 1)
		cpu = scx_bpf_pick_idle_cpu(p->cpus_ptr, 0);
	if (cpu >= 0)
		scx_bpf_kick_cpu(cpu, SCX_KICK_IDLE);
}

s32 BPF_STRUCT_OPS(keeps_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	return prev_cpu;
}

#ifdef REFILLS_AT_WAKE_UPS
static void refill(struct task_struct *p)
{
	struct task_ctx *t = bpf_task_storage_get(&tasks, p, 0, 0);
	struct group *g = t ? bpf_map_lookup_elem(&groups, &t->group) : NULL;

	if (g)
		g->left_ns = g->quota_ns;
}
#endif

void BPF_STRUCT_OPS(keeps_enqueue, struct task_struct *p, u64 enq_flags)
{
	u64 since = enq_flags & SCX_ENQ_WAKEUP ? scx_bpf_now() : p->scx.dsq_vtime;
	bool none;

#ifdef REFILLS_AT_WAKE_UPS
	if (enq_flags & SCX_ENQ_WAKEUP)
		refill(p);
#endif
	none = charge(p);
	scx_bpf_dsq_insert_vtime(p, none ? HELD : READY, SLICE_NS, since, enq_flags);
	if (none)
		return;
	if (enq_flags & SCX_ENQ_LAST)
		scx_bpf_kick_cpu(scx_bpf_task_cpu(p), 0);
	else
		kick_for(p);
}

/* Who waits at the head has time left, and so has the one that goes on. */
void BPF_STRUCT_OPS(keeps_dispatch, s32 cpu, struct task_struct *prev)
{
	struct task_struct *p;

	bpf_for_each(scx_dsq, p, READY, 0) {
		if (charge(p))
			scx_bpf_dsq_move_vtime(BPF_FOR_EACH_ITER, p, HELD, 0);
	}
	if (scx_bpf_dsq_move_to_local(READY, 0))
		return;
	if (prev && prev->scx.flags & SCX_TASK_QUEUED && !charge(prev))
		scx_bpf_task_set_slice(prev, SLICE_NS);
}

void BPF_STRUCT_OPS(keeps_tick, struct task_struct *p)
{
	if (charge(p))
		scx_bpf_task_set_slice(p, 0);
}

/* All whose groups have time again are let in. */
static int look(void *map, u32 *key, struct clock *clock)
{
	struct task_struct *p;

	bpf_for_each(scx_dsq, p, HELD, 0) {
		if (!charge(p) && scx_bpf_dsq_move_vtime(BPF_FOR_EACH_ITER, p, READY, 0))
			kick_for(p);
	}
	bpf_timer_start(&clock->timer, LOOK_NS, 0);
	return 0;
}

void BPF_STRUCT_OPS(keeps_stopping, struct task_struct *p, bool runnable)
{
	charge(p);
	scx_bpf_task_set_dsq_vtime(p, scx_bpf_now());
}

void BPF_STRUCT_OPS(keeps_enable, struct task_struct *p)
{
	scx_bpf_task_set_dsq_vtime(p, scx_bpf_now());
}

void BPF_STRUCT_OPS(keeps_cpu_release, s32 cpu, struct scx_cpu_release_args *args)
{
	scx_bpf_reenqueue_local();
}

s32 BPF_STRUCT_OPS_SLEEPABLE(keeps_init_task, struct task_struct *p,
			     struct scx_init_task_args *args)
{
	struct task_ctx *t = bpf_task_storage_get(&tasks, p, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (!t)
		return -ENOMEM;
	t->group = args->cgroup->kn->id;
	t->counted_ns = p->se.sum_exec_runtime;
	return 0;
}

static void set_limit(struct group *g, u64 period_us, u64 quota_us, u64 burst_us)
{
	g->quota_ns = quota_us == NO_LIMIT ? 0 : quota_us * 1000;
	g->period_ns = period_us * 1000;
	g->burst_ns = burst_us * 1000;
	g->begun_ns = scx_bpf_now();
	g->left_ns = g->quota_ns;
}

s32 BPF_STRUCT_OPS_SLEEPABLE(keeps_cgroup_init, struct cgroup *cgrp,
			     struct scx_cgroup_init_args *args)
{
	struct cgroup_subsys_state *above = cgrp->self.parent;
	u64 id = cgrp->kn->id;
	struct group g = { .parent = above ? above->cgroup->kn->id : 0 };

	set_limit(&g, args->bw_period_us, args->bw_quota_us, args->bw_burst_us);
	return bpf_map_update_elem(&groups, &id, &g, 0);
}

void BPF_STRUCT_OPS(keeps_cgroup_exit, struct cgroup *cgrp)
{
	u64 id = cgrp->kn->id;

	bpf_map_delete_elem(&groups, &id);
}

/* What it ran until now it ran in the group that it leaves. No tick finds who is moved in and out often enough. */
void BPF_STRUCT_OPS(keeps_cgroup_move, struct task_struct *p, struct cgroup *from,
		    struct cgroup *to)
{
	struct task_ctx *t = bpf_task_storage_get(&tasks, p, 0, 0);

	if (!t)
		return;
	charge(p);
	t->group = to->kn->id;
	if (charge(p) && scx_bpf_task_running(p))
		scx_bpf_kick_cpu(scx_bpf_task_cpu(p), SCX_KICK_PREEMPT);
}

void BPF_STRUCT_OPS(keeps_cgroup_set_bandwidth, struct cgroup *cgrp, u64 period_us, u64 quota_us,
		    u64 burst_us)
{
	u64 id = cgrp->kn->id;
	struct group *g = bpf_map_lookup_elem(&groups, &id);

	if (g)
		set_limit(g, period_us, quota_us, burst_us);
}

s32 BPF_STRUCT_OPS_SLEEPABLE(keeps_init)
{
	u32 key = 0;
	struct clock *clock = bpf_map_lookup_elem(&clocks, &key);
	s32 err;

	if (!clock)
		return -ENOENT;
	bpf_timer_init(&clock->timer, &clocks, CLOCK_MONOTONIC);
	bpf_timer_set_callback(&clock->timer, look);
	bpf_timer_start(&clock->timer, LOOK_NS, 0);
	err = scx_bpf_create_dsq(READY, -1);
	return err ?: scx_bpf_create_dsq(HELD, -1);
}

/* Without SCX_OPS_ENQ_LAST the kernel lets go on whom nobody follows. */
#ifdef LETS_THE_LAST_GO_ON
#define FLAGS 0
#else
#define FLAGS SCX_OPS_ENQ_LAST
#endif

SCX_OPS_DEFINE(keeps_ops, .select_cpu = (void *)keeps_select_cpu, .enqueue = (void *)keeps_enqueue,
	       .dispatch = (void *)keeps_dispatch, .tick = (void *)keeps_tick,
	       .stopping = (void *)keeps_stopping, .enable = (void *)keeps_enable,
	       .cpu_release = (void *)keeps_cpu_release, .init_task = (void *)keeps_init_task,
	       .cgroup_init = (void *)keeps_cgroup_init, .cgroup_exit = (void *)keeps_cgroup_exit,
	       .cgroup_move = (void *)keeps_cgroup_move,
#ifndef DEAF
	       .cgroup_set_bandwidth = (void *)keeps_cgroup_set_bandwidth,
#endif
	       .init = (void *)keeps_init, .flags = FLAGS, .name = "keeps");
