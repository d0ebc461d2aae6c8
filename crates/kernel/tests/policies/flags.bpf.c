/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sets a flag that the first releases have not. */
#include <scx.h>

#define SCX_OPS_ALLOW_QUEUED_WAKEUP (1 << 5)

SCX_OPS_DEFINE(flags_ops, .flags = SCX_OPS_ALLOW_QUEUED_WAKEUP, .name = "flags");
