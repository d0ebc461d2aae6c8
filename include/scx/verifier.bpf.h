/* SPDX-License-Identifier: GPL-2.0-only */
/* Declarations and access in the forms that the kernel's verifier and libbpf want. */
#pragma once

#include "../integers.h"
#include <bpf/bpf_helpers.h>

#define BPF_STRUCT_OPS(name, args...) SEC("struct_ops/" #name) BPF_PROG(name, ##args)
#define BPF_STRUCT_OPS_SLEEPABLE(name, args...) SEC("struct_ops.s/" #name) BPF_PROG(name, ##args)

#define SCX_OPS_DEFINE(ops_name, ...)     \
	SEC(".struct_ops.link")           \
	struct sched_ext_ops ops_name = { \
		__VA_ARGS__,              \
	};

/* A variable for locks, lists and trees, which must have a section to themselves. */
#define private(name) SEC(".data." #name) __hidden __attribute__((aligned(8)))
#define __contains(type, node) __attribute__((btf_decl_tag("contains:" #type ":" #node)))

/* An array of one element in a section of its own, which user space may enlarge before it loads the policy. */
#define RESIZABLE_ARRAY(section, name) name[1] SEC("." #section "." #name)

/*
 * `at` if all of it lies within the `bytes` from `begin` on, else NULL. The
 * verifier follows an offset that was compared and is then added; the barriers
 * keep the compiler from adding first.
 */
#define __scx_within(begin, at, bytes)                                             \
	({                                                                         \
		u64 ___begin = (u64)(begin), ___offset = (u64)(at) - (u64)(begin); \
		typeof(at) ___found = NULL;                                        \
                                                                                   \
		barrier_var(___offset);                                            \
		if (___offset <= (bytes) - sizeof(*(at))) {                        \
			barrier_var(___offset);                                    \
			___found = (typeof(at))(___begin + ___offset);             \
		}                                                                  \
		___found;                                                          \
	})

/* MEMBER_VPTR(array, [i].member): its address, or NULL where i is too large. */
#define MEMBER_VPTR(base, member) __scx_within(&(base), &((base)member), sizeof(base))

/* The same of an array of n elements, which the compiler does not know. */
#define ARRAY_ELEM_PTR(arr, i, n) __scx_within((arr), &(arr)[i], sizeof((arr)[0]) * (n))

/* Hides a value from the compiler and from the verifier, which then forgets what it knew of it. */
#define __sink(expr) asm volatile("" : "+g"(expr))

/* Reads and writes that the compiler makes once, and where they stand. */
#define READ_ONCE(x) (*(const volatile typeof(x) *)&(x))
#define WRITE_ONCE(x, value) (*(volatile typeof(x) *)&(x) = (value))

#ifndef likely
#define likely(x) __builtin_expect(!!(x), 1)
#endif
#ifndef unlikely
#define unlikely(x) __builtin_expect(!!(x), 0)
#endif
#ifndef __maybe_unused
#define __maybe_unused __attribute__((unused))
#endif
