/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Ends when its user half says so. */
#include <scx/common.bpf.h>

char _license[] SEC("license") = "GPL";

UEI_DEFINE(uei);

SEC("syscall")
int prog_run_syscall(void *context)
{
	scx_bpf_exit(0xdeadbeef, "told to");
	return 0;
}

void BPF_STRUCT_OPS(gone, struct scx_exit_info *info)
{
	UEI_RECORD(uei, info);
}

SEC(".struct_ops.link")
struct sched_ext_ops ops = {
	.exit = (void *)gone,
	.name = "told",
};
