/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Nothing of its own: one global first-in-first-out queue. */
#include <scx.h>

SCX_OPS_DEFINE(fifo_ops, .name = "fifo");
