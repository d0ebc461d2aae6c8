/* SPDX-License-Identifier: GPL-2.0-only */
/* Why a policy ended, as it tells it to user space. */
#pragma once

#include "../integers.h"

enum uei_sizes {
	UEI_REASON_LEN = 128,
	UEI_MSG_LEN = 1024,
	UEI_DUMP_DFL_LEN = 32768,
};

struct user_exit_info {
	int kind;
	s64 exit_code;
	char reason[UEI_REASON_LEN];
	char msg[UEI_MSG_LEN];
};
