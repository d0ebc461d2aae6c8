/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the policies of this folder share: they end with the line of what did not hold. */
#pragma once

#include <scx.h>

#define EXPECT(condition)                                                  \
	({                                                                 \
		if (!(condition))                                          \
			scx_bpf_error("line %llu: " #condition, __LINE__); \
	})

#define ENOENT 2
#define E2BIG 7
#define EAGAIN 11
#define ERANGE 34

#define NOWHERE ((void *)0xdead000000000000ULL) /* no address at all: not canonical */
