/* SPDX-License-Identifier: GPL-2.0-only */
/* Sources of 6.12's time include this name in both halves; this is the policy's. */
#pragma once

#include "user_exit_info.bpf.h"
