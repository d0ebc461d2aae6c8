/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inserts tasks for immediate execution, straight into local queues and out of its own, also where they cannot run at
 * once. Says itself when one comes back for no reason, or waits on.
 */
#include "expect.h"

#define SHARED 0
#define SCX_TASK_IMMED (1 << 5)
#define SCX_TASK_REENQ_REASON_MASK 0x3000
#define SCX_TASK_REENQ_IMMED 0x2000
#define SCX_TASK_REENQ_PREEMPTED 0x3000

bool scx_bpf_dsq_insert___v2___compat(struct task_struct *p, u64 dsq_id, u64 slice,
				      u64 enq_flags) __ksym;
bool scx_bpf_dsq_move_to_local___v2___compat(u64 dsq_id, u64 enq_flags) __ksym;

STAT(late, "tasks that came back because they could not run at once");
STAT(preempted, "tasks that came back because a higher class took their CPU");
STAT(at_once, "tasks that began to run out of the policy's queue");

static u64 calls, straight; /* straight: insertions into local queues */

void BPF_STRUCT_OPS(immediate_enqueue, struct task_struct *p, u64 enq_flags)
{
	u32 reason = p->scx.flags & SCX_TASK_REENQ_REASON_MASK;

	/* It is asked anew. */
	EXPECT(!(p->scx.flags & SCX_TASK_IMMED));
	EXPECT(!(enq_flags & SCX_ENQ_REENQ) == !reason);
	if (reason == SCX_TASK_REENQ_IMMED)
		STAT_INC(late);
	else if (reason == SCX_TASK_REENQ_PREEMPTED)
		STAT_INC(preempted);
	else
		EXPECT(!reason);
	/* What could not run at once waits in the policy's queue, or it would come back again and again. */
	if (!reason && __sync_fetch_and_add(&calls, 1) % 3 == 0) {
		__sync_fetch_and_add(&straight, 1);
		scx_bpf_dsq_insert___v2___compat(p, SCX_DSQ_LOCAL, SCX_SLICE_DFL,
						 enq_flags | SCX_ENQ_IMMED);
	} else {
		scx_bpf_dsq_insert___v2___compat(p, SHARED, SCX_SLICE_DFL, enq_flags);
	}
}

void BPF_STRUCT_OPS(immediate_dispatch, s32 cpu, struct task_struct *prev)
{
	u64 before = straight;

	/* Only the first runs. A task of another CPU's comes without this runqueue's lock, and others come in meanwhile. */
	if (scx_bpf_dsq_move_to_local___v2___compat(SHARED, SCX_ENQ_IMMED))
		scx_bpf_dsq_move_to_local___v2___compat(SHARED, SCX_ENQ_IMMED);
	EXPECT(scx_bpf_dsq_nr_queued(SCX_DSQ_LOCAL) <= 2 + straight - before);
}

void BPF_STRUCT_OPS(immediate_running, struct task_struct *p)
{
	if (p->scx.flags & SCX_TASK_IMMED)
		STAT_INC(at_once);
}

s32 BPF_STRUCT_OPS_SLEEPABLE(immediate_init)
{
	return scx_bpf_create_dsq(SHARED, -1);
}

SCX_OPS_DEFINE(immediate_ops, .enqueue = (void *)immediate_enqueue,
	       .dispatch = (void *)immediate_dispatch, .running = (void *)immediate_running,
	       .init = (void *)immediate_init, .name = "immediate");
