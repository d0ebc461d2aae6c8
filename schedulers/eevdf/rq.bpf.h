/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The state that eevdf.h, pick.h and balance.h work on: a run queue per CPU
 * and a context per task.
 *
 * A queue changes under its CPU's run-queue lock, which the kernel holds
 * around every callback about a task of that CPU and around dispatch. The
 * exception is a CPU that pulls from another: it takes the task off the
 * other's DSQ, and leaves a note in `gone` for the other to subtract it by.
 */
#pragma once

#include "../lib/rq.h"
#include "balance.h"
#include "cgroup.h"
#include "pick.h"

CHOICE(rules, 2, "6.6,6.12,7.2", "the kernel's version to follow");
TUNABLE(u64, base_slice_us, 0, 0, 100000, "us",
	"slice of a task that asked for none; 0 = as the rules say");
TUNABLE(u64, migration_cost_us, 500, 0, 1000000, "us",
	"a task that ran less long ago stays on its CPU; sysctl");
TUNABLE(u64, newidle_cost_us, 20, 0, 1000000, "us",
	"a CPU that is idle for less than this on average does not pull when going idle");
CHOICE(run_to_parity, 0, "rules,off", "whether the running task is protected to its deadline");
CHOICE(place_lag, 0, "rules,off", "whether a task keeps its lag over a sleep or a move");
CHOICE(delay_dequeue, 0, "rules,off,on", "whether a sleeper above its share still competes");
CHOICE(preempt_short, 0, "rules,off,on", "whether a shorter slice cancels the protection");
CHOICE(next_buddy, 0, "rules,off,on", "whether the task woken last is picked first");
CHOICE(wakeup_preempt, 0, "rules,off", "whether a waking task may preempt before the tick");
CHOICE(hrtick, 0, "rules,off,on", "whether a slice ends at its end, or at the next tick");
CHOICE(affine_wakeups, 0, "rules,off", "whether a waking task may move to its waker");
CHOICE(newidle, 0, "rules,off", "whether a CPU that goes idle pulls");
CHOICE(periodic, 0, "rules,off", "whether CPUs balance at intervals");
CHOICE(first_period, 0, "rules,whole",
       "whether the first period of cpu.max is cut at random, or whole");
TUNABLE(u64, starvation_limit_ms, 8000, 100, 20000, "ms",
	"a task that waited longer goes first once, whatever its weight; the kernel ejects a "
	"scheduler after 30 s");

STAT(wakeup_preemptions, "tasks preempted by a woken one");
STAT(tick_preemptions, "tasks that a tick found unprotected");
STAT(hrticks, "slices ended between ticks");
STAT(buddy_picks, "picks of the next buddy");
STAT(delayed, "sleepers that stayed in the competition");
STAT(delays_refused, "... and those for which there was no room");
STAT(idle_wakeups, "tasks woken on an idle CPU found by search");
STAT(fork_moves, "new tasks placed on another CPU than their parent's");
STAT(rehomed, "queued tasks taken from a CPU that goes offline");

#define NR_DELAYED 64 /* powers of two */
#define NR_GONE 128

/* A delayed sleeper (rule 3.8). The CPU that sets pid to 0 takes it out of the sums. */
struct eevdf_delayed {
	u64 v, d, slice_ns;
	u32 weight;
	s32 pid;
};

/* A task that another CPU took (seq is written last). */
struct eevdf_gone {
	u64 v;
	u32 weight, seq;
};

struct rq {
	RQ_MEMBERS
	struct eevdf_sums sums;
	struct eevdf_entity curr;
	u32 curr_policy, curr_cgroup, curr_nice_weight;
	u64 curr_since_ns;
	u64 charged_ns; /* up to then limits were charged for it … */
	u64 charged_ran_ns; /* … and for so much of all that it ever ran */
	bool hrtick_active; /* the timer that ends slices is set */
	s32 next_pid; /* the next buddy, queued here; 0: none */
	u64 next_v, next_d;

	u32 nr_custom; /* of those in the sums, how many asked for a slice */
	struct eevdf_avg avg;
	u64 idle_since_ns, avg_idle_ns;

	bool limits_due; /* a limit keeps tasks waiting here, or no longer */
	s32 starved_pid;
	u64 next_look; /* ticks */
	bool balance_due;

	u32 nr_delayed, delayed_top; /* all entries in use are below the second */
	struct eevdf_delayed delayed[NR_DELAYED];
	u32 gone_head, gone_tail;
	struct eevdf_gone gone[NR_GONE];

	/* State of walks, in memory: the verifier would follow a local through every turn. */
	u64 best_d;
	s32 best_pid;
	u32 walked;
	s32 best_delayed;
};

struct task_ctx {
	TASK_MEMBERS
	struct eevdf_entity e;
	struct eevdf_avg avg;
	u32 cgroup; /* the place of its control group (cgroup.bpf.h); 0: the root */
	u32 nice_weight; /* within its group; e has what it weighs among all */
	u32 delayed_index; /* while delayed */
	bool aside; /* waits with its group, and does not compete */
	bool delayed; /* asleep, and in the sums as long as its entry is its own */
	bool woken;
	bool sync;
	u64 flips_at;
	u32 flips;
	s32 last_wakee;
	s32 recent_cpu;
};

#include "../lib/rq.bpf.h"
#include "bandwidth.bpf.h"

/* A millisecond for each CPU of the domain. */
static __always_inline u32 first_interval_ms(u32 cpu, u32 level)
{
	return len_of(cpu, level);
}

/* Not static: the compiler would take variables apart that BTF describes whole. */
struct eevdf_params prm;
u64 next_rescue; /* ticks */

static __always_inline struct eevdf_delayed *delayed_at(struct rq *rq, u32 index)
{
	barrier_var(index);
	return &rq->delayed[index & (NR_DELAYED - 1)];
}

/* Subtract the tasks that other CPUs have pulled from here. */
static __always_inline void drain(struct rq *rq)
{
	struct eevdf_gone *note;
	u32 tail;
	s32 i;

	if (rq->gone_head == rq->gone_tail)
		return;
	for_range(i, 0, NR_GONE)
	{
		tail = rq->gone_tail;
		barrier_var(tail);
		note = &rq->gone[tail & (NR_GONE - 1)];
		if (note->seq != tail + 1)
			break;
		eevdf_leave(&rq->sums, note->v, note->weight);
		rq->gone_tail = tail + 1;
	}
}

static __always_inline bool room_to_leave(const struct rq *rq)
{
	return rq->gone_head - rq->gone_tail < NR_GONE - NR_DELAYED - 16;
}

static __always_inline void leave_note(struct rq *rq, u64 v, u32 weight)
{
	u32 at = __sync_fetch_and_add(&rq->gone_head, 1);
	struct eevdf_gone *note = &rq->gone[at & (NR_GONE - 1)];

	note->v = v;
	note->weight = weight;
	__sync_fetch_and_add(&note->seq, at + 1 - note->seq);
}

/* The averages change their state now. */
static __always_inline void track(struct rq *rq, u64 now)
{
	eevdf_avg_update(&rq->avg, now, weight_of(rq), nr_of(rq), rq->curr_pid);
}

static __always_inline void track_task(struct task_ctx *t, u64 now, bool runnable, bool runs)
{
	eevdf_avg_update(&t->avg, now, runnable ? t->e.weight : 0, runnable, runs);
}

/* rule 3.10.1: bring the queue up to now; true: it has to pick again. */
static __always_inline bool update_curr(struct rq *rq, u64 now)
{
	bool ended = false;

	drain(rq);
	if (rq->curr_pid && before64(rq->curr_since_ns, now)) {
		ended = eevdf_charge(&prm, &rq->sums, &rq->curr, now - rq->curr_since_ns);
		rq->curr_since_ns = now;
	}
	rq->sums.v0 = eevdf_average(&rq->sums);
	if (!rq->curr_pid || !eevdf_due(&prm, &rq->sums, &rq->curr, ended))
		return false;
	if (rq->next_pid == rq->curr_pid)
		rq->next_pid = 0;
	return true;
}

/* What the running task ran since this was last asked counts for the limits above it. */
static __noinline s32 charge_limits(u32 cpu)
{
	struct rq *rq = rq_of(cpu);
	u64 now = scx_bpf_now(), ran_ns = before64(rq->charged_ns, now) ? now - rq->charged_ns : 0;

	if (!rq->curr_pid || !rq->curr_cgroup)
		return 0;
	rq->charged_ns = now;
	rq->charged_ran_ns += ran_ns;
	if (use_up(rq->curr_cgroup, cpu, ran_ns))
		rq->limits_due = true;
	return 0;
}

/* The same of one that stops, by the kernel's account, which begins before ops.running() and ends before this. */
static __noinline s32 charge_limits_finally(u32 cpu, u64 all_ran_ns)
{
	struct rq *rq = rq_of(cpu);

	if (use_up(rq->curr_cgroup, cpu, all_ran_ns - rq->charged_ran_ns))
		rq->limits_due = true;
	return 0;
}

static __always_inline void count_in(struct rq *rq, const struct task_ctx *t)
{
	__sync_fetch_and_add(&rq->nr, 1);
	__sync_fetch_and_add(&rq->weight, (s64)t->e.weight);
	if (t->e.custom)
		__sync_fetch_and_add(&rq->nr_custom, 1);
}

static __always_inline void count_out(struct rq *rq, const struct task_ctx *t)
{
	__sync_fetch_and_add(&rq->nr, -1);
	__sync_fetch_and_add(&rq->weight, -(s64)t->e.weight);
	if (t->e.custom)
		__sync_fetch_and_add(&rq->nr_custom, -1);
	if (t->cgroup) {
		weigh_out(t);
		if (limited_groups)
			give_back(t->cgroup, t->cpu);
	}
}

static __always_inline void enter(struct rq *rq, struct task_ctx *t, u32 cpu)
{
	eevdf_join(&rq->sums, t->e.v, t->e.weight);
	rq->sums.v0 = eevdf_average(&rq->sums);
	t->cpu = cpu;
	t->queued = true;
	count_in(rq, t);
}

/* t competes no longer: it sleeps, it waits with its group, or the kernel takes it off its queue. */
static __always_inline void leave(struct rq *rq, struct task_ctx *t, bool sleep)
{
	eevdf_unplace(&prm, &rq->sums, &t->e, sleep);
	eevdf_leave(&rq->sums, t->e.v, t->e.weight);
	rq->sums.v0 = eevdf_average(&rq->sums);
}

/*
 * t counts on another CPU's queue: take it off there, and place it here. Its
 * lag is measured by the other's last look at its V, a moment old.
 */
static __always_inline void change_queue(struct task_ctx *t, u32 cpu)
{
	struct rq *from = rq_of(t->cpu), *to = rq_of(cpu);

	t->e.vlag = eevdf_lag(&prm, from->sums.v0, &t->e);
	if (prm.rel_deadline && !t->e.rel) {
		t->e.d -= t->e.v;
		t->e.rel = true;
	}
	count_out(from, t);
	leave_note(from, t->e.v, t->e.weight);
	if (t->cgroup)
		weigh_in(to, t, cpu);
	eevdf_place(&prm, &to->sums, &t->e, false);
	enter(to, t, cpu);
}

/* rule 3.10.4: a timer for each CPU that ends slices between ticks. */
ONESHOTS(hrtick_timers, MAX_CPUS);

bool use_hrtick;

/* Real time until the running task reaches its deadline; 0: it has. */
static __always_inline u64 slice_left(const struct rq *rq, u64 now)
{
	s64 vleft = rq->curr.d - rq->curr.v;
	u64 ran = before64(rq->curr_since_ns, now) ? now - rq->curr_since_ns : 0, left;

	left = vleft > 0 ? (u64)vleft * rq->curr.weight / EEVDF_NICE_0 : 0;
	return left > ran ? left - ran : 0;
}

static __always_inline void start_hrtick(u32 cpu, struct rq *rq, u64 now)
{
	u64 left = slice_left(rq, now);

	if (!use_hrtick || !rq->curr_pid || rq->sums.nr <= 1)
		return;
	if (left < 10 * NSEC_PER_USEC)
		left = 10 * NSEC_PER_USEC;
	rq->hrtick_active = start_oneshot(&hrtick_timers, cpu, left, BPF_F_TIMER_CPU_PIN);
}

/* A timer that was set for another task is not looked at, as in the kernel. */
static s32 hrtick_fire(void *map, u32 *key, struct bpf_timer *timer)
{
	struct rq *rq = rq_of(*key);

	rq->hrtick_active = false;
	if (!rq->curr_pid || rq->sums.nr <= 1)
		return 0;
	STAT_INC(hrticks);
	scx_bpf_kick_cpu(*key, SCX_KICK_PREEMPT);
	return 0;
}

static __always_inline s32 init_hrtick(u32 cpu)
{
	return init_oneshot(&hrtick_timers, cpu, hrtick_fire) ? 0 : -EINVAL;
}

/* The table for the CPUs online now, and what the user changed of it. */
static __always_inline void set_params(u32 cpus)
{
	eevdf_params_init(&prm, rules, cpus, tick_hz);
	if (base_slice_us)
		prm.base_slice_ns = prm.unscaled_slice_ns = base_slice_us * NSEC_PER_USEC;
	prm.migration_cost_ns = migration_cost_us * NSEC_PER_USEC;
	prm.parity = !run_to_parity;
	prm.place_lag = !place_lag;
	if (delay_dequeue)
		prm.delay_dequeue = delay_dequeue == 2;
	if (preempt_short)
		prm.preempt_short = preempt_short == 2;
	if (next_buddy)
		prm.next_buddy = next_buddy == 2;
	prm.wakeup_preempt = !wakeup_preempt;
	use_hrtick = hrtick ? hrtick == 2 : prm.era == EEVDF_7_2;
}
