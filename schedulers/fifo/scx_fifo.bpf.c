/* SPDX-License-Identifier: GPL-2.0-only */
/* scx_fifo: binds fifo.h to sched_ext. fifo.h says what is decided and ../lib/queue.bpf.h where tasks wait; this file says when. */
#include <scx.h>
#include "fifo.h"

CHOICE(queues, 0, "shared,percpu",
       "one queue for all CPUs, or one for each, from which idle ones take; the kernel's own "
       "SCHED_FIFO has one for each");
TUNABLE(u64, starvation_limit_ms, 1000, 10, 10000, "ms",
	"a task that has waited longer runs at the next tick; the kernel ejects a scheduler after "
	"30 s");

STAT(floors, "tasks sent to the tail because another one starved");

#define task_ctx fifo_task
#include "../lib/queue.bpf.h"

#define PER_CPU (queues == 1)

s32 BPF_STRUCT_OPS(fifo_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	struct fifo_task *t = ctx_of(p);
	s32 cpu = prev_cpu;

	if (t && queue_select_cpu(p, &cpu, wake_flags, SCX_SLICE_INF))
		fifo_key(t, scx_bpf_now());
	return cpu;
}

void BPF_STRUCT_OPS(fifo_enqueue, struct task_struct *p, u64 enq_flags)
{
	struct fifo_task *t = ctx_of(p);

	if (!queue_bypass(p, t, enq_flags))
		queue_insert(p, t, fifo_key(t, scx_bpf_now()), SCX_SLICE_INF, PER_CPU, enq_flags);
}

void BPF_STRUCT_OPS(fifo_dispatch, s32 cpu, struct task_struct *prev)
{
	struct fifo_task *t = queue_running(cpu, prev);
	u64 key = t ? fifo_key(t, scx_bpf_now()) : 0;

	if (queue_dispatch(cpu, t, key, PER_CPU) || !t)
		return;
	STAT_INC(kept);
	scx_bpf_task_set_slice(prev, SCX_SLICE_INF);
}

void BPF_STRUCT_OPS(fifo_running, struct task_struct *p)
{
	queue_runs_now(p, ctx_of(p), 0);
}

/* rule 6.1.1: there is no slice to end. What a tick ends is a run beside a task that starves. */
void BPF_STRUCT_OPS(fifo_tick, struct task_struct *p)
{
	u64 now = scx_bpf_now();
	struct fifo_task *t = ctx_of(p);

	if (local_dsq_waits()) {
		scx_bpf_task_set_slice(p, 0);
		return;
	}
	if (!queue_first_starves(scx_bpf_task_cpu(p), now, starvation_limit_ms * NSEC_PER_MSEC) ||
	    !t)
		return;
	STAT_INC(floors);
	queue_leave(&t->place);
	scx_bpf_task_set_slice(p, 0);
}

void BPF_STRUCT_OPS(fifo_stopping, struct task_struct *p, bool runnable)
{
	cpu_of(scx_bpf_task_cpu(p))->level = NO_LEVEL;
}

void BPF_STRUCT_OPS(fifo_quiescent, struct task_struct *p, u64 deq_flags)
{
	queue_quiescent(p, deq_flags);
}

bool BPF_STRUCT_OPS(fifo_yield, struct task_struct *from, struct task_struct *to)
{
	return queue_yield(from);
}

s32 BPF_STRUCT_OPS(fifo_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	return new_ctx(p) ? 0 : -ENOMEM;
}

void BPF_STRUCT_OPS(fifo_update_idle, s32 cpu, bool idle)
{
	queue_update_idle(cpu, idle);
}

void BPF_STRUCT_OPS(fifo_cpu_online, s32 cpu)
{
	queue_cpu_online(cpu);
}

void BPF_STRUCT_OPS(fifo_cpu_offline, s32 cpu)
{
	queue_cpu_offline(cpu);
}

void BPF_STRUCT_OPS(fifo_cpu_release, s32 cpu, struct scx_cpu_release_args *args)
{
	scx_bpf_reenqueue_local();
}

s32 BPF_STRUCT_OPS_SLEEPABLE(fifo_init)
{
	return queue_init();
}

SCX_OPS_DEFINE(fifo_ops, .select_cpu = (void *)fifo_select_cpu, .enqueue = (void *)fifo_enqueue,
	       .dispatch = (void *)fifo_dispatch, .tick = (void *)fifo_tick,
	       .running = (void *)fifo_running, .stopping = (void *)fifo_stopping,
	       .quiescent = (void *)fifo_quiescent, .yield = (void *)fifo_yield,
	       .update_idle = (void *)fifo_update_idle, .cpu_online = (void *)fifo_cpu_online,
	       .cpu_offline = (void *)fifo_cpu_offline, .init_task = (void *)fifo_init_task,
	       .cpu_release = (void *)fifo_cpu_release, .init = (void *)fifo_init,
	       .flags = SCX_OPS_ENQ_EXITING | SCX_OPS_KEEP_BUILTIN_IDLE, .name = "fifo");
