/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The frozen sched_ext subset, simulator side: the twin of include/bpf/scx.h.
 * A policy's source compiles against either without knowing which.
 *
 * What is not here does not exist: a policy that calls another kfunc fails to
 * link, and is refused with that kfunc's name.
 */
#pragma once

#include <stdio.h>

#include "host.h"

typedef struct cpumask cpumask_t;

#define SEC(name)
#define __ksym
#define __weak __attribute__((weak))
#undef __always_inline
#define __always_inline inline __attribute__((always_inline))
#undef __noinline
#define __noinline __attribute__((noinline))
#define __hidden __attribute__((visibility("hidden")))
#define barrier_var(var) ((void)0)
#define barrier() __asm__ volatile("" ::: "memory")
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#define CLOCK_MONOTONIC 1
#define BPF_F_TIMER_CPU_PIN 2
#define EINVAL 22
#define ENOMEM 12
#define EBUSY 16
#define EEXIST 17

#include "../scx_consts.h"

/* As Linux 7.2 has them. */
#define SCX_ENQ_WAKEUP 1ULL
#define SCX_ENQ_HEAD (1ULL << 16)
#define SCX_ENQ_CPU_SELECTED (1ULL << 20)
#define SCX_ENQ_PREEMPT (1ULL << 32)
#define SCX_ENQ_REENQ (1ULL << 40)
#define SCX_ENQ_LAST (1ULL << 41)
#define SCX_DEQ_SLEEP 1ULL
#define SCX_DEQ_CORE_SCHED_EXEC (1ULL << 32)
#define SCX_WAKE_FORK 4ULL
#define SCX_WAKE_TTWU 8ULL
#define SCX_WAKE_SYNC 16ULL
#define enq_cpu_selected(enq_flags) (!!((enq_flags) & SCX_ENQ_CPU_SELECTED))

struct scx_host *__scx_host;

#define __call(fn, args...) (__scx_host->kfuncs++, __scx_host->fn(__scx_host->sim, ##args))
#define __read(field) (__scx_host->kfuncs++, __scx_host->field)

/* kfuncs */
#define scx_bpf_create_dsq(id, node) __call(create_dsq, id, node)
#define scx_bpf_destroy_dsq(id) __call(destroy_dsq, id)
#define scx_bpf_dsq_insert(p, id, slice, flags) __call(dsq_insert, p, id, slice, flags)
#define scx_bpf_dsq_insert_vtime(p, id, slice, vtime, flags) \
	__call(dsq_insert_vtime, p, id, slice, vtime, flags)
#define scx_bpf_dsq_move_to_local(id) __call(dsq_move_to_local, id)
#define scx_bpf_dsq_nr_queued(id) __call(dsq_nr_queued, id)
#define scx_bpf_dsq_move_set_slice(it, slice) __call(dsq_move_set_slice, it, slice)
#define scx_bpf_dsq_move_set_vtime(it, vtime) __call(dsq_move_set_vtime, it, vtime)
#define scx_bpf_dsq_move(it, p, id, flags) __call(dsq_move, it, p, id, flags)
#define scx_bpf_dsq_move_vtime(it, p, id, flags) __call(dsq_move_vtime, it, p, id, flags)
#define scx_bpf_kick_cpu(cpu, flags) __call(kick_cpu, cpu, flags)
#define scx_bpf_select_cpu_dfl(p, prev, flags, idle) __call(select_cpu_dfl, p, prev, flags, idle)
#define scx_bpf_pick_idle_cpu(mask, flags) __call(pick_idle_cpu, mask, flags)
#define scx_bpf_pick_any_cpu(mask, flags) __call(pick_any_cpu, mask, flags)
#define scx_bpf_test_and_clear_cpu_idle(cpu) __call(test_and_clear_cpu_idle, cpu)
#define scx_bpf_task_cpu(p) __call(task_cpu, p)
#define scx_bpf_task_running(p) __call(task_running, p)
#define bpf_task_from_pid(pid) __call(task_from_pid, pid)
#define bpf_task_release(p) ((void)(p))
#define scx_bpf_now() __read(now_ns)
#define bpf_ktime_get_ns() __read(now_ns)
#define scx_bpf_nr_cpu_ids() ((u32)__read(nr_cpu_ids))
#define scx_bpf_get_possible_cpumask() __read(possible)
#define scx_bpf_get_online_cpumask() __read(online)
#define scx_bpf_put_cpumask(mask) ((void)(mask))
#define scx_bpf_get_idle_cpumask() __read(idle)
#define scx_bpf_get_idle_smtmask() __read(idle_smt)
#define scx_bpf_put_idle_cpumask(mask) ((void)(mask))
#define scx_bpf_task_set_slice(p, ns) ((void)((p)->scx.slice = (ns)))
#define scx_bpf_task_set_dsq_vtime(p, v) ((void)((p)->scx.dsq_vtime = (v)))

/* BPF helpers */
#define bpf_get_smp_processor_id() ((u32)__scx_host->cpu)
#define bpf_get_current_task_btf() __read(current)
#define bpf_in_task() (!!__scx_host->in_task)
#define bpf_rcu_read_lock() ((void)0)
#define bpf_rcu_read_unlock() ((void)0)

#define scx_bpf_error(fmt, args...)                            \
	({                                                     \
		char ___msg[256];                              \
		snprintf(___msg, sizeof(___msg), fmt, ##args); \
		__call(error, ___msg);                         \
	})
#define scx_bpf_exit(code, fmt, args...)                       \
	({                                                     \
		char ___msg[256];                              \
		snprintf(___msg, sizeof(___msg), fmt, ##args); \
		__call(exit, code, ___msg);                    \
	})

/* Maps: the declaration's pointers carry types and sizes, never data. */
#define __uint(name, val) int(*name)[val]
#define __type(name, val) typeof(val) *name
#define __map_type(map) (sizeof(*(map)->type) / sizeof(int))
#define __map_max(map) (sizeof(*(map)->max_entries) / sizeof(int))
#define bpf_map_lookup_elem(map, key)                                                          \
	((typeof((map)->value))__call(map_lookup, map, __map_type(map), sizeof(*(map)->value), \
				      __map_max(map), *(const u32 *)(key), (u32)__scx_host->cpu))
#define bpf_map_lookup_percpu_elem(map, key, cpu_id)                                           \
	((typeof((map)->value))__call(map_lookup, map, __map_type(map), sizeof(*(map)->value), \
				      __map_max(map), *(const u32 *)(key), (u32)(cpu_id)))

static __always_inline void *__task_storage_get(const void *map, struct task_struct *p, u64 size,
						u64 flags)
{
	__scx_host->kfuncs++;
	if (p->storage_map == map)
		return p->storage;
	return __scx_host->task_storage_get(__scx_host->sim, map, p, size, flags);
}

#define bpf_task_storage_get(map, p, init, flags) \
	((typeof((map)->value))__task_storage_get(map, p, sizeof(*(map)->value), flags))
#define bpf_task_storage_delete(map, p) __call(task_storage_delete, map, p)

#define bpf_timer_init(timer, map, clock) __call(timer_init, timer, map)
#define bpf_timer_set_callback(timer, cb) \
	__call(timer_set_callback, timer, (s32(*)(void *, s32 *, void *))(cb))
#define bpf_timer_start(timer, ns, flags) __call(timer_start, timer, ns, flags)
#define bpf_timer_cancel(timer) __call(timer_cancel, timer)

/* CPU masks */
static inline bool bpf_cpumask_test_cpu(u32 cpu, const struct cpumask *mask)
{
	__scx_host->kfuncs++;
	return cpu < 1024 && (mask->bits[cpu / 64] >> (cpu % 64) & 1);
}

static inline u32 bpf_cpumask_first(const struct cpumask *mask)
{
	__scx_host->kfuncs++;
	for (u32 word = 0; word * 64 < __scx_host->nr_cpu_ids; word++)
		if (mask->bits[word])
			return word * 64 + __builtin_ctzll(mask->bits[word]);
	return __scx_host->nr_cpu_ids;
}

static inline u32 bpf_cpumask_weight(const struct cpumask *mask)
{
	u32 weight = 0;

	__scx_host->kfuncs++;
	for (u32 word = 0; word * 64 < __scx_host->nr_cpu_ids; word++)
		weight += __builtin_popcountll(mask->bits[word]);
	return weight;
}

static inline bool bpf_cpumask_empty(const struct cpumask *mask)
{
	return bpf_cpumask_first(mask) >= __scx_host->nr_cpu_ids;
}

static inline bool bpf_cpumask_intersects(const struct cpumask *a, const struct cpumask *b)
{
	__scx_host->kfuncs++;
	for (u32 word = 0; word * 64 < __scx_host->nr_cpu_ids; word++)
		if (a->bits[word] & b->bits[word])
			return true;
	return false;
}

/* The kernel takes turns here; a simulated machine always takes the first. */
static inline u32 bpf_cpumask_any_distribute(const struct cpumask *mask)
{
	return bpf_cpumask_first(mask);
}

static inline u32 bpf_cpumask_any_and_distribute(const struct cpumask *a, const struct cpumask *b)
{
	__scx_host->kfuncs++;
	for (u32 word = 0; word * 64 < __scx_host->nr_cpu_ids; word++)
		if (a->bits[word] & b->bits[word])
			return word * 64 + __builtin_ctzll(a->bits[word] & b->bits[word]);
	return __scx_host->nr_cpu_ids;
}

/* Walks and loops: every step is counted as the policy's work. */
static inline struct task_struct *__dsq_iter_next(struct bpf_iter_scx_dsq *it)
{
	__scx_host->steps++;
	return __scx_host->dsq_iter_next(__scx_host->sim, it);
}

static inline void __dsq_iter_destroy(struct bpf_iter_scx_dsq *it)
{
	__scx_host->dsq_iter_destroy(__scx_host->sim, it);
}

#define for_each_queued(it, p, dsq_id)                                                       \
	for (struct bpf_iter_scx_dsq it##_iter __attribute__((cleanup(__dsq_iter_destroy))), \
	     *it = (__call(dsq_iter_new, &it##_iter, (dsq_id), 0), &it##_iter);              \
	     ((p) = __dsq_iter_next(it));)

#define for_range(i, start, end) for ((i) = (start); (i) < (end) && ++__scx_host->steps; (i)++)

#define BPF_STRUCT_OPS(name, args...) name(args)
#define BPF_STRUCT_OPS_SLEEPABLE(name, args...) name(args)

#include "../policy.h"

#define SCX_OPS_DEFINE(ops_name, ...)                    \
	struct sched_ext_ops ops_name = { __VA_ARGS__ }; \
	struct sched_ext_ops *const __scx_ops = &ops_name

const struct scx_abi __scx_abi = {
	.version = SCX_ABI_VERSION,
	.host_size = sizeof(struct scx_host),
	.task_size = sizeof(struct task_struct),
	.ops_size = sizeof(struct sched_ext_ops),
};
