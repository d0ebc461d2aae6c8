/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two schedulers: one asks to be loaded anew when a CPU comes or goes, of the other the kernel does. */
#include <scx/common.bpf.h>

char _license[] SEC("license") = "GPL";

UEI_DEFINE(uei);

void BPF_STRUCT_OPS_SLEEPABLE(comes, s32 cpu)
{
	scx_bpf_exit(SCX_ECODE_ACT_RESTART | 1 | 2, "CPU %d comes", cpu);
}

void BPF_STRUCT_OPS_SLEEPABLE(goes, s32 cpu)
{
	scx_bpf_exit(SCX_ECODE_ACT_RESTART | 1, "CPU %d goes", cpu);
}

void BPF_STRUCT_OPS(gone, struct scx_exit_info *info)
{
	UEI_RECORD(uei, info);
}

SEC(".struct_ops.link")
struct sched_ext_ops hotplug_cb_ops = {
	.cpu_online = (void *)comes,
	.cpu_offline = (void *)goes,
	.exit = (void *)gone,
	.name = "told",
};

SEC(".struct_ops.link")
struct sched_ext_ops hotplug_nocb_ops = {
	.exit = (void *)gone,
	.name = "untold",
};
