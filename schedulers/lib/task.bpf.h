/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A context for each task, which the policy defines before this header:
 * struct task_ctx.
 */
#pragma once

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct task_ctx);
} task_ctxs SEC(".maps");

/* NULL: the task has none. */
static __always_inline struct task_ctx *ctx_of(struct task_struct *p)
{
	return bpf_task_storage_get(&task_ctxs, p, NULL, 0);
}

/* In ops.init_task: the context, zeroed; NULL: no memory. */
static __always_inline struct task_ctx *new_ctx(struct task_struct *p)
{
	return bpf_task_storage_get(&task_ctxs, p, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
}
