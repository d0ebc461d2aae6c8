/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Has every callback, to see when each is called. One queue by arrival; slices of 5 ms. */
#include <scx.h>

#define SHARED 0
#define SLICE (5 * NSEC_PER_MSEC)

s32 BPF_STRUCT_OPS(every_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	return prev_cpu;
}

void BPF_STRUCT_OPS(every_enqueue, struct task_struct *p, u64 enq_flags)
{
	scx_bpf_dsq_insert(p, SHARED, SLICE, enq_flags);
}

void BPF_STRUCT_OPS(every_dequeue, struct task_struct *p, u64 deq_flags)
{
}

void BPF_STRUCT_OPS(every_dispatch, s32 cpu, struct task_struct *prev)
{
	scx_bpf_dsq_move_to_local(SHARED);
}

void BPF_STRUCT_OPS(every_tick, struct task_struct *p)
{
}

void BPF_STRUCT_OPS(every_runnable, struct task_struct *p, u64 enq_flags)
{
}

void BPF_STRUCT_OPS(every_running, struct task_struct *p)
{
}

void BPF_STRUCT_OPS(every_stopping, struct task_struct *p, bool runnable)
{
}

void BPF_STRUCT_OPS(every_quiescent, struct task_struct *p, u64 deq_flags)
{
}

bool BPF_STRUCT_OPS(every_yield, struct task_struct *from, struct task_struct *to)
{
	scx_bpf_task_set_slice(from, 0);
	return false;
}

void BPF_STRUCT_OPS(every_set_weight, struct task_struct *p, u32 weight)
{
}

void BPF_STRUCT_OPS(every_set_cpumask, struct task_struct *p, const struct cpumask *cpumask)
{
}

void BPF_STRUCT_OPS(every_update_idle, s32 cpu, bool idle)
{
}

s32 BPF_STRUCT_OPS(every_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	return 0;
}

void BPF_STRUCT_OPS(every_exit_task, struct task_struct *p, struct scx_exit_task_args *args)
{
}

void BPF_STRUCT_OPS(every_enable, struct task_struct *p)
{
}

void BPF_STRUCT_OPS(every_disable, struct task_struct *p)
{
}

void BPF_STRUCT_OPS(every_cpu_online, s32 cpu)
{
}

void BPF_STRUCT_OPS(every_cpu_offline, s32 cpu)
{
}

s32 BPF_STRUCT_OPS_SLEEPABLE(every_init)
{
	return scx_bpf_create_dsq(SHARED, -1);
}

void BPF_STRUCT_OPS(every_exit, struct scx_exit_info *ei)
{
}

SCX_OPS_DEFINE(every_ops, .select_cpu = (void *)every_select_cpu, .enqueue = (void *)every_enqueue,
	       .dequeue = (void *)every_dequeue, .dispatch = (void *)every_dispatch,
	       .tick = (void *)every_tick, .runnable = (void *)every_runnable,
	       .running = (void *)every_running, .stopping = (void *)every_stopping,
	       .quiescent = (void *)every_quiescent, .yield = (void *)every_yield,
	       .set_weight = (void *)every_set_weight, .set_cpumask = (void *)every_set_cpumask,
	       .update_idle = (void *)every_update_idle, .init_task = (void *)every_init_task,
	       .exit_task = (void *)every_exit_task, .enable = (void *)every_enable,
	       .disable = (void *)every_disable, .cpu_online = (void *)every_cpu_online,
	       .cpu_offline = (void *)every_cpu_offline, .init = (void *)every_init,
	       .exit = (void *)every_exit, .flags = SCX_OPS_KEEP_BUILTIN_IDLE, .name = "every");
