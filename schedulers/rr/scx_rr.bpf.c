/* SPDX-License-Identifier: GPL-2.0-only */
/* scx_rr: binds rr.h to sched_ext. rr.h says what is decided, ../line where tasks wait; here is when. */
#include <scx.h>
#include "rr.h"

CHOICE(queues, 0, "shared,percpu",
       "one line for all CPUs, or one a CPU from which idle ones take; the kernel's own SCHED_RR "
       "has "
       "one a CPU");
TUNABLE(u64, slice_us, 100000, 1000, 1000000, "us",
	"one turn; ends at a tick; 100 ms is SCHED_RR's of Linux");
TUNABLE(u64, starvation_limit_ms, 10000, 100, 10000, "ms",
	"who has waited longer, because so many are in line, ends the running task's turn at the "
	"next tick; the kernel ejects a scheduler after 30 s");

STAT(turns, "slices used up");
STAT(floors, "turns cut short because somebody starved");

#define task_ctx rr_task
#include "../line/line.bpf.h"

#define PERCPU (queues == 1)

static __always_inline u64 slice_ns(void)
{
	return slice_us * NSEC_PER_USEC;
}

/* Longer than what is left: rr_tick() ends the turn. */
static __always_inline u64 kernel_slice(const struct rr_task *t)
{
	return t->left_ns + 2 * NSEC_PER_SEC / (tick_hz ? tick_hz : 250);
}

/* What ran since the CPU was given to the task, or since it was last asked. */
static __always_inline void charge(struct rr_task *t, u32 cpu, u64 now)
{
	struct line_cpu *c = line_cpu(cpu);

	if (before64(c->since_ns, now))
		rr_charge(t, now - c->since_ns);
	c->since_ns = now;
}

static __always_inline u64 place(struct rr_task *t, u64 now)
{
	if (!t->left_ns)
		STAT_INC(turns);
	return rr_key(t, slice_ns(), now);
}

s32 BPF_STRUCT_OPS(rr_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	struct rr_task *t = task_of(p);
	s32 cpu = prev_cpu;

	if (!t)
		return cpu;
	place(t, scx_bpf_now());
	line_select(p, &cpu, wake_flags, kernel_slice(t));
	return cpu;
}

void BPF_STRUCT_OPS(rr_enqueue, struct task_struct *p, u64 enq_flags)
{
	struct rr_task *t = task_of(p);
	u64 key;

	if (line_kernel_first(p, enq_flags))
		return;
	if (!t) {
		scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, SCX_SLICE_DFL, enq_flags);
		return;
	}
	key = place(t, scx_bpf_now());
	line_insert(p, t, key, kernel_slice(t), PERCPU, enq_flags);
}

void BPF_STRUCT_OPS(rr_dispatch, s32 cpu, struct task_struct *prev)
{
	struct rr_task *t = line_running(cpu, prev);
	u64 key = 0, now = scx_bpf_now();

	if (t) {
		charge(t, cpu, now);
		key = place(t, now);
	}
	if (line_dispatch(cpu, t, key, PERCPU) || !t)
		return;
	STAT_INC(kept);
	scx_bpf_task_set_slice(prev, kernel_slice(t));
}

void BPF_STRUCT_OPS(rr_running, struct task_struct *p)
{
	line_now_runs(p, task_of(p), 0);
}

/* Spec 6.1.1: a slice ends at a tick. Nobody waits so long with fewer than a hundred in line. */
void BPF_STRUCT_OPS(rr_tick, struct task_struct *p)
{
	u64 now = scx_bpf_now(), limit = starvation_limit_ms * NSEC_PER_MSEC;
	u32 cpu = scx_bpf_task_cpu(p);
	struct rr_task *t = task_of(p);
	struct line_head head = {};

	if (!t)
		return;
	charge(t, cpu, now);
	if (rr_slice_over(t, NSEC_PER_SEC / (tick_hz ? tick_hz : 250)) || line_must_make_way()) {
		scx_bpf_task_set_slice(p, 0);
		return;
	}
	line_first(cpu, &head);
	if (!head.found || !line_starves(head.waits_since_ns, now, limit))
		return;
	STAT_INC(floors);
	rr_leave(t);
	scx_bpf_task_set_slice(p, 0);
}

void BPF_STRUCT_OPS(rr_stopping, struct task_struct *p, bool runnable)
{
	u32 cpu = scx_bpf_task_cpu(p);
	struct rr_task *t = task_of(p);

	if (t)
		charge(t, cpu, scx_bpf_now());
	line_cpu(cpu)->level = LINE_NOBODY;
}

void BPF_STRUCT_OPS(rr_quiescent, struct task_struct *p, u64 deq_flags)
{
	struct rr_task *t = task_of(p);

	if (t && deq_flags & SCX_DEQ_SLEEP)
		rr_leave(t);
}

bool BPF_STRUCT_OPS(rr_yield, struct task_struct *from, struct task_struct *to)
{
	struct rr_task *t = task_of(from);

	if (t)
		rr_leave(t);
	scx_bpf_task_set_slice(from, 0);
	return false;
}

s32 BPF_STRUCT_OPS(rr_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	return bpf_task_storage_get(&tasks, p, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE) ? 0 : -ENOMEM;
}

void BPF_STRUCT_OPS(rr_update_idle, s32 cpu, bool idle)
{
	line_update_idle(cpu, idle);
}

void BPF_STRUCT_OPS(rr_cpu_online, s32 cpu)
{
	line_cpu_comes(cpu);
}

void BPF_STRUCT_OPS(rr_cpu_offline, s32 cpu)
{
	line_cpu_goes(cpu);
}

s32 BPF_STRUCT_OPS_SLEEPABLE(rr_init)
{
	return line_init();
}

SCX_OPS_DEFINE(rr_ops, .select_cpu = (void *)rr_select_cpu, .enqueue = (void *)rr_enqueue,
	       .dispatch = (void *)rr_dispatch, .tick = (void *)rr_tick,
	       .running = (void *)rr_running, .stopping = (void *)rr_stopping,
	       .quiescent = (void *)rr_quiescent, .yield = (void *)rr_yield,
	       .update_idle = (void *)rr_update_idle, .cpu_online = (void *)rr_cpu_online,
	       .cpu_offline = (void *)rr_cpu_offline, .init_task = (void *)rr_init_task,
	       .init = (void *)rr_init, .flags = SCX_OPS_ENQ_EXITING | SCX_OPS_KEEP_BUILTIN_IDLE,
	       .name = "rr");
