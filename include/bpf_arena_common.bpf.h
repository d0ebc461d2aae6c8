/* SPDX-License-Identifier: GPL-2.0-only */
/* Memory of the policy's own, in pages, that its pointers lead through (BPF_MAP_TYPE_ARENA). */
#pragma once

#include "vmlinux.h"
#include "scx/libbpf.bpf.h"

#ifndef __BPF_FEATURE_ADDR_SPACE_CAST
#error "arenas need clang 19 or newer"
#endif

#ifndef PAGE_SIZE
#define PAGE_SIZE __PAGE_SIZE
#endif
#ifndef __arena
#define __arena __attribute__((address_space(1)))
#endif
#define __arena_global __attribute__((address_space(1)))

/* The compiler itself casts between the two kinds of pointers. */
#define cast_kern(pointer)
#define cast_user(pointer)

void __arena *bpf_arena_alloc_pages(void *map, void __arena *addr, __u32 page_cnt, int node_id,
				    __u64 flags) __ksym __weak;
void bpf_arena_free_pages(void *map, void __arena *ptr, __u32 page_cnt) __ksym __weak;
int bpf_arena_reserve_pages(void *map, void __arena *ptr, __u32 page_cnt) __ksym __weak;
void bpf_preempt_disable(void) __ksym __weak;
void bpf_preempt_enable(void) __ksym __weak;

/* Whether a loop goes on whose end the verifier does not see: the kernel stops it after very many rounds. */
#define can_loop                                                           \
	({                                                                 \
		__label__ ___over;                                         \
		bool ___goes_on = false;                                   \
                                                                           \
		asm volatile goto("may_goto %l[___over]" : : : : ___over); \
		___goes_on = true;                                         \
___over:                                                                   \
		___goes_on;                                                \
	})
#define cond_break     \
	if (!can_loop) \
	break
#define cond_break_label(label) \
	if (!can_loop)          \
	goto label
