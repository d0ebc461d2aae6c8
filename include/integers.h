/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel's integer types, bool and NULL. Nothing else, so that every file that is compiled here can include it. */
#pragma once

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed char s8;
typedef short s16;
typedef int s32;
typedef long long s64;

#if !defined(__cplusplus) && (!defined(__STDC_VERSION__) || __STDC_VERSION__ < 202311L)
#ifndef bool
typedef _Bool bool;
#define true 1
#define false 0
#endif
#endif

#ifndef NULL
#define NULL ((void *)0)
#endif
