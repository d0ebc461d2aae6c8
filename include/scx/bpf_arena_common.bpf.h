/* SPDX-License-Identifier: GPL-2.0-only */
/* Another name that sources have for it. */
#pragma once

#include "../bpf_arena_common.bpf.h"
