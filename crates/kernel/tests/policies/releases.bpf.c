/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Ends at once, and says what it sees of the kernel's release. */
#include <scx.h>

extern int LINUX_KERNEL_VERSION __kconfig;
struct task_struct *scx_bpf_dsq_peek(u64 dsq_id) __ksym __weak;
s32 scx_bpf_cpu_node(s32 cpu) __ksym __weak;

/* What loaders set to the value of SCX_ENQ_CPU_SELECTED, 0 where there is none. */
const volatile u64 __SCX_ENQ_CPU_SELECTED;

void BPF_STRUCT_OPS(releases_enqueue, struct task_struct *p, u64 enq_flags)
{
	u64 version = LINUX_KERNEL_VERSION;
	u64 older = ksym_exists(scx_bpf_dispatch___v0) + ksym_exists(scx_bpf_consume___v0);
	u64 newer = !!ksym_exists(scx_bpf_now___v1) + !!ksym_exists(scx_bpf_cpu_node) +
		    !!ksym_exists(scx_bpf_dsq_peek) +
		    bpf_core_type_exists(struct scx_bpf_dsq_insert_vtime_args) +
		    bpf_core_enum_value_exists(enum scx_enq_flags, SCX_ENQ_CPU_SELECTED) +
		    !!__SCX_ENQ_CPU_SELECTED;

	scx_bpf_error("%llu.%llu: %llu older, %llu newer", version >> 16, version >> 8 & 0xff,
		      older, newer);
}

SCX_OPS_DEFINE(releases_ops, .enqueue = (void *)releases_enqueue, .name = "releases");
