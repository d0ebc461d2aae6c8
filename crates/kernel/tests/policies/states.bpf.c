/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Ends with an error where a task is not in the state that the kernel has it in at that point. */
#include <scx.h>

#define TASK_RUNNING 0
#define TASK_INTERRUPTIBLE 1
#define TASK_DEAD 0x80
#define TASK_WAKING 0x200

struct sched_ext_entity___disallow {
	bool disallow;
} __core;

struct task_struct___state {
	u32 __state;
	struct sched_ext_entity___disallow scx;
} __core;

static void expect(const struct task_struct *p, u32 state)
{
	u32 found = ((struct task_struct___state *)p)->__state;

	if (found != state)
		scx_bpf_error("a task is in state %u, not in %u", found, state);
}

s32 BPF_STRUCT_OPS(states_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	((struct task_struct___state *)p)->scx.disallow = true;
	return 0;
}

void BPF_STRUCT_OPS(states_enqueue, struct task_struct *p, u64 enq_flags)
{
	expect(p, enq_flags & SCX_ENQ_WAKEUP ? TASK_WAKING : TASK_RUNNING);
	scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, SCX_SLICE_DFL, enq_flags);
}

void BPF_STRUCT_OPS(states_running, struct task_struct *p)
{
	expect(p, TASK_RUNNING);
}

void BPF_STRUCT_OPS(states_quiescent, struct task_struct *p, u64 deq_flags)
{
	if (deq_flags & SCX_DEQ_SLEEP)
		expect(p, p->flags & PF_EXITING ? TASK_DEAD : TASK_INTERRUPTIBLE);
}

SCX_OPS_DEFINE(states_ops, .enqueue = (void *)states_enqueue, .running = (void *)states_running,
	       .quiescent = (void *)states_quiescent, .init_task = (void *)states_init_task,
	       .name = "states");
