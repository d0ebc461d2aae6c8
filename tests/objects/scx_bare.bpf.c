/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A policy that was not made with scx.h. As with the headers of scx, its
 * loader tells it the kernel's constants, in variables that begin with two
 * underscores, and it records its end in uei. It knows nothing of the machine.
 */
#include "types.h"
#include "scx_ops.h"

typedef u8 __u8;
typedef u16 __u16;
typedef u32 __u32;
typedef u64 __u64;
typedef s8 __s8;
typedef s16 __s16;
typedef s32 __s32;
typedef s64 __s64;
typedef u16 __be16;
typedef u32 __be32;
typedef u64 __be64;
typedef u32 __wsum;

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

const volatile u64 __SCX_DSQ_GLOBAL __weak;
const volatile u64 __SCX_SLICE_DFL __weak;

struct task_struct {
	int pid;
} __attribute__((preserve_access_index));

enum scx_exit_kind {
	SCX_EXIT_NONE,
};

struct scx_exit_info {
	enum scx_exit_kind kind;
} __attribute__((preserve_access_index));

struct user_exit_info {
	int kind;
	s64 exit_code;
	char reason[128];
	char msg[1024];
} uei SEC(".data");

extern void scx_bpf_dsq_insert(struct task_struct *p, u64 dsq_id, u64 slice, u64 enq_flags)
	__attribute__((section(".ksyms")));

SEC("struct_ops/bare_enqueue")
void BPF_PROG(bare_enqueue, struct task_struct *p, u64 enq_flags)
{
	scx_bpf_dsq_insert(p, __SCX_DSQ_GLOBAL, __SCX_SLICE_DFL, enq_flags);
}

SEC("struct_ops/bare_exit")
void BPF_PROG(bare_exit, struct scx_exit_info *ei)
{
	uei.kind = ei->kind;
}

SEC(".struct_ops.link")
struct sched_ext_ops bare_ops = {
	.enqueue = (void *)bare_enqueue,
	.exit = (void *)bare_exit,
	.name = "bare",
};

char _license[] SEC("license") = "GPL";
