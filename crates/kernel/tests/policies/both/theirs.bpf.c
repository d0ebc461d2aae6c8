/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Written as against scx's headers: their names for calls, new ones and old
 * ones, an exit callback and a number of CPUs of its own, units as constants of
 * its own. Says itself when a call does not do what its name says.
 */
#include <scx/common.bpf.h>
#include <scx/compat.bpf.h>
#include <scx/user_exit_info.bpf.h>
#include <errno.h>

char _license[] SEC("license") = "GPL";

UEI_DEFINE(uei);

#define SHARED 0
#define ORDERED 1
#define SPARE 2

enum units {
	NSEC_PER_USEC = 1000ULL,
	NSEC_PER_MSEC = 1000 * NSEC_PER_USEC,
};

const volatile u64 slice_us = 3000;
const volatile u32 nr_cpus = 1;
static u64 calls;

#define EXPECT(condition)                                                         \
	({                                                                        \
		if (!(condition))                                                 \
			scx_bpf_error("not so for %s: %s", __func__, #condition); \
	})

s32 BPF_STRUCT_OPS(theirs_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	bool is_idle = false;
	s32 cpu;

	if (__COMPAT_HAS_scx_bpf_select_cpu_and && wake_flags & SCX_WAKE_SYNC) {
		cpu = scx_bpf_select_cpu_and(p, prev_cpu, wake_flags, p->cpus_ptr, 0);
		EXPECT(cpu < 0 || bpf_cpumask_test_cpu(cpu, p->cpus_ptr));
		return cpu < 0 ? prev_cpu : cpu;
	}
	cpu = scx_bpf_select_cpu_dfl(p, prev_cpu, wake_flags, &is_idle);
	if (is_idle)
		scx_bpf_dispatch(p, SCX_DSQ_LOCAL, slice_us * NSEC_PER_USEC, 0);
	return cpu;
}

void BPF_STRUCT_OPS(theirs_enqueue, struct task_struct *p, u64 enq_flags)
{
	u64 slice = slice_us * NSEC_PER_USEC, vtime = p->scx.dsq_vtime;
	s32 cpu;

	/*
	 * A wake-up may have been handed to its CPU before the policy came and
	 * arrive after. Who has run under it was woken under it.
	 */
	if (vtime && enq_flags & SCX_ENQ_WAKEUP && !__COMPAT_is_enq_cpu_selected(enq_flags))
		EXPECT(p->nr_cpus_allowed == 1 || is_migration_disabled(p));
	switch (__sync_fetch_and_add(&calls, 1) % 4) {
	case 0:
		EXPECT(scx_bpf_dsq_insert(p, SHARED, slice, enq_flags));
		break;
	case 1:
		scx_bpf_dispatch(p, SHARED, slice, enq_flags);
		break;
	case 2:
		EXPECT(scx_bpf_dsq_insert_vtime(p, ORDERED, slice, vtime, enq_flags));
		break;
	default:
		scx_bpf_dispatch_vtime(p, ORDERED, slice, vtime, enq_flags);
	}
	cpu = scx_bpf_pick_idle_cpu(p->cpus_ptr, 0);
	if (cpu >= 0)
		scx_bpf_kick_cpu(cpu, SCX_KICK_IDLE);
}

/* The first that may run here, out of the queue in which it waits. */
static bool move_one(s32 cpu)
{
	struct task_struct *p;

	bpf_for_each(scx_dsq, p, SHARED, 0) {
		if (!bpf_cpumask_test_cpu(cpu, p->cpus_ptr))
			continue;
		scx_bpf_dsq_move_set_slice(BPF_FOR_EACH_ITER, NSEC_PER_MSEC);
		scx_bpf_dsq_move_set_vtime(BPF_FOR_EACH_ITER, p->scx.dsq_vtime);
		if (calls % 2)
			return scx_bpf_dsq_move_vtime(BPF_FOR_EACH_ITER, p, ORDERED, 0);
		return scx_bpf_dsq_move(BPF_FOR_EACH_ITER, p, SCX_DSQ_LOCAL, 0);
	}
	return false;
}

void BPF_STRUCT_OPS(theirs_dispatch, s32 cpu, struct task_struct *prev)
{
	struct task_struct *first;

	EXPECT(scx_bpf_dispatch_nr_slots() > 0);
	bpf_rcu_read_lock();
	first = __COMPAT_scx_bpf_dsq_peek(ORDERED);
	EXPECT(!first || first->pid > 0);
	bpf_rcu_read_unlock();
	move_one(cpu);
	if (scx_bpf_dsq_move_to_local(ORDERED) || scx_bpf_dsq_move_to_local(SHARED, 0) ||
	    scx_bpf_consume(ORDERED))
		return;
	if (__COMPAT_scx_bpf_reenqueue_local_from_anywhere() && calls % 64 == 0)
		scx_bpf_reenqueue_local();
}

void BPF_STRUCT_OPS(theirs_running, struct task_struct *p)
{
	struct cgroup *cgrp = scx_bpf_task_cgroup(p);
	struct task_struct *curr;

	EXPECT(cgrp);
	if (cgrp)
		bpf_cgroup_release(cgrp);
	scx_bpf_task_set_slice(p, 2 * NSEC_PER_MSEC);
	EXPECT(p->scx.slice == 2 * NSEC_PER_MSEC);
	scx_bpf_task_set_dsq_vtime(p, p->scx.dsq_vtime + 1);
	bpf_rcu_read_lock();
	curr = __COMPAT_scx_bpf_cpu_curr(scx_bpf_task_cpu(p));
	EXPECT(!curr || curr->pid >= 0);
	bpf_rcu_read_unlock();
}

void BPF_STRUCT_OPS(theirs_stopping, struct task_struct *p, bool runnable)
{
	u64 used = NSEC_PER_MSEC;

	EXPECT(scale_by_task_weight(p, 100) == p->scx.weight);
	scx_bpf_task_set_dsq_vtime(p, p->scx.dsq_vtime + scale_by_task_weight_inverse(p, used));
}

void BPF_STRUCT_OPS(theirs_enable, struct task_struct *p)
{
	scx_bpf_task_set_dsq_vtime(p, 0);
}

s32 BPF_STRUCT_OPS_SLEEPABLE(theirs_init)
{
	u64 before = scx_bpf_now();
	struct scx_event_stats events = {};
	s32 error;

	EXPECT(time_after_eq(scx_bpf_now(), before));
	EXPECT(nr_cpus >= 1 && nr_cpus <= scx_bpf_nr_cpu_ids());
	EXPECT(__COMPAT_scx_bpf_nr_node_ids() >= 1 && __COMPAT_scx_bpf_cpu_node(0) == 0);
	EXPECT(__COMPAT_ENUM_OR_ZERO(enum scx_pick_idle_cpu_flags, SCX_PICK_IDLE_CORE) == 1);
	__COMPAT_scx_bpf_events(&events, sizeof(events));
	EXPECT(scx_read_event(&events, SCX_EV_BYPASS_DURATION) >= 0);
	EXPECT(!scx_bpf_create_dsq(SPARE, NUMA_NO_NODE) && scx_bpf_dsq_nr_queued(SPARE) == 0);
	scx_bpf_destroy_dsq(SPARE);
	EXPECT(scx_bpf_dsq_nr_queued(SPARE) == -ENOENT);
	error = scx_bpf_create_dsq(SHARED, NUMA_NO_NODE);
	return error ?: scx_bpf_create_dsq(ORDERED, NUMA_NO_NODE);
}

void BPF_STRUCT_OPS(theirs_exit, struct scx_exit_info *ei)
{
	UEI_RECORD(uei, ei);
}

SCX_OPS_DEFINE(theirs_ops, .select_cpu = (void *)theirs_select_cpu,
	       .enqueue = (void *)theirs_enqueue, .dispatch = (void *)theirs_dispatch,
	       .running = (void *)theirs_running, .stopping = (void *)theirs_stopping,
	       .enable = (void *)theirs_enable, .init = (void *)theirs_init,
	       .exit = (void *)theirs_exit, .flags = SCX_OPS_ENQ_EXITING, .timeout_ms = 20000,
	       .name = "theirs");
