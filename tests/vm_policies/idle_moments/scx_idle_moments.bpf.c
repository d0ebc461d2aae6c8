/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * First in, first out; after ROUNDS wake-ups of an idle CPU, tells as an error how long before ops.dispatch the woken
 * task's account begins, in nanoseconds.
 */
#include <scx.h>

#define SHARED 0
#define ROUNDS 800

u64 found_ns, times;
static u64 woke_ns, dispatched_ns, picked_ns, had_ns;

s32 BPF_STRUCT_OPS(idle_moments_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	return prev_cpu;
}

void BPF_STRUCT_OPS(idle_moments_enqueue, struct task_struct *p, u64 enq_flags)
{
	woke_ns = scx_bpf_now();
	scx_bpf_dsq_insert(p, SHARED, SCX_SLICE_DFL, enq_flags);
}

void BPF_STRUCT_OPS(idle_moments_dispatch, s32 cpu, struct task_struct *prev)
{
	dispatched_ns = scx_bpf_now();
	scx_bpf_dsq_move_to_local(SHARED);
}

void BPF_STRUCT_OPS(idle_moments_running, struct task_struct *p)
{
	/* Only a task that has just woken found the CPU idle. */
	picked_ns = woke_ns ? dispatched_ns : 0;
	woke_ns = 0;
	had_ns = p->se.sum_exec_runtime;
	if (times == ROUNDS)
		scx_bpf_error("account %llu", found_ns / times);
}

void BPF_STRUCT_OPS(idle_moments_stopping, struct task_struct *p, bool runnable)
{
	if (runnable || !picked_ns)
		return;
	/* It has been charged up to now. */
	found_ns += picked_ns - (scx_bpf_now() - (p->se.sum_exec_runtime - had_ns));
	times++;
}

s32 BPF_STRUCT_OPS_SLEEPABLE(idle_moments_init)
{
	return scx_bpf_create_dsq(SHARED, -1);
}

SCX_OPS_DEFINE(idle_moments_ops, .select_cpu = (void *)idle_moments_select_cpu,
	       .enqueue = (void *)idle_moments_enqueue, .dispatch = (void *)idle_moments_dispatch,
	       .running = (void *)idle_moments_running, .stopping = (void *)idle_moments_stopping,
	       .init = (void *)idle_moments_init, .flags = SCX_OPS_ENQ_EXITING,
	       .name = "idle_moments");
