/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Constants that are other ones in some kernels, or that some have not, as the
 * running kernel has them; 0 where it has none. All others are plain constants,
 * which may stand where C wants one.
 */
#pragma once

#include "vmlinux.h"
#include <bpf/bpf_core_read.h>

#define __scx_enum_or_zero(type, name) \
	(bpf_core_enum_value_exists(type, name) ? bpf_core_enum_value(type, name) : 0)

#define SCX_ENQ_WAKEUP bpf_core_enum_value(enum scx_enq_flags, SCX_ENQ_WAKEUP)
#define SCX_ENQ_HEAD bpf_core_enum_value(enum scx_enq_flags, SCX_ENQ_HEAD)
#define SCX_ENQ_PREEMPT bpf_core_enum_value(enum scx_enq_flags, SCX_ENQ_PREEMPT)
#define SCX_ENQ_IMMED __scx_enum_or_zero(enum scx_enq_flags, SCX_ENQ_IMMED)
#define SCX_ENQ_REENQ bpf_core_enum_value(enum scx_enq_flags, SCX_ENQ_REENQ)
#define SCX_ENQ_LAST bpf_core_enum_value(enum scx_enq_flags, SCX_ENQ_LAST)
#define SCX_ENQ_CLEAR_OPSS bpf_core_enum_value(enum scx_enq_flags, SCX_ENQ_CLEAR_OPSS)
#define SCX_ENQ_DSQ_PRIQ bpf_core_enum_value(enum scx_enq_flags, SCX_ENQ_DSQ_PRIQ)
#define SCX_DEQ_SCHED_CHANGE __scx_enum_or_zero(enum scx_deq_flags, SCX_DEQ_SCHED_CHANGE)
