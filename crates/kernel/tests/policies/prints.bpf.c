/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Complains with texts that lie nowhere, and one that is there. */
#include <scx.h>

void BPF_STRUCT_OPS(prints_running, struct task_struct *p)
{
	scx_bpf_error("<%s> <%s> <%s>", 16ULL, 0xdead000000000000ULL, (u64)p->comm);
}

SCX_OPS_DEFINE(prints_ops, .running = (void *)prints_running, .name = "prints");
