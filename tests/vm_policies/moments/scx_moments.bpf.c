/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * First in, first out; reads the clock in its callbacks, and after ROUNDS switches to a task that a sleeper makes room
 * for, tells the mean of each stretch between two of them, in nanoseconds, as an error.
 */
#include <scx.h>

#define SHARED 0
#define ROUNDS 4000

enum { STOP_TO_DISPATCH, DISPATCH_TO_RUN, RUN_TO_WAKE, WAKE_TO_STOP, STRETCHES };

u64 found_ns[STRETCHES], times[STRETCHES];
static u64 stopped_ns, dispatched_ns, began_ns, woke_ns;

static __always_inline void add(u32 which, u64 since_ns, u64 now_ns)
{
	if (!since_ns)
		return;
	found_ns[which] += now_ns - since_ns;
	times[which]++;
}

static __always_inline u64 mean_ns(u32 which)
{
	return times[which] ? found_ns[which] / times[which] : 0;
}

s32 BPF_STRUCT_OPS(moments_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	return prev_cpu;
}

void BPF_STRUCT_OPS(moments_runnable, struct task_struct *p, u64 enq_flags)
{
	woke_ns = scx_bpf_now();
	add(RUN_TO_WAKE, began_ns, woke_ns);
}

void BPF_STRUCT_OPS(moments_enqueue, struct task_struct *p, u64 enq_flags)
{
	scx_bpf_dsq_insert(p, SHARED, SCX_SLICE_DFL, enq_flags);
}

void BPF_STRUCT_OPS(moments_stopping, struct task_struct *p, bool runnable)
{
	if (runnable)
		return;
	stopped_ns = scx_bpf_now();
	add(WAKE_TO_STOP, woke_ns, stopped_ns);
}

void BPF_STRUCT_OPS(moments_dispatch, s32 cpu, struct task_struct *prev)
{
	dispatched_ns = scx_bpf_now();
	add(STOP_TO_DISPATCH, stopped_ns, dispatched_ns);
	scx_bpf_dsq_move_to_local(SHARED);
}

void BPF_STRUCT_OPS(moments_running, struct task_struct *p)
{
	began_ns = scx_bpf_now();
	add(DISPATCH_TO_RUN, dispatched_ns, began_ns);
	stopped_ns = dispatched_ns = woke_ns = 0;
	if (times[STOP_TO_DISPATCH] == ROUNDS)
		scx_bpf_error("moments %llu %llu %llu %llu", mean_ns(STOP_TO_DISPATCH),
			      mean_ns(DISPATCH_TO_RUN), mean_ns(RUN_TO_WAKE),
			      mean_ns(WAKE_TO_STOP));
}

s32 BPF_STRUCT_OPS_SLEEPABLE(moments_init)
{
	return scx_bpf_create_dsq(SHARED, -1);
}

SCX_OPS_DEFINE(moments_ops, .select_cpu = (void *)moments_select_cpu,
	       .runnable = (void *)moments_runnable, .enqueue = (void *)moments_enqueue,
	       .stopping = (void *)moments_stopping, .dispatch = (void *)moments_dispatch,
	       .running = (void *)moments_running, .init = (void *)moments_init,
	       .flags = SCX_OPS_ENQ_EXITING, .name = "moments");
