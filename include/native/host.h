/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The simulator's side of the frozen subset: a table of functions and the
 * state that policies read most, mirrored field by field by
 * crates/policy/src/abi.rs. One loaded copy of a policy serves one
 * simulated machine at a time, so the table is a plain global of the policy.
 */
#pragma once

#include "../types.h"

#define SCX_ABI_VERSION 1

struct cpumask {
	u64 bits[1024 / 64];
};

struct sched_ext_entity {
	u64 slice;
	u64 dsq_vtime;
	u32 weight;
	u32 flags;
};

/* What a task asked for with sched_setattr's sched_runtime; what it ran so far, up to its CPU's last callback. */
struct sched_entity {
	u64 slice;
	u64 sum_exec_runtime;
	u8 custom_slice;
};

struct mm_struct;

struct task_struct {
	struct sched_ext_entity scx;
	struct sched_entity se;
	u32 flags;
	s32 prio;
	s32 static_prio;
	u32 rt_priority;
	u32 policy;
	s32 nr_cpus_allowed;
	const struct cpumask *cpus_ptr;
	u16 migration_disabled;
	s32 exit_state;
	s32 pid;
	s32 tgid;
	struct mm_struct *mm; /* NULL: a kernel thread */
	struct task_struct *real_parent;
	/* The policy's storage for this task: the map asked last, and its value. Others through the host. */
	const void *storage_map;
	void *storage;
	char comm[16];
};

struct scx_init_task_args {
	bool fork;
};

struct scx_exit_task_args {
	bool cancelled;
};

struct scx_exit_info {
	s32 kind;
	s64 exit_code;
	const char *reason;
	const char *msg;
};

#include "../scx_ops.h"

struct bpf_timer {
	u64 __opaque[2];
};

/* A queue walk: the host keeps its place here. */
struct bpf_iter_scx_dsq {
	u64 __opaque[6];
};

struct scx_host {
	/* State the policy reads without a call. */
	u64 now_ns;
	u64 cpu; /* the CPU this callback runs on */
	u64 in_task; /* 1: for a task that runs there, 0: in an interrupt */
	u64 nr_cpu_ids;
	struct task_struct *current;
	const struct cpumask *idle;
	const struct cpumask *idle_smt; /* CPUs whose whole core is idle */
	const struct cpumask *online;
	const struct cpumask *possible;
	/* Work done by the policy's code, charged to simulated time. */
	u64 kfuncs;
	u64 steps;

	void *sim;
	s32 (*create_dsq)(void *sim, u64 dsq_id, s32 node);
	void (*destroy_dsq)(void *sim, u64 dsq_id);
	void (*dsq_insert)(void *sim, struct task_struct *p, u64 dsq_id, u64 slice, u64 enq_flags);
	void (*dsq_insert_vtime)(void *sim, struct task_struct *p, u64 dsq_id, u64 slice, u64 vtime,
				 u64 enq_flags);
	bool (*dsq_move_to_local)(void *sim, u64 dsq_id);
	s32 (*dsq_nr_queued)(void *sim, u64 dsq_id);
	s32 (*dsq_iter_new)(void *sim, struct bpf_iter_scx_dsq *it, u64 dsq_id, u64 flags);
	struct task_struct *(*dsq_iter_next)(void *sim, struct bpf_iter_scx_dsq *it);
	void (*dsq_iter_destroy)(void *sim, struct bpf_iter_scx_dsq *it);
	void (*dsq_move_set_slice)(void *sim, struct bpf_iter_scx_dsq *it, u64 slice);
	void (*dsq_move_set_vtime)(void *sim, struct bpf_iter_scx_dsq *it, u64 vtime);
	bool (*dsq_move)(void *sim, struct bpf_iter_scx_dsq *it, struct task_struct *p, u64 dsq_id,
			 u64 enq_flags);
	bool (*dsq_move_vtime)(void *sim, struct bpf_iter_scx_dsq *it, struct task_struct *p,
			       u64 dsq_id, u64 enq_flags);
	void (*kick_cpu)(void *sim, s32 cpu, u64 flags);
	s32 (*select_cpu_dfl)(void *sim, struct task_struct *p, s32 prev_cpu, u64 wake_flags,
			      bool *is_idle);
	s32 (*pick_idle_cpu)(void *sim, const struct cpumask *allowed, u64 flags);
	s32 (*pick_any_cpu)(void *sim, const struct cpumask *allowed, u64 flags);
	bool (*test_and_clear_cpu_idle)(void *sim, s32 cpu);
	s32 (*task_cpu)(void *sim, const struct task_struct *p);
	bool (*task_running)(void *sim, const struct task_struct *p);
	struct task_struct *(*task_from_pid)(void *sim, s32 pid);
	void (*error)(void *sim, const char *msg);
	void (*exit)(void *sim, s64 code, const char *msg);
	void *(*task_storage_get)(void *sim, const void *map, struct task_struct *p, u64 size,
				  u64 flags);
	void (*task_storage_delete)(void *sim, const void *map, struct task_struct *p);
	/* Element `key` of an array map (type 2: one array; type 6: one per CPU, that of `cpu`); NULL past the end. */
	void *(*map_lookup)(void *sim, const void *map, u32 type, u64 value_size, u64 max_entries,
			    u32 key, u32 cpu);
	s64 (*timer_init)(void *sim, struct bpf_timer *timer, const void *map);
	s64 (*timer_set_callback)(void *sim, struct bpf_timer *timer,
				  s32 (*cb)(void *map, s32 *key, void *value));
	s64 (*timer_start)(void *sim, struct bpf_timer *timer, u64 nsecs, u64 flags);
	s64 (*timer_cancel)(void *sim, struct bpf_timer *timer);
};

struct scx_abi {
	u32 version;
	u32 host_size;
	u32 task_size;
	u32 ops_size;
};
