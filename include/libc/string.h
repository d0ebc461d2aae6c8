/* SPDX-License-Identifier: GPL-2.0-only */
/* What of C's string.h the compiler writes out itself; BPF has no C library to call. */
#pragma once

#define memcpy(to, from, bytes) __builtin_memcpy((to), (from), (bytes))
#define memmove(to, from, bytes) __builtin_memmove((to), (from), (bytes))
#define memset(to, byte, bytes) __builtin_memset((to), (byte), (bytes))
#define memcmp(a, b, bytes) __builtin_memcmp((a), (b), (bytes))
