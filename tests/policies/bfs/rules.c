/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Constants (rule 1.2) and the invariants of rule 1.9 that hold for one task, or for tasks on one CPU. */
#include "model.h"

static void constants(void)
{
	static const u32 rr_232[] = { 6, 12, 18, 24, 30, 36, 42 };

	for (u32 i = 0; i < ARRAY_SIZE(rr_232); i++) {
		CHECK(bfs_rr_default_us(BFS_232, 1u << i) == rr_232[i] * 1000);
		CHECK(bfs_rr_default_us(BFS_311, 1u << i) == rr_232[i] * 1000);
		CHECK(bfs_rr_default_us(BFS_424, 1u << i) == 6000);
		CHECK(bfs_rr_default_us(BFS_MODERN, 1u << i) == 6000);
	}
	/* rule 1.2.1: each a tenth more than the one before, truncated */
	for (u32 u = 1; u < BFS_NICES; u++) {
		CHECK(bfs_ratios_100[u] == bfs_ratios_100[u - 1] * 11 / 10);
		CHECK(bfs_ratios_128[u] == bfs_ratios_128[u - 1] * 11 / 10);
	}
	CHECK(bfs_ratios_100[0] == 100 && bfs_ratios_100[20] == 655 && bfs_ratios_100[39] == 3987);
	CHECK(bfs_ratios_128[0] == 128 && bfs_ratios_128[20] == 836 && bfs_ratios_128[39] == 5089);
	/* rule 1.2.3 */
	bfs_configure(&cfg, BFS_424, 0, 4, 250, 70);
	CHECK(cfg.offset[20] == 41091072 && cfg.rr_ns == 6 * 1048576);
	bfs_configure(&cfg, BFS_311, 0, 1, 1000, 70);
	CHECK(cfg.offset[0] == 6 && cfg.offset[10] == 15 && cfg.offset[20] == 39 &&
	      cfg.offset[30] == 101);
	CHECK(cfg.offset[39] == 239 && cfg.rr_ns == 6 * NSEC_PER_MSEC);
	CHECK(bfs_far(&cfg, 20) == 39);
	bfs_configure(&cfg, BFS_311, 0, 1, 250, 70);
	CHECK(cfg.offset[20] == 9); /* of 9.825 jiffies */
	bfs_configure(&cfg, BFS_311, 0, 2, 1000, 70);
	CHECK(cfg.offset[20] == 78);
	bfs_configure(&cfg, BFS_311, 0, 4, 1000, 70);
	CHECK(cfg.offset[20] == 117);
	bfs_configure(&cfg, BFS_232, 0, 16, 1000, 70);
	CHECK(cfg.offset[20] == 196 && cfg.rr_ns == 30 * NSEC_PER_MSEC);
	/* rule 1.2.5: 5 s of the ticks of 16 CPUs, and one; only 4xx has a slice that is used up before its end. */
	CHECK(cfg.iso_period == 80001 && cfg.worn_ns == 1);
	bfs_configure(&cfg, BFS_424, 0, 2, 250, 70);
	CHECK(cfg.iso_period == 2501 && cfg.worn_ns == 100 * 1024);
	/* A jiffy at least. */
	bfs_configure(&cfg, BFS_232, 1000, 1, 100, 70);
	CHECK(cfg.offset[0] == 1);
}

/* rules 1.9.1 and 1.9.5: random lives; the deadline moves only where a rule says so. */
static void one_life(u32 rules)
{
	struct bfs_task t = { .u = BFS_NICE0 }, child;
	u64 now = 10 * NSEC_PER_SEC;

	bfs_configure(&cfg, rules, 0, 4, 1000, 70);
	bfs_refill(&cfg, &t, now);
	t.since_ns = now;
	for (u32 event = 0; event < 200; event++) {
		struct bfs_task before = t;
		u64 ran_ns, slept_from;
		bool worn;
		u32 u;

		now += draw() % (2 * NSEC_PER_MSEC);
		switch (below(6)) {
		case 0:
			bfs_charge(&cfg, &t, now);
			CHECK(t.deadline == before.deadline && t.slice_ns <= before.slice_ns);
			break;
		case 1:
			worn = bfs_deschedule(&cfg, &t, now);
			CHECK(worn || t.deadline == before.deadline);
			CHECK(!worn || t.slice_ns == (s64)cfg.rr_ns);
			CHECK(worn || t.slice_ns >= (s64)cfg.worn_ns);
			CHECK(!worn || rules == BFS_MODERN ||
			      t.deadline == bfs_clock(&cfg, now) + cfg.offset[t.u]);
			CHECK(!before64(bfs_clock(&cfg, now) + cfg.offset[t.u], t.deadline) ||
			      !worn);
			break;
		case 2:
			/* What it ran and that it blocked is made up for when it wakes. */
			ran_ns = draw() % now;
			bfs_start(&t, now, ran_ns);
			before = t;
			slept_from = now + draw() % (2 * NSEC_PER_MSEC);
			ran_ns += slept_from - now;
			now = slept_from + draw() % NSEC_PER_SEC;
			bfs_deschedule(&cfg, &before, slept_from);
			CHECK(bfs_settle(&cfg, &t, ran_ns, true) == slept_from && !t.ran);
			CHECK(t.deadline == before.deadline && t.slice_ns == before.slice_ns);
			bfs_wake(&t, slept_from, now);
			CHECK(t.slept_ns == before.slept_ns + now - slept_from);
			CHECK(t.deadline == before.deadline && t.slice_ns == before.slice_ns);
			t.since_ns = now;
			break;
		case 3:
			bfs_charge(&cfg, &t, now);
			before = t;
			memset(&child, 0, sizeof(child));
			child.u = t.u;
			worn = bfs_fork(&cfg, &t, &child, now);
			CHECK(t.deadline == before.deadline);
			CHECK(worn || child.deadline == before.deadline);
			if (worn)
				CHECK(t.slice_ns == 0 && child.slice_ns == (s64)cfg.rr_ns);
			else if (before.slice_ns > 0)
				CHECK(t.slice_ns == child.slice_ns &&
				      before.slice_ns - 2 * t.slice_ns <= 1);
			CHECK(!bfs_in_jiffies(rules) || !worn);
			before = t;
			if (bfs_in_jiffies(rules) && below(2)) {
				/* rule 1.9.5: what the child did not use comes back */
				s64 used = child.slice_ns > 0 ? below(child.slice_ns + 1) : 0;

				child.slice_ns -= used;
				bfs_give_back(&cfg, &t, &child);
				CHECK(t.slice_ns + used ==
					      before.slice_ns +
						      (before.slice_ns > 0 ? before.slice_ns : 0) ||
				      t.slice_ns == (s64)cfg.rr_ns);
				bfs_give_back(&cfg, &t, &child);
				CHECK(child.slice_ns <= 0);
			}
			break;
		case 4:
			u = below(BFS_NICES);
			CHECK(bfs_renice(&cfg, &t, u) == (s32)(u > before.u) - (s32)(u < before.u));
			CHECK(t.deadline - before.deadline == cfg.offset[u] - cfg.offset[before.u]);
			CHECK(t.slice_ns == before.slice_ns);
			break;
		case 5:
			bfs_yield(&cfg, &t);
			CHECK(t.deadline == before.deadline);
			CHECK(t.slice_ns == (bfs_in_jiffies(rules) ? 0 : before.slice_ns));
			break;
		}
	}
}

/* The bounds of a charge and the ends of a slice (rules 1.3.4 and 1.3.5). */
static void charges(void)
{
	struct bfs_task t = {};

	bfs_configure(&cfg, BFS_311, 0, 1, 250, 70);
	CHECK(bfs_elapsed(&cfg, -1) == 2 * NSEC_PER_MSEC &&
	      bfs_elapsed(&cfg, 0) == 2 * NSEC_PER_MSEC);
	CHECK(bfs_elapsed(&cfg, 5 * NSEC_PER_MSEC) == 4 * NSEC_PER_MSEC &&
	      bfs_elapsed(&cfg, 7) == 7);
	/* rule 1.3.4: a schedule at the moment of the charge before costs half a jiffy; what is no schedule nothing. */
	t.slice_ns = 6 * NSEC_PER_MSEC;
	t.since_ns = NSEC_PER_SEC;
	bfs_catch_up(&cfg, &t, NSEC_PER_SEC);
	CHECK(t.slice_ns == 6 * NSEC_PER_MSEC);
	bfs_charge(&cfg, &t, NSEC_PER_SEC);
	CHECK(t.slice_ns == 4 * NSEC_PER_MSEC);
	t.slice_ns = 0;
	CHECK(bfs_slice_over(&cfg, &t, false));
	t.slice_ns = 1;
	CHECK(!bfs_slice_over(&cfg, &t, false) && !bfs_slice_over(&cfg, &t, true));
	bfs_configure(&cfg, BFS_424, 0, 1, 250, 70);
	CHECK(bfs_elapsed(&cfg, 0) == 1 && bfs_elapsed(&cfg, 9 * NSEC_PER_MSEC) == 1);
	CHECK(bfs_elapsed(&cfg, 7 * NSEC_PER_MSEC) == 7 * NSEC_PER_MSEC);
	t.slice_ns = 2 * NSEC_PER_MSEC;
	CHECK(bfs_slice_over(&cfg, &t, true) && !bfs_slice_over(&cfg, &t, false));
	t.slice_ns = 100 * 1024 - 1;
	CHECK(bfs_slice_over(&cfg, &t, false));
	t.slice_ns = 100 * 1024;
	CHECK(!bfs_slice_over(&cfg, &t, false));
	/* rule 1.3.3: BATCH is renewed at every switch, from 4xx on */
	t.batch = true;
	t.slice_ns = cfg.rr_ns;
	CHECK(bfs_deschedule(&cfg, &t, 1000));
	bfs_configure(&cfg, BFS_311, 0, 1, 250, 70);
	t.slice_ns = cfg.rr_ns;
	CHECK(!bfs_deschedule(&cfg, &t, 2000));
	/* rule 1.3.2: 232 lets IDLEPRIO wait longer */
	t.batch = false;
	t.idleprio = true;
	t.u = BFS_NICE0;
	bfs_refill(&cfg, &t, NSEC_PER_SEC);
	CHECK(t.deadline == bfs_clock(&cfg, NSEC_PER_SEC) + cfg.offset[20]);
	bfs_configure(&cfg, BFS_232, 0, 1, 250, 70);
	bfs_refill(&cfg, &t, NSEC_PER_SEC);
	CHECK(t.deadline == bfs_clock(&cfg, NSEC_PER_SEC) + cfg.offset[20] + cfg.offset[39]);
}

/* rule 1.3.5: every tick of a kernel with as many as the emulated one counts, whenever it comes; of one with more the first in each jiffy. */
static void ticks(u32 rules)
{
	static const u64 at_ns[] = { 3999500, 8000500, 11999500 };

	bfs_configure(&cfg, rules, 0, 1, 250, 70);
	for (u32 i = 1; i < ARRAY_SIZE(at_ns); i++)
		CHECK(bfs_tick_counts(&cfg, 250, at_ns[i - 1], at_ns[i]));
	for (u64 ms = 1; ms <= 40; ms++) {
		u64 now = ms * NSEC_PER_MSEC;

		CHECK(bfs_tick_counts(&cfg, 1000, now - NSEC_PER_MSEC, now) == (ms % 4 == 0));
	}
}

/* Hogs on one CPU, ended when their slice is: who ran how many slices. */
static void run_hogs(u32 rules, u32 hogs, const u32 *u, u32 slices, u32 *ran, u32 *longest_gap)
{
	u64 now = 20 * NSEC_PER_SEC;
	u32 last_run[TEST_TASKS] = {};

	bfs_configure(&cfg, rules, 0, 1, 1000, 70);
	memset(model_present, 0, sizeof(model_present));
	build_machine(1, false);
	model_tasks = hogs;
	memset(model, 0, sizeof(model));
	memset(ran, 0, hogs * sizeof(*ran));
	*longest_gap = 0;
	for (u32 i = 0; i < hogs; i++) {
		model[i].allowed = 1;
		model[i].t.u = u[i];
		bfs_refill(&cfg, &model[i].t, now);
		model[i].t.seq = now + i;
		model[i].t.level = BFS_NORMAL;
	}
	for (u32 slice = 0; slice < slices; slice++) {
		struct model_task *m = NULL;
		struct bfs_choice best = {};

		for (u32 i = 0; i < hogs; i++) {
			if (model[i].queued)
				continue;
			model[i].t.key = bfs_key(&cfg, BFS_NORMAL, model[i].t.deadline,
						 bfs_clock(&cfg, now));
			if (bfs_in_jiffies(rules)) {
				model_present[BFS_NORMAL] = 1;
				model_insert(&model[i], BFS_U(BFS_NORMAL * BFS_NICES),
					     model[i].t.key);
			} else {
				model_insert(&model[i], BFS_PLAIN(0), model[i].t.key);
			}
		}
		if (bfs_in_jiffies(rules))
			bfs_pick_fifo(0, now, NULL, &best);
		else
			bfs_pick_plain(0, 1, &best);
		CHECK(best.from == BFS_QUEUE);
		m = next_queued(best.queue, NULL);
		m->queued = false;
		ran[m - model]++;
		if (slice >= hogs && slice - last_run[m - model] > *longest_gap)
			*longest_gap = slice - last_run[m - model];
		last_run[m - model] = slice;
		/* The whole slice, tick by tick where that is how it is charged. */
		m->t.since_ns = now;
		while (m->t.slice_ns >= (s64)cfg.worn_ns) {
			now += min_u64(cfg.jiffy_ns, m->t.slice_ns);
			bfs_charge(&cfg, &m->t, now);
		}
		CHECK(bfs_deschedule(&cfg, &m->t, now));
		m->t.seq = now + hogs;
	}
}

/* rule 1.9.2: equals take turns. */
static void turns(u32 rules)
{
	u32 u[8], ran[8], gap;

	for (u32 hogs = 2; hogs <= 8; hogs++) {
		for (u32 i = 0; i < hogs; i++)
			u[i] = BFS_NICE0;
		run_hogs(rules, hogs, u, hogs * 100, ran, &gap);
		for (u32 i = 0; i < hogs; i++)
			CHECK(ran[i] == 100);
		CHECK(gap == hogs);
	}
}

/* rule 1.9.8: two hogs; the worse one gets 1 slice in k + 1. */
static void shares(void)
{
	static const struct {
		u32 better, worse, one_in_1000;
	} table[] = {
		{ 20, 21, 500 }, { 20, 22, 333 }, { 20, 23, 250 }, { 20, 25, 200 }, { 20, 30, 83 },
		{ 20, 35, 45 },	 { 20, 39, 29 },  { 15, 20, 250 }, { 10, 20, 200 }, { 0, 20, 143 },
	};

	for (u32 i = 0; i < ARRAY_SIZE(table); i++) {
		u32 u[2] = { table[i].better, table[i].worse }, ran[2], gap;

		run_hogs(BFS_424, 2, u, 4000, ran, &gap);
		CHECK(ran[1] * 1000 / 4000 + 1 >= table[i].one_in_1000 &&
		      ran[1] * 1000 / 4000 <= table[i].one_in_1000 + 1);
	}
}

/*
 * modern: a renewal passes n hogs that take turns if and only if the task
 * slept longer than the oldest renewal among them is ago; and never by more
 * than one slice at a time.
 */
static void sleep_counts(void)
{
	u32 passed;

	for (u32 hogs = 1; hogs <= 20; hogs++) {
		for (u64 slept_ms = 0; slept_ms < 200; slept_ms += 5) {
			struct bfs_task t = { .u = BFS_NICE0 };
			u64 now = 20 * NSEC_PER_SEC;

			bfs_configure(&cfg, BFS_MODERN, 0, 1, 250, 70);
			bfs_refill(&cfg, &t, now - NSEC_PER_SEC);
			bfs_wake(&t, now - slept_ms * NSEC_PER_MSEC, now);
			t.slice_ns = 0;
			t.since_ns = now;
			CHECK(bfs_deschedule(&cfg, &t, now));
			passed = 0;
			for (u32 i = 0; i < hogs; i++) {
				struct bfs_task hog = { .u = BFS_NICE0 };

				bfs_refill(&cfg, &hog, now - i * cfg.rr_ns);
				passed += before64(t.deadline, hog.deadline);
			}
			CHECK((passed == hogs) ==
			      (slept_ms * NSEC_PER_MSEC > (hogs - 1) * cfg.rr_ns));
			/* What it slept is spent. */
			t.slice_ns = 0;
			CHECK(bfs_deschedule(&cfg, &t, now) &&
			      t.deadline == now + cfg.offset[BFS_NICE0]);
		}
	}
}

/* rule 1.9.3, and the floor under it. */
static void levels(void)
{
	u64 now = 100 * NSEC_PER_SEC;

	bfs_configure(&cfg, BFS_424, 0, 4, 250, 70);
	for (u32 i = 0; i < 10000; i++) {
		/* The worst: IDLEPRIO overdue since ever, NORMAL at nice 19 renewed just now; the same for ISO. */
		u64 waited = draw() % (5 * NSEC_PER_SEC);
		u64 old = draw() % now, fresh = now + draw() % cfg.offset[39];

		CHECK(before64(bfs_key(&cfg, BFS_NORMAL, fresh, now),
			       bfs_key(&cfg, BFS_IDLEPRIO, old, now - waited)));
		CHECK(before64(bfs_key(&cfg, BFS_ISO, fresh, now),
			       bfs_key(&cfg, BFS_NORMAL, old, now - waited)));
		/* Within 15 s everybody has become the first. */
		CHECK(before64(bfs_key(&cfg, BFS_IDLEPRIO, now + cfg.offset[39], now),
			       bfs_key(&cfg, BFS_NORMAL, 0, now + 15 * NSEC_PER_SEC)));
		CHECK(before64(bfs_key(&cfg, BFS_NORMAL, now + cfg.offset[39], now),
			       bfs_key(&cfg, BFS_ISO, 0, now + 15 * NSEC_PER_SEC)));
	}
	CHECK(bfs_level(false, true, false, true) == BFS_IDLEPRIO &&
	      bfs_level(false, true, false, false) == BFS_NORMAL);
	CHECK(bfs_level(true, false, false, true) == BFS_ISO &&
	      bfs_level(true, false, true, true) == BFS_NORMAL);
}

/* rules 1.3.3 and 1.3.4: interrupts took some of what it ran; it did not stop before the tick that charged it last. */
static void interrupted(u32 rules)
{
	u64 now = 10 * NSEC_PER_SEC, ran_ns = 3 * NSEC_PER_MSEC, tick = now + NSEC_PER_MSEC;
	struct bfs_task t = { .u = BFS_NICE0 }, before;

	bfs_configure(&cfg, rules, 0, 1, 1000, 70);
	bfs_refill(&cfg, &t, now);
	bfs_start(&t, now, ran_ns);
	bfs_charge(&cfg, &t, tick);
	before = t;
	CHECK(bfs_settle(&cfg, &t, ran_ns + 800 * NSEC_PER_USEC, true) == tick);
	CHECK(t.slice_ns == before.slice_ns && t.deadline == before.deadline && !t.ran);
	t = before;
	CHECK(bfs_settle(&cfg, &t, ran_ns + 1300 * NSEC_PER_USEC, true) ==
	      tick + 300 * NSEC_PER_USEC);
	CHECK(t.slice_ns == before.slice_ns - 300 * (s64)NSEC_PER_USEC);
	/* To block at the moment of the tick is a schedule; to be queued anew is none, and its own is charged already. */
	t = before;
	CHECK(bfs_settle(&cfg, &t, ran_ns + NSEC_PER_MSEC, true) == tick);
	CHECK(t.slice_ns == before.slice_ns - bfs_elapsed(&cfg, 0));
	t = before;
	CHECK(bfs_settle(&cfg, &t, ran_ns + NSEC_PER_MSEC, false) == tick);
	CHECK(t.slice_ns == before.slice_ns);
}

/* rule 1.3.14: one ISO hog on one CPU is stopped above 70 % and let go below nine tenths of that. */
static void iso_share(u32 rules)
{
	struct bfs_iso_state iso = {};
	u32 ran = 0, ticks = 200000;

	bfs_configure(&cfg, rules, 0, 1, 100, 70);
	for (u32 tick = 0; tick < ticks; tick++) {
		bool was = iso.refractory;

		ran += !was;
		bfs_iso_tick(&cfg, &iso, !was);
		if (!was && iso.refractory)
			CHECK(iso.ticks / cfg.iso_period > 70);
		if (was && !iso.refractory)
			CHECK(iso.ticks / cfg.iso_period < 63);
	}
	/* Up from 63 to 70 takes 0.07 P ticks, down again P ln(70/63): 40 % of the time. */
	CHECK(ran > ticks * 39 / 100 && ran < ticks * 42 / 100);
}

/* rule 1.3.14, as it is written, for HZ = 100 and n CPUs. */
struct written_iso {
	u64 account;
	bool refractory;
};

static void written_iso_tick(u32 rules, u64 n, u64 iso_cpu, struct written_iso *w, bool iso_runs)
{
	u64 p = 5 * 100 * n + 1;

	if (iso_runs && !w->refractory) {
		if (w->account <= (rules < BFS_424 ? 100 * p - 100 : 128 * p - 128))
			w->account += 100;
	} else if (rules == BFS_232) {
		w->account = w->account * (p - 1) / p;
	} else {
		w->account -= min_u64(w->account, w->account / p + 1);
	}
	if (w->account / p > iso_cpu)
		w->refractory = true;
	else if (w->account / p < (rules < BFS_424 ? iso_cpu * 90 / 100 : iso_cpu * 115 / 128))
		w->refractory = false;
}

static void iso_ticks(u32 rules)
{
	static const u32 limits[] = { 0, 39, 70, 100 };

	for (u32 i = 0; i < ARRAY_SIZE(limits); i++) {
		struct written_iso written = {};
		struct bfs_iso_state iso = {};
		bool was_refractory = false;

		bfs_configure(&cfg, rules, 0, 2, 100, limits[i]);
		for (u32 tick = 0; tick < 100000; tick++) {
			/* First without a pause, to the most that the account can have. */
			bool runs = tick < 3000 || below(100) < 90;

			bfs_iso_tick(&cfg, &iso, runs);
			written_iso_tick(rules, 2, limits[i], &written, runs);
			CHECK(iso.ticks == written.account && iso.refractory == written.refractory);
			was_refractory |= iso.refractory;
		}
		/* All of the machine is 100, and only from 4xx on the account goes beyond. */
		CHECK(was_refractory == (limits[i] < 100 || rules >= BFS_424));
	}
}

/* rule 1.3.7: from 200 of its "us" on a parent's slice is halved. */
static void forks(void)
{
	struct bfs_task parent = { .u = BFS_NICE0, .slice_ns = 200 * 1024 - 1 }, child = parent;

	bfs_configure(&cfg, BFS_424, 0, 1, 1000, 70);
	CHECK(bfs_fork(&cfg, &parent, &child, NSEC_PER_SEC));
	CHECK(parent.slice_ns == 0 && child.slice_ns == (s64)cfg.rr_ns);
	parent.slice_ns = 200 * 1024;
	CHECK(!bfs_fork(&cfg, &parent, &child, NSEC_PER_SEC));
	CHECK(parent.slice_ns == 100 * 1024 && child.slice_ns == 100 * 1024);
}

int main(int argc, char **argv)
{
	test_seed = argc > 2 ? strtoul(argv[2], NULL, 0) : 1;
	constants();
	charges();
	for (u32 rules = BFS_232; rules <= BFS_MODERN; rules++) {
		for (unsigned long number = 0; number < 2000; number++) {
			start_case(number * 4 + rules);
			one_life(rules);
		}
		turns(rules);
		ticks(rules);
		interrupted(rules);
		iso_share(rules);
		iso_ticks(rules);
	}
	forks();
	shares();
	sleep_counts();
	levels();
	printf("constants, lives, turns, shares, sleep, levels, ISO: as published\n");
	return 0;
}
