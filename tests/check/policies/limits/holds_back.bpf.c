/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Heeds cpu.max in the crudest way: a task of a control group with a limit waits
 * for the next period of its own, beside whatever CPU is idle. With DEAF it says
 * nowhere that it hears of limits.
 */
#include <scx/common.bpf.h>

char _license[] SEC("license") = "GPL";

#define READY 0
#define HELD 1
#define SLICE_NS (3 * 1000 * 1000ULL)
#define PERIOD_NS (300 * 1000 * 1000ULL)
#define NO_LIMIT (~0ULL)

struct group_ctx {
	u64 quota_us;
};

struct {
	__uint(type, BPF_MAP_TYPE_CGRP_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct group_ctx);
} groups SEC(".maps");

struct clock {
	struct bpf_timer timer;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct clock);
} clocks SEC(".maps");

static bool is_limited(struct task_struct *p)
{
	struct cgroup *cgrp = scx_bpf_task_cgroup(p);
	struct group_ctx *g;
	bool limited = false;

	if (!cgrp)
		return false;
	g = bpf_cgrp_storage_get(&groups, cgrp, 0, 0);
	if (g)
		limited = g->quota_us != NO_LIMIT;
	bpf_cgroup_release(cgrp);
	return limited;
}

static void kick_for(struct task_struct *p)
{
	s32 cpu = scx_bpf_task_cpu(p);

	if (p->nr_cpus_allowed > 1)
		cpu = scx_bpf_pick_idle_cpu(p->cpus_ptr, 0);
	if (cpu >= 0)
		scx_bpf_kick_cpu(cpu, SCX_KICK_IDLE);
}

s32 BPF_STRUCT_OPS(holds_back_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	return prev_cpu;
}

void BPF_STRUCT_OPS(holds_back_enqueue, struct task_struct *p, u64 enq_flags)
{
	u64 since = enq_flags & SCX_ENQ_WAKEUP ? scx_bpf_now() : p->scx.dsq_vtime;
	bool limited = is_limited(p);

	scx_bpf_dsq_insert_vtime(p, limited ? HELD : READY, SLICE_NS, since, enq_flags);
	if (!limited)
		kick_for(p);
}

void BPF_STRUCT_OPS(holds_back_dispatch, s32 cpu, struct task_struct *prev)
{
	scx_bpf_dsq_move_to_local(READY, 0);
}

/* All who were held back are in time again. */
static int next_period(void *map, u32 *key, struct clock *clock)
{
	struct task_struct *p;

	bpf_for_each(scx_dsq, p, HELD, 0) {
		if (scx_bpf_dsq_move_vtime(BPF_FOR_EACH_ITER, p, READY, 0))
			kick_for(p);
	}
	bpf_timer_start(&clock->timer, PERIOD_NS, 0);
	return 0;
}

void BPF_STRUCT_OPS(holds_back_stopping, struct task_struct *p, bool runnable)
{
	scx_bpf_task_set_dsq_vtime(p, scx_bpf_now());
}

void BPF_STRUCT_OPS(holds_back_enable, struct task_struct *p)
{
	scx_bpf_task_set_dsq_vtime(p, scx_bpf_now());
}

void BPF_STRUCT_OPS(holds_back_cpu_release, s32 cpu, struct scx_cpu_release_args *args)
{
	scx_bpf_reenqueue_local();
}

s32 BPF_STRUCT_OPS_SLEEPABLE(holds_back_cgroup_init, struct cgroup *cgrp,
			     struct scx_cgroup_init_args *args)
{
	struct group_ctx *g;

	g = bpf_cgrp_storage_get(&groups, cgrp, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!g)
		return -ENOMEM;
	g->quota_us = args->bw_quota_us;
	return 0;
}

void BPF_STRUCT_OPS(holds_back_cgroup_set_bandwidth, struct cgroup *cgrp, u64 period_us,
		    u64 quota_us, u64 burst_us)
{
	struct group_ctx *g = bpf_cgrp_storage_get(&groups, cgrp, 0, 0);

	if (g)
		g->quota_us = quota_us;
}

s32 BPF_STRUCT_OPS_SLEEPABLE(holds_back_init)
{
	u32 key = 0;
	struct clock *clock = bpf_map_lookup_elem(&clocks, &key);
	s32 err;

	if (!clock)
		return -ENOENT;
	bpf_timer_init(&clock->timer, &clocks, CLOCK_MONOTONIC);
	bpf_timer_set_callback(&clock->timer, next_period);
	bpf_timer_start(&clock->timer, PERIOD_NS, 0);
	err = scx_bpf_create_dsq(READY, -1);
	return err ?: scx_bpf_create_dsq(HELD, -1);
}

SCX_OPS_DEFINE(holds_back_ops, .select_cpu = (void *)holds_back_select_cpu,
	       .enqueue = (void *)holds_back_enqueue, .dispatch = (void *)holds_back_dispatch,
	       .stopping = (void *)holds_back_stopping, .enable = (void *)holds_back_enable,
	       .cpu_release = (void *)holds_back_cpu_release,
	       .cgroup_init = (void *)holds_back_cgroup_init,
#ifndef DEAF
	       .cgroup_set_bandwidth = (void *)holds_back_cgroup_set_bandwidth,
#endif
	       .init = (void *)holds_back_init, .name = "holds_back");
