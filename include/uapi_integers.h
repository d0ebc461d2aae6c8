/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel's names for integers in its interface to user space, which libbpf's headers ask for. */
#pragma once

#include "integers.h"

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
