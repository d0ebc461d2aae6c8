/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tells what it hears of control groups, which it names by their levels and
 * weights. Lets nobody called "barred" into another group, and of a process
 * called "later" only the first thread. One queue by arrival.
 */
#include <scx/common.bpf.h>

char _license[] SEC("license") = "GPL";

UEI_DEFINE(uei);

#define SHARED 0
#define SLICE (5 * 1000 * 1000ULL)

/* What a group was given tells it from the others. */
struct given {
	u32 weight;
};

struct {
	__uint(type, BPF_MAP_TYPE_CGRP_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct given);
} given SEC(".maps");

static u32 weight_of(struct cgroup *cgrp)
{
	struct given *has = bpf_cgrp_storage_get(&given, cgrp, 0, 0);

	return has ? has->weight : 0;
}

static u32 weight_of_task(struct task_struct *p)
{
	struct cgroup *cgrp = scx_bpf_task_cgroup(p);
	u32 weight = 0;

	if (cgrp) {
		weight = weight_of(cgrp);
		bpf_cgroup_release(cgrp);
	}
	return weight;
}

static bool is_called(struct task_struct *p, const char *name)
{
	u32 place;

	for (place = 0; place < sizeof(p->comm); place++) {
		if (p->comm[place] != name[place])
			return false;
		if (!name[place])
			break;
	}
	return true;
}

static bool is_barred(struct task_struct *p)
{
	return is_called(p, "barred") || (is_called(p, "later") && p->pid != p->tgid);
}

void BPF_STRUCT_OPS(tells_enqueue, struct task_struct *p, u64 enq_flags)
{
	scx_bpf_dsq_insert(p, SHARED, SLICE, enq_flags);
}

void BPF_STRUCT_OPS(tells_dispatch, s32 cpu, struct task_struct *prev)
{
	scx_bpf_dsq_move_to_local(SHARED);
}

s32 BPF_STRUCT_OPS(tells_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	bpf_printk("task %s in %u", p->comm, weight_of(args->cgroup));
	return 0;
}

void BPF_STRUCT_OPS(tells_set_cpumask, struct task_struct *p, const struct cpumask *cpumask)
{
	bpf_printk("cpus %s: %u", p->comm, p->nr_cpus_allowed);
}

s32 BPF_STRUCT_OPS(tells_cgroup_init, struct cgroup *cgrp, struct scx_cgroup_init_args *args)
{
	struct given *has = bpf_cgrp_storage_get(&given, cgrp, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (!has)
		return -ENOMEM;
	has->weight = args->weight;
	bpf_printk("init %d: %u", cgrp->level, args->weight);
	bpf_printk("limit %lld of %llu, burst %llu", args->bw_quota_us, args->bw_period_us,
		   args->bw_burst_us);
	return 0;
}

void BPF_STRUCT_OPS(tells_cgroup_exit, struct cgroup *cgrp)
{
	bpf_printk("exit %d: %u", cgrp->level, weight_of(cgrp));
}

s32 BPF_STRUCT_OPS(tells_cgroup_prep_move, struct task_struct *p, struct cgroup *from,
		   struct cgroup *to)
{
	bpf_printk("prep %s %u to %u", p->comm, weight_of(from), weight_of(to));
	return is_barred(p) ? -EPERM : 0;
}

void BPF_STRUCT_OPS(tells_cgroup_move, struct task_struct *p, struct cgroup *from,
		    struct cgroup *to)
{
	bpf_printk("move %s %u to %u", p->comm, weight_of(from), weight_of(to));
	if (weight_of_task(p) != weight_of(to))
		scx_bpf_error("%s is not where it has moved", p->comm);
}

void BPF_STRUCT_OPS(tells_cgroup_cancel_move, struct task_struct *p, struct cgroup *from,
		    struct cgroup *to)
{
	bpf_printk("cancel %s %u to %u", p->comm, weight_of(from), weight_of(to));
}

void BPF_STRUCT_OPS(tells_cgroup_set_weight, struct cgroup *cgrp, u32 weight)
{
	bpf_printk("weight %d: %u to %u", cgrp->level, weight_of(cgrp), weight);
}

void BPF_STRUCT_OPS(tells_cgroup_set_bandwidth, struct cgroup *cgrp, u64 period_us, u64 quota_us,
		    u64 burst_us)
{
	bpf_printk("limit of %u", weight_of(cgrp));
	bpf_printk("limit %lld of %llu, burst %llu", quota_us, period_us, burst_us);
}

s32 BPF_STRUCT_OPS_SLEEPABLE(tells_init)
{
	return scx_bpf_create_dsq(SHARED, -1);
}

void BPF_STRUCT_OPS(tells_exit, struct scx_exit_info *ei)
{
	UEI_RECORD(uei, ei);
}

SCX_OPS_DEFINE(tells_ops, .enqueue = (void *)tells_enqueue, .dispatch = (void *)tells_dispatch,
	       .init_task = (void *)tells_init_task, .set_cpumask = (void *)tells_set_cpumask,
	       .cgroup_init = (void *)tells_cgroup_init, .cgroup_exit = (void *)tells_cgroup_exit,
	       .cgroup_prep_move = (void *)tells_cgroup_prep_move,
	       .cgroup_move = (void *)tells_cgroup_move,
	       .cgroup_cancel_move = (void *)tells_cgroup_cancel_move,
	       .cgroup_set_weight = (void *)tells_cgroup_set_weight,
	       .cgroup_set_bandwidth = (void *)tells_cgroup_set_bandwidth,
	       .init = (void *)tells_init, .exit = (void *)tells_exit, .name = "tells");
