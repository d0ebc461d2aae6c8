/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads whom a task yields to, which may be nobody in particular. */
#include <scx/common.bpf.h>

char _license[] SEC("license") = "GPL";

int last_pid;

bool BPF_STRUCT_OPS(maybe_null_yield, struct task_struct *from, struct task_struct *to)
{
	last_pid = to->pid;
	return false;
}

SCX_OPS_DEFINE(maybe_null_ops, .yield = (void *)maybe_null_yield, .name = "maybe_null");
