/* SPDX-License-Identifier: GPL-2.0-only */
/* scx_mlfq: binds mlfq.h to sched_ext. mlfq.h says what is decided and ../lib/queue.bpf.h where tasks wait; this file says when. */
#include <scx.h>
#include "mlfq.h"

CHOICE(rules, 0, "windows,textbook", "which rules hold; README.md lists them");
TUNABLE(u64, quantum_us, 0, 0, 1000000, "us",
	"quantum (textbook: of the top level); ends at a tick; 0: as the rules say, 31250 in "
	"windows (2 clock intervals), 8000 in textbook");
TUNABLE(u32, levels, 4, 2, 8, "levels",
	"textbook: levels, each with twice the quantum of the one above");
TUNABLE(u64, period_ms, 1000, 100, 10000, "ms",
	"between two looks for starved tasks (windows), or boosts of all (textbook)");
TUNABLE(u64, starved_ms, 4000, 100, 10000, "ms",
	"windows: a task that is ready for longer is lifted to the top");
TUNABLE(u32, long_quanta, 3, 1, 12, "quanta", "windows: what a starved task gets at the top, once");
TUNABLE(u32, wake_boost, 1, 0, 15, "levels",
	"windows: lift when a wait ends; 1 is a disk's or an event's, 2 a network's, 6 a "
	"keyboard's: which device it was is not known here");
TUNABLE(u32, event_boost, 1, 0, 15, "levels",
	"windows: lift when another task says that it hands over (a sync wake-up: pipes, sockets)");

STAT(preemptions, "wake-ups that preempted a lower level");
STAT(expirations, "quanta used up");
STAT(starved, "tasks lifted to the top because they starved");
STAT(boosts, "queued tasks lifted by the boost of all");

#define task_ctx mlfq_task
#include "../lib/queue.bpf.h"

struct mlfq_config cfg;

static __always_inline u64 key_of(struct mlfq_task *t, u64 now)
{
	if (!t->place.left_ns)
		STAT_INC(expirations);
	return mlfq_key(&cfg, t, now);
}

s32 BPF_STRUCT_OPS(mlfq_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	struct mlfq_task *t = ctx_of(p);
	s32 cpu = prev_cpu;

	if (!t)
		return cpu;
	if (t->asleep)
		mlfq_wake(&cfg, t, wake_flags & SCX_WAKE_SYNC ? event_boost : wake_boost);
	key_of(t, scx_bpf_now());
	queue_select_cpu(p, &cpu, wake_flags, kernel_slice(t));
	return cpu;
}

/* rule 6.2.6: a higher level preempts a lower one, first where the task ran last, then where the level is lowest. */
static __always_inline void preempt(struct task_struct *p, const struct mlfq_task *t)
{
	s32 own = scx_bpf_task_cpu(p), level = cpu_of(own)->level, best = -1, least = t->level;
	s32 cpu = 0;

	if (level != NO_LEVEL && level < least && may_run_on(p, own)) {
		best = own;
	} else if (p->nr_cpus_allowed > 1 && !p->migration_disabled) {
		for_range(cpu, 0, nr_cpus)
		{
			level = cpu_of(cpu)->level;
			if (level == NO_LEVEL || level >= least || !may_run_on(p, cpu))
				continue;
			best = cpu;
			least = level;
		}
	}
	if (best < 0)
		return;
	STAT_INC(preemptions);
	scx_bpf_kick_cpu(best, SCX_KICK_PREEMPT);
}

void BPF_STRUCT_OPS(mlfq_enqueue, struct task_struct *p, u64 enq_flags)
{
	struct mlfq_task *t = ctx_of(p);
	u64 key;

	if (queue_bypass(p, t, enq_flags))
		return;
	/* ops.select_cpu was not called for it: it may run on one CPU only. */
	if (t->asleep)
		mlfq_wake(&cfg, t, wake_boost);
	key = key_of(t, scx_bpf_now());
	if (!queue_insert(p, t, key, kernel_slice(t), false, enq_flags))
		preempt(p, t);
}

void BPF_STRUCT_OPS(mlfq_dispatch, s32 cpu, struct task_struct *prev)
{
	struct mlfq_task *t = queue_running(cpu, prev);
	u64 key = 0, now = scx_bpf_now();

	if (t) {
		charge(t, cpu, now);
		key = key_of(t, now);
	}
	if (queue_dispatch(cpu, t, key, false) || !t)
		return;
	STAT_INC(kept);
	cpu_of(cpu)->level = t->level;
	scx_bpf_task_set_slice(prev, kernel_slice(t));
}

void BPF_STRUCT_OPS(mlfq_running, struct task_struct *p)
{
	struct mlfq_task *t = ctx_of(p);

	queue_runs_now(p, t, t ? t->level : 0);
}

/* A quantum ends at a tick. So does the run of a task that is not the highest any more: it was reniced, or a race was lost. */
void BPF_STRUCT_OPS(mlfq_tick, struct task_struct *p)
{
	u32 cpu = scx_bpf_task_cpu(p);
	struct mlfq_task *t = ctx_of(p);
	struct queue_head head = {};
	u64 now = scx_bpf_now();

	if (!t || p->flags & PF_KTHREAD)
		return;
	charge(t, cpu, now);
	if (mlfq_refresh(&cfg, t, now))
		cpu_of(cpu)->level = t->level;
	if (queue_slice_over(&t->place, tick_ns()) || local_dsq_waits()) {
		scx_bpf_task_set_slice(p, 0);
		return;
	}
	queue_first(cpu, &head);
	if (head.found && before64(head.key, queue_key(t->level, 0)))
		scx_bpf_task_set_slice(p, 0);
}

void BPF_STRUCT_OPS(mlfq_stopping, struct task_struct *p, bool runnable)
{
	queue_stopping(p);
}

void BPF_STRUCT_OPS(mlfq_quiescent, struct task_struct *p, u64 deq_flags)
{
	struct mlfq_task *t = ctx_of(p);

	if (!t || !(deq_flags & SCX_DEQ_SLEEP))
		return;
	if (!t->place.left_ns)
		STAT_INC(expirations);
	mlfq_sleep(&cfg, t);
}

/* rule 6.2.6: to the tail of its level, with the rest of its quantum. */
bool BPF_STRUCT_OPS(mlfq_yield, struct task_struct *from, struct task_struct *to)
{
	return queue_yield(from);
}

void BPF_STRUCT_OPS(mlfq_set_weight, struct task_struct *p, u32 weight)
{
	struct mlfq_task *t = ctx_of(p);

	if (t)
		mlfq_rebase(&cfg, t, mlfq_base(&cfg, p->static_prio, p->policy == SCHED_IDLE));
}

s32 BPF_STRUCT_OPS(mlfq_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	struct mlfq_task *t = new_ctx(p);

	if (!t)
		return -ENOMEM;
	t->base = mlfq_base(&cfg, p->static_prio, p->policy == SCHED_IDLE);
	mlfq_start(&cfg, t, scx_bpf_now());
	return 0;
}

void BPF_STRUCT_OPS(mlfq_update_idle, s32 cpu, bool idle)
{
	queue_update_idle(cpu, idle);
}

void BPF_STRUCT_OPS(mlfq_cpu_online, s32 cpu)
{
	queue_cpu_online(cpu);
}

void BPF_STRUCT_OPS(mlfq_cpu_offline, s32 cpu)
{
	queue_cpu_offline(cpu);
}

void BPF_STRUCT_OPS(mlfq_cpu_release, s32 cpu, struct scx_cpu_release_args *args)
{
	scx_bpf_reenqueue_local();
}

#include "boost.bpf.h"

s32 BPF_STRUCT_OPS_SLEEPABLE(mlfq_init)
{
	u64 quantum = quantum_us ? quantum_us : rules == MLFQ_TEXTBOOK ? 8000 : 31250;
	s32 err = queue_init();

	cfg.rules = rules;
	cfg.bottom = MLFQ_TOP + 1 - levels;
	cfg.quantum_ns = quantum * NSEC_PER_USEC;
	cfg.period_ns = period_ms * NSEC_PER_MSEC;
	cfg.starved_ns = starved_ms * NSEC_PER_MSEC;
	cfg.long_quanta = long_quanta;
	return err ? err : timer_start(mlfq_to_period_end(&cfg, scx_bpf_now()));
}

SCX_OPS_DEFINE(mlfq_ops, .select_cpu = (void *)mlfq_select_cpu, .enqueue = (void *)mlfq_enqueue,
	       .dispatch = (void *)mlfq_dispatch, .tick = (void *)mlfq_tick,
	       .running = (void *)mlfq_running, .stopping = (void *)mlfq_stopping,
	       .quiescent = (void *)mlfq_quiescent, .yield = (void *)mlfq_yield,
	       .set_weight = (void *)mlfq_set_weight, .update_idle = (void *)mlfq_update_idle,
	       .cpu_online = (void *)mlfq_cpu_online, .cpu_offline = (void *)mlfq_cpu_offline,
	       .init_task = (void *)mlfq_init_task, .cpu_release = (void *)mlfq_cpu_release,
	       .init = (void *)mlfq_init, .flags = SCX_OPS_ENQ_EXITING | SCX_OPS_KEEP_BUILTIN_IDLE,
	       .name = "mlfq");
