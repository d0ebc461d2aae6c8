/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Takes back now and then what waits in its queue and in local ones, lets CPUs keep their tasks, and inserts what it
 * cancels again. Says itself when the kernel's counts, run queues or slots are not what they should be.
 */
#include "expect.h"

#define SHARED 0
#define SPARE 1

struct rq {
	int cpu;
	struct task_struct *curr;
} __core;

/* All of it: the kernel copies as much as is asked for from the beginning. */
struct scx_event_stats {
	s64 SCX_EV_SELECT_CPU_FALLBACK;
	s64 SCX_EV_DISPATCH_LOCAL_DSQ_OFFLINE;
	s64 SCX_EV_DISPATCH_KEEP_LAST;
	s64 SCX_EV_ENQ_SKIP_EXITING;
	s64 SCX_EV_ENQ_SKIP_MIGRATION_DISABLED;
	s64 SCX_EV_REENQ_IMMED;
	s64 SCX_EV_REENQ_LOCAL_REPEAT;
	s64 SCX_EV_REFILL_SLICE_DFL;
	s64 SCX_EV_BYPASS_DURATION;
	s64 SCX_EV_BYPASS_DISPATCH;
	s64 SCX_EV_BYPASS_ACTIVATE;
	s64 SCX_EV_INSERT_NOT_OWNED;
	s64 SCX_EV_SUB_BYPASS_DISPATCH;
} __core;

struct scx_bpf_select_cpu_and_args {
	s32 prev_cpu;
	u64 wake_flags;
	u64 flags;
};

void scx_bpf_dsq_reenq(u64 dsq_id, u64 reenq_flags) __ksym;
void scx_bpf_reenqueue_local___v2___compat(void) __ksym;
struct rq *scx_bpf_locked_rq(void) __ksym;
struct rq *scx_bpf_cpu_rq(s32 cpu) __ksym;
struct task_struct *scx_bpf_cpu_curr(s32 cpu) __ksym;
void scx_bpf_events(struct scx_event_stats *events, u64 bytes) __ksym;
u32 scx_bpf_dispatch_nr_slots(void) __ksym;
void scx_bpf_dispatch_cancel(void) __ksym;
s32 scx_bpf_select_cpu_and(struct task_struct *p, s32 prev_cpu, u64 wake_flags,
			   const struct cpumask *cpus_allowed, u64 flags) __ksym;
s32 __scx_bpf_select_cpu_and(struct task_struct *p, const struct cpumask *cpus_allowed,
			     struct scx_bpf_select_cpu_and_args *args) __ksym;

STAT(reenqueues, "tasks that came back out of a queue");
STAT(keeps, "times that a CPU was left with its task");

static u64 calls, kept;

s32 BPF_STRUCT_OPS(requeues_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	struct scx_bpf_select_cpu_and_args args = { .prev_cpu = prev_cpu,
						    .wake_flags = wake_flags };
	s32 cpu = __scx_bpf_select_cpu_and(p, p->cpus_ptr, &args);

	EXPECT(cpu < 0 || bpf_cpumask_test_cpu(cpu, p->cpus_ptr));
	if (cpu < 0)
		cpu = scx_bpf_select_cpu_and(p, prev_cpu, wake_flags, p->cpus_ptr, 0);
	return cpu < 0 ? prev_cpu : cpu;
}

void BPF_STRUCT_OPS(requeues_enqueue, struct task_struct *p, u64 enq_flags)
{
	struct rq *rq = scx_bpf_locked_rq();

	EXPECT(rq && rq->cpu == scx_bpf_task_cpu(p));
	if (enq_flags & SCX_ENQ_REENQ)
		STAT_INC(reenqueues);
	scx_bpf_dsq_insert(p, SHARED, SCX_SLICE_DFL, enq_flags);
}

/* An insertion that is cancelled takes no slot. */
static void cancel(struct task_struct *p)
{
	u32 slots = scx_bpf_dispatch_nr_slots();

	EXPECT(slots > 1);
	scx_bpf_dsq_insert(p, SHARED, SCX_SLICE_DFL, 0);
	EXPECT(scx_bpf_dispatch_nr_slots() == slots - 1);
	scx_bpf_dispatch_cancel();
	EXPECT(scx_bpf_dispatch_nr_slots() == slots);
}

static void look_around(s32 cpu)
{
	struct rq *rq = scx_bpf_locked_rq(), *same = scx_bpf_cpu_rq(cpu);
	struct task_struct *curr;

	EXPECT(rq && rq->cpu == cpu);
	EXPECT(same && same->cpu == cpu);
	bpf_rcu_read_lock();
	curr = scx_bpf_cpu_curr(cpu);
	EXPECT(!curr || curr->pid >= 0);
	bpf_rcu_read_unlock();
}

static struct scx_event_stats events_so_far(void)
{
	struct scx_event_stats events;

	scx_bpf_events(&events, sizeof(events));
	return events;
}

void BPF_STRUCT_OPS(requeues_dispatch, s32 cpu, struct task_struct *prev)
{
	u64 call = __sync_fetch_and_add(&calls, 1);

	look_around(cpu);
	if (prev && prev->scx.flags & SCX_TASK_QUEUED) {
		/* Not after an insertion, cancelled or not: it gives a slice, and who has one is kept uncounted. */
		if (call % 4 == 0) {
			STAT_INC(keeps);
			__sync_fetch_and_add(&kept, 1);
			return;
		}
		cancel(prev);
	}
	if (call % 16 == 1)
		scx_bpf_dsq_reenq(SHARED, 0);
	if (call % 16 == 2)
		scx_bpf_reenqueue_local___v2___compat();
	if (call % 1024 == 3) {
		struct scx_event_stats before = events_so_far(), after = events_so_far();

		EXPECT(after.SCX_EV_DISPATCH_KEEP_LAST >= before.SCX_EV_DISPATCH_KEEP_LAST);
		/*
		 * The kernel counts after the policy: a CPU may be in between. Who is kept
		 * has used its slice up, and gets another one.
		 */
		EXPECT(kept < 16 || before.SCX_EV_DISPATCH_KEEP_LAST > 0);
		EXPECT(kept < 16 || before.SCX_EV_REFILL_SLICE_DFL > 0);
	}
	scx_bpf_dsq_move_to_local(SHARED);
}

s32 BPF_STRUCT_OPS_SLEEPABLE(requeues_init)
{
	EXPECT(!scx_bpf_create_dsq(SPARE, -1) && scx_bpf_dsq_nr_queued(SPARE) == 0);
	scx_bpf_destroy_dsq(SPARE);
	EXPECT(scx_bpf_dsq_nr_queued(SPARE) == -ENOENT);
	return scx_bpf_create_dsq(SHARED, -1);
}

SCX_OPS_DEFINE(requeues_ops, .select_cpu = (void *)requeues_select_cpu,
	       .enqueue = (void *)requeues_enqueue, .dispatch = (void *)requeues_dispatch,
	       .init = (void *)requeues_init, .name = "requeues");
