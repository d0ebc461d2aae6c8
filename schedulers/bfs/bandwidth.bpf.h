/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * cpu.max (modern): whom the accounts of bandwidth.h keep waiting, and who puts an
 * end to that. A part of scx_bfs.bpf.c, which defines before it kick_idle(),
 * kernel_slice() and BFS_LIMIT.
 *
 * A task is charged whenever it is seen: at ticks, in the dispatch after it stopped,
 * when it is queued again, when it exits. One whose groups have no time left is
 * put aside: in a queue of the group that blocks it, in the order of waiting. The
 * group's timer fires when the next period begins, and lets in who may run. Time
 * is asked for before a task is put anywhere where it can run, and at ticks; who
 * was on its way to a CPU when the time was used up runs until a tick.
 */
#pragma once

#include "../lib/limits.bpf.h"
#include "../lib/oneshot.bpf.h"

STAT(put_aside, "tasks put aside because their control group has used up its cpu.max");
STAT(groups_left_out, "control groups whose own limit is not kept, because there are too many");

static struct bfs_group groups[BFS_GROUPS];
/* Neither is static: both hold small numbers, and the compiler would make bytes of them. */
u32 blocked_groups;
u32 limits_made;

#define bfs_group(group) (&groups[group_index(group)])

static __always_inline u32 group_index(u32 group)
{
	barrier_var(group);
	return group & (BFS_GROUPS - 1);
}

ONESHOTS(group_timers, BFS_GROUPS);

/* By the number of a control group: its account, or with BFS_SHARED that of a group above it. */
#define BFS_SHARED (1u << 31)

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 16 * BFS_GROUPS);
	__type(key, u64);
	__type(value, u32);
} accounts SEC(".maps");

/*
 * A task that is told to wait may be inserted after the timer has fired: the kernel
 * inserts when ops.enqueue() has returned. So the timer looks once more, so long
 * after the last was told.
 */
#define BFS_LINGER_NS NSEC_PER_SEC

static __always_inline u32 account_of(const struct cgroup *cgrp)
{
	u64 id = cgrp->kn->id;
	u32 *account = bpf_map_lookup_elem(&accounts, &id);

	return account ? *account : BFS_SHARED;
}

static __always_inline void start_timer(u32 group, u64 ns)
{
	start_oneshot(&group_timers, group, ns, 0);
}

/*
 * Nothing is left: nobody of the group runs before its timer fires. Where that
 * cannot be started, they go on. It is started after the mark, which it takes away.
 */
static __always_inline bool block(u32 group, u64 now)
{
	struct bfs_group *g = bfs_group(group);

	if (g->blocked)
		return true;
	if (!has_irq_work())
		return false;
	if (__sync_val_compare_and_swap(&g->blocked, 0, 1))
		return true;
	__sync_fetch_and_add(&blocked_groups, 1);
	start_timer(group, bfs_until_next(g, now));
	return true;
}

/*
 * Charge the task's groups for what it ran since it was last charged; returns one
 * that has no time left, or 0. A limit that is newer than that, or that the task
 * was not under, counts from now on.
 */
__noinline u32 charge_groups(struct bfs_task *t, u64 ran_ns, u64 now)
{
	u32 group, known, blocker = 0, level = 0;
	u64 new_ns;

	if (!t)
		return 0;
	group = t->group;
	known = t->limits_known;
	new_ns = ran_ns - t->counted_ns;
	t->limits_known = limits_made;
	t->counted_ns = ran_ns;
	for_range(level, 0, BFS_GROUPS)
	{
		struct bfs_group *g = bfs_group(group);

		if (!group)
			break;
		if (g->quota_ns && bfs_use(g, g->limit <= known ? new_ns : 0, now) &&
		    block(group, now) && !blocker)
			blocker = group;
		group = g->parent;
	}
	return blocker;
}

/* Charges it, too. */
static __always_inline u32 who_blocks(const struct task_struct *p, struct bfs_task *t, u64 now)
{
	u32 blocker = charge_groups(t, p->se.sum_exec_runtime, now);

	return blocker && may_wait(p) ? blocker : 0;
}

/*
 * The same of a task that waits. Where the time of a group comes more slowly than its
 * tasks need to take turns, the last of them would wait for as long as the kernel
 * lets a task wait: before that it passes, and runs for a moment.
 */
static __always_inline u32 who_holds_back(const struct task_struct *p, struct bfs_task *t, u64 now)
{
	u32 blocker = who_blocks(p, t, now);

	if (!blocker || !before64(t->waits_ns + BFS_FLOOR_NS, now))
		return blocker;
	t->next_start = BFS_PASSES_BY;
	return 0;
}

/* In ops.enqueue: whether the task has to wait for its groups. It waits since then, unless it did so before. */
static __always_inline bool put_aside(struct task_struct *p, struct bfs_task *t, u64 now,
				      u64 enq_flags)
{
	u32 blocker;

	if (t->descheduled || enq_flags & (SCX_ENQ_WAKEUP | SCX_ENQ_REENQ) || !t->waits_ns)
		t->waits_ns = now;
	blocker = who_holds_back(p, t, now);
	if (!blocker)
		return false;
	STAT_INC(put_aside);
	bfs_group(blocker)->put_ns = now;
	scx_bpf_dsq_insert_vtime(p, BFS_ASIDE(blocker), kernel_slice(t), t->waits_ns, enq_flags);
	return true;
}

/* The first tasks of a queue, up to one that may run here, as far as their groups have no time left. */
static __always_inline void put_first_aside(u32 queue, u32 cpu, u64 now)
{
	struct task_struct *p;

	for_each_queued(it, p, queue)
	{
		struct bfs_task *t = task_of(p);
		u32 blocker = t ? who_holds_back(p, t, now) : 0;

		if (!t || !blocker) {
			if (may_run_on(p, cpu))
				break;
			continue;
		}
		bfs_group(blocker)->put_ns = now;
		scx_bpf_dsq_move_set_vtime(it, t->waits_ns);
		if (!scx_bpf_dsq_move_vtime(it, p, BFS_ASIDE(blocker), 0))
			continue;
		STAT_INC(put_aside);
		leave_sticky(p, t);
	}
}

/* In ops.dispatch: nobody whose group has no time left is the first of what this CPU looks at. */
__noinline s32 put_heads_aside(u32 cpu, u64 now)
{
	u32 llc = 0;

	put_first_aside(BFS_OWN(cpu), cpu, now);
	for_range(llc, 0, nr_llcs) put_first_aside(BFS_PLAIN(llc), cpu, now);
	return 0;
}

/* Back to where it would be queued now. */
static __always_inline void let_in(struct bpf_iter_scx_dsq *it, struct task_struct *p,
				   struct bfs_task *t)
{
	u32 cpu = scx_bpf_task_cpu(p);
	u32 queue = is_pinned(p) ? BFS_OWN(cpu) : BFS_PLAIN(cpu_llc[cpu_index(cpu)]);

	scx_bpf_dsq_move_set_vtime(it, t->key);
	if (!scx_bpf_dsq_move_vtime(it, p, queue, 0))
		return;
	lower_bound(hint_of(queue), t->key);
	kick_idle(p);
}

/* A task that was put aside, when the timer of the group has fired that blocked it. False: neither it nor those behind it go on. */
static __always_inline bool look_again(struct bpf_iter_scx_dsq *it, struct task_struct *p,
				       struct bfs_task *t, u32 group, u64 now)
{
	u32 blocker = who_holds_back(p, t, now);

	if (!blocker) {
		let_in(it, p, t);
		return true;
	}
	if (blocker == group)
		return false;
	bfs_group(blocker)->put_ns = now;
	scx_bpf_dsq_move_set_vtime(it, t->waits_ns);
	scx_bpf_dsq_move_vtime(it, p, BFS_ASIDE(blocker), 0);
	return true;
}

static __always_inline void look_at_all(u32 group, u64 now)
{
	struct task_struct *p;

	for_each_queued(it, p, BFS_ASIDE(group))
	{
		struct bfs_task *t = task_of(p);

		if (t && !look_again(it, p, t, group, now))
			break;
	}
}

static s32 period_begins(void *map, u32 *key, struct bpf_timer *timer)
{
	u32 group = *key;
	struct bfs_group *g = bfs_group(group);
	u64 now = scx_bpf_now();

	if (__sync_val_compare_and_swap(&g->blocked, 1, 0))
		__sync_fetch_and_sub(&blocked_groups, 1);
	/* To older verifiers what a sleepable function sets up is sleepable. */
	bpf_rcu_read_lock();
	look_at_all(group, now);
	bpf_rcu_read_unlock();
	if (g->blocked || !before64(now, g->put_ns + BFS_LINGER_NS))
		return 0;
	start_timer(group, BFS_LINGER_NS);
	/* Another CPU may have started it meanwhile, for an earlier time. */
	if (g->blocked)
		start_timer(group, bfs_until_next(g, scx_bpf_now()));
	return 0;
}

/* The limit counts from now on; a timer looks at who waits for the one before. */
static __always_inline void set_limit(u32 group, u64 period_us, u64 quota_us, u64 burst_us)
{
	struct bfs_group *g = bfs_group(group);
	bool had = g->quota_ns, has = is_limit(quota_us, period_us, nr_cpus);

	if (has) {
		if (!had)
			g->limit = __sync_fetch_and_add(&limits_made, 1) + 1;
		bfs_set_limit(g, quota_us * NSEC_PER_USEC, period_us * NSEC_PER_USEC,
			      burst_us * NSEC_PER_USEC, scx_bpf_now());
	} else {
		g->quota_ns = 0;
	}
	if (had != has)
		__sync_fetch_and_add(&attention, has ? BFS_LIMIT : -BFS_LIMIT);
	if (had)
		start_timer(group, 1);
}

/* An account of its own, with a queue and a timer, or 0. Both stay when the group goes, for the next that has the account. */
static __always_inline u32 open_account(void)
{
	u32 group = 0;

	for_range(group, 1, BFS_GROUPS)
	{
		s32 error;

		if (bfs_group(group)->there)
			continue;
		error = scx_bpf_create_dsq(BFS_ASIDE(group), -1);
		if (error && error != -EEXIST)
			break;
		if (!init_oneshot(&group_timers, group, period_begins))
			break;
		bfs_group(group)->there = true;
		return group;
	}
	return 0;
}

static __always_inline void close_account(u32 group)
{
	set_limit(group, 1, ~0ULL, 0);
	bfs_group(group)->there = false;
}

/* What a control group has from the beginning; its groups below come later. */
static __always_inline void init_group(const struct cgroup *cgrp,
				       const struct scx_cgroup_init_args *args)
{
	const struct cgroup_subsys_state *above = cgrp->self.parent;
	u32 account, parent;
	u64 id = cgrp->kn->id;

	/* The root has no limit. */
	if (!above)
		return;
	parent = group_index(account_of(above->cgroup));
	account = open_account();
	if (account) {
		bfs_group(account)->parent = parent;
		if (bpf_core_field_exists(args->bw_quota_us))
			set_limit(account, args->bw_period_us, args->bw_quota_us,
				  args->bw_burst_us);
	} else {
		STAT_INC(groups_left_out);
		account = parent | BFS_SHARED;
	}
	if (bpf_map_update_elem(&accounts, &id, &account, 0) && !(account & BFS_SHARED))
		close_account(account);
}

static __always_inline void exit_group(const struct cgroup *cgrp)
{
	u32 account = account_of(cgrp);
	u64 id = cgrp->kn->id;

	if (!(account & BFS_SHARED))
		close_account(account);
	bpf_map_delete_elem(&accounts, &id);
}

/*
 * The task is in that group from now on. What it ran until now was run in the one
 * before. One that runs does not go on where no time is left: no tick finds whoever
 * is moved in and out often enough.
 */
static __always_inline void enter_group(const struct task_struct *p, struct bfs_task *t,
					const struct cgroup *to)
{
	u64 ran_ns = p->se.sum_exec_runtime, now = scx_bpf_now();

	if (has_limits())
		charge_groups(t, ran_ns, now);
	t->limits_known = 0;
	t->group = group_index(account_of(to));
	if (has_limits() && charge_groups(t, ran_ns, now) && may_wait(p) && scx_bpf_task_running(p))
		kick_cpu(scx_bpf_task_cpu(p), SCX_KICK_PREEMPT);
}

/* The published versions know no control groups. */
s32 BPF_STRUCT_OPS_SLEEPABLE(bfs_cgroup_init, struct cgroup *cgrp,
			     struct scx_cgroup_init_args *args)
{
	if (MODERN)
		init_group(cgrp, args);
	return 0;
}

void BPF_STRUCT_OPS_SLEEPABLE(bfs_cgroup_exit, struct cgroup *cgrp)
{
	if (MODERN)
		exit_group(cgrp);
}

void BPF_STRUCT_OPS(bfs_cgroup_move, struct task_struct *p, struct cgroup *from, struct cgroup *to)
{
	struct bfs_task *t = task_of(p);

	if (MODERN && t)
		enter_group(p, t, to);
}

void BPF_STRUCT_OPS(bfs_cgroup_set_bandwidth, struct cgroup *cgrp, u64 period_us, u64 quota_us,
		    u64 burst_us)
{
	u32 account;

	if (!MODERN)
		return;
	account = account_of(cgrp);
	if (!(account & BFS_SHARED))
		set_limit(account, period_us, quota_us, burst_us);
}

/* In ops.cpu_offline: nobody who is counted on the CPU waits. Where they go, they are put aside again. */
static __always_inline void send_on_who_wait(u32 cpu)
{
	u32 group = 0;

	for_range(group, 1, BFS_GROUPS)
	{
		if (bfs_group(group)->put_ns)
			send_on(BFS_ASIDE(group), cpu);
	}
}
