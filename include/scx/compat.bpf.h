/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Calls whose names or arguments changed: whichever of them a source uses, it
 * gets what the running kernel has. Libbpf and the model take what follows three
 * underscores for a part of our name, not of the kernel's.
 */
#pragma once

#include "vmlinux.h"
#include "kfuncs.bpf.h"
#include "say.bpf.h"

#define __COMPAT_ENUM_OR_ZERO(type, name)                   \
	({                                                  \
		type ___value = 0;                          \
		if (bpf_core_enum_value_exists(type, name)) \
			___value = name;                    \
		___value;                                   \
	})

/* 6.19 says whether the task was inserted, 6.13 has the name. */
bool scx_bpf_dsq_insert___v2___bool(struct task_struct *p, u64 dsq_id, u64 slice,
				    u64 enq_flags) __ksym __weak;
void scx_bpf_dsq_insert___void(struct task_struct *p, u64 dsq_id, u64 slice,
			       u64 enq_flags) __ksym __weak;
void scx_bpf_dispatch___612(struct task_struct *p, u64 dsq_id, u64 slice,
			    u64 enq_flags) __ksym __weak;

static inline bool scx_bpf_dsq_insert(struct task_struct *p, u64 dsq_id, u64 slice, u64 enq_flags)
{
	if (bpf_ksym_exists(scx_bpf_dsq_insert___v2___bool))
		return scx_bpf_dsq_insert___v2___bool(p, dsq_id, slice, enq_flags);
	if (bpf_ksym_exists(scx_bpf_dsq_insert___void))
		scx_bpf_dsq_insert___void(p, dsq_id, slice, enq_flags);
	else
		scx_bpf_dispatch___612(p, dsq_id, slice, enq_flags);
	return true;
}

/* 6.19 packs the arguments, 6.13 has the name. */
bool __scx_bpf_dsq_insert_vtime(struct task_struct *p,
				struct scx_bpf_dsq_insert_vtime_args *args) __ksym __weak;
void scx_bpf_dsq_insert_vtime___void(struct task_struct *p, u64 dsq_id, u64 slice, u64 vtime,
				     u64 enq_flags) __ksym __weak;
void scx_bpf_dispatch_vtime___612(struct task_struct *p, u64 dsq_id, u64 slice, u64 vtime,
				  u64 enq_flags) __ksym __weak;

static inline bool scx_bpf_dsq_insert_vtime(struct task_struct *p, u64 dsq_id, u64 slice, u64 vtime,
					    u64 enq_flags)
{
	if (bpf_core_type_exists(struct scx_bpf_dsq_insert_vtime_args)) {
		struct scx_bpf_dsq_insert_vtime_args args = { dsq_id, slice, vtime, enq_flags };

		return __scx_bpf_dsq_insert_vtime(p, &args);
	}
	if (bpf_ksym_exists(scx_bpf_dsq_insert_vtime___void))
		scx_bpf_dsq_insert_vtime___void(p, dsq_id, slice, vtime, enq_flags);
	else
		scx_bpf_dispatch_vtime___612(p, dsq_id, slice, vtime, enq_flags);
	return true;
}

/* 7.1 takes flags, as an argument that older sources leave out; 6.13 has the name. */
bool scx_bpf_dsq_move_to_local___v2___flags(u64 dsq_id, u64 enq_flags) __ksym __weak;
bool scx_bpf_dsq_move_to_local___v1(u64 dsq_id) __ksym __weak;
bool scx_bpf_consume___612(u64 dsq_id) __ksym __weak;

static inline bool __scx_move_to_local2(u64 dsq_id, u64 enq_flags)
{
	if (bpf_ksym_exists(scx_bpf_dsq_move_to_local___v2___flags))
		return scx_bpf_dsq_move_to_local___v2___flags(dsq_id, enq_flags);
	if (bpf_ksym_exists(scx_bpf_dsq_move_to_local___v1))
		return scx_bpf_dsq_move_to_local___v1(dsq_id);
	return scx_bpf_consume___612(dsq_id);
}

static inline bool __scx_move_to_local1(u64 dsq_id)
{
	return __scx_move_to_local2(dsq_id, 0);
}

#define scx_bpf_dsq_move_to_local(args...) \
	___bpf_apply(__scx_move_to_local, ___bpf_narg(args))(args)

/* 6.13 has the names. */
void scx_bpf_dsq_move_set_slice___613(struct bpf_iter_scx_dsq *it, u64 slice) __ksym __weak;
void scx_bpf_dispatch_from_dsq_set_slice___612(struct bpf_iter_scx_dsq *it,
					       u64 slice) __ksym __weak;
void scx_bpf_dsq_move_set_vtime___613(struct bpf_iter_scx_dsq *it, u64 vtime) __ksym __weak;
void scx_bpf_dispatch_from_dsq_set_vtime___612(struct bpf_iter_scx_dsq *it,
					       u64 vtime) __ksym __weak;
bool scx_bpf_dsq_move___613(struct bpf_iter_scx_dsq *it, struct task_struct *p, u64 dsq_id,
			    u64 enq_flags) __ksym __weak;
bool scx_bpf_dispatch_from_dsq___612(struct bpf_iter_scx_dsq *it, struct task_struct *p, u64 dsq_id,
				     u64 enq_flags) __ksym __weak;
bool scx_bpf_dsq_move_vtime___613(struct bpf_iter_scx_dsq *it, struct task_struct *p, u64 dsq_id,
				  u64 enq_flags) __ksym __weak;
bool scx_bpf_dispatch_vtime_from_dsq___612(struct bpf_iter_scx_dsq *it, struct task_struct *p,
					   u64 dsq_id, u64 enq_flags) __ksym __weak;

/* The verifier knows an iterator where it was made, so these are written out in place. */
#define __scx_613_or_612(since, until, args...) (bpf_ksym_exists(since) ? since(args) : until(args))
#define scx_bpf_dsq_move_set_slice(it, slice)              \
	__scx_613_or_612(scx_bpf_dsq_move_set_slice___613, \
			 scx_bpf_dispatch_from_dsq_set_slice___612, it, slice)
#define scx_bpf_dsq_move_set_vtime(it, vtime)              \
	__scx_613_or_612(scx_bpf_dsq_move_set_vtime___613, \
			 scx_bpf_dispatch_from_dsq_set_vtime___612, it, vtime)
#define scx_bpf_dsq_move(it, p, dsq_id, enq_flags)                                               \
	__scx_613_or_612(scx_bpf_dsq_move___613, scx_bpf_dispatch_from_dsq___612, it, p, dsq_id, \
			 enq_flags)
#define scx_bpf_dsq_move_vtime(it, p, dsq_id, enq_flags)                                          \
	__scx_613_or_612(scx_bpf_dsq_move_vtime___613, scx_bpf_dispatch_vtime_from_dsq___612, it, \
			 p, dsq_id, enq_flags)

#define __COMPAT_scx_bpf_dsq_move_set_slice scx_bpf_dsq_move_set_slice
#define __COMPAT_scx_bpf_dsq_move_set_vtime scx_bpf_dsq_move_set_vtime
#define __COMPAT_scx_bpf_dsq_move scx_bpf_dsq_move
#define __COMPAT_scx_bpf_dsq_move_vtime scx_bpf_dsq_move_vtime

/* What 6.12 called them. */
#define scx_bpf_dispatch scx_bpf_dsq_insert
#define scx_bpf_dispatch_vtime scx_bpf_dsq_insert_vtime
#define scx_bpf_consume __scx_move_to_local1
#define scx_bpf_dispatch_from_dsq_set_slice scx_bpf_dsq_move_set_slice
#define scx_bpf_dispatch_from_dsq_set_vtime scx_bpf_dsq_move_set_vtime
#define scx_bpf_dispatch_from_dsq scx_bpf_dsq_move
#define scx_bpf_dispatch_vtime_from_dsq scx_bpf_dsq_move_vtime

/* 6.19 has kfuncs for what was written into the task before. */
bool scx_bpf_task_set_slice___619(struct task_struct *p, u64 slice) __ksym __weak;
bool scx_bpf_task_set_dsq_vtime___619(struct task_struct *p, u64 vtime) __ksym __weak;

static inline void scx_bpf_task_set_slice(struct task_struct *p, u64 slice)
{
	if (bpf_ksym_exists(scx_bpf_task_set_slice___619))
		scx_bpf_task_set_slice___619(p, slice);
	else
		p->scx.slice = slice;
}

static inline void scx_bpf_task_set_dsq_vtime(struct task_struct *p, u64 vtime)
{
	if (bpf_ksym_exists(scx_bpf_task_set_dsq_vtime___619))
		scx_bpf_task_set_dsq_vtime___619(p, vtime);
	else
		p->scx.dsq_vtime = vtime;
}

/* 6.19 packs the arguments, 6.16 brought it. */
s32 scx_bpf_select_cpu_and___616(struct task_struct *p, s32 prev_cpu, u64 wake_flags,
				 const struct cpumask *cpus_allowed, u64 flags) __ksym __weak;

#define __COMPAT_HAS_scx_bpf_select_cpu_and                          \
	(bpf_core_type_exists(struct scx_bpf_select_cpu_and_args) || \
	 bpf_ksym_exists(scx_bpf_select_cpu_and___616))

static inline s32 scx_bpf_select_cpu_and(struct task_struct *p, s32 prev_cpu, u64 wake_flags,
					 const struct cpumask *cpus_allowed, u64 flags)
{
	if (bpf_core_type_exists(struct scx_bpf_select_cpu_and_args)) {
		struct scx_bpf_select_cpu_and_args args = { prev_cpu, wake_flags, flags };

		return __scx_bpf_select_cpu_and(p, cpus_allowed, &args);
	}
	return scx_bpf_select_cpu_and___616(p, prev_cpu, wake_flags, cpus_allowed, flags);
}

/* 6.19's may be called from anywhere and does not count; before, ops.cpu_release alone could call it. */
u32 scx_bpf_reenqueue_local___v1(void) __ksym __weak;
void scx_bpf_reenqueue_local___v2___void(void) __ksym __weak;

static inline bool __COMPAT_scx_bpf_reenqueue_local_from_anywhere(void)
{
	return bpf_ksym_exists(scx_bpf_reenqueue_local___v2___void);
}

static inline u32 scx_bpf_reenqueue_local(void)
{
	if (!__COMPAT_scx_bpf_reenqueue_local_from_anywhere())
		return scx_bpf_reenqueue_local___v1();
	scx_bpf_reenqueue_local___v2___void();
	return 0;
}

static inline int scx_bpf_reenqueue_local_from_anywhere(void)
{
	if (!__COMPAT_scx_bpf_reenqueue_local_from_anywhere())
		return -EOPNOTSUPP;
	scx_bpf_reenqueue_local___v2___void();
	return 0;
}

/* 7.1 reaches all queues. */
void scx_bpf_dsq_reenq___701(u64 dsq_id, u64 reenq_flags) __ksym __weak;

static inline bool __COMPAT_has_generic_reenq(void)
{
	return bpf_ksym_exists(scx_bpf_dsq_reenq___701);
}

static inline void scx_bpf_dsq_reenq(u64 dsq_id, u64 reenq_flags)
{
	if (__COMPAT_has_generic_reenq())
		scx_bpf_dsq_reenq___701(dsq_id, reenq_flags);
	else if (dsq_id == SCX_DSQ_LOCAL && !reenq_flags)
		scx_bpf_reenqueue_local();
	else
		scx_bpf_error("before 7.1 a kernel puts back the tasks of the own local queue "
			      "only");
}

/* 6.14 */
u64 scx_bpf_now___614(void) __ksym __weak;

static inline u64 scx_bpf_now(void)
{
	return bpf_ksym_exists(scx_bpf_now___614) ? scx_bpf_now___614() : bpf_ktime_get_ns();
}

/* A kernel may be built without cgroups. */
struct cgroup *scx_bpf_task_cgroup___any(struct task_struct *p) __ksym __weak;

#define scx_bpf_task_cgroup(p) \
	(bpf_ksym_exists(scx_bpf_task_cgroup___any) ? scx_bpf_task_cgroup___any(p) : NULL)
#define __COMPAT_scx_bpf_task_cgroup(p) scx_bpf_task_cgroup(p)

/* Before 6.15 ops.select_cpu was never skipped, so a CPU had always been selected. */
static inline bool __COMPAT_is_enq_cpu_selected(u64 enq_flags)
{
	return !bpf_core_enum_value_exists(enum scx_enq_flags, SCX_ENQ_CPU_SELECTED) ||
	       enq_flags & bpf_core_enum_value(enum scx_enq_flags, SCX_ENQ_CPU_SELECTED);
}

/* 6.15: nodes and counters */
#define __COMPAT_scx_bpf_nr_node_ids() \
	(bpf_ksym_exists(scx_bpf_nr_node_ids) ? scx_bpf_nr_node_ids() : 1U)
#define __COMPAT_scx_bpf_cpu_node(cpu) \
	(bpf_ksym_exists(scx_bpf_cpu_node) ? scx_bpf_cpu_node(cpu) : 0)
#define __COMPAT_scx_bpf_get_idle_cpumask_node(node)                                          \
	(bpf_ksym_exists(scx_bpf_get_idle_cpumask_node) ? scx_bpf_get_idle_cpumask_node(node) \
							: scx_bpf_get_idle_cpumask())
#define __COMPAT_scx_bpf_get_idle_smtmask_node(node)                                          \
	(bpf_ksym_exists(scx_bpf_get_idle_smtmask_node) ? scx_bpf_get_idle_smtmask_node(node) \
							: scx_bpf_get_idle_smtmask())
#define __COMPAT_scx_bpf_pick_idle_cpu_node(cpus, node, flags)   \
	(bpf_ksym_exists(scx_bpf_pick_idle_cpu_node)             \
		 ? scx_bpf_pick_idle_cpu_node(cpus, node, flags) \
		 : scx_bpf_pick_idle_cpu(cpus, flags))
#define __COMPAT_scx_bpf_pick_any_cpu_node(cpus, node, flags)                                      \
	(bpf_ksym_exists(scx_bpf_pick_any_cpu_node) ? scx_bpf_pick_any_cpu_node(cpus, node, flags) \
						    : scx_bpf_pick_any_cpu(cpus, flags))
#define __COMPAT_scx_bpf_events(events, size) \
	(bpf_ksym_exists(scx_bpf_events) ? scx_bpf_events(events, size) : (void)0)
#define __COMPAT_bpf_cpumask_populate(to, from, size) \
	(bpf_ksym_exists(bpf_cpumask_populate) ? bpf_cpumask_populate(to, from, size) : -EOPNOTSUPP)

/* 6.18 */
static inline struct task_struct *__COMPAT_scx_bpf_cpu_curr(int cpu)
{
	struct rq *rq;

	if (bpf_ksym_exists(scx_bpf_cpu_curr))
		return scx_bpf_cpu_curr(cpu);
	rq = scx_bpf_cpu_rq(cpu);
	return rq ? rq->curr : NULL;
}

/* 6.19; the task that it gave might be gone before 7.1. */
static inline struct task_struct *__COMPAT_scx_bpf_dsq_peek(u64 dsq_id)
{
	struct bpf_iter_scx_dsq it;
	struct task_struct *first = NULL;

	if (bpf_ksym_exists(scx_bpf_dsq_peek) && LINUX_KERNEL_VERSION >= KERNEL_VERSION(7, 1, 0))
		return scx_bpf_dsq_peek(dsq_id);
	if (!bpf_iter_scx_dsq_new(&it, dsq_id, 0))
		first = bpf_iter_scx_dsq_next(&it);
	bpf_iter_scx_dsq_destroy(&it);
	return first;
}
