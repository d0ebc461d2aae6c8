/* SPDX-License-Identifier: GPL-2.0-only */
/* Messages with arguments as printf has them: numbers, and with %s the address of a text. */
#pragma once

#include "vmlinux.h"
#include "kfuncs.bpf.h"

extern int LINUX_KERNEL_VERSION __kconfig;
extern const char CONFIG_CC_VERSION_TEXT[64] __kconfig __weak;
extern const char CONFIG_LOCALVERSION[64] __kconfig __weak;

/* Lets the compiler compare the arguments with the format. */
static inline __attribute__((format(printf, 1, 2))) void __scx_printf(const char *fmt, ...)
{
}

/* Each argument as a number, whatever its type. */
#define __scx_numbers(args...) ___bpf_apply(__scx_numbers, ___bpf_narg(args))(args)
#define __scx_numbers0()
#define __scx_numbers1(a) (unsigned long long)(a)
#define __scx_numbers2(a, rest...) (unsigned long long)(a), __scx_numbers1(rest)
#define __scx_numbers3(a, rest...) (unsigned long long)(a), __scx_numbers2(rest)
#define __scx_numbers4(a, rest...) (unsigned long long)(a), __scx_numbers3(rest)
#define __scx_numbers5(a, rest...) (unsigned long long)(a), __scx_numbers4(rest)
#define __scx_numbers6(a, rest...) (unsigned long long)(a), __scx_numbers5(rest)
#define __scx_numbers7(a, rest...) (unsigned long long)(a), __scx_numbers6(rest)
#define __scx_numbers8(a, rest...) (unsigned long long)(a), __scx_numbers7(rest)
#define __scx_numbers9(a, rest...) (unsigned long long)(a), __scx_numbers8(rest)
#define __scx_numbers10(a, rest...) (unsigned long long)(a), __scx_numbers9(rest)
#define __scx_numbers11(a, rest...) (unsigned long long)(a), __scx_numbers10(rest)
#define __scx_numbers12(a, rest...) (unsigned long long)(a), __scx_numbers11(rest)

/*
 * Calls a kfunc that ends in a format, its arguments, and their size, which may
 * not be 0. The arguments are assigned one by one: an array of constant
 * addresses would lie in a section in which nobody relocates them.
 */
#define __scx_say(kfunc, first, fmt, args...)                              \
	({                                                                 \
		static char ___fmt[] = fmt;                                \
		unsigned long long ___data[___bpf_narg(args) ?: 1] = {};   \
		___bpf_fill(___data, __scx_numbers(args));                 \
		kfunc(__scx_first first ___fmt, ___data, sizeof(___data)); \
		__scx_printf(fmt, ##args);                                 \
	})
#define __scx_first(value...) value

#define __scx_text(line) #line
#define __scx_line(line) __scx_text(line)

/* Gives up with an error; the kernel falls back to its own scheduler. The message begins with file and line. */
#define scx_bpf_error(fmt, args...) \
	__scx_say(scx_bpf_error_bstr, (), __FILE_NAME__ ":" __scx_line(__LINE__) ": " fmt, ##args)

/* Ends without an error, with a code for user space. */
#define scx_bpf_exit(code, fmt, args...) __scx_say(scx_bpf_exit_bstr, (code, ), fmt, ##args)

/* Adds to a dump of the kernel's, in ops.dump and its kin. */
#define scx_bpf_dump(fmt, args...) __scx_say(scx_bpf_dump_bstr, (), fmt, ##args)

#define scx_bpf_dump_header()                                                       \
	scx_bpf_dump("kernel: %d.%d.%d %s\ncc: %s\n", LINUX_KERNEL_VERSION >> 16,   \
		     LINUX_KERNEL_VERSION >> 8 & 0xff, LINUX_KERNEL_VERSION & 0xff, \
		     CONFIG_LOCALVERSION, CONFIG_CC_VERSION_TEXT)
