/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tasks wait in the local queues of their CPUs. When a real-time task takes a CPU, those that wait there go to a shared
 * queue, where other CPUs find them. Says itself when a CPU's comings and goings do not take turns.
 */
/* The header's have no members that policies of the tree do without. */
#define sched_ext_ops sched_ext_ops_of_the_header
#define scx_cpu_release_args scx_cpu_release_args_of_the_header
#include <scx.h>
#undef sched_ext_ops
#undef scx_cpu_release_args

#define SHARED 0
#define SLICE (5 * NSEC_PER_MSEC)

enum scx_cpu_preempt_reason {
	SCX_CPU_PREEMPT_RT,
};

struct scx_cpu_acquire_args {
};

struct scx_cpu_release_args {
	enum scx_cpu_preempt_reason reason;
	struct task_struct *task;
} __core;

u32 scx_bpf_reenqueue_local___v1(void) __ksym;

STAT(releases, "a higher class took a CPU");
STAT(acquires, "a CPU came back");
STAT(reenqueues, "tasks came out of a local queue");

static bool away[MAX_CPUS];
static u32 coming[MAX_CPUS];

void BPF_STRUCT_OPS(released_enqueue, struct task_struct *p, u64 enq_flags)
{
	u32 cpu = cpu_index(bpf_get_smp_processor_id());

	if (!(enq_flags & SCX_ENQ_REENQ)) {
		scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, SLICE, enq_flags);
		return;
	}
	STAT_INC(reenqueues);
	coming[cpu]++;
	scx_bpf_dsq_insert(p, SHARED, SLICE, enq_flags);
}

void BPF_STRUCT_OPS(released_dispatch, s32 cpu, struct task_struct *prev)
{
	scx_bpf_dsq_move_to_local(SHARED);
}

void BPF_STRUCT_OPS(released_running, struct task_struct *p)
{
	if (away[cpu_index(scx_bpf_task_cpu(p))])
		scx_bpf_error("a task runs on a CPU that is away");
}

void BPF_STRUCT_OPS(released_cpu_release, s32 cpu, struct scx_cpu_release_args *args)
{
	u32 index = cpu_index(cpu), came, said;

	if (away[index])
		scx_bpf_error("released twice");
	away[index] = true;
	if (args->reason == bpf_core_enum_value(enum scx_cpu_preempt_reason, SCX_CPU_PREEMPT_RT)) {
		if (args->task->prio >= 100)
			scx_bpf_error("released to priority %llu", args->task->prio);
		STAT_INC(releases);
	}
	came = coming[index];
	said = scx_bpf_reenqueue_local___v1();
	/* The kernel keeps tasks that exit or may not migrate to itself. */
	if (coming[index] - came > said)
		scx_bpf_error("%llu tasks came, not %llu", coming[index] - came, said);
}

void BPF_STRUCT_OPS(released_cpu_acquire, s32 cpu, struct scx_cpu_acquire_args *args)
{
	u32 index = cpu_index(cpu);

	if (!away[index])
		scx_bpf_error("acquired what was not released");
	away[index] = false;
	STAT_INC(acquires);
}

s32 BPF_STRUCT_OPS_SLEEPABLE(released_init)
{
	return scx_bpf_create_dsq(SHARED, -1);
}

struct sched_ext_ops {
	void (*enqueue)(struct task_struct *p, u64 enq_flags);
	void (*dispatch)(s32 cpu, struct task_struct *prev);
	void (*running)(struct task_struct *p);
	void (*cpu_acquire)(s32 cpu, struct scx_cpu_acquire_args *args);
	void (*cpu_release)(s32 cpu, struct scx_cpu_release_args *args);
	s32 (*init)(void);
	void (*exit)(struct scx_exit_info *ei);
	u32 timeout_ms;
	u64 flags;
	u64 hotplug_seq;
	u32 exit_dump_len;
	char name[128];
};

SCX_OPS_DEFINE(released_ops, .enqueue = (void *)released_enqueue,
	       .dispatch = (void *)released_dispatch, .running = (void *)released_running,
	       .cpu_acquire = (void *)released_cpu_acquire,
	       .cpu_release = (void *)released_cpu_release, .init = (void *)released_init,
	       .name = "released");
