/* SPDX-License-Identifier: GPL-2.0-only */
/* What libbpf's headers have since 1.2 or later, where those of this machine are older. */
#pragma once

#include <bpf/bpf_helpers.h>

#ifndef __ksym
#define __ksym __attribute__((section(".ksyms")))
#endif
#ifndef __kconfig
#define __kconfig __attribute__((section(".kconfig")))
#endif
#ifndef __percpu_kptr
#define __percpu_kptr __attribute__((btf_type_tag("percpu_kptr")))
#endif
#ifndef __uptr
#define __uptr __attribute__((btf_type_tag("uptr")))
#endif
#ifndef __ulong
#define __ulong(name, value) enum { ___bpf_concat(___value, __COUNTER__) = value } name
#endif
#ifndef __arg_ctx
#define __arg_ctx __attribute__((btf_decl_tag("arg:ctx")))
#endif
#ifndef __arg_nonnull
#define __arg_nonnull __attribute__((btf_decl_tag("arg:nonnull")))
#endif
#ifndef __arg_nullable
#define __arg_nullable __attribute__((btf_decl_tag("arg:nullable")))
#endif
#ifndef __arg_trusted
#define __arg_trusted __attribute__((btf_decl_tag("arg:trusted")))
#endif
#ifndef __arg_arena
#define __arg_arena __attribute__((btf_decl_tag("arg:arena")))
#endif

/* Whether a weak kfunc or variable is there. */
#ifndef bpf_ksym_exists
#define bpf_ksym_exists(sym) (!!(sym))
#endif

#ifndef bpf_core_type_matches
#define bpf_core_type_matches(type) __builtin_preserve_type_info(*(typeof(type) *)0, 2)
#endif

/*
 * bpf_for_each(KIND, v, ...): v is each element of an iterator that
 * bpf_iter_KIND_new makes with these arguments. Within the loop it is ___it.
 */
#ifndef bpf_for_each
#define bpf_for_each(kind, v, args...)                                                          \
	for (struct bpf_iter_##kind ___it __attribute__((cleanup(bpf_iter_##kind##_destroy))),  \
	     *___new __attribute__((unused)) = (bpf_iter_##kind##_new(&___it, ##args), &___it); \
	     ((v) = bpf_iter_##kind##_next(&___it));)
#endif

/* for (i = start; i < end; i++) that the verifier need not unroll, and that it knows the bounds of. */
#ifndef bpf_for
#define bpf_for(i, start, end)                                                                     \
	for (struct bpf_iter_num ___it __attribute__((cleanup(bpf_iter_num_destroy))),             \
	     *___new __attribute__((unused)) = (bpf_iter_num_new(&___it, (start), (end)), &___it); \
	     ({                                                                                    \
		     int *___at = bpf_iter_num_next(&___it);                                       \
		     ___at && ((i) = *___at, (i) >= (start) && (i) < (end));                       \
	     });)
#endif

#ifndef bpf_repeat
#define bpf_repeat(times)                                                                      \
	for (struct bpf_iter_num ___it __attribute__((cleanup(bpf_iter_num_destroy))),         \
	     *___new __attribute__((unused)) = (bpf_iter_num_new(&___it, 0, (times)), &___it); \
	     bpf_iter_num_next(&___it);)
#endif
