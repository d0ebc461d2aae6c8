/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * As much of sched_ext as the policies' walks over queues use, in place of
 * include/scx.h, so that a plain program can run their lines. The program
 * defines what is declared here.
 */
#pragma once

#include "types.h"

#define SEC(name)
#undef __always_inline
#define __always_inline inline __attribute__((always_inline))
#undef __noinline
#define __noinline __attribute__((noinline))
#define barrier_var(var) ((void)0)

#define CLOCK_MONOTONIC 1
#define BPF_F_TIMER_CPU_PIN 2
#define EINVAL 22

struct cpumask {
	u64 bits[1];
};

struct sched_ext_entity {
	u64 dsq_vtime;
};

struct task_struct {
	struct sched_ext_entity scx;
	u32 flags, policy;
	s32 pid, nr_cpus_allowed;
	const struct cpumask *cpus_ptr;
	void *storage; /* the value of the policy's one map of tasks */
};

struct scx_init_task_args {
	bool fork;
};

#include "scx_consts.h"

#define SCX_ENQ_PREEMPT (1ULL << 32)
#define SCX_ENQ_LAST (1ULL << 41)

/* Maps: the pointers of the declaration carry types and sizes, never data. */
#define __uint(name, val) int(*name)[val]
#define __type(name, val) typeof(val) *name
#define bpf_task_storage_get(map, p, init, flags) ((typeof((map)->value))(p)->storage)

/* There are no timers here. */
struct bpf_timer {
	u64 __opaque[2];
};
#define bpf_map_lookup_elem(map, key) ((void)(map), (void)(key), NULL)
#define bpf_timer_init(timer, map, clock) ((void)(timer))
#define bpf_timer_set_callback(timer, callback) ((void)(timer), (void)(callback), 0)
#define bpf_timer_start(timer, ns, flags) ((void)(timer), -EINVAL)

static inline void bpf_rcu_read_lock(void)
{
}

static inline void bpf_rcu_read_unlock(void)
{
}

static inline u32 bpf_get_prandom_u32(void)
{
	return 0;
}

static inline u32 bpf_get_smp_processor_id(void)
{
	return 0;
}

static inline bool bpf_cpumask_test_cpu(u32 cpu, const struct cpumask *mask)
{
	return cpu < 64 && mask->bits[0] >> cpu & 1;
}

u64 scx_bpf_now(void);
void scx_bpf_kick_cpu(s32 cpu, u64 flags);
s32 scx_bpf_task_cpu(const struct task_struct *p);
s32 scx_bpf_create_dsq(u64 dsq_id, s32 node);
const struct cpumask *scx_bpf_get_online_cpumask(void);
void scx_bpf_put_cpumask(const struct cpumask *mask);
const struct cpumask *scx_bpf_get_idle_cpumask(void);
const struct cpumask *scx_bpf_get_idle_smtmask(void);
void scx_bpf_put_idle_cpumask(const struct cpumask *mask);
struct task_struct *bpf_get_current_task_btf(void);
void scx_bpf_dsq_insert(struct task_struct *p, u64 dsq_id, u64 slice, u64 enq_flags);
void scx_bpf_dsq_insert_vtime(struct task_struct *p, u64 dsq_id, u64 slice, u64 vtime,
			      u64 enq_flags);

struct bpf_iter_scx_dsq {
	u64 __opaque[6];
};

void bpf_iter_scx_dsq_new(struct bpf_iter_scx_dsq *it, u64 dsq_id, u64 flags);
struct task_struct *bpf_iter_scx_dsq_next(struct bpf_iter_scx_dsq *it);
void scx_bpf_dsq_move_set_vtime(struct bpf_iter_scx_dsq *it, u64 vtime);
bool scx_bpf_dsq_move(struct bpf_iter_scx_dsq *it, struct task_struct *p, u64 dsq_id,
		      u64 enq_flags);
bool scx_bpf_dsq_move_vtime(struct bpf_iter_scx_dsq *it, struct task_struct *p, u64 dsq_id,
			    u64 enq_flags);

#define for_each_queued(it, p, dsq_id)                                          \
	for (struct bpf_iter_scx_dsq it##_iter,                                 \
	     *it = (bpf_iter_scx_dsq_new(&it##_iter, (dsq_id), 0), &it##_iter); \
	     ((p) = bpf_iter_scx_dsq_next(it));)

#define for_range(i, start, end) for ((i) = (start); (i) < (end); (i)++)

/* The machine, which a loader would fill in, is the program's to set. */
#define const
#include "policy.h"
#undef const
