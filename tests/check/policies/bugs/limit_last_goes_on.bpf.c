/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Without SCX_OPS_ENQ_LAST the last task of a CPU goes on, whether its group has time left or not. */
#define LETS_THE_LAST_GO_ON
#include "../limits/keeps.bpf.c"
