/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * scx_bfs: binds bfs.h to sched_ext. bfs.h says what is decided; here is when
 * the kernel asks and how the answer is carried out. Wake-ups of the published
 * versions are in wakeup_published.bpf.h, those of modern in wakeup_modern.bpf.h;
 * what a CPU does that looks for its next task is in dispatch.bpf.h.
 */
#include <scx.h>

CHOICE(rules, 3, "232,311,424,modern",
       "the published version whose rules apply, or modern; README.md lists them");
TUNABLE(u32, rr_interval_us, 0, 0, 5000000, "us",
	"time slice, and the scale of all deadlines; 0: the version's own, which is 6 ms, up to "
	"311 times 1 + log2 of the CPUs");
TUNABLE(u32, emulated_hz, 0, 0, 10000, "hz",
	"ticks a second by which 232 and 311 count; 0: those of this kernel, which are the most it "
	"can be");
CHOICE(kick, 0, "auto,strict,claimed",
       "waking an idle CPU in 232, 311 and 424: strict leaves it marked idle until it schedules, "
       "so that a burst kicks it again, as published; claimed marks it busy at once; auto is "
       "strict");
CHOICE(iso_policy, 0, "none,batch",
       "which tasks ask for SCHED_ISO, a policy that the kernel does not have");
TUNABLE(u32, iso_cpu_pct, 70, 0, 100, "pct",
	"of the machine, over about 5 s, that ISO tasks may take before they compete as normal; as "
	"published");
TUNABLE(u32, preempt_after_us, 20, 0, 10000, "us",
	"modern: a task just switched in is not preempted by a wake-up before this; bounds the "
	"time lost to switching");
TUNABLE(u32, first_turn_us, 500, 0, 100000, "us",
	"modern: how long a task that wakes with its deadline passed runs before the next such "
	"one begins, and how often a CPU looks between ticks; 0: no first turns, and ticks alone");
TUNABLE(u32, sync_grace_us, 500, 0, 100000, "us",
	"modern: a waker that announces to sleep (sync) is believed for this long after it was "
	"switched in; EEVDF takes the same time");

STAT(kicks, "CPUs kicked to schedule");
STAT(idle_claims, "wake-ups placed on an idle CPU");
STAT(preemptions, "wake-ups that preempted");
STAT(handed_over, "wake-ups handed to one CPU, to run there next");
STAT(refills, "slices and deadlines renewed while runnable");
STAT(kept, "picks that the running task won");
STAT(first_turns, "first turns that ended so that another task could have its own");
STAT(far_picks, "picks from the queue of another cache");
STAT(stuck, "tasks that stuck to their CPU");
STAT(stolen, "tasks taken that stuck to another CPU");
STAT(lost_races, "picks whose task another CPU took first");

#include "bfs.h"

/* Not static: the compiler would take the structures apart, and the kernel would not know their pieces. */
struct bfs_config cfg;
struct bfs_iso_state iso;
u64 arrivals;

#include "../lib/leave.bpf.h"
#include "queues.bpf.h"

#define MODERN (rules == BFS_MODERN)

/*
 * What a dispatch rarely has to look at: whether a CPU was abandoned, and how
 * many control groups have a limit. Not static: the compiler would make less
 * than a word of it.
 */
u32 attention;

#define BFS_ABANDONED 1 /* see abandon() */
#define BFS_LIMIT 2 /* each of them */

static __always_inline bool has_limits(void)
{
	return attention >= BFS_LIMIT;
}

/* The order of arrival, in ns and never twice the same but for a race, which is a tie. */
static __always_inline u64 next_arrival(u64 now_ns)
{
	u64 seq = now_ns;

	if (MODERN)
		return seq;
	if (!before64(arrivals, seq))
		seq = arrivals + 1;
	arrivals = seq;
	return seq;
}

/* rule 0.9: the nice level, from 0 for the best. */
static __always_inline u32 nice_of(const struct task_struct *p)
{
	u32 u = p->static_prio - MAX_RT_PRIO;

	return u < BFS_NICES ? u : BFS_NICES - 1;
}

/* rules 1.3.1 and 1.3.12: policy and level are taken as they are at each enqueue. */
static __always_inline void read_policy(const struct task_struct *p, struct bfs_task *t)
{
	t->policy = p->policy;
	t->idleprio = p->policy == SCHED_IDLE;
	t->iso = iso_policy && p->policy == SCHED_BATCH;
	t->batch = p->policy == SCHED_BATCH && !t->iso;
	t->level = bfs_level(t->iso, t->idleprio, iso.refractory, !(p->flags & PF_EXITING));
}

static __always_inline void set_key(const struct task_struct *p, struct bfs_task *t, u64 now_ns)
{
	read_policy(p, t);
	t->key = bfs_key(&cfg, t->level, t->deadline, bfs_clock(&cfg, now_ns));
	if (t->behind && before64(t->key, t->behind))
		t->key = t->behind;
}

/* What the kernel counts down. The published versions end slices at ticks (rule 0.7), in bfs_tick(): this only has to be longer. */
static __always_inline u64 kernel_slice(const struct bfs_task *t)
{
	if (!MODERN)
		return cfg.rr_ns + 4 * cfg.jiffy_ns;
	return t->slice_ns > 0 ? t->slice_ns : 1;
}

static __always_inline void kick_cpu(s32 cpu, u64 flags)
{
	STAT_INC(kicks);
	scx_bpf_kick_cpu(cpu, flags);
}

#include "turn.bpf.h"

/*
 * A queued task must not wait beside a CPU that went idle after the wake-up
 * looked for one. BFS did not kick here, so the herding race is not wanted here
 * either: the CPU is marked busy at once.
 */
static __always_inline void kick_one_of(const struct cpumask *idle, struct task_struct *p)
{
	u32 attempt = 0;

	/* Most often none is, and a loop is dear. */
	if (!bpf_cpumask_intersects(idle, p->cpus_ptr))
		return;
	for_range(attempt, 0, MAX_CPUS)
	{
		u32 cpu = bpf_cpumask_any_and_distribute(p->cpus_ptr, idle);

		if (cpu >= nr_cpus)
			return;
		/* An offline CPU went idle last of all, and is marked idle until this. */
		if (!scx_bpf_test_and_clear_cpu_idle(cpu) || bfs_cpu(cpu)->offline)
			continue;
		kick_cpu(cpu, SCX_KICK_IDLE);
		return;
	}
}

static __always_inline void kick_idle(struct task_struct *p)
{
	const struct cpumask *idle = scx_bpf_get_idle_cpumask();

	kick_one_of(idle, p);
	scx_bpf_put_idle_cpumask(idle);
}

/* Queue in the CPU's own queue: pinned there, or stuck there. */
static __always_inline void insert_own(struct task_struct *p, struct bfs_task *t, u32 cpu,
				       u64 enq_flags)
{
	note_waiting(&bfs_cpu(cpu)->own, p, t, cpu);
	begin_insert(BFS_OWN(cpu), t->key);
	scx_bpf_dsq_insert_vtime(p, BFS_OWN(cpu), kernel_slice(t), t->key, enq_flags);
}

static __always_inline void insert_plain(struct task_struct *p, struct bfs_task *t, u32 cpu,
					 u64 enq_flags)
{
	u32 llc = MODERN ? cpu_llc[cpu_index(cpu)] : 0;

	note_waiting(&plain[cpu_index(llc)], p, t, cpu);
	begin_insert(BFS_PLAIN(llc), t->key);
	scx_bpf_dsq_insert_vtime(p, BFS_PLAIN(llc), kernel_slice(t), t->key, enq_flags);
}

/*
 * rules 1.3.3 and 1.5.10: a task that is descheduled while others wait sticks to
 * its CPU, until another task does. None sticks to a CPU that goes (rule 1.3.15),
 * or to one that the kernel moved it to while it ran (rule 1.3.13).
 */
static __always_inline void insert_sticky(struct task_struct *p, struct bfs_task *t, u32 cpu,
					  u64 enq_flags)
{
	if ((bfs_cpu(cpu)->offline || cpu != t->ran_on) && !is_pinned(p)) {
		insert_plain(p, t, cpu, enq_flags);
		return;
	}
	STAT_INC(stuck);
	insert_own(p, t, cpu, enq_flags);
	if (is_pinned(p))
		return;
	/* An enqueue may not move the task that stuck here until now: the next dispatch does. */
	if (bfs_cpu(cpu)->sticky)
		bfs_cpu(cpu)->crowded = true;
	t->sticky_on = cpu + 1;
	set_sticky(cpu, p->pid);
}

/* Account for what the task ran since it was last looked at; returns when it stopped, 0 if it has not run. */
static __always_inline u64 settle(const struct task_struct *p, struct bfs_task *t, bool blocked)
{
	return t->ran ? bfs_settle(&cfg, t, p->se.sum_exec_runtime, blocked) : 0;
}

static __always_inline bool may_stay(const struct task_struct *p)
{
	return may_run_on(p, scx_bpf_task_cpu(p));
}

/*
 * A task becomes runnable, or is queued anew, and gets its place in the order.
 * No callback runs when it stops; what stopping does to it is made up for here.
 */
static __always_inline void arrive(struct task_struct *p, struct bfs_task *t, u64 now_ns,
				   bool woken)
{
	bool ran = t->ran;
	u64 stopped_ns;

	leave_sticky(p, t);
	t->next_start = BFS_ORDINARY;
	t->descheduled = ran && !woken;
	stopped_ns = settle(p, t, woken);
	if (ran && woken)
		bfs_wake(t, stopped_ns, now_ns);
	/* rule 1.3.13: it keeps its place. */
	if (!MODERN && t->cpus == BFS_MOVES && !woken)
		return;
	t->seq = next_arrival(now_ns);
	if (MODERN && t->descheduled)
		end_turn(t, bfs_cpu(t->ran_on), t->ran_on, now_ns);
	set_key(p, t, now_ns);
	if (MODERN && ran)
		t->due = (woken || t->due) && t->level == BFS_NORMAL && before64(t->key, now_ns);
}

#include "bandwidth.bpf.h"
#include "wakeup_published.bpf.h"
#include "wakeup_modern.bpf.h"

s32 BPF_STRUCT_OPS(bfs_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	struct bfs_task *t = task_of(p);

	if (!t)
		return prev_cpu;
	if (MODERN)
		return place(p, t, prev_cpu, wake_flags & SCX_WAKE_SYNC);
	t->sync = wake_flags & SCX_WAKE_SYNC;
	return prev_cpu;
}

/* rule 1.5.10: of the idle CPUs but this one, the best for a task that stuck here is kicked; modern takes any. */
static __always_inline void kick_other_idle(struct task_struct *p, u32 cpu)
{
	if (MODERN)
		kick_idle(p);
	else
		kick_best_idle(p, cpu, cpu);
}

/*
 * rule 1.5.10: a real-time task takes the CPU, and who stuck there is not left
 * sticky. The next dispatch of any CPU lets go of it.
 */
static __always_inline void abandon(u32 cpu)
{
	struct bfs_cpu *c = bfs_cpu(cpu);

	if (!c->sticky)
		return;
	c->crowded = true;
	__sync_fetch_and_or(&attention, BFS_ABANDONED);
	clear_sticky(cpu, c->sticky);
}

/*
 * rule 1.3.13: nothing happens to a queued task that may still use its last CPU.
 * The kernel took it off its queue: it goes back to its place there.
 */
static __always_inline void put_back(struct task_struct *p, struct bfs_task *t, u64 enq_flags)
{
	u32 cpu = scx_bpf_task_cpu(p);

	if (t->sticky_on == cpu + 1 && bfs_cpu(cpu)->sticky == p->pid)
		insert_own(p, t, cpu, enq_flags);
	else
		insert_published(p, t, cpu, enq_flags);
	kick_idle(p);
}

void BPF_STRUCT_OPS(bfs_enqueue, struct task_struct *p, u64 enq_flags)
{
	struct bfs_task *t = task_of(p);
	u64 now = scx_bpf_now();

	if (!t) {
		scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, SCX_SLICE_DFL, enq_flags);
		/* With SCX_ENQ_LAST the CPU idles next. */
		kick_cpu(scx_bpf_task_cpu(p), 0);
		return;
	}
	if (!MODERN && t->cpus == BFS_STAYS && !(enq_flags & SCX_ENQ_WAKEUP)) {
		t->cpus = BFS_UNCHANGED;
		put_back(p, t, enq_flags);
		return;
	}
	arrive(p, t, now, enq_flags & SCX_ENQ_WAKEUP);
	if (enq_flags & SCX_ENQ_REENQ) {
		t->descheduled = false;
		abandon(scx_bpf_task_cpu(p));
	}
	if (MODERN)
		enqueue_modern(p, t, now, enq_flags);
	else
		enqueue_published(p, t, now, enq_flags);
	if (!MODERN && (enq_flags & SCX_ENQ_REENQ))
		kick_other_idle(p, scx_bpf_task_cpu(p));
	t->sync = t->forked = t->descheduled = t->worsened = false;
	if (!MODERN && t->cpus == BFS_MOVES && may_stay(p))
		t->cpus = BFS_UNCHANGED;
}

/* rule 1.3.5, at every schedule. */
static __always_inline void set_dither(struct bfs_cpu *c, u64 now)
{
	c->dither = now - c->last_tick_ns <= cfg.jiffy_ns / 2;
}

/* rule 1.1.4 */
static __always_inline void publish(struct bfs_cpu *c, const struct bfs_task *t)
{
	c->key = t->key;
	c->deadline = t->deadline;
	c->level = t->level;
}

#include "dispatch.bpf.h"

void BPF_STRUCT_OPS(bfs_running, struct task_struct *p)
{
	struct bfs_task *t = task_of(p);
	u64 now = scx_bpf_now();
	u32 cpu = scx_bpf_task_cpu(p);
	struct bfs_cpu *c = bfs_cpu(cpu);

	finish_insert();
	if (t && t->next_start) {
		bool goes_on = t->next_start == BFS_GOES_ON;

		t->next_start = BFS_ORDINARY;
		/* rules 1.3.11, 1.3.12 and 1.3.13: the published values are renewed, and nothing else. */
		if (goes_on) {
			publish(c, t);
			return;
		}
		kick_cpu(cpu, SCX_KICK_PREEMPT);
	}
	c->since_ns = now;
	c->waiting_key = BFS_EMPTY;
	if (!t)
		return;
	t->ran_on = cpu;
	t->cpus = BFS_UNCHANGED;
	leave_sticky(p, t);
	/* It may have been interrupted by a higher class. */
	settle(p, t, false);
	bfs_start(t, now, p->se.sum_exec_runtime);
	if (MODERN)
		begin_turn(p, t, c, cpu, now);
	publish(c, t);
	set_dither(c, now);
}

void BPF_STRUCT_OPS(bfs_tick, struct task_struct *p)
{
	struct bfs_task *t = task_of(p);
	u64 now = scx_bpf_now();
	u32 cpu = scx_bpf_task_cpu(p);
	struct bfs_cpu *c = bfs_cpu(cpu);

	finish_insert();
	if (!t || (!MODERN && !bfs_tick_counts(&cfg, tick_hz, c->last_tick_ns, now)))
		return;
	c->last_tick_ns = now;
	if (iso_policy) {
		bfs_iso_tick(&cfg, &iso, t->level == BFS_ISO);
		if (iso.refractory && t->level == BFS_ISO)
			t->slice_ns = 0;
	}
	if (MODERN) {
		/* A tick looks again at tasks that could not preempt at their wake-up, and at one that sticks here in vain. */
		if (t->slice_ns <= 0 || c->sticky || finds_better(c, cpu) ||
		    turn_is_over(c, cpu, now) || (has_limits() && who_blocks(p, t, now)))
			scx_bpf_task_set_slice(p, 0);
		return;
	}
	bfs_charge(&cfg, t, now);
	if (!bfs_slice_over(&cfg, t, c->dither))
		return;
	t->slice_ns = 0;
	scx_bpf_task_set_slice(p, 0);
}

/* rule 1.3.10 */
bool BPF_STRUCT_OPS(bfs_yield_cpu, struct task_struct *from, struct task_struct *to)
{
	struct bfs_task *t = task_of(from);

	if (t)
		bfs_yield(&cfg, t);
	scx_bpf_task_set_slice(from, 0);
	return false;
}

/*
 * rule 1.3.11: a change of nice while it was real-time moves no deadline. The
 * kernel calls ops.set_weight next.
 */
void BPF_STRUCT_OPS(bfs_enable, struct task_struct *p)
{
	struct bfs_task *t = task_of(p);

	if (!t)
		return;
	t->u = nice_of(p);
	if (scx_bpf_task_running(p))
		settle(p, t, false);
}

/* The kernel is about to take what runs off its CPU and to put it back. */
static __always_inline void note_change(const struct task_struct *p, struct bfs_task *t)
{
	t->next_start = t->ran && scx_bpf_task_running(p) ? BFS_GOES_ON : BFS_ORDINARY;
}

/* rule 1.3.13 */
void BPF_STRUCT_OPS(bfs_set_cpumask, struct task_struct *p, const struct cpumask *cpus)
{
	struct bfs_task *t = task_of(p);

	if (!t)
		return;
	note_change(p, t);
	t->cpus = MODERN || !t->seq || t->ran ? BFS_UNCHANGED : may_stay(p) ? BFS_STAYS : BFS_MOVES;
}

/* rules 0.9, 1.3.11 and 1.3.12; the kernel itself queues a queued task anew. 232 reschedules for any change. */
void BPF_STRUCT_OPS(bfs_set_weight, struct task_struct *p, u32 weight)
{
	struct bfs_task *t = task_of(p);
	bool same_policy;
	s32 change;
	u32 level;

	if (!t)
		return;
	note_change(p, t);
	level = t->level;
	same_policy = t->policy == p->policy;
	change = bfs_renice(&cfg, t, nice_of(p));
	set_key(p, t, scx_bpf_now());
	t->worsened = change > 0 && same_policy;
	if (scx_bpf_task_running(p) && (rules == BFS_232 || change > 0 || t->level > level))
		kick_cpu(scx_bpf_task_cpu(p), SCX_KICK_PREEMPT);
}

void BPF_STRUCT_OPS(bfs_cpu_online, s32 cpu)
{
	bfs_cpu(cpu)->own.bound = BFS_LOOK;
	bfs_cpu(cpu)->offline = false;
}

/* U and E of every group, or the plain queues. */
static __always_inline u32 nr_shared_queues(void)
{
	u32 sets = (BFS_IDLEPRIO + 1) * (rules == BFS_311 ? nr_llcs : 1);

	return bfs_in_jiffies(rules) ? BFS_U(sets * BFS_NICES) : nr_llcs;
}

/* rule 1.3.15 */
void BPF_STRUCT_OPS(bfs_cpu_offline, s32 cpu)
{
	struct bfs_cpu *c = bfs_cpu(cpu);
	u32 i = 0;

	c->level = BFS_IDLE_CPU;
	c->key = BFS_EMPTY;
	c->waiting_key = BFS_EMPTY;
	c->offline = true;
	unstick(cpu);
	send_on(BFS_OWN(cpu), cpu);
	for_range(i, 0, nr_shared_queues()) send_on(i, cpu);
	send_on_who_wait(cpu);
	kick_who_stay(cpu);
}

/* rule 1.3.7; a task that is there when the policy is loaded starts afresh. */
s32 BPF_STRUCT_OPS(bfs_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	struct task_struct *parent = bpf_get_current_task_btf();
	struct bfs_task *t = bpf_task_storage_get(&tasks, p, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	u64 now = scx_bpf_now();
	struct bfs_task *from;

	if (!t)
		return -ENOMEM;
	t->u = nice_of(p);
	t->since_ns = now;
	if (MODERN && bpf_core_field_exists(args->cgroup))
		t->group = group_index(account_of(args->cgroup));
	read_policy(p, t);
	bfs_refill(&cfg, t, now);
	set_key(p, t, now);
	from = args->fork && is_ours(parent) ? task_of(parent) : NULL;
	if (!from)
		return 0;
	/* The published versions charge at ticks and schedules only (rule 1.3.4). */
	if (MODERN)
		bfs_catch_up(&cfg, from, now);
	if (bfs_fork(&cfg, from, t, now))
		scx_bpf_task_set_slice(parent, 0);
	else if (MODERN)
		scx_bpf_task_set_slice(parent, kernel_slice(from));
	return 0;
}

/* rule 1.3.7: what is left of a first slice goes back to the parent. */
void BPF_STRUCT_OPS(bfs_exit_task, struct task_struct *p, struct scx_exit_task_args *args)
{
	struct bfs_task *t = task_of(p), *from;

	if (t && has_limits())
		charge_groups(t, p->se.sum_exec_runtime, scx_bpf_now());
	if (!t || !t->first_slice || !(p->flags & PF_EXITING))
		return;
	settle(p, t, true);
	bpf_rcu_read_lock();
	from = p->real_parent ? task_of(p->real_parent) : NULL;
	if (from) {
		if (from->ran && !scx_bpf_task_running(p->real_parent))
			settle(p->real_parent, from, true);
		bfs_give_back(&cfg, from, t);
	}
	bpf_rcu_read_unlock();
}

/* A task that becomes real-time while it runs keeps its CPU, and the kernel calls no cpu_release. */
void BPF_STRUCT_OPS(bfs_disable, struct task_struct *p)
{
	u32 cpu = scx_bpf_task_cpu(p);

	if (!scx_bpf_task_running(p))
		return;
	bfs_cpu(cpu)->key = BFS_EMPTY;
	if (!bfs_cpu(cpu)->sticky)
		return;
	abandon(cpu);
	kick_other_idle(p, cpu);
}

void BPF_STRUCT_OPS(bfs_cpu_release, s32 cpu, struct scx_cpu_release_args *args)
{
	/* Nobody can preempt the task of a higher class that has the CPU now. */
	bfs_cpu(cpu)->key = BFS_EMPTY;
	scx_bpf_reenqueue_local();
}

s32 BPF_STRUCT_OPS_SLEEPABLE(bfs_init)
{
	u32 domains = group_domains();
	u32 hz = emulated_hz && emulated_hz < tick_hz ? emulated_hz : tick_hz;
	const struct cpumask *online = scx_bpf_get_online_cpumask();
	s32 err = 0;
	u32 i = 0;

	/* rule 1.2.2: n is the CPUs online, now and for good. */
	bfs_configure(&cfg, rules, rr_interval_us, bpf_cpumask_weight(online), hz, iso_cpu_pct);
	for_range(i, 0, nr_cpus)
	{
		struct bfs_cpu *c = bfs_cpu(i);

		c->offline = !bpf_cpumask_test_cpu(i, online);
		c->level = BFS_IDLE_CPU;
		c->key = c->waiting_key = BFS_EMPTY;
		c->own.bound = BFS_EMPTY;
		plain[cpu_index(i)].bound = BFS_EMPTY;
		if (!err)
			err = scx_bpf_create_dsq(BFS_OWN(i), -1);
		if (!err && MODERN)
			err = init_looking(i);
	}
	scx_bpf_put_cpumask(online);
	if (err)
		return err;
	for_range(i, 0, nr_shared_queues())
	{
		/* One domain: one group a level. */
		if (bfs_in_jiffies(rules) && domains == 1 && i % (2 * BFS_NICES) > 1)
			continue;
		err = scx_bpf_create_dsq(i, -1);
		if (err)
			return err;
	}
	return 0;
}

SCX_OPS_DEFINE(bfs_ops, .select_cpu = (void *)bfs_select_cpu, .enqueue = (void *)bfs_enqueue,
	       .dispatch = (void *)bfs_dispatch, .running = (void *)bfs_running,
	       .tick = (void *)bfs_tick, .yield = (void *)bfs_yield_cpu,
	       .set_weight = (void *)bfs_set_weight, .set_cpumask = (void *)bfs_set_cpumask,
	       .cpu_online = (void *)bfs_cpu_online, .cpu_offline = (void *)bfs_cpu_offline,
	       .init_task = (void *)bfs_init_task, .exit_task = (void *)bfs_exit_task,
	       .enable = (void *)bfs_enable, .disable = (void *)bfs_disable,
	       .cpu_release = (void *)bfs_cpu_release, .cgroup_init = (void *)bfs_cgroup_init,
	       .cgroup_exit = (void *)bfs_cgroup_exit, .cgroup_move = (void *)bfs_cgroup_move,
	       .cgroup_set_bandwidth = (void *)bfs_cgroup_set_bandwidth, .init = (void *)bfs_init,
	       /* A task whose control group has no time left does not go on where it is the last. */
	       .flags = SCX_OPS_ENQ_EXITING | SCX_OPS_ENQ_LAST, .name = "bfs");
