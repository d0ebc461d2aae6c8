/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Planted race: a CPU goes offline and its queue is emptied, after enqueue has chosen it and before it has inserted. */
#include "base.bpf.h"

/* Not 0: nobody looks into this CPU's queue. */
u8 gone[MAX_CPUS];
u32 next_cpu;

s32 BPF_STRUCT_OPS(offline_queue_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	return stay(prev_cpu);
}

/* Each CPU in turn that is there. */
static __always_inline s32 next_there(s32 cpu)
{
	u32 i;

	for_range(i, 0, nr_cpus)
	{
		cpu = cpu_index(next_cpu++ % nr_cpus);
		if (!gone[cpu])
			break;
	}
	return cpu;
}

/* Of two, that with the shorter queue. */
void BPF_STRUCT_OPS(offline_queue_enqueue, struct task_struct *p, u64 enq_flags)
{
	s32 cpu, other;

	if (confined(p))
		return insert_confined(p, enq_flags);
	cpu = next_there(cpu_index(scx_bpf_task_cpu(p)));
	other = next_there(cpu);
	if (scx_bpf_dsq_nr_queued(QUEUE(other)) < scx_bpf_dsq_nr_queued(QUEUE(cpu)))
		cpu = other;
	scx_bpf_dsq_insert(p, QUEUE(cpu), SLICE_NS, enq_flags);
	kick_idle(p->cpus_ptr);
}

void BPF_STRUCT_OPS(offline_queue_dispatch, s32 cpu, struct task_struct *prev)
{
	u32 i;

	if (take_confined(cpu))
		return;
	for_range(i, 0, nr_cpus)
	{
		if (!gone[cpu_index(i)] && scx_bpf_dsq_move_to_local(QUEUE(i)))
			return;
	}
}

void BPF_STRUCT_OPS(offline_queue_cpu_online, s32 cpu)
{
	gone[cpu_index(cpu)] = 0;
}

void BPF_STRUCT_OPS(offline_queue_cpu_offline, s32 cpu)
{
	struct task_struct *p;

	gone[cpu_index(cpu)] = 1;
	for_each_queued(it, p, QUEUE(cpu))
	{
		/* Who may not leave has to run before the CPU goes. */
		if (bpf_cpumask_weight(p->cpus_ptr) == 1) {
			scx_bpf_dsq_move(it, p, SCX_DSQ_LOCAL_ON | cpu, 0);
			continue;
		}
		scx_bpf_dsq_move(it, p, SHARED, 0);
		kick_idle(p->cpus_ptr);
	}
}

void BPF_STRUCT_OPS(offline_queue_cpu_release, s32 cpu, struct scx_cpu_release_args *args)
{
	scx_bpf_reenqueue_local();
}

s32 BPF_STRUCT_OPS_SLEEPABLE(offline_queue_init)
{
	const struct cpumask *online = scx_bpf_get_online_cpumask();
	u32 i;

	for_range(i, 0, nr_cpus)
	{
		gone[cpu_index(i)] = !bpf_cpumask_test_cpu(i, online);
	}
	scx_bpf_put_cpumask(online);
	return create_queues();
}

SCX_OPS_DEFINE(offline_queue_ops, .select_cpu = (void *)offline_queue_select_cpu,
	       .enqueue = (void *)offline_queue_enqueue, .dispatch = (void *)offline_queue_dispatch,
	       .cpu_online = (void *)offline_queue_cpu_online,
	       .cpu_offline = (void *)offline_queue_cpu_offline, .init = (void *)offline_queue_init,
	       .cpu_release = (void *)offline_queue_cpu_release, .name = "offline_queue");
