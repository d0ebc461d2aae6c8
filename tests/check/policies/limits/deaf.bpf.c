/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The same for limits that were there before it, as far as anybody can tell from its callbacks. */
#define DEAF
#include "keeps.bpf.c"
