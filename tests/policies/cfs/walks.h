/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the walks of ../lib walk over, drawn by chance: a machine, a run queue
 * for each CPU, and tasks on DSQs that are plain arrays. A CPU has a number and
 * a place on the machine.
 */
#pragma once

#include <scx.h>
#include <stddef.h>

#include "../random.h"
#include "../lib/rq.h"

#define MOST_CPUS 16
#define MOST_TASKS 200
#define TURNS 2

struct rq {
	RQ_MEMBERS
};

struct task_ctx {
	TASK_MEMBERS
	u32 weight;
};

static u32 newidle;
static u64 starvation_limit_ms;

#define PULL_TURNS TURNS
#include "../lib/timer.bpf.h"

/* A task, and what the policy would know of it. */
struct fake_task {
	struct task_struct p;
	struct task_ctx t;
	struct cpumask cpus;
	u64 seq; /* in its queue; 0: it runs */
	u32 turn;
	bool hot, lost; /* lost: another CPU takes it first */
	u32 home; /* whose the kernel counts it as */
	u32 notified;
	s32 pushed_to; /* -1: nowhere */
	bool local; /* sent to the local DSQ of the CPU that it waited for */
	u64 key; /* of its place in the queue, where it was boosted */
};

static struct fake_task *fake_of(const struct task_ctx *t)
{
	return (struct fake_task *)((char *)t - offsetof(struct fake_task, t));
}

static struct fake_task *fake_of_task(const struct task_struct *p)
{
	return (struct fake_task *)((char *)p - offsetof(struct fake_task, p));
}

static struct fake_task fakes[MOST_TASKS];
static u32 count, era;
static u64 sequence, now_ns;
static bool worth;
static u32 kicks, boosts_of[MOST_CPUS], timer_ticks;
static struct cpumask online;
static s32 dsqs_left = MAX_CPUS; /* so many can be created */

u64 scx_bpf_now(void)
{
	return now_ns;
}

void scx_bpf_kick_cpu(s32 cpu, u64 flags)
{
	check(!flags || (flags == SCX_KICK_PREEMPT && rqs[cpu].push_pid), "CPU %d, flags %llu", cpu,
	      flags);
	kicks++;
}

/* Like the kernel's: what is queued after the walk began is not seen. */
struct walk {
	u64 dsq, upto, at, vtime;
};

void bpf_iter_scx_dsq_new(struct bpf_iter_scx_dsq *it, u64 dsq_id, u64 flags)
{
	*(struct walk *)it = (struct walk){ .dsq = dsq_id, .upto = sequence };
}

static struct fake_task *first_behind(u32 cpu, u64 at, u64 upto)
{
	struct fake_task *found = NULL;

	for (u32 i = 0; i < count; i++)
		if (fakes[i].t.cpu == cpu && fakes[i].seq > at && fakes[i].seq <= upto &&
		    (!found || fakes[i].seq < found->seq))
			found = &fakes[i];
	return found;
}

struct task_struct *bpf_iter_scx_dsq_next(struct bpf_iter_scx_dsq *it)
{
	struct walk *w = (struct walk *)it;
	struct fake_task *f = first_behind(w->dsq, w->at, w->upto);

	if (!f)
		return NULL;
	w->at = f->seq;
	return &f->p;
}

s32 scx_bpf_task_cpu(const struct task_struct *p)
{
	return fake_of_task(p)->home;
}

void scx_bpf_dsq_move_set_vtime(struct bpf_iter_scx_dsq *it, u64 vtime)
{
	((struct walk *)it)->vtime = vtime;
}

bool scx_bpf_dsq_move_vtime(struct bpf_iter_scx_dsq *it, struct task_struct *p, u64 dsq_id,
			    u64 enq_flags)
{
	struct fake_task *f = fake_of_task(p);

	check(dsq_id == f->t.cpu, "task %d to %llu", p->pid, dsq_id);
	f->key = ((struct walk *)it)->vtime;
	f->seq = ++sequence;
	return true;
}

bool scx_bpf_dsq_move(struct bpf_iter_scx_dsq *it, struct task_struct *p, u64 dsq_id, u64 enq_flags)
{
	struct fake_task *f = fake_of_task(p);

	check(dsq_id == (SCX_DSQ_LOCAL_ON | f->t.cpu), "task %d to %llx", p->pid, dsq_id);
	if (f->lost)
		return false;
	f->local = true;
	f->seq = 0;
	return true;
}

s32 scx_bpf_create_dsq(u64 dsq_id, s32 node)
{
	return dsqs_left-- > 0 ? 0 : -EINVAL;
}

const struct cpumask *scx_bpf_get_online_cpumask(void)
{
	return &online;
}

void scx_bpf_put_cpumask(const struct cpumask *mask)
{
}

/* What a policy defines. */
static __always_inline u32 balance_era(void)
{
	return era;
}

static __always_inline void describe_waker(struct lb_wake *wake, const struct task_ctx *wakee,
					   u32 this)
{
}

static __always_inline bool pulled_in_turn(const struct task_ctx *t, const struct rq *there,
					   u32 turn)
{
	check(there == rq_of(t->cpu), "CPU %u", t->cpu);
	return fake_of(t)->turn == turn;
}

static __always_inline bool cache_hot(const struct task_struct *p, const struct task_ctx *t,
				      const struct rq *there, const struct rq *here, u64 now)
{
	check(there == rq_of(t->cpu) && here != there && now == now_ns, "CPU %u", t->cpu);
	return fake_of(t)->hot;
}

static __always_inline bool worth_pulling(const struct rq *rq)
{
	return worth;
}

static __always_inline bool move_queued(struct bpf_iter_scx_dsq *it, struct task_struct *p,
					struct task_ctx *t, u32 cpu)
{
	struct fake_task *f = fake_of(t);

	if (f->lost)
		return false;
	account_out(t);
	account_in(t, cpu);
	f->seq = ++sequence;
	return true;
}

static __always_inline void notify(u32 cpu, const struct task_struct *p, const struct task_ctx *t)
{
	check(t->cpu == cpu, "CPU %u", cpu);
	fake_of(t)->notified++;
}

static __always_inline void push_task(struct task_struct *p, struct task_ctx *t, u32 cpu)
{
	fake_of(t)->pushed_to = cpu;
}

static __always_inline u64 boost(struct task_struct *p, struct task_ctx *t, u32 cpu)
{
	check(t->cpu == cpu, "CPU %u", cpu);
	return 1000 + p->pid;
}

static __always_inline void notify_boost(u32 cpu)
{
	boosts_of[cpu]++;
}

__noinline s32 balance_tick(void)
{
	timer_ticks++;
	return 0;
}

/* The machine, as places in one order: threads of a core, cores of a cache, caches of a socket, sockets. */
static u32 width[SD_LEVELS]; /* CPUs of a span of each level */
static u32 cpu_at[MOST_CPUS], place_of[MOST_CPUS];

static u32 begin(u32 place, u32 level)
{
	return place / width[level] * width[level];
}

/* Does the level have more than one group? */
static bool has_groups(u32 level)
{
	return level > SD_SELF && width[level] > width[level - 1];
}

static void some_machine(void)
{
	u32 threads = between(1, 2), cores = between(1, 2), llcs = between(1, 2),
	    nodes = between(1, 2), all = threads * cores * llcs * nodes, place = 0;
	bool threads_last = coin(2), caches_reversed = coin(2);

	nr_cpus = all;
	nr_llcs = llcs * nodes;
	nr_nodes = nodes;
	width[SD_SELF] = 1;
	width[SD_SMT] = threads;
	width[SD_MC] = threads * cores;
	width[SD_CPU] = threads * cores * llcs;
	width[SD_NODE] = all;
	for (place = 0; place < all; place++) {
		u32 cache = place / width[SD_MC], in_cache = place % width[SD_MC];
		u32 nth = caches_reversed ? (nr_llcs - 1 - cache) * width[SD_MC] + in_cache : place;
		u32 cpu = threads_last ? nth % threads * (all / threads) + nth / threads : nth;

		cpu_at[place] = cpu;
		place_of[cpu] = place;
	}
	for (place = 0; place < all; place++) {
		u32 core = begin(place, SD_SMT), next = core + (place - core + 1) % threads;
		u16 *by_llc = (u16 *)&cpu_by_llc[begin(place, SD_MC)];
		u32 before = 0;

		cpu_node[cpu_at[place]] = place / width[SD_CPU];
		cpu_sibling[cpu_at[place]] = cpu_at[next];
		/* Of a cache, by number. */
		for (u32 other = begin(place, SD_MC); other < begin(place, SD_MC) + width[SD_MC];
		     other++)
			before += cpu_at[other] < cpu_at[place];
		by_llc[before] = cpu_at[place];
		llc_first[place / width[SD_MC]] = begin(place, SD_MC);
	}
	llc_first[nr_llcs] = all;
	placed = 0;
	memset(span_len, 0, sizeof(span_len));
	map_machine();
	for (place = 0; place < all; place++)
		for (u32 level = SD_SELF; level < SD_LEVELS; level++) {
			u32 cpu = cpu_at[place];

			check(order[place] == cpu, "place %u", place);
			check(first_of(cpu, level) == begin(place, level), "CPU %u level %u", cpu,
			      level);
			check(len_of(cpu, level) == width[level], "CPU %u level %u", cpu, level);
			check(level == SD_SELF || level_exists(cpu, level) == has_groups(level),
			      "level %u", level);
		}
}

static void add_task(u32 cpu, bool runs)
{
	struct fake_task *f = &fakes[count++];

	*f = (struct fake_task){ .p.pid = count,
				 .cpus = { coin(4) ? draw() : ~0ULL },
				 .turn = below(TURNS),
				 .pushed_to = -1,
				 .hot = coin(3),
				 .lost = coin(20) };
	f->p.cpus_ptr = &f->cpus;
	f->p.storage = &f->t;
	f->t.weight = coin(3) ? between(3, 3000) : lb_nice_0(era);
	f->home = cpu;
	f->seq = runs ? 0 : ++sequence;
	account_in(&f->t, cpu);
	if (runs)
		rq_of(cpu)->curr_pid = f->p.pid;
}

static void some_queues(void)
{
	u64 ticks;

	count = sequence = kicks = 0;
	now_ns = between(1000, 2000) * NSEC_PER_SEC;
	ticks = now_ticks();
	nr_online = between(1, MOST_CPUS);
	for (u32 cpu = 0; cpu < nr_cpus; cpu++) {
		struct rq *rq = rq_of(cpu);
		u32 many = coin(40) ? between(60, 80) : between(0, 4);
		bool one_array;

		*rq = (struct rq){ .online = !coin(8), .next_balance = between(0, 2) * ticks };
		if (coin(4))
			rq->refuses_until_ns = now_ns + between(0, 2) - 1;
		for (u32 level = SD_SMT; level < SD_LEVELS; level++)
			rq->sd[level] = (struct sd_state){
				.last_ticks = ticks - between(0, coin(2) ? 20 : 3000),
				.interval_ms = 1U << between(0, coin(8) ? 9 : 5),
				.failed = between(0, 6),
			};
		if (coin(3) || count + many + 1 > MOST_TASKS)
			continue;
		if (!coin(4))
			add_task(cpu, true);
		one_array = many >= 60 && coin(2);
		for (u32 i = 0; i < many; i++) {
			add_task(cpu, false);
			if (one_array)
				fakes[count - 1].turn = TURNS - 1;
		}
		rq->push_pid = coin(8) ? 1 : 0;
	}
	for (u32 cpu = 0; cpu < nr_cpus; cpu++)
		for (u32 i = 0; i < LB_LOADS; i++)
			cpu_load[cpu][i] = weight_of(rq_of(cpu)) * between(0, 3) / 2;
}
