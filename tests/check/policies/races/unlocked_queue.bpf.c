/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Planted race: two CPUs take the same task from a queue that has no lock, and both go one further. */
#include "ring.bpf.h"

s32 BPF_STRUCT_OPS(unlocked_queue_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	return stay(prev_cpu);
}

void BPF_STRUCT_OPS(unlocked_queue_enqueue, struct task_struct *p, u64 enq_flags)
{
	if (confined(p))
		return insert_confined(p, enq_flags);
	append(p);
	kick_idle(p->cpus_ptr);
}

static __always_inline bool take(void)
{
	if (head == tail)
		return false;
	run(ring[head % RING]);
	head++;
	return true;
}

void BPF_STRUCT_OPS(unlocked_queue_dispatch, s32 cpu, struct task_struct *prev)
{
	if (scx_bpf_now() >> 21 & 1) {
		if (!take())
			take_confined(cpu);
	} else if (!take_confined(cpu)) {
		take();
	}
}

void BPF_STRUCT_OPS(unlocked_queue_cpu_release, s32 cpu, struct scx_cpu_release_args *args)
{
	scx_bpf_reenqueue_local();
}

s32 BPF_STRUCT_OPS_SLEEPABLE(unlocked_queue_init)
{
	return create_queues();
}

SCX_OPS_DEFINE(unlocked_queue_ops, .select_cpu = (void *)unlocked_queue_select_cpu,
	       .enqueue = (void *)unlocked_queue_enqueue,
	       .dispatch = (void *)unlocked_queue_dispatch, .init = (void *)unlocked_queue_init,
	       .cpu_release = (void *)unlocked_queue_cpu_release, .name = "unlocked_queue");
