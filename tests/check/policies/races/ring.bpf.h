/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A queue of the policy's own: tasks by their PIDs, in a ring. */
#include "base.bpf.h"

#define RING 4096

u32 ring[RING];
u32 head, tail;

static __always_inline void append(struct task_struct *p)
{
	ring[tail++ % RING] = p->pid;
}

/* A task that has left meanwhile is queued no more, and its insert comes to nothing. */
static __always_inline void run(u32 pid)
{
	struct task_struct *p = bpf_task_from_pid(pid);

	if (!p)
		return;
	scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, SLICE_NS, 0);
	bpf_task_release(p);
}
