/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * UEI_DEFINE(uei) makes the variable that user space reads, and UEI_RECORD(uei,
 * ei) fills it in from ops.exit. The dump has a section of its own, which user
 * space may enlarge before it loads the policy.
 */
#pragma once

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#include "user_exit_info_common.h"
#include "verifier.bpf.h"

#define UEI_DEFINE(name)                         \
	const volatile u32 name##_dump_len;      \
	char RESIZABLE_ARRAY(data, name##_dump); \
	struct user_exit_info name SEC(".data")

/* The kind is written last: who sees one may read the rest. */
#define UEI_RECORD(name, ei)                                                                   \
	({                                                                                     \
		bpf_probe_read_kernel_str((name).reason, sizeof((name).reason), (ei)->reason); \
		bpf_probe_read_kernel_str((name).msg, sizeof((name).msg), (ei)->msg);          \
		bpf_probe_read_kernel_str(name##_dump, name##_dump_len, (ei)->dump);           \
		(name).exit_code = (ei)->exit_code;                                            \
		__sync_val_compare_and_swap(&(name).kind, (name).kind, (ei)->kind);            \
	})
