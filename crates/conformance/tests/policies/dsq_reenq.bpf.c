/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Has its queue enqueued again at every tick, and looks for the reason. */
#include <scx/common.bpf.h>

char _license[] SEC("license") = "GPL";

#define QUEUE 1

u64 nr_reenq_kfunc;
UEI_DEFINE(uei);

void BPF_STRUCT_OPS(queue, struct task_struct *p, u64 enq_flags)
{
	u32 reason = p->scx.flags & SCX_TASK_REENQ_REASON_MASK;

	if ((reason == SCX_TASK_REENQ_KFUNC) != !!(enq_flags & SCX_ENQ_REENQ))
		scx_bpf_error("enqueued with %llx because of %x", enq_flags, reason);
	nr_reenq_kfunc += !!reason;
	scx_bpf_dsq_insert(p, QUEUE, SCX_SLICE_DFL, enq_flags);
}

void BPF_STRUCT_OPS(find, s32 cpu, struct task_struct *prev)
{
	scx_bpf_dsq_move_to_local(QUEUE, 0);
}

void BPF_STRUCT_OPS(ticks, struct task_struct *p)
{
	scx_bpf_dsq_reenq(QUEUE, 0);
}

s32 BPF_STRUCT_OPS_SLEEPABLE(begin)
{
	return scx_bpf_create_dsq(QUEUE, -1);
}

void BPF_STRUCT_OPS(gone, struct scx_exit_info *info)
{
	UEI_RECORD(uei, info);
}

SEC(".struct_ops.link")
struct sched_ext_ops ops = {
	.enqueue = (void *)queue,
	.dispatch = (void *)find,
	.tick = (void *)ticks,
	.init = (void *)begin,
	.exit = (void *)gone,
	.name = "again",
};
