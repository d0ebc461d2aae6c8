/* SPDX-License-Identifier: GPL-2.0-only */
/* C's errno.h for BPF: the kernel's numbers. The C library's own leads to files for a target that BPF is not. */
#pragma once

#include <asm-generic/errno.h>

#define ENOTSUP EOPNOTSUPP
