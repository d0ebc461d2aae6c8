/* SPDX-License-Identifier: GPL-2.0-only */
/* scx_rr: binds rr.h to sched_ext. rr.h says what is decided and ../lib/queue.bpf.h where tasks wait; this file says when. */
#include <scx.h>
#include "rr.h"

CHOICE(queues, 0, "shared,percpu",
       "one queue for all CPUs, or one for each, from which idle ones take; the kernel's own "
       "SCHED_RR has one for each");
TUNABLE(u64, slice_us, 100000, 1000, 1000000, "us",
	"one turn; ends at a tick; 100 ms is SCHED_RR's of Linux");
TUNABLE(u64, starvation_limit_ms, 10000, 100, 10000, "ms",
	"a task that has waited longer, because so many do, ends the running task's turn at the "
	"next tick; the kernel ejects a scheduler after 30 s");

STAT(turns, "slices used up");
STAT(floors, "turns cut short because another task starved");

#define task_ctx rr_task
#include "../lib/queue.bpf.h"

#define PER_CPU (queues == 1)

static __always_inline u64 slice_ns(void)
{
	return slice_us * NSEC_PER_USEC;
}

static __always_inline u64 key_of(struct rr_task *t, u64 now)
{
	if (!t->place.left_ns)
		STAT_INC(turns);
	return rr_key(t, slice_ns(), now);
}

s32 BPF_STRUCT_OPS(rr_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	struct rr_task *t = ctx_of(p);
	s32 cpu = prev_cpu;

	if (!t)
		return cpu;
	key_of(t, scx_bpf_now());
	queue_select_cpu(p, &cpu, wake_flags, kernel_slice(t));
	return cpu;
}

void BPF_STRUCT_OPS(rr_enqueue, struct task_struct *p, u64 enq_flags)
{
	struct rr_task *t = ctx_of(p);
	u64 key;

	if (queue_bypass(p, t, enq_flags))
		return;
	key = key_of(t, scx_bpf_now());
	queue_insert(p, t, key, kernel_slice(t), PER_CPU, enq_flags);
}

void BPF_STRUCT_OPS(rr_dispatch, s32 cpu, struct task_struct *prev)
{
	struct rr_task *t = queue_running(cpu, prev);
	u64 key = 0, now = scx_bpf_now();

	if (t) {
		charge(t, cpu, now);
		key = key_of(t, now);
	}
	if (queue_dispatch(cpu, t, key, PER_CPU) || !t)
		return;
	STAT_INC(kept);
	scx_bpf_task_set_slice(prev, kernel_slice(t));
}

void BPF_STRUCT_OPS(rr_running, struct task_struct *p)
{
	queue_runs_now(p, ctx_of(p), 0);
}

/* rule 6.1.1: a slice ends at a tick. With fewer than a hundred in the queue none waits so long that a turn is cut short. */
void BPF_STRUCT_OPS(rr_tick, struct task_struct *p)
{
	u64 now = scx_bpf_now();
	u32 cpu = scx_bpf_task_cpu(p);
	struct rr_task *t = ctx_of(p);

	if (!t)
		return;
	charge(t, cpu, now);
	if (queue_slice_over(&t->place, tick_ns()) || local_dsq_waits()) {
		scx_bpf_task_set_slice(p, 0);
		return;
	}
	if (!queue_first_starves(cpu, now, starvation_limit_ms * NSEC_PER_MSEC))
		return;
	STAT_INC(floors);
	queue_leave(&t->place);
	scx_bpf_task_set_slice(p, 0);
}

void BPF_STRUCT_OPS(rr_stopping, struct task_struct *p, bool runnable)
{
	queue_stopping(p);
}

void BPF_STRUCT_OPS(rr_quiescent, struct task_struct *p, u64 deq_flags)
{
	queue_quiescent(p, deq_flags);
}

bool BPF_STRUCT_OPS(rr_yield, struct task_struct *from, struct task_struct *to)
{
	return queue_yield(from);
}

s32 BPF_STRUCT_OPS(rr_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	return new_ctx(p) ? 0 : -ENOMEM;
}

void BPF_STRUCT_OPS(rr_update_idle, s32 cpu, bool idle)
{
	queue_update_idle(cpu, idle);
}

void BPF_STRUCT_OPS(rr_cpu_online, s32 cpu)
{
	queue_cpu_online(cpu);
}

void BPF_STRUCT_OPS(rr_cpu_offline, s32 cpu)
{
	queue_cpu_offline(cpu);
}

void BPF_STRUCT_OPS(rr_cpu_release, s32 cpu, struct scx_cpu_release_args *args)
{
	scx_bpf_reenqueue_local();
}

s32 BPF_STRUCT_OPS_SLEEPABLE(rr_init)
{
	return queue_init();
}

SCX_OPS_DEFINE(rr_ops, .select_cpu = (void *)rr_select_cpu, .enqueue = (void *)rr_enqueue,
	       .dispatch = (void *)rr_dispatch, .tick = (void *)rr_tick,
	       .running = (void *)rr_running, .stopping = (void *)rr_stopping,
	       .quiescent = (void *)rr_quiescent, .yield = (void *)rr_yield,
	       .update_idle = (void *)rr_update_idle, .cpu_online = (void *)rr_cpu_online,
	       .cpu_offline = (void *)rr_cpu_offline, .init_task = (void *)rr_init_task,
	       .cpu_release = (void *)rr_cpu_release, .init = (void *)rr_init,
	       .flags = SCX_OPS_ENQ_EXITING | SCX_OPS_KEEP_BUILTIN_IDLE, .name = "rr");
