/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The line, made of dispatch queues in the order of line_key(): one that all
 * CPUs share, and one of each CPU for tasks that may run only there (or, where
 * the policy wants a line a CPU, for all tasks last seen there). A CPU runs the
 * least key of both.
 *
 * Whoever includes this has a struct task_ctx with a member `place`.
 *
 * Kernel threads do not stand in line: they go first on their CPU, because CPU
 * hotplug, RCU and the disk work through them, and a line that does not move
 * until they have run would never move again.
 */
#ifndef SCHEDLAB_LINE_BPF_H
#define SCHEDLAB_LINE_BPF_H

#include "line.h"

STAT(idle_wakeups, "tasks woken on an idle CPU");
STAT(kernel_first, "kernel threads that went before the line");
STAT(kept, "picks that the running task won");
STAT(rehomed, "queued tasks sent on by a CPU that goes offline");

#define LINE_OWN(cpu) (cpu)
#define LINE_SHARED MAX_CPUS
#define LINE_KERNEL_LEVEL (LINE_LEVELS - 1)
#define LINE_NOBODY (-1)

struct line_cpu {
	u64 since_ns; /* its task runs since then */
	s32 level; /* of its task; LINE_NOBODY: none of ours */
	bool offline;
};

/* Not static: the compiler would take the structures apart. */
struct line_cpu line_cpus[MAX_CPUS];

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct task_ctx);
} tasks SEC(".maps");

static __always_inline struct line_cpu *line_cpu(u32 cpu)
{
	return &line_cpus[cpu_index(cpu)];
}

static __always_inline struct task_ctx *task_of(struct task_struct *p)
{
	return bpf_task_storage_get(&tasks, p, NULL, 0);
}

/* Who disabled its migration may run where it is only, whatever its mask says. */
static __always_inline bool may_run_on(const struct task_struct *p, u32 cpu)
{
	if (p->migration_disabled && scx_bpf_task_cpu(p) != (s32)cpu)
		return false;
	return bpf_cpumask_test_cpu(cpu, p->cpus_ptr);
}

/* The first in line of those that may run on a CPU. */
struct line_head {
	u64 key;
	u64 waits_since_ns;
	u32 queue;
	bool found;
};

static __always_inline void line_look(u32 queue, u32 cpu, struct line_head *head)
{
	struct task_struct *p;
	struct task_ctx *t;

	for_each_queued(it, p, queue)
	{
		if (!may_run_on(p, cpu))
			continue;
		if (head->found && !before64(p->scx.dsq_vtime, head->key))
			break;
		t = task_of(p);
		head->key = p->scx.dsq_vtime;
		head->waits_since_ns = t ? t->place.waits_since_ns : 0;
		head->queue = queue;
		head->found = true;
		break;
	}
}

static __always_inline void line_first(u32 cpu, struct line_head *head)
{
	line_look(LINE_OWN(cpu), cpu, head);
	line_look(LINE_SHARED, cpu, head);
}

/* A CPU each that has nothing: only where a CPU has a line of its own is there anything to take. */
static __always_inline bool line_steal(u32 cpu)
{
	u32 i = 0;

	for_range(i, 1, nr_cpus)
	{
		u32 other = cpu + i < nr_cpus ? cpu + i : cpu + i - nr_cpus;

		if (scx_bpf_dsq_move_to_local(LINE_OWN(other)))
			return true;
	}
	return false;
}

/* An idle CPU for the task, claimed; never one that is offline, which may still be marked idle. */
static __always_inline s32 line_claim_idle(const struct task_struct *p)
{
	s32 cpu, found = -1;
	u32 attempt = 0;

	for_range(attempt, 0, 8)
	{
		cpu = scx_bpf_pick_idle_cpu(p->cpus_ptr, 0);
		if (cpu < 0)
			break;
		if (!line_cpu(cpu)->offline) {
			found = cpu;
			break;
		}
	}
	return found;
}

/*
 * ops.select_cpu: an idle CPU takes the task at once. The sync flag is taken
 * away: with it the kernel would leave the task behind its waker, who may have
 * no end. Returns true if the task has been inserted.
 */
static __always_inline bool line_select(struct task_struct *p, s32 *cpu, u64 wake_flags, u64 slice)
{
	bool idle = false;

	*cpu = scx_bpf_select_cpu_dfl(p, *cpu, wake_flags & ~(u64)SCX_WAKE_SYNC, &idle);
	if (!idle)
		return false;
	STAT_INC(idle_wakeups);
	scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, slice, 0);
	return true;
}

/* ops.enqueue, first: a kernel thread goes past the line, and a waking one preempts. */
static __always_inline bool line_kernel_first(struct task_struct *p, u64 enq_flags)
{
	u64 preempt = enq_flags & SCX_ENQ_WAKEUP ? SCX_ENQ_PREEMPT : 0;

	if (!(p->flags & PF_KTHREAD))
		return false;
	STAT_INC(kernel_first);
	scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, SCX_SLICE_DFL, enq_flags | preempt);
	return true;
}

/* ops.enqueue, then: queue by key, and wake a CPU that idles. True: one does. */
static __always_inline bool line_insert(struct task_struct *p, struct task_ctx *t, u64 key,
					u64 slice, bool line_a_cpu, u64 enq_flags)
{
	u32 cpu = scx_bpf_task_cpu(p);
	bool own = line_a_cpu || p->nr_cpus_allowed == 1 || p->migration_disabled;
	s32 idle;

	line_waits(&t->place, scx_bpf_now());
	scx_bpf_dsq_insert_vtime(p, own ? LINE_OWN(cpu) : LINE_SHARED, slice, key, enq_flags);
	idle = line_claim_idle(p);
	if (idle < 0)
		return false;
	scx_bpf_kick_cpu(idle, SCX_KICK_IDLE);
	return true;
}

/* The task that a CPU runs, if it is one of ours and has not just blocked. */
static __always_inline struct task_ctx *line_running(u32 cpu, struct task_struct *prev)
{
	return prev && line_cpu(cpu)->level != LINE_NOBODY ? task_of(prev) : NULL;
}

/*
 * ops.dispatch: bring the first in line. False: the running task is before all
 * of them (or there is nobody): let it go on. prev_key counts if prev_runs.
 */
static __always_inline bool line_dispatch(u32 cpu, bool prev_runs, u64 prev_key, bool line_a_cpu)
{
	u32 attempt = 0;
	bool took = false;

	for_range(attempt, 0, 4)
	{
		struct line_head head = {};

		line_first(cpu, &head);
		if (prev_runs && line_goes_on(prev_key, head.found, head.key))
			break;
		if (!head.found)
			break;
		/* Else somebody was faster. */
		took = scx_bpf_dsq_move_to_local(head.queue);
		if (took)
			break;
	}
	if (!took && !prev_runs && line_a_cpu)
		took = line_steal(cpu);
	return took;
}

static __always_inline void line_now_runs(struct task_struct *p, struct task_ctx *t, s32 level)
{
	struct line_cpu *c = line_cpu(scx_bpf_task_cpu(p));

	if (t)
		line_runs(&t->place);
	c->since_ns = scx_bpf_now();
	c->level = p->flags & PF_KTHREAD ? LINE_KERNEL_LEVEL : level;
}

/*
 * ops.tick: the kernel queues by itself, past the policy, who must not migrate
 * at the moment. Nobody else looks there.
 */
static __always_inline bool line_must_make_way(void)
{
	return scx_bpf_dsq_nr_queued(SCX_DSQ_LOCAL) > 0;
}

/* ops.update_idle: who was queued while this CPU looked and found nothing would wait beside it. */
static __always_inline void line_update_idle(u32 cpu, bool idle)
{
	if (!idle || line_cpu(cpu)->offline)
		return;
	if (scx_bpf_dsq_nr_queued(LINE_SHARED) > 0 || scx_bpf_dsq_nr_queued(LINE_OWN(cpu)) > 0)
		scx_bpf_kick_cpu(cpu, SCX_KICK_IDLE);
}

static __always_inline void line_walk_and_send_on(u32 queue, u32 cpu)
{
	struct task_struct *p;

	for_each_queued(it, p, queue)
	{
		if (scx_bpf_task_cpu(p) != (s32)cpu)
			continue;
		if (scx_bpf_dsq_move(it, p, SCX_DSQ_LOCAL_ON | cpu, 0))
			STAT_INC(rehomed);
	}
}

__noinline s32 line_send_on(u32 queue, u32 cpu)
{
	bpf_rcu_read_lock();
	line_walk_and_send_on(queue, cpu);
	bpf_rcu_read_unlock();
	return 0;
}

/*
 * A CPU that goes offline is not asked to dispatch any more, but waits until
 * nobody is counted on it: all who are go to its local queue, from where the
 * kernel sends them on.
 */
static __always_inline void line_cpu_goes(u32 cpu)
{
	line_cpu(cpu)->offline = true;
	line_cpu(cpu)->level = LINE_NOBODY;
	line_send_on(LINE_OWN(cpu), cpu);
	line_send_on(LINE_SHARED, cpu);
	scx_bpf_kick_cpu(cpu, 0);
}

static __always_inline void line_cpu_comes(u32 cpu)
{
	line_cpu(cpu)->offline = false;
}

static __always_inline s32 line_init(void)
{
	const struct cpumask *online = scx_bpf_get_online_cpumask();
	s32 err = 0;
	u32 cpu = 0;

	for_range(cpu, 0, nr_cpus)
	{
		line_cpu(cpu)->level = LINE_NOBODY;
		line_cpu(cpu)->offline = !bpf_cpumask_test_cpu(cpu, online);
		if (!err)
			err = scx_bpf_create_dsq(LINE_OWN(cpu), -1);
	}
	scx_bpf_put_cpumask(online);
	return err ? err : scx_bpf_create_dsq(LINE_SHARED, -1);
}

#endif
