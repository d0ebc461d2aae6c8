/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * No planted bug: one queue for the CPUs of each last-level cache, by weighted
 * run time; one for the pinned tasks of each CPU. Whoever queues tells an idle
 * CPU, and a CPU without work looks everywhere.
 */
#include <scx.h>

TUNABLE(u64, slice_us, 3000, 100, 20000, "us", "longest run without a decision");

#define PINNED(cpu) (MAX_CPUS + (cpu))

u64 vtime_now;

/* Not into the local queue at once: a pair that wakes each other there would shut out everybody else. */
s32 BPF_STRUCT_OPS(sound_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	s32 cpu;

	if (scx_bpf_test_and_clear_cpu_idle(prev_cpu))
		return prev_cpu;
	cpu = scx_bpf_pick_idle_cpu(p->cpus_ptr, 0);
	return cpu >= 0 ? cpu : prev_cpu;
}

void BPF_STRUCT_OPS(sound_enqueue, struct task_struct *p, u64 enq_flags)
{
	u64 slice = slice_us * NSEC_PER_USEC, vtime = p->scx.dsq_vtime;
	s32 cpu = scx_bpf_task_cpu(p);

	if (before64(vtime, vtime_now - slice))
		vtime = vtime_now - slice;
	if (p->nr_cpus_allowed == 1) {
		scx_bpf_dsq_insert_vtime(p, PINNED(cpu), slice, vtime, enq_flags);
		scx_bpf_kick_cpu(cpu, SCX_KICK_IDLE);
		return;
	}
	scx_bpf_dsq_insert_vtime(p, cpu_llc[cpu_index(cpu)], slice, vtime, enq_flags);
	cpu = scx_bpf_pick_idle_cpu(p->cpus_ptr, 0);
	if (cpu >= 0)
		scx_bpf_kick_cpu(cpu, 0);
}

void BPF_STRUCT_OPS(sound_dispatch, s32 cpu, struct task_struct *prev)
{
	u32 llc = cpu_llc[cpu_index(cpu)], i;

	/* By turns, lest one of the two never gets its turn. */
	if (scx_bpf_now() >> 22 & 1) {
		if (scx_bpf_dsq_move_to_local(PINNED(cpu)) || scx_bpf_dsq_move_to_local(llc))
			return;
	} else {
		if (scx_bpf_dsq_move_to_local(llc) || scx_bpf_dsq_move_to_local(PINNED(cpu)))
			return;
	}
	for_range(i, 0, nr_llcs)
	{
		if (scx_bpf_dsq_move_to_local(i))
			return;
	}
}

void BPF_STRUCT_OPS(sound_running, struct task_struct *p)
{
	if (before64(vtime_now, p->scx.dsq_vtime))
		vtime_now = p->scx.dsq_vtime;
}

void BPF_STRUCT_OPS(sound_stopping, struct task_struct *p, bool runnable)
{
	u64 slice = slice_us * NSEC_PER_USEC, left = p->scx.slice;
	u64 used = left < slice ? slice - left : 0;

	scx_bpf_task_set_dsq_vtime(p, p->scx.dsq_vtime + used * 100 / p->scx.weight);
}

void BPF_STRUCT_OPS(sound_enable, struct task_struct *p)
{
	scx_bpf_task_set_dsq_vtime(p, vtime_now);
}

s32 BPF_STRUCT_OPS_SLEEPABLE(sound_init)
{
	s32 err = 0;
	u32 i;

	for_range(i, 0, nr_cpus)
	{
		if (!err)
			err = scx_bpf_create_dsq(PINNED(i), -1);
	}
	for_range(i, 0, nr_llcs)
	{
		if (!err)
			err = scx_bpf_create_dsq(i, -1);
	}
	return err;
}

SCX_OPS_DEFINE(sound_ops, .select_cpu = (void *)sound_select_cpu, .enqueue = (void *)sound_enqueue,
	       .dispatch = (void *)sound_dispatch, .running = (void *)sound_running,
	       .stopping = (void *)sound_stopping, .enable = (void *)sound_enable,
	       .init = (void *)sound_init, .name = "sound");
