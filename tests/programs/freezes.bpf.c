/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A second after its first task it runs nobody any more, so that the machine freezes. */
#include <scx.h>

#define SHARED 0
#define WELL_NS 1000000000ULL

static u64 since;

/* An idle CPU takes nobody at once. */
s32 BPF_STRUCT_OPS(freezes_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	return prev_cpu;
}

void BPF_STRUCT_OPS(freezes_enqueue, struct task_struct *p, u64 enq_flags)
{
	if (!since)
		since = bpf_ktime_get_ns();
	scx_bpf_dsq_insert(p, SHARED, SCX_SLICE_DFL, enq_flags);
}

void BPF_STRUCT_OPS(freezes_dispatch, s32 cpu, struct task_struct *prev)
{
	if (bpf_ktime_get_ns() - since < WELL_NS)
		scx_bpf_dsq_move_to_local(SHARED);
}

s32 BPF_STRUCT_OPS_SLEEPABLE(freezes_init)
{
	return scx_bpf_create_dsq(SHARED, -1);
}

SCX_OPS_DEFINE(freezes_ops, .select_cpu = (void *)freezes_select_cpu,
	       .enqueue = (void *)freezes_enqueue, .dispatch = (void *)freezes_dispatch,
	       .init = (void *)freezes_init, .name = "freezes");
