/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lets tasks run as long as they like, later for a millisecond, after which nobody else may be there to run. */
#include <scx/common.bpf.h>

char _license[] SEC("license") = "GPL";

UEI_DEFINE(uei);

const volatile s32 test_cpu;
bool finite_phase;
u64 nr_inf_running, nr_finite_running, nr_finite_ticks;

void BPF_STRUCT_OPS(ticks_enqueue, struct task_struct *p, u64 enq_flags)
{
	u64 slice = finite_phase ? 1000000 : SCX_SLICE_INF;

	scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, slice, enq_flags);
	if (enq_flags & SCX_ENQ_LAST)
		scx_bpf_kick_cpu(scx_bpf_task_cpu(p), SCX_KICK_IDLE);
}

void BPF_STRUCT_OPS(ticks_running, struct task_struct *p)
{
	if (scx_bpf_task_cpu(p) != test_cpu)
		return;
	if (p->scx.slice == SCX_SLICE_INF)
		nr_inf_running++;
	else
		nr_finite_running++;
}

void BPF_STRUCT_OPS(ticks_tick, struct task_struct *p)
{
	if (scx_bpf_task_cpu(p) == test_cpu)
		nr_finite_ticks++;
}

void BPF_STRUCT_OPS(ticks_exit, struct scx_exit_info *info)
{
	UEI_RECORD(uei, info);
}

SEC(".struct_ops.link")
struct sched_ext_ops ops = {
	.enqueue = (void *)ticks_enqueue,
	.running = (void *)ticks_running,
	.tick = (void *)ticks_tick,
	.exit = (void *)ticks_exit,
	.timeout_ms = 1000,
	.name = "ticks",
};
