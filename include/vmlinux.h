/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel's types for policies that include "vmlinux.h": not all of them, as
 * in a file that bpftool writes from a kernel's BTF, but what schedulers use.
 * Members are relocated at load, so that their order here says nothing; what
 * the kernel or the model has not is named then. docs/policies.md says what to
 * do about a name that is missing here.
 */
#ifndef __VMLINUX_H__
#define __VMLINUX_H__

#include "uapi_integers.h"
#include "vmlinux/bpf.h"
#include "vmlinux/kernel.h"
#include "vmlinux/sched_ext.h"

#endif
