/* SPDX-License-Identifier: GPL-2.0-only */
/* cpu.max: who is never kept waiting by a policy that keeps it. */
#pragma once

#include "limits.h"

/*
 * Threads of the kernel's own and tasks that exit are not kept waiting; nor is who
 * was interrupted where others wait for it: migration disabled, or a reader of RCU.
 * Running a policy counts as either for the current task.
 */
static __always_inline bool may_wait(const struct task_struct *p)
{
	int here = p == bpf_get_current_task_btf();

	if (p->flags & (PF_KTHREAD | PF_EXITING) || p->migration_disabled > here)
		return false;
	return !bpf_core_field_exists(p->rcu_read_lock_nesting) || p->rcu_read_lock_nesting <= here;
}
