/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The names that scx's common.bpf.h gives to a policy, for sources that were
 * written against scx's headers. Our own policies include scx.h instead, which
 * is smaller and keeps them from what a CPU that goes offline must not be asked.
 * Like scx's headers, and unlike scx.h, these define no policy's globals: the
 * policy has its own licence, exit callback and facts of the machine.
 */
#pragma once

/* A vmlinux.h that bpftool made declares kfuncs, too, without the weak ones. */
#define BPF_NO_KFUNC_PROTOTYPES

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>
#include <asm-generic/errno.h>

#include "libbpf.bpf.h"
#include "kfuncs.bpf.h"
#include "enums.bpf.h"
#include "user_exit_info.bpf.h"
#include "say.bpf.h"
#include "verifier.bpf.h"
#include "arithmetic.bpf.h"
#include "compat.bpf.h"
#include "tasks.bpf.h"
