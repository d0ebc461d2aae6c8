/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Does in its first callback what the verifier would refuse, or what BPF defines and C does not. */
#include <scx.h>

CHOICE(how, 0, "null,loop,divide", "what it does");

enum { NULL_VALUE, ENDLESS_LOOP, DIVISION };

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, u64);
} values SEC(".maps");

static volatile u64 round = 1, zero, quotient, remainder;

void BPF_STRUCT_OPS(slips_enqueue, struct task_struct *p, u64 enq_flags)
{
	if (how == NULL_VALUE) {
		u64 *value = bpf_task_storage_get(&values, p, 0, 0);

		*value = 7;
	}
	if (how == ENDLESS_LOOP)
		while (round)
			;
	if (how == DIVISION) {
		struct task_struct *nobody = NULL;

		asm volatile("" : "+r"(nobody));
		/* Stored, as the compiler knows better than to divide where it may compare. */
		quotient = round / zero;
		remainder = round % zero;
		if (quotient || remainder != round || nobody->pid)
			scx_bpf_error("a division or a read of nothing");
	}
	scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, SCX_SLICE_DFL, enq_flags);
}

SCX_OPS_DEFINE(slips_ops, .enqueue = (void *)slips_enqueue, .name = "slips");
