/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads its clocks from one task's sleep until the next one runs, and tells the distances as an error. */
#include <scx.h>

#define SHARED 0

static u64 stopped_ns, ktime_ns, dispatched_ns;

void BPF_STRUCT_OPS(clocks_enqueue, struct task_struct *p, u64 enq_flags)
{
	scx_bpf_dsq_insert(p, SHARED, SCX_SLICE_DFL, enq_flags);
}

void BPF_STRUCT_OPS(clocks_stopping, struct task_struct *p, bool runnable)
{
	if (runnable)
		return;
	stopped_ns = scx_bpf_now();
	ktime_ns = bpf_ktime_get_ns();
}

void BPF_STRUCT_OPS(clocks_dispatch, s32 cpu, struct task_struct *prev)
{
	dispatched_ns = scx_bpf_now();
	scx_bpf_dsq_move_to_local(SHARED);
}

void BPF_STRUCT_OPS(clocks_running, struct task_struct *p)
{
	u64 now = scx_bpf_now();

	if (stopped_ns)
		scx_bpf_error("ktime +%llu dispatch +%llu running +%llu", ktime_ns - stopped_ns,
			      dispatched_ns - stopped_ns, now - dispatched_ns);
}

s32 BPF_STRUCT_OPS_SLEEPABLE(clocks_init)
{
	return scx_bpf_create_dsq(SHARED, -1);
}

SCX_OPS_DEFINE(clocks_ops, .enqueue = (void *)clocks_enqueue, .stopping = (void *)clocks_stopping,
	       .dispatch = (void *)clocks_dispatch, .running = (void *)clocks_running,
	       .init = (void *)clocks_init, .name = "clocks");
