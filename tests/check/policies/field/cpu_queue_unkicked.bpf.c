/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The mistake of sched-ext/scx 353: tasks are dealt out to queues of CPUs, and a
 * CPU that idles is not told that something waits in its own.
 */
#include <scx.h>

#define SLICE_NS (3 * NSEC_PER_MSEC)

u32 turn;

s32 BPF_STRUCT_OPS(cpu_queue_unkicked_select_cpu, struct task_struct *p, s32 prev_cpu,
		   u64 wake_flags)
{
	return prev_cpu;
}

/* The next CPU in turn that the task may use. */
static u32 deal(struct task_struct *p)
{
	u32 i, cpu, found = scx_bpf_task_cpu(p);

	for_range(i, 0, nr_cpus)
	{
		cpu = (turn + i) % nr_cpus;
		if (bpf_cpumask_test_cpu(cpu, p->cpus_ptr)) {
			found = cpu;
			break;
		}
	}
	turn = found + 1;
	return found;
}

void BPF_STRUCT_OPS(cpu_queue_unkicked_enqueue, struct task_struct *p, u64 enq_flags)
{
	scx_bpf_dsq_insert(p, deal(p), SLICE_NS, enq_flags);
}

void BPF_STRUCT_OPS(cpu_queue_unkicked_dispatch, s32 cpu, struct task_struct *prev)
{
	scx_bpf_dsq_move_to_local(cpu);
}

void BPF_STRUCT_OPS(cpu_queue_unkicked_cpu_release, s32 cpu, struct scx_cpu_release_args *args)
{
	scx_bpf_reenqueue_local();
}

s32 BPF_STRUCT_OPS_SLEEPABLE(cpu_queue_unkicked_init)
{
	s32 err = 0;
	u32 i;

	for_range(i, 0, nr_cpus)
	{
		if (!err)
			err = scx_bpf_create_dsq(i, -1);
	}
	return err;
}

SCX_OPS_DEFINE(cpu_queue_unkicked_ops, .select_cpu = (void *)cpu_queue_unkicked_select_cpu,
	       .enqueue = (void *)cpu_queue_unkicked_enqueue,
	       .dispatch = (void *)cpu_queue_unkicked_dispatch,
	       .init = (void *)cpu_queue_unkicked_init, .flags = SCX_OPS_ENQ_EXITING,
	       .cpu_release = (void *)cpu_queue_unkicked_cpu_release, .name = "cpu_queue_unkicked");
