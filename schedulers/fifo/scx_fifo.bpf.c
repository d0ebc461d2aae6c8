/* SPDX-License-Identifier: GPL-2.0-only */
/* scx_fifo: binds fifo.h to sched_ext. fifo.h says what is decided, ../line where tasks wait; here is when. */
#include <scx.h>
#include "fifo.h"

CHOICE(queues, 0, "shared,percpu",
       "one line for all CPUs, or one a CPU from which idle ones take; the kernel's own SCHED_FIFO "
       "has one a CPU");
TUNABLE(u64, starvation_limit_ms, 1000, 10, 10000, "ms",
	"who has waited longer gets in at the next tick; the kernel ejects a scheduler after 30 s");

STAT(floors, "tasks sent to the end of the line because somebody starved");

#define task_ctx fifo_task
#include "../line/line.bpf.h"

#define PERCPU (queues == 1)

s32 BPF_STRUCT_OPS(fifo_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	struct fifo_task *t = task_of(p);
	s32 cpu = prev_cpu;

	if (t && line_select(p, &cpu, wake_flags, SCX_SLICE_INF))
		fifo_key(t, scx_bpf_now());
	return cpu;
}

void BPF_STRUCT_OPS(fifo_enqueue, struct task_struct *p, u64 enq_flags)
{
	struct fifo_task *t = task_of(p);

	if (line_kernel_first(p, enq_flags))
		return;
	if (t)
		line_insert(p, t, fifo_key(t, scx_bpf_now()), SCX_SLICE_INF, PERCPU, enq_flags);
	else
		scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, SCX_SLICE_DFL, enq_flags);
}

void BPF_STRUCT_OPS(fifo_dispatch, s32 cpu, struct task_struct *prev)
{
	struct fifo_task *t = line_running(cpu, prev);
	u64 key = t ? fifo_key(t, scx_bpf_now()) : 0;

	if (line_dispatch(cpu, t, key, PERCPU) || !t)
		return;
	STAT_INC(kept);
	scx_bpf_task_set_slice(prev, SCX_SLICE_INF);
}

void BPF_STRUCT_OPS(fifo_running, struct task_struct *p)
{
	line_now_runs(p, task_of(p), 0);
}

/* Spec 6.1.1: no slice. What a tick finds is the floor. */
void BPF_STRUCT_OPS(fifo_tick, struct task_struct *p)
{
	u64 now = scx_bpf_now(), limit = starvation_limit_ms * NSEC_PER_MSEC;
	struct fifo_task *t = task_of(p);
	struct line_head head = {};

	if (line_must_make_way()) {
		scx_bpf_task_set_slice(p, 0);
		return;
	}
	line_first(scx_bpf_task_cpu(p), &head);
	if (!t || !head.found || !line_starves(head.waits_since_ns, now, limit))
		return;
	STAT_INC(floors);
	fifo_leave(t);
	scx_bpf_task_set_slice(p, 0);
}

void BPF_STRUCT_OPS(fifo_stopping, struct task_struct *p, bool runnable)
{
	line_cpu(scx_bpf_task_cpu(p))->level = LINE_NOBODY;
}

void BPF_STRUCT_OPS(fifo_quiescent, struct task_struct *p, u64 deq_flags)
{
	struct fifo_task *t = task_of(p);

	if (t && deq_flags & SCX_DEQ_SLEEP)
		fifo_leave(t);
}

bool BPF_STRUCT_OPS(fifo_yield, struct task_struct *from, struct task_struct *to)
{
	struct fifo_task *t = task_of(from);

	if (t)
		fifo_leave(t);
	scx_bpf_task_set_slice(from, 0);
	return false;
}

s32 BPF_STRUCT_OPS(fifo_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	return bpf_task_storage_get(&tasks, p, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE) ? 0 : -ENOMEM;
}

void BPF_STRUCT_OPS(fifo_update_idle, s32 cpu, bool idle)
{
	line_update_idle(cpu, idle);
}

void BPF_STRUCT_OPS(fifo_cpu_online, s32 cpu)
{
	line_cpu_comes(cpu);
}

void BPF_STRUCT_OPS(fifo_cpu_offline, s32 cpu)
{
	line_cpu_goes(cpu);
}

s32 BPF_STRUCT_OPS_SLEEPABLE(fifo_init)
{
	return line_init();
}

SCX_OPS_DEFINE(fifo_ops, .select_cpu = (void *)fifo_select_cpu, .enqueue = (void *)fifo_enqueue,
	       .dispatch = (void *)fifo_dispatch, .tick = (void *)fifo_tick,
	       .running = (void *)fifo_running, .stopping = (void *)fifo_stopping,
	       .quiescent = (void *)fifo_quiescent, .yield = (void *)fifo_yield,
	       .update_idle = (void *)fifo_update_idle, .cpu_online = (void *)fifo_cpu_online,
	       .cpu_offline = (void *)fifo_cpu_offline, .init_task = (void *)fifo_init_task,
	       .init = (void *)fifo_init, .flags = SCX_OPS_ENQ_EXITING | SCX_OPS_KEEP_BUILTIN_IDLE,
	       .name = "fifo");
