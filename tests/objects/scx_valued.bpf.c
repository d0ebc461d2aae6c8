/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Ends where its constants and variables are not what tests/objects/values.toml says. */
#include <scx.h>

enum colour { RED = 1, GREEN = 200 };

const volatile u64 slice_us = 1;
const volatile enum colour colour = RED;
const volatile char word[8] = "none";
u64 variable = 2;
u64 counts[4];

void BPF_STRUCT_OPS(valued_enqueue, struct task_struct *p, u64 enq_flags)
{
	scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, slice_us * NSEC_PER_USEC, enq_flags);
}

void BPF_STRUCT_OPS(valued_running, struct task_struct *p)
{
	if (slice_us != 5000 || colour != GREEN || word[0] != 'a' || word[1] || variable != 7 ||
	    counts[2] != 9)
		scx_bpf_error("values were not set");
}

SCX_OPS_DEFINE(valued_ops, .enqueue = (void *)valued_enqueue, .running = (void *)valued_running,
	       .name = "valued");
