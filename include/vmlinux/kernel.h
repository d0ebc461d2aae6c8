/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel's structures, as far as schedulers look into them. */
#pragma once

#include "../integers.h"

typedef unsigned long size_t;
typedef long ssize_t;
typedef int pid_t;
typedef unsigned long uintptr_t;
typedef s64 ktime_t;

typedef struct {
	int counter;
} atomic_t;

typedef struct {
	s64 counter;
} atomic64_t;

typedef atomic64_t atomic_long_t;

typedef struct refcount_struct {
	atomic_t refs;
} refcount_t;

/* A page's size has no other name in a kernel's BTF. */
enum page_size_enum {
	__PAGE_SIZE = 4096,
};

/* The length of a task's name, with the NUL at its end. */
enum {
	TASK_COMM_LEN = 16,
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct list_head {
	struct list_head *next;
	struct list_head *prev;
};

struct hlist_node {
	struct hlist_node *next;
	struct hlist_node **pprev;
};

struct rb_node {
	unsigned long __rb_parent_color;
	struct rb_node *rb_right;
	struct rb_node *rb_left;
};

struct cpumask {
	unsigned long bits[128];
};
typedef struct cpumask cpumask_t;

struct bpf_cpumask {
	cpumask_t cpumask;
	refcount_t usage;
};

typedef struct {
	unsigned long bits[16];
} nodemask_t;

/* Modes of a mempolicy. */
enum {
	MPOL_DEFAULT,
	MPOL_PREFERRED,
	MPOL_BIND,
	MPOL_INTERLEAVE,
	MPOL_LOCAL,
	MPOL_PREFERRED_MANY,
	MPOL_WEIGHTED_INTERLEAVE,
	MPOL_MAX,
};

struct mempolicy {
	unsigned short mode;
	unsigned short flags;
	nodemask_t nodes;
	int home_node;
};

struct kernfs_node {
	struct kernfs_node *parent;
	const char *name;
	u64 id;
};

struct cgroup_subsys_state {
	struct cgroup *cgroup;
	struct cgroup_subsys_state *parent;
	int id;
	unsigned int flags;
	u64 serial_nr;
};

struct cgroup {
	struct cgroup_subsys_state self;
	unsigned long flags;
	int level;
	int max_depth;
	int nr_descendants;
	struct kernfs_node *kn;
	struct cgroup *ancestors[];
};

struct css_set {
	struct cgroup *dfl_cgrp;
};

struct task_group {
	struct cgroup_subsys_state css;
};

struct load_weight {
	unsigned long weight;
	u32 inv_weight;
};

struct sched_avg {
	u64 last_update_time;
	u64 load_sum;
	u64 runnable_sum;
	u32 util_sum;
	unsigned long load_avg;
	unsigned long runnable_avg;
	unsigned long util_avg;
	unsigned int util_est;
};

struct sched_entity {
	struct load_weight load;
	u64 deadline;
	u64 min_vruntime;
	unsigned char on_rq;
	unsigned char sched_delayed;
	unsigned char custom_slice;
	u64 exec_start;
	u64 sum_exec_runtime;
	u64 prev_sum_exec_runtime;
	u64 vruntime;
	s64 vlag;
	u64 slice;
	u64 nr_migrations;
	struct sched_avg avg;
};

struct sched_statistics {
	u64 wait_start;
	u64 wait_max;
	u64 wait_count;
	u64 wait_sum;
	u64 nr_migrations_cold;
	u64 nr_forced_migrations;
	u64 nr_wakeups;
	u64 nr_wakeups_sync;
	u64 nr_wakeups_migrate;
	u64 nr_wakeups_local;
	u64 nr_wakeups_remote;
	u64 nr_wakeups_affine;
};

struct sched_info {
	unsigned long pcount;
	unsigned long long run_delay;
	unsigned long long last_arrival;
	unsigned long long last_queued;
};

struct scx_dsq_list_node {
	struct list_head node;
	u32 flags;
	u32 priv;
};

struct scx_dispatch_q {
	u32 nr;
	u32 seq;
	u64 id;
};

struct sched_ext_entity {
	struct scx_dispatch_q *dsq;
	u32 flags;
	u32 weight;
	s32 sticky_cpu;
	s32 holding_cpu;
	s32 selected_cpu;
	struct task_struct *kf_tasks[2];
	atomic_long_t ops_state;
	unsigned long runnable_at;
	u64 core_sched_at;
	u64 ddsp_dsq_id;
	u64 ddsp_enq_flags;
	u64 slice;
	u64 dsq_vtime;
	bool disallow;
};

struct sched_class;
struct files_struct;
struct fs_struct;
struct sighand_struct;

struct mm_struct {
	atomic_t mm_users;
	struct task_struct *owner;
};

struct user_namespace {
	int level;
};

typedef struct {
	u32 val;
} kuid_t;

typedef struct {
	u32 val;
} kgid_t;

struct cred {
	kuid_t uid;
	kgid_t gid;
	kuid_t euid;
	kgid_t egid;
	struct user_namespace *user_ns;
};

struct signal_struct {
	int nr_threads;
	struct list_head thread_head;
	struct task_struct *group_exec_task;
};

struct thread_info {
	unsigned long flags;
	u32 cpu;
};

struct task_struct {
	struct thread_info thread_info;
	unsigned int __state;
	refcount_t usage;
	unsigned int flags;
	int on_cpu;
	unsigned int wakee_flips;
	unsigned long wakee_flip_decay_ts;
	struct task_struct *last_wakee;
	int recent_used_cpu;
	int wake_cpu;
	int on_rq;
	int prio;
	int static_prio;
	int normal_prio;
	unsigned int rt_priority;
	struct sched_entity se;
	struct sched_ext_entity scx;
	const struct sched_class *sched_class;
	struct task_group *sched_task_group;
	struct sched_statistics stats;
	unsigned int policy;
	unsigned long max_allowed_capacity;
	int nr_cpus_allowed;
	const cpumask_t *cpus_ptr;
	cpumask_t *user_cpus_ptr;
	cpumask_t cpus_mask;
	unsigned short migration_disabled;
	unsigned short migration_flags;
	int rcu_read_lock_nesting;
	struct sched_info sched_info;
	struct list_head tasks;
	struct mm_struct *mm;
	struct mm_struct *active_mm;
	int exit_state;
	int exit_code;
	unsigned in_execve : 1;
	unsigned in_iowait : 1;
	pid_t pid;
	pid_t tgid;
	struct task_struct *real_parent;
	struct task_struct *parent;
	struct list_head children;
	struct list_head sibling;
	struct task_struct *group_leader;
	struct list_head thread_node;
	u64 utime;
	u64 stime;
	u64 gtime;
	unsigned long nvcsw;
	unsigned long nivcsw;
	u64 start_time;
	u64 start_boottime;
	const struct cred *real_cred;
	const struct cred *cred;
	char comm[TASK_COMM_LEN];
	struct fs_struct *fs;
	struct files_struct *files;
	struct signal_struct *signal;
	struct sighand_struct *sighand;
	struct mempolicy *mempolicy;
	int numa_preferred_nid;
	struct css_set *cgroups;
};

struct cfs_rq {
	struct load_weight load;
	unsigned int nr_queued;
	unsigned int h_nr_queued;
	u64 min_vruntime;
};

struct rt_rq {
	unsigned int rt_nr_running;
};

struct dl_rq {
	unsigned int dl_nr_running;
};

struct scx_rq {
	u32 nr_running;
	u32 cpuperf_target;
	u32 flags;
	bool cpu_released;
};

struct rq {
	unsigned int nr_running;
	u64 nr_switches;
	struct cfs_rq cfs;
	struct rt_rq rt;
	struct dl_rq dl;
	struct scx_rq scx;
	struct task_struct *curr;
	struct task_struct *idle;
	struct task_struct *stop;
	u64 clock;
	u64 clock_task;
	u64 clock_pelt;
	unsigned long lost_idle_time;
	u64 prev_irq_time;
	u64 prev_steal_time_rq;
	unsigned long cpu_capacity;
	int cpu;
	int online;
};

struct kernel_cpustat {
	u64 cpustat[11];
};

enum cpu_usage_stat {
	CPUTIME_USER,
	CPUTIME_NICE,
	CPUTIME_SYSTEM,
	CPUTIME_SOFTIRQ,
	CPUTIME_IRQ,
	CPUTIME_IDLE,
	CPUTIME_IOWAIT,
	CPUTIME_STEAL,
	CPUTIME_GUEST,
	CPUTIME_GUEST_NICE,
	NR_STATS,
};

#pragma clang attribute pop
