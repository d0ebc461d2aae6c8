/* SPDX-License-Identifier: GPL-2.0-only */
/* Control groups as they come, go and change: each has a place in the arrays of cgroup.bpf.h and bandwidth.bpf.h. */
#pragma once

#include "bandwidth.bpf.h"

STAT(groups_left_out, "control groups that count as the one above them, because there are too "
		      "many");

/* By the number of a control group: its place, or that of a group above it. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 4 * EEVDF_CGROUPS);
	__type(key, u64);
	__type(value, u32);
} cgroup_places SEC(".maps");

/* 0: it is the root, or nothing is known of it. */
static __always_inline u32 place_of(const struct cgroup *cgrp)
{
	u64 id = cgrp->kn->id;
	u32 *place = bpf_map_lookup_elem(&cgroup_places, &id);

	return place ? *place : 0;
}

/* A place of its own, or 0. */
static __always_inline u32 find_place(u64 id)
{
	u32 place;

	for_range(place, 1, EEVDF_CGROUPS)
	{
		if ((place + 1) * nr_cpus > EEVDF_PARTS)
			break;
		if (!__sync_val_compare_and_swap(&cgroup_at(place)->id, 0, id))
			return place;
	}
	return 0;
}

static __always_inline s32 add_cgroup(const struct cgroup *cgrp,
				      const struct scx_cgroup_init_args *args)
{
	const struct cgroup_subsys_state *above = cgrp->self.parent;
	u64 id = cgrp->kn->id;
	u32 place, parent;
	s32 err;

	if (!above)
		return 0;
	parent = place_of(above->cgroup);
	place = find_place(id);
	if (place) {
		cgroup_at(place)->parent = parent;
		cgroup_at(place)->weight = eevdf_cgroup_weight(args->weight);
		init_limit(place);
		if (bpf_core_field_exists(args->bw_quota_us))
			set_limit(place, args->bw_period_us, args->bw_quota_us, args->bw_burst_us);
	} else {
		STAT_INC(groups_left_out);
		place = parent;
	}
	err = bpf_map_update_elem(&cgroup_places, &id, &place, 0);
	if (err && cgroup_at(place)->id == id)
		cgroup_at(place)->id = 0;
	return err;
}

/* Nobody is in it any more. The next group that has the place begins without its load. */
static __always_inline void remove_cgroup(const struct cgroup *cgrp)
{
	u64 id = cgrp->kn->id;
	u32 place = place_of(cgrp);
	struct eevdf_cgroup *g = cgroup_at(place);
	s32 cpu;

	bpf_map_delete_elem(&cgroup_places, &id);
	if (g->id != id)
		return;
	set_limit(place, 1, ~0ULL, 0);
	for_range(cpu, 0, nr_cpus)
	{
		weigh(place, cpu, -part_at(place, cpu)->here.runnable);
		part_at(place, cpu)->here.load = 0;
	}
	g->all.load = 0;
	g->id = 0;
}

static __always_inline void set_cgroup_weight(const struct cgroup *cgrp, u32 cpu_weight)
{
	struct eevdf_cgroup *g = cgroup_at(place_of(cgrp));

	if (g->id == cgrp->kn->id)
		g->weight = eevdf_cgroup_weight(cpu_weight);
}

static __always_inline void set_cgroup_limit(const struct cgroup *cgrp, u64 period_us, u64 quota_us,
					     u64 burst_us)
{
	u32 place = place_of(cgrp);

	if (cgroup_at(place)->id == cgrp->kn->id)
		set_limit(place, period_us, quota_us, burst_us);
}
