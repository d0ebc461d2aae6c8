/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the timer of ../lib looks after besides balance: who has waited for too
 * long goes first once (rule 0.6), and who waits on a CPU that goes offline is
 * sent on. And what init leaves behind.
 */
#include "walks.h"

/* What the references work on: the state before. */
struct before {
	struct rq rqs[MOST_CPUS];
	struct fake_task tasks[MOST_TASKS];
};

static struct before was;

static void some_state(void)
{
	tick_hz = coin(2) ? 1000 : between(1, 4) * 100;
	starvation_limit_ms = between(1, 20) * 1000;
	some_machine();
	some_queues();
	timer_ticks = 0;
	memset(boosts_of, 0, sizeof(boosts_of));
	for (u32 i = 0; i < count; i++) {
		struct fake_task *f = &fakes[i];
		/* Around the limits, and exactly at them. */
		u64 waits_ms = coin(2) ? 1000 : coin(2) ? starvation_limit_ms : between(0, 30000);

		f->t.waits_since_ns = now_ns - waits_ms * NSEC_PER_MSEC + below(3) - 1;
		f->home = coin(4) ? below(nr_cpus) : f->t.cpu;
		if (coin(20))
			f->p.storage = NULL;
	}
	for (u32 cpu = 0; cpu < nr_cpus; cpu++)
		rqs[cpu].strays = coin(3);
	memcpy(was.rqs, rqs, sizeof(was.rqs));
	memcpy(was.tasks, fakes, sizeof(was.tasks));
}

static bool waited(u32 i, u64 limit_ms)
{
	return was.tasks[i].p.storage &&
	       now_ns - was.tasks[i].t.waits_since_ns > limit_ms * NSEC_PER_MSEC;
}

/* Whoever waited there for longer than the limit has a new place and waits from now on; the policy hears of it once. */
static void check_boosts(u32 cpu, bool looked_at)
{
	u32 boosted = 0;

	for (u32 i = 0; i < count; i++) {
		const struct fake_task *f = &fakes[i], *b = &was.tasks[i];
		bool goes_first = looked_at && b->seq && waited(i, starvation_limit_ms);

		if (b->t.cpu != cpu)
			continue;
		boosted += goes_first;
		check(f->key == (goes_first ? 1000 + (u64)f->p.pid : 0), "task %u", i);
		check(f->t.waits_since_ns == (goes_first ? now_ns : b->t.waits_since_ns), "task %u",
		      i);
	}
	check(boosts_of[cpu] == (boosted > 0), "CPU %u: %u of %u", cpu, boosts_of[cpu], boosted);
}

static void test_boost(void)
{
	u32 cpu;

	some_state();
	cpu = below(nr_cpus);
	boost_starved(cpu);
	for (u32 other = 0; other < nr_cpus; other++)
		check_boosts(other, other == cpu);
}

/*
 * Where the kernel counts it, if that is elsewhere; else to the local DSQ, if
 * the CPU is gone or it has waited for a second. The CPU then takes nothing for
 * a while, which is longer where it does not even run what it has.
 */
static void check_sent(u32 cpu, bool looked_at, bool gone)
{
	const struct rq *rq = &rqs[cpu], *b = &was.rqs[cpu];
	u64 refuses_ns = b->curr_pid || gone ? 100 * NSEC_PER_MSEC : 3 * NSEC_PER_SEC;
	bool moved = false;

	for (u32 i = 0; i < count; i++) {
		const struct fake_task *f = &fakes[i], *t = &was.tasks[i];
		bool strays = t->home != cpu && t->p.storage;
		bool goes = looked_at && t->seq && !t->lost;

		if (t->t.cpu != cpu)
			continue;
		check(f->t.cpu == (goes && strays ? t->home : cpu), "task %u on CPU %u", i,
		      f->t.cpu);
		check(f->notified == (goes && strays), "task %u", i);
		check(f->local == (goes && !strays && (gone || waited(i, 1000))), "task %u", i);
		moved |= f->local || f->notified;
	}
	check(rq->refuses_until_ns ==
		      (moved || (looked_at && gone) ? now_ns + refuses_ns : b->refuses_until_ns),
	      "CPU %u: %llu, now %llu", cpu, rq->refuses_until_ns, now_ns);
	check(rq->strays == (looked_at ? false : b->strays), "CPU %u", cpu);
}

static void test_send_back(void)
{
	bool gone = coin(2);
	u32 cpu;

	some_state();
	cpu = below(nr_cpus);
	send_back(cpu, gone);
	for (u32 other = 0; other < nr_cpus; other++)
		check_sent(other, other == cpu, gone);
	/* A CPU that is gone looks at its local DSQ. */
	check(kicks == gone, "%u kicks", kicks);
}

/* Once a second, and only then, all are looked at for who starves, and those that strays wait on or that run nothing. */
static void test_on_timer(void)
{
	u64 waits_s = coin(2) ? 2 : 30, ticks;
	bool due;

	some_state();
	starvation_limit_ms = 10000;
	for (u32 i = 0; i < count; i++) {
		fakes[i].home = fakes[i].t.cpu;
		fakes[i].p.storage = &fakes[i].t;
		fakes[i].t.waits_since_ns = now_ns - waits_s * NSEC_PER_SEC;
	}
	memcpy(was.tasks, fakes, sizeof(was.tasks));
	ticks = now_ticks();
	next_starvation_scan = ticks + below(3) - 1;
	due = next_starvation_scan <= ticks;
	check(on_timer() == NSEC_PER_SEC / tick_hz, "at %u ticks a second", tick_hz);
	check(timer_ticks == 1, "%u", timer_ticks);
	if (due)
		check(next_starvation_scan == ticks + tick_hz, "%llu", next_starvation_scan);
	for (u32 cpu = 0; cpu < nr_cpus; cpu++) {
		const struct rq *b = &was.rqs[cpu];

		check_boosts(cpu, due);
		/* Who went first waits anew. */
		if (waits_s == 2)
			check_sent(cpu, due && (b->strays || (b->nr && !b->curr_pid)), false);
	}
}

static void test_init(void)
{
	s32 err;

	some_state();
	for (u32 cpu = 0; cpu < nr_cpus; cpu++)
		rqs[cpu] = (struct rq){};
	placed = 0;
	memset(span_len, 0, sizeof(span_len));
	online.bits[0] = draw();
	nr_online = 0;
	dsqs_left = coin(4) ? below(nr_cpus) : nr_cpus;
	err = dsqs_left < (s32)nr_cpus ? -EINVAL : 0;
	check(init_queues() == err, "%d", err);
	if (err)
		return;
	check(nr_online == __builtin_popcountll(online.bits[0] & ((1ULL << nr_cpus) - 1)),
	      "%llu online", nr_online);
	for (u32 cpu = 0; cpu < nr_cpus; cpu++) {
		check(rqs[cpu].online == (online.bits[0] >> cpu & 1), "CPU %u", cpu);
		check(rqs[cpu].next_balance == now_ticks(), "CPU %u", cpu);
		check(len_of(cpu, SD_NODE) == nr_cpus, "CPU %u", cpu);
		for (u32 level = SD_SMT; level < SD_LEVELS; level++)
			check(rqs[cpu].sd[level].last_ticks == now_ticks() &&
				      rqs[cpu].sd[level].interval_ms == (level == SD_SMT    ? 2
									 : level == SD_NODE ? 32
											    : 4),
			      "CPU %u level %u", cpu, level);
	}
}

int main(int argc, char **argv)
{
	rounds(argc, argv, 20000, test_boost);
	rounds(argc, argv, 20000, test_on_timer);
	rounds(argc, argv, 5000, test_init);
	return rounds(argc, argv, 50000, test_send_back);
}
