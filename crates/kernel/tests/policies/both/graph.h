/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Objects, trees and lists as policies declare them: what of them is the same under the kfuncs' names of every release. */
#pragma once

#include "expect.h"

#define private(name) SEC(".bss." #name) __hidden __attribute__((aligned(8)))
#define __contains(of, member) __attribute__((btf_decl_tag("contains:" #of ":" #member)))
#define container_of(at, of, member) ((of *)((void *)(at) - __builtin_offsetof(of, member)))

struct bpf_spin_lock {
	u32 val;
};

struct bpf_rb_root {
	u64 __opaque[2];
} __attribute__((aligned(8)));

struct bpf_rb_node {
	u64 __opaque[4];
} __attribute__((aligned(8)));

struct bpf_list_head {
	u64 __opaque[2];
} __attribute__((aligned(8)));

struct bpf_list_node {
	u64 __opaque[3];
} __attribute__((aligned(8)));

struct bpf_refcount {
	u32 __opaque[1];
} __attribute__((aligned(4)));
