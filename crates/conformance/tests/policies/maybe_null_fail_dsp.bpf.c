/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads from whom the CPU switches away, who may be nobody of the policy's. */
#include <scx/common.bpf.h>

char _license[] SEC("license") = "GPL";

int last_pid;

void BPF_STRUCT_OPS(maybe_null_dispatch, s32 cpu, struct task_struct *prev)
{
	last_pid = prev->pid;
}

SCX_OPS_DEFINE(maybe_null_ops, .dispatch = (void *)maybe_null_dispatch, .name = "maybe_null");
