/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whoever wakes gets its group a new quota. */
#define REFILLS_AT_WAKE_UPS
#include "../limits/keeps.bpf.c"
