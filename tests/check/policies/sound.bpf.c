/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * No planted bug: one queue, and who has waited longest goes first. A task
 * keeps its place when it is queued again, because its CPUs or its nice value
 * change. Whoever queues tells an idle CPU.
 */
#include <scx.h>

TUNABLE(u64, slice_us, 3000, 100, 20000, "us", "longest run without a decision");

#define QUEUE 0

/* Not into the local queue at once: a pair that wakes each other there would shut out everybody else. */
s32 BPF_STRUCT_OPS(sound_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	return prev_cpu;
}

void BPF_STRUCT_OPS(sound_enqueue, struct task_struct *p, u64 enq_flags)
{
	u64 since = enq_flags & SCX_ENQ_WAKEUP ? scx_bpf_now() : p->scx.dsq_vtime;
	s32 cpu = scx_bpf_task_cpu(p);

	scx_bpf_dsq_insert_vtime(p, QUEUE, slice_us * NSEC_PER_USEC, since, enq_flags);
	if (p->nr_cpus_allowed > 1)
		cpu = scx_bpf_pick_idle_cpu(p->cpus_ptr, 0);
	if (cpu >= 0)
		scx_bpf_kick_cpu(cpu, SCX_KICK_IDLE);
}

void BPF_STRUCT_OPS(sound_dispatch, s32 cpu, struct task_struct *prev)
{
	scx_bpf_dsq_move_to_local(QUEUE);
}

void BPF_STRUCT_OPS(sound_stopping, struct task_struct *p, bool runnable)
{
	scx_bpf_task_set_dsq_vtime(p, scx_bpf_now());
}

void BPF_STRUCT_OPS(sound_enable, struct task_struct *p)
{
	scx_bpf_task_set_dsq_vtime(p, scx_bpf_now());
}

void BPF_STRUCT_OPS(sound_cpu_release, s32 cpu, struct scx_cpu_release_args *args)
{
	scx_bpf_reenqueue_local();
}

s32 BPF_STRUCT_OPS_SLEEPABLE(sound_init)
{
	return scx_bpf_create_dsq(QUEUE, -1);
}

SCX_OPS_DEFINE(sound_ops, .select_cpu = (void *)sound_select_cpu, .enqueue = (void *)sound_enqueue,
	       .dispatch = (void *)sound_dispatch, .stopping = (void *)sound_stopping,
	       .enable = (void *)sound_enable, .cpu_release = (void *)sound_cpu_release,
	       .init = (void *)sound_init, .name = "sound");
