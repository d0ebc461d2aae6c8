/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Accepts five control groups in all, those included that are gone. */
#include <scx/common.bpf.h>

char _license[] SEC("license") = "GPL";

#define MOST 5

static u32 accepted;

s32 BPF_STRUCT_OPS(counts_cgroup_init, struct cgroup *cgrp, struct scx_cgroup_init_args *args)
{
	return ++accepted > MOST ? -EBUSY : 0;
}

SCX_OPS_DEFINE(counts_ops, .cgroup_init = (void *)counts_cgroup_init, .name = "counts");
