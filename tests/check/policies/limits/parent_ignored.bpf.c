/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Only the nearest limit counts: a group below another may use more than that one has. */
#define IGNORES_THOSE_ABOVE
#include "keeps.bpf.c"
