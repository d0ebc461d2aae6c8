/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The frozen sched_ext subset: everything that a policy here uses, with one
 * spelling for the kernels from 6.12 on and for the simulator's model of one.
 *
 * Types are CO-RE views: only the fields policies read, relocated at load
 * time. Every kfunc that was renamed or added after 6.12 is weak, and one
 * wrapper picks the name that the running kernel has.
 */
#pragma once

#include "types.h"
#include "uapi_integers.h"
#include "scx_consts.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#define CLOCK_MONOTONIC 1
#define BPF_F_TIMER_CPU_PIN 2
#define EINVAL 22
#define ENOMEM 12
#define EBUSY 16
#define EEXIST 17

#ifndef __arg_trusted
/* A pointer to a kernel object that a function of its own gets. */
#define __arg_trusted __attribute__((btf_decl_tag("arg:trusted")))
#endif
#ifndef __ksym
#define __ksym __attribute__((section(".ksyms")))
#endif
#define ksym_exists(sym) (!!(sym))
#ifndef barrier_var
#define barrier_var(var) __asm__ volatile("" : "+r"(var))
#endif

#define __core __attribute__((preserve_access_index))

struct cpumask {
	unsigned long bits[1];
} __core;
typedef struct cpumask cpumask_t;

struct bpf_cpumask {
	cpumask_t cpumask;
} __core;

struct sched_ext_entity {
	u32 weight;
	u32 flags;
	u64 slice;
	u64 dsq_vtime;
} __core;

/* What a SCHED_OTHER or SCHED_BATCH task asked for with sched_setattr's sched_runtime; what it ran so far. */
struct sched_entity {
	unsigned char custom_slice;
	u64 slice;
	u64 sum_exec_runtime;
} __core;

struct mm_struct;

struct task_struct {
	unsigned int flags;
	int prio;
	int static_prio;
	unsigned int rt_priority;
	struct sched_entity se;
	struct sched_ext_entity scx;
	unsigned int policy;
	int nr_cpus_allowed;
	const cpumask_t *cpus_ptr;
	unsigned short migration_disabled;
	int rcu_read_lock_nesting;
	struct mm_struct *mm;
	int exit_state;
	int pid;
	int tgid;
	struct task_struct *real_parent;
	char comm[16];
} __core;

struct kernfs_node {
	u64 id;
} __core;

struct cgroup;

struct cgroup_subsys_state {
	struct cgroup *cgroup;
	struct cgroup_subsys_state *parent;
} __core;

struct cgroup {
	struct cgroup_subsys_state self;
	struct kernfs_node *kn;
	int level;
} __core;

/* `cgroup` where the kernel has control groups for sched_ext, limits since 6.17: ask with bpf_core_field_exists(). */
struct scx_init_task_args {
	bool fork;
	struct cgroup *cgroup;
} __core;

struct scx_cgroup_init_args {
	u32 weight;
	u64 bw_period_us;
	u64 bw_quota_us;
	u64 bw_burst_us;
} __core;

struct scx_exit_task_args {
	bool cancelled;
} __core;

/* The task of a higher class that takes the CPU. */
struct scx_cpu_release_args {
	struct task_struct *task;
} __core;

/* An enum, because CO-RE takes no int for one; its values are scx_exit_kind's of the kernel. */
enum scx_exit_kind {
	SCX_EXIT_NONE,
};

struct scx_exit_info {
	enum scx_exit_kind kind;
	s64 exit_code;
	const char *reason;
	char *msg;
	char *dump;
} __core;

#include "scx_ops.h"

enum scx_enq_flags {
	SCX_ENQ_WAKEUP = 1ULL,
	SCX_ENQ_HEAD = 16ULL,
	SCX_ENQ_CPU_SELECTED = 1024ULL,
	SCX_ENQ_PREEMPT = 1ULL << 32,
	SCX_ENQ_IMMED = 1ULL << 33,
	SCX_ENQ_REENQ = 1ULL << 40,
	SCX_ENQ_LAST = 1ULL << 41,
};

enum scx_deq_flags {
	SCX_DEQ_SLEEP = 1ULL,
	SCX_DEQ_CORE_SCHED_EXEC = 1ULL << 32,
};

enum scx_wake_flags {
	SCX_WAKE_FORK = 4,
	SCX_WAKE_TTWU = 8,
	SCX_WAKE_SYNC = 16,
};

/* Flag values move between kernels; these names are the running kernel's. */
#define SCX_ENQ_WAKEUP bpf_core_enum_value(enum scx_enq_flags, SCX_ENQ_WAKEUP)
#define SCX_ENQ_HEAD bpf_core_enum_value(enum scx_enq_flags, SCX_ENQ_HEAD)
#define SCX_ENQ_PREEMPT bpf_core_enum_value(enum scx_enq_flags, SCX_ENQ_PREEMPT)
#define SCX_ENQ_REENQ bpf_core_enum_value(enum scx_enq_flags, SCX_ENQ_REENQ)
#define SCX_ENQ_LAST bpf_core_enum_value(enum scx_enq_flags, SCX_ENQ_LAST)
#define SCX_DEQ_SLEEP bpf_core_enum_value(enum scx_deq_flags, SCX_DEQ_SLEEP)
#define SCX_WAKE_FORK bpf_core_enum_value(enum scx_wake_flags, SCX_WAKE_FORK)
#define SCX_WAKE_TTWU bpf_core_enum_value(enum scx_wake_flags, SCX_WAKE_TTWU)
#define SCX_WAKE_SYNC bpf_core_enum_value(enum scx_wake_flags, SCX_WAKE_SYNC)

/*
 * Since 7.1, for local DSQs: a task that its CPU cannot run at once, because a
 * higher class has taken it, comes back to ops.enqueue(). Before, it waits there.
 */
#define SCX_ENQ_IMMED                                                     \
	(bpf_core_enum_value_exists(enum scx_enq_flags, SCX_ENQ_IMMED)    \
		 ? bpf_core_enum_value(enum scx_enq_flags, SCX_ENQ_IMMED) \
		 : 0)

/* Before 6.15 select_cpu was never skipped, so a CPU had always been selected. */
#define enq_cpu_selected(enq_flags)                                               \
	(!bpf_core_enum_value_exists(enum scx_enq_flags, SCX_ENQ_CPU_SELECTED) || \
	 ((enq_flags) & bpf_core_enum_value(enum scx_enq_flags, SCX_ENQ_CPU_SELECTED)))

struct bpf_iter_scx_dsq {
	u64 __opaque[6];
} __attribute__((aligned(8)));

struct bpf_iter_num {
	u64 __opaque[1];
} __attribute__((aligned(8)));

struct bpf_timer {
	u64 __opaque[2];
} __attribute__((aligned(8)));

/* kfuncs, as 6.12 had them */
s32 scx_bpf_create_dsq(u64 dsq_id, s32 node) __ksym;
s32 scx_bpf_select_cpu_dfl(struct task_struct *p, s32 prev_cpu, u64 wake_flags,
			   bool *is_idle) __ksym;
void scx_bpf_kick_cpu___v0(s32 cpu, u64 flags) __ksym;
s32 scx_bpf_dsq_nr_queued(u64 dsq_id) __ksym;
void scx_bpf_destroy_dsq(u64 dsq_id) __ksym;
int bpf_iter_scx_dsq_new(struct bpf_iter_scx_dsq *it, u64 dsq_id, u64 flags) __ksym;
struct task_struct *bpf_iter_scx_dsq_next(struct bpf_iter_scx_dsq *it) __ksym;
void bpf_iter_scx_dsq_destroy(struct bpf_iter_scx_dsq *it) __ksym;
int bpf_iter_num_new(struct bpf_iter_num *it, int start, int end) __ksym;
int *bpf_iter_num_next(struct bpf_iter_num *it) __ksym;
void bpf_iter_num_destroy(struct bpf_iter_num *it) __ksym;
void scx_bpf_exit_bstr(s64 exit_code, char *fmt, unsigned long long *data, u32 data__sz) __ksym;
void scx_bpf_error_bstr(char *fmt, unsigned long long *data, u32 data_len) __ksym;
u32 scx_bpf_nr_cpu_ids(void) __ksym;
const struct cpumask *scx_bpf_get_possible_cpumask(void) __ksym;
const struct cpumask *scx_bpf_get_online_cpumask(void) __ksym;
void scx_bpf_put_cpumask(const struct cpumask *cpumask) __ksym;
const struct cpumask *scx_bpf_get_idle_cpumask(void) __ksym;
const struct cpumask *scx_bpf_get_idle_smtmask(void) __ksym;
void scx_bpf_put_idle_cpumask(const struct cpumask *cpumask) __ksym;
bool scx_bpf_test_and_clear_cpu_idle(s32 cpu) __ksym;
s32 scx_bpf_pick_idle_cpu(const cpumask_t *cpus_allowed, u64 flags) __ksym;
s32 scx_bpf_pick_any_cpu(const cpumask_t *cpus_allowed, u64 flags) __ksym;
bool scx_bpf_task_running(const struct task_struct *p) __ksym;
s32 scx_bpf_task_cpu(const struct task_struct *p) __ksym;
struct task_struct *bpf_task_from_pid(s32 pid) __ksym;
void bpf_task_release(struct task_struct *p) __ksym;
bool bpf_cpumask_test_cpu(u32 cpu, const struct cpumask *cpumask) __ksym;
u32 bpf_cpumask_first(const struct cpumask *cpumask) __ksym;
u32 bpf_cpumask_weight(const struct cpumask *cpumask) __ksym;
bool bpf_cpumask_empty(const struct cpumask *cpumask) __ksym;
bool bpf_cpumask_intersects(const struct cpumask *a, const struct cpumask *b) __ksym;
u32 bpf_cpumask_any_distribute(const struct cpumask *cpumask) __ksym;
u32 bpf_cpumask_any_and_distribute(const struct cpumask *a, const struct cpumask *b) __ksym;
void bpf_rcu_read_lock(void) __ksym;
void bpf_rcu_read_unlock(void) __ksym;

/* Names that changed: 6.13 (dispatch -> dsq_insert, consume -> move), 6.19 (bool, packed arguments), 7.1 (flags). */
struct scx_bpf_dsq_insert_vtime_args {
	u64 dsq_id;
	u64 slice;
	u64 vtime;
	u64 enq_flags;
} __core;

bool scx_bpf_dsq_insert___v2(struct task_struct *p, u64 dsq_id, u64 slice,
			     u64 enq_flags) __ksym __weak;
void scx_bpf_dsq_insert___v1(struct task_struct *p, u64 dsq_id, u64 slice,
			     u64 enq_flags) __ksym __weak;
void scx_bpf_dispatch___v0(struct task_struct *p, u64 dsq_id, u64 slice,
			   u64 enq_flags) __ksym __weak;
bool __scx_bpf_dsq_insert_vtime(struct task_struct *p,
				struct scx_bpf_dsq_insert_vtime_args *args) __ksym __weak;
void scx_bpf_dsq_insert_vtime___v1(struct task_struct *p, u64 dsq_id, u64 slice, u64 vtime,
				   u64 enq_flags) __ksym __weak;
void scx_bpf_dispatch_vtime___v0(struct task_struct *p, u64 dsq_id, u64 slice, u64 vtime,
				 u64 enq_flags) __ksym __weak;
bool scx_bpf_dsq_move_to_local___v2(u64 dsq_id, u64 enq_flags) __ksym __weak;
bool scx_bpf_dsq_move_to_local___v1(u64 dsq_id) __ksym __weak;
bool scx_bpf_consume___v0(u64 dsq_id) __ksym __weak;
void scx_bpf_dsq_move_set_slice___v1(struct bpf_iter_scx_dsq *it, u64 slice) __ksym __weak;
void scx_bpf_dsq_move_set_vtime___v1(struct bpf_iter_scx_dsq *it, u64 vtime) __ksym __weak;
bool scx_bpf_dsq_move___v1(struct bpf_iter_scx_dsq *it, struct task_struct *p, u64 dsq_id,
			   u64 enq_flags) __ksym __weak;
bool scx_bpf_dsq_move_vtime___v1(struct bpf_iter_scx_dsq *it, struct task_struct *p, u64 dsq_id,
				 u64 enq_flags) __ksym __weak;
void scx_bpf_dispatch_from_dsq_set_slice___v0(struct bpf_iter_scx_dsq *it, u64 slice) __ksym __weak;
void scx_bpf_dispatch_from_dsq_set_vtime___v0(struct bpf_iter_scx_dsq *it, u64 vtime) __ksym __weak;
bool scx_bpf_dispatch_from_dsq___v0(struct bpf_iter_scx_dsq *it, struct task_struct *p, u64 dsq_id,
				    u64 enq_flags) __ksym __weak;
bool scx_bpf_dispatch_vtime_from_dsq___v0(struct bpf_iter_scx_dsq *it, struct task_struct *p,
					  u64 dsq_id, u64 enq_flags) __ksym __weak;
u64 scx_bpf_now___v1(void) __ksym __weak;
bool scx_bpf_task_set_slice___v1(struct task_struct *p, u64 slice) __ksym __weak;
bool scx_bpf_task_set_dsq_vtime___v1(struct task_struct *p, u64 vtime) __ksym __weak;
u32 scx_bpf_reenqueue_local___v1(void) __ksym __weak;
void scx_bpf_reenqueue_local___v2___void(void) __ksym __weak;

/*
 * A CPU that goes offline still wakes tasks after it has given up its
 * interrupts. What the kernel leaves to an irq_work from there waits for an
 * interrupt that never comes and, as one is raised for the first of a list
 * only, so does all later irq_work of that CPU after it is back: tasks then wait
 * beside idle CPUs, and unloading hangs. Kicks are left to one, and since 7.0
 * timers that are started with interrupts off.
 */
static __always_inline bool has_irq_work(void)
{
	const struct cpumask *online = scx_bpf_get_online_cpumask();
	bool has = bpf_cpumask_test_cpu(bpf_get_smp_processor_id(), online);

	scx_bpf_put_cpumask(online);
	return has;
}

/* No kick is lost that matters: the kernel itself interrupts the CPU on whose runqueue a task wakes up. */
static __always_inline void scx_bpf_kick_cpu(s32 cpu, u64 flags)
{
	if (has_irq_work())
		scx_bpf_kick_cpu___v0(cpu, flags);
}

/* -EBUSY: not from a CPU that goes offline. */
#define bpf_timer_start(timer, ns, flags) \
	(has_irq_work() ? (bpf_timer_start)((timer), (ns), (flags)) : -EBUSY)

/*
 * The kernel stops asking a CPU that goes offline to dispatch, then waits for
 * all RCU readers, and only then calls ops.cpu_offline. A reader that was
 * preempted and may run only there must not be in a queue of the policy's: both
 * would wait for each other. It goes on next, from the CPU's local queue.
 * Running a policy counts as a reader's section of the current task.
 */
static __always_inline bool must_go_on(const struct task_struct *p)
{
	if (p->nr_cpus_allowed > 1 && !p->migration_disabled)
		return false;
	return bpf_core_field_exists(p->rcu_read_lock_nesting) &&
	       p->rcu_read_lock_nesting > (p == bpf_get_current_task_btf());
}

static __always_inline void scx_bpf_dsq_insert(struct task_struct *p, u64 dsq_id, u64 slice,
					       u64 enq_flags)
{
	if (ksym_exists(scx_bpf_dsq_insert___v2))
		scx_bpf_dsq_insert___v2(p, dsq_id, slice, enq_flags);
	else if (ksym_exists(scx_bpf_dsq_insert___v1))
		scx_bpf_dsq_insert___v1(p, dsq_id, slice, enq_flags);
	else
		scx_bpf_dispatch___v0(p, dsq_id, slice, enq_flags);
}

static __always_inline void scx_bpf_dsq_insert_vtime(struct task_struct *p, u64 dsq_id, u64 slice,
						     u64 vtime, u64 enq_flags)
{
	if (must_go_on(p)) {
		scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, slice, enq_flags);
	} else if (bpf_core_type_exists(struct scx_bpf_dsq_insert_vtime_args)) {
		struct scx_bpf_dsq_insert_vtime_args args = {
			.dsq_id = dsq_id,
			.slice = slice,
			.vtime = vtime,
			.enq_flags = enq_flags,
		};

		__scx_bpf_dsq_insert_vtime(p, &args);
	} else if (ksym_exists(scx_bpf_dsq_insert_vtime___v1)) {
		scx_bpf_dsq_insert_vtime___v1(p, dsq_id, slice, vtime, enq_flags);
	} else {
		scx_bpf_dispatch_vtime___v0(p, dsq_id, slice, vtime, enq_flags);
	}
}

static __always_inline bool scx_bpf_dsq_move_to_local(u64 dsq_id)
{
	if (ksym_exists(scx_bpf_dsq_move_to_local___v2))
		return scx_bpf_dsq_move_to_local___v2(dsq_id, 0);
	if (ksym_exists(scx_bpf_dsq_move_to_local___v1))
		return scx_bpf_dsq_move_to_local___v1(dsq_id);
	return scx_bpf_consume___v0(dsq_id);
}

static __always_inline void scx_bpf_dsq_move_set_slice(struct bpf_iter_scx_dsq *it, u64 slice)
{
	if (ksym_exists(scx_bpf_dsq_move_set_slice___v1))
		scx_bpf_dsq_move_set_slice___v1(it, slice);
	else
		scx_bpf_dispatch_from_dsq_set_slice___v0(it, slice);
}

static __always_inline void scx_bpf_dsq_move_set_vtime(struct bpf_iter_scx_dsq *it, u64 vtime)
{
	if (ksym_exists(scx_bpf_dsq_move_set_vtime___v1))
		scx_bpf_dsq_move_set_vtime___v1(it, vtime);
	else
		scx_bpf_dispatch_from_dsq_set_vtime___v0(it, vtime);
}

static __always_inline bool scx_bpf_dsq_move(struct bpf_iter_scx_dsq *it, struct task_struct *p,
					     u64 dsq_id, u64 enq_flags)
{
	if (ksym_exists(scx_bpf_dsq_move___v1))
		return scx_bpf_dsq_move___v1(it, p, dsq_id, enq_flags);
	return scx_bpf_dispatch_from_dsq___v0(it, p, dsq_id, enq_flags);
}

static __always_inline bool scx_bpf_dsq_move_vtime(struct bpf_iter_scx_dsq *it,
						   struct task_struct *p, u64 dsq_id, u64 enq_flags)
{
	if (ksym_exists(scx_bpf_dsq_move_vtime___v1))
		return scx_bpf_dsq_move_vtime___v1(it, p, dsq_id, enq_flags);
	return scx_bpf_dispatch_vtime_from_dsq___v0(it, p, dsq_id, enq_flags);
}

static __always_inline u64 scx_bpf_now(void)
{
	return ksym_exists(scx_bpf_now___v1) ? scx_bpf_now___v1() : bpf_ktime_get_ns();
}

/*
 * In ops.cpu_release: a task that a real-time task preempts stays in the CPU's local
 * queue, where no other CPU looks, unless it is put back. Kernels from 6.19 on advise
 * against the callback and call it all the same.
 */
static __always_inline void scx_bpf_reenqueue_local(void)
{
	if (ksym_exists(scx_bpf_reenqueue_local___v1))
		scx_bpf_reenqueue_local___v1();
	else
		scx_bpf_reenqueue_local___v2___void();
}

static __always_inline void scx_bpf_task_set_slice(struct task_struct *p, u64 slice)
{
	if (ksym_exists(scx_bpf_task_set_slice___v1))
		scx_bpf_task_set_slice___v1(p, slice);
	else
		p->scx.slice = slice;
}

static __always_inline void scx_bpf_task_set_dsq_vtime(struct task_struct *p, u64 vtime)
{
	if (ksym_exists(scx_bpf_task_set_dsq_vtime___v1))
		scx_bpf_task_set_dsq_vtime___v1(p, vtime);
	else
		p->scx.dsq_vtime = vtime;
}

/*
 * Does the running task do this, or an interrupt that came while it ran? Read
 * from x86's preempt count (its serving-softirq, hardirq and NMI bits); where
 * that is not to be had, it is the task.
 */
extern const int __preempt_count __ksym __weak;

static __always_inline bool bpf_in_task(void)
{
	return !ksym_exists(&__preempt_count) ||
	       !(*(const int *)bpf_this_cpu_ptr(&__preempt_count) & 0x00ff0100);
}

/* Walk a queue in order: for_each_queued(it, p, dsq_id) { ... }; `it` serves scx_bpf_dsq_move(). */
#define for_each_queued(it, p, dsq_id)                                                             \
	for (struct bpf_iter_scx_dsq it##_iter __attribute__((cleanup(bpf_iter_scx_dsq_destroy))), \
	     *it = (bpf_iter_scx_dsq_new(&it##_iter, (dsq_id), 0), &it##_iter);                    \
	     ((p) = bpf_iter_scx_dsq_next(it));)

/* for (i = start; i < end; i++) that the verifier need not unroll. */
#define for_range(i, start, end)                                                               \
	for (struct bpf_iter_num i##_it __attribute__((cleanup(bpf_iter_num_destroy))),        \
	     *i##_p                                                                            \
	     __attribute__((unused)) = (bpf_iter_num_new(&i##_it, (start), (end)), (void *)0); \
	     ({                                                                                \
		     int *i##_v = bpf_iter_num_next(&i##_it);                                  \
		     (i##_v ? ((i) = *i##_v, 1) : 0);                                          \
	     });)

/* scx_bpf_error(fmt, u64...): give up with a message; the kernel falls back to its own scheduler. */
#define scx_bpf_error(fmt, args...)                                   \
	({                                                            \
		static char ___fmt[] = fmt;                           \
		unsigned long long ___args[] = { args };              \
		scx_bpf_error_bstr(___fmt, ___args, sizeof(___args)); \
	})
#define scx_bpf_exit(code, fmt, args...)                                     \
	({                                                                   \
		static char ___fmt[] = fmt;                                  \
		unsigned long long ___args[] = { args };                     \
		scx_bpf_exit_bstr((code), ___fmt, ___args, sizeof(___args)); \
	})

#define BPF_STRUCT_OPS(name, args...) SEC("struct_ops/" #name) BPF_PROG(name, ##args)
#define BPF_STRUCT_OPS_SLEEPABLE(name, args...) SEC("struct_ops.s/" #name) BPF_PROG(name, ##args)

#include "policy.h"

/* Why the policy ended, for the loader. */
struct {
	s32 kind;
	s64 exit_code;
	char reason[128];
	char msg[1024];
	char dump[32768];
} exit_info;

void BPF_STRUCT_OPS(record_exit, struct scx_exit_info *ei)
{
	bpf_probe_read_kernel_str(exit_info.reason, sizeof(exit_info.reason), ei->reason);
	bpf_probe_read_kernel_str(exit_info.msg, sizeof(exit_info.msg), ei->msg);
	bpf_probe_read_kernel_str(exit_info.dump, sizeof(exit_info.dump), ei->dump);
	exit_info.exit_code = ei->exit_code;
	__sync_val_compare_and_swap(&exit_info.kind, 0, ei->kind);
}

#define SCX_OPS_DEFINE(ops_name, ...) \
	SEC(".struct_ops.link")       \
	struct sched_ext_ops ops_name = { .exit = (void *)record_exit, __VA_ARGS__ }

char _license[] SEC("license") = "GPL";
