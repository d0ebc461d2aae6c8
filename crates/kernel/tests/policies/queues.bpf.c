/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A queue a CPU, which no other CPU looks into; a task goes to that of an idle CPU. It hears nothing of hotplug. */
#include <scx.h>

#define SLICE_NS (4 * NSEC_PER_MSEC)

void BPF_STRUCT_OPS(queues_enqueue, struct task_struct *p, u64 enq_flags)
{
	s32 cpu = scx_bpf_task_cpu(p);

	if (p->nr_cpus_allowed > 1 && !p->migration_disabled) {
		s32 idle = scx_bpf_pick_idle_cpu(p->cpus_ptr, 0);

		if (idle >= 0)
			cpu = idle;
	}
	scx_bpf_dsq_insert(p, cpu, SLICE_NS, enq_flags);
	scx_bpf_kick_cpu(cpu, SCX_KICK_IDLE);
}

void BPF_STRUCT_OPS(queues_dispatch, s32 cpu, struct task_struct *prev)
{
	scx_bpf_dsq_move_to_local(cpu);
}

s32 BPF_STRUCT_OPS_SLEEPABLE(queues_init)
{
	u32 cpu;

	for_range(cpu, 0, scx_bpf_nr_cpu_ids())
	{
		s32 err = scx_bpf_create_dsq(cpu, -1);

		if (err)
			return err;
	}
	return 0;
}

SCX_OPS_DEFINE(queues_ops, .enqueue = (void *)queues_enqueue, .dispatch = (void *)queues_dispatch,
	       .init = (void *)queues_init, .name = "queues");
