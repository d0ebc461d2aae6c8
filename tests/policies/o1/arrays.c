/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One CPU under random histories: o1.h on a queue ordered by key, beside two
 * arrays of 140 literal lists with the rules of 2.6.22 in jiffies. At every
 * step both must run the same task, with the same slice, priority and
 * sleep_avg.
 */
#include "o1.h"
#include "../queue.h"
#include "../random.h"

#define TASKS 8
#define STEPS 120

/* The reference. */
enum { SLEEP_NORMAL, SLEEP_NONINTERACTIVE, SLEEP_INTERACTIVE, SLEEP_INTERRUPTED };

struct ref_task {
	u64 sleep_avg, timestamp;
	u32 slice, sp, prio, type;
	bool first, batch, user;
	s32 array; /* -1: not runnable */
};

struct list {
	s32 id[TASKS];
	u32 n;
};

static struct ref_task ref[TASKS];
static struct list lists[2][140];
static u32 nr_active[2], active, best_expired, hz;
static u64 expired_at, now_ns;
static s32 ref_curr, nr_running;

/* The tested. */
static struct o1_task task[TASKS];
static struct o1_queue q;
static struct o1_config cfg;
static struct queue dsq;
static s32 curr;
static u64 arrivals;

static u64 jiffies(void)
{
	return 1 + now_ns / (NSEC_PER_SEC / hz);
}

static u32 ref_bonus(u64 avg)
{
	return avg / (NSEC_PER_SEC / hz) * 10 / hz;
}

static u32 ref_prio(const struct ref_task *t)
{
	s32 prio = (s32)t->sp - ((s32)ref_bonus(t->sleep_avg) - 5);

	return prio < 100 ? 100 : prio > 139 ? 139 : prio;
}

static s32 ref_delta(u32 sp)
{
	return (s32)(sp - 100) * 10 / 40 - 5 + 2;
}

static u32 ref_slice(u32 sp)
{
	u32 least = 5 * hz / 1000 ? 5 * hz / 1000 : 1;
	u32 slice = (sp < 120 ? 4 : 1) * (100 * hz / 1000) * (140 - sp) / 20;

	return slice > least ? slice : least;
}

static void unlink_task(s32 id)
{
	struct list *list = &lists[ref[id].array][ref[id].prio];
	u32 at = 0;

	while (list->id[at] != id)
		at++;
	memmove(&list->id[at], &list->id[at + 1], (list->n - at - 1) * sizeof(s32));
	list->n--;
	nr_active[ref[id].array]--;
	ref[id].array = -1;
}

static void link_at(s32 id, u32 array, u32 prio, u32 at)
{
	struct list *list = &lists[array][prio];

	memmove(&list->id[at + 1], &list->id[at], (list->n - at) * sizeof(s32));
	list->id[at] = id;
	list->n++;
	nr_active[array]++;
	ref[id].array = array;
	ref[id].prio = prio;
}

static void link_tail(s32 id, u32 array, u32 prio)
{
	link_at(id, array, prio, lists[array][prio].n);
}

static u32 ref_recalc(struct ref_task *t, u64 now)
{
	u64 sleep = now - t->timestamp, ceiling;

	if (t->batch)
		sleep = 0;
	if (sleep) {
		ceiling = (u64)(hz * (5 + ref_delta(t->sp) + 1) / 10 - 1) * (NSEC_PER_SEC / hz);
		if (t->user && sleep > ceiling && t->sleep_avg < ceiling) {
			t->sleep_avg = ceiling;
			t->type = SLEEP_NONINTERACTIVE;
		} else {
			t->sleep_avg += sleep;
		}
		if (t->sleep_avg > NSEC_PER_SEC)
			t->sleep_avg = NSEC_PER_SEC;
	}
	return ref_prio(t);
}

static void ref_charge(struct ref_task *t)
{
	u64 ran = now_ns - t->timestamp;

	if (ran > NSEC_PER_SEC)
		ran = NSEC_PER_SEC;
	ran /= ref_bonus(t->sleep_avg) ? ref_bonus(t->sleep_avg) : 1;
	t->sleep_avg = t->sleep_avg > ran ? t->sleep_avg - ran : 0;
	t->timestamp = now_ns;
}

static void ref_schedule(void)
{
	s32 prev = ref_curr, next;
	struct ref_task *t;
	u32 prio = 0;
	u64 waited;

	if (prev >= 0)
		ref_charge(&ref[prev]);
	ref_curr = -1;
	if (!nr_running) {
		expired_at = 0;
		return;
	}
	if (!nr_active[active]) {
		active = !active;
		expired_at = 0;
		best_expired = 140;
	}
	while (!lists[active][prio].n)
		prio++;
	next = lists[active][prio].id[0];
	t = &ref[next];
	if (t->type == SLEEP_INTERACTIVE || t->type == SLEEP_INTERRUPTED) {
		waited = now_ns - t->timestamp;
		if (t->type == SLEEP_INTERACTIVE)
			waited = waited * (30 * 128 / 100) / 128;
		t->timestamp += 0;
		prio = ref_recalc(t, t->timestamp + waited);
		if (prio != t->prio) {
			unlink_task(next);
			link_tail(next, active, prio);
		}
	}
	t->type = SLEEP_NORMAL;
	if (prev != next)
		t->timestamp = now_ns;
	ref_curr = next;
}

static bool ref_interactive(const struct ref_task *t)
{
	return (s32)t->prio <= (s32)t->sp - ref_delta(t->sp);
}

/* True: reschedule. */
static bool ref_tick(void)
{
	struct ref_task *t = &ref[ref_curr];
	u32 below, every;
	bool starving;

	if (t->array != (s32)active)
		return true;
	if (--t->slice == 0) {
		unlink_task(ref_curr);
		t->prio = ref_prio(t);
		t->slice = ref_slice(t->sp);
		t->first = false;
		if (!expired_at)
			expired_at = jiffies();
		starving = t->sp > best_expired || jiffies() - expired_at > (u64)hz * nr_running;
		if (!ref_interactive(t) || starving) {
			link_tail(ref_curr, !active, t->prio);
			if (t->sp < best_expired)
				best_expired = t->sp;
		} else {
			link_tail(ref_curr, active, t->prio);
		}
		return true;
	}
	below = 10 - ref_bonus(t->sleep_avg);
	every = (10 * hz / 1000 ? 10 * hz / 1000 : 1) * (1u << ((below ? below : 1) - 1)) *
		cfg.cpus;
	if (ref_interactive(t) && (ref_slice(t->sp) - t->slice) % every == 0 && t->slice >= every) {
		unlink_task(ref_curr);
		link_tail(ref_curr, active, t->prio);
		return true;
	}
	return false;
}

/* What the binding does around o1.h. */
static u64 next_arrival(void)
{
	return arrivals += 2;
}

static void schedule(void)
{
	s32 head = queue_head(&dsq);

	if (curr >= 0 && ref[curr].array >= 0) {
		o1_switch_out(&task[curr], now_ns);
		if (head < 0 || !before64(dsq.key[head], array_key(&task[curr].at))) {
			o1_swap(&q, task[curr].at.epoch);
			return;
		}
		queue_insert(&dsq, curr, array_key(&task[curr].at));
	}
	curr = head;
	if (head < 0) {
		q.expired_ticks = 0;
		return;
	}
	dsq.has[head] = false;
	o1_swap(&q, task[head].at.epoch);
	o1_switch_in(&cfg, &task[head], now_ns, next_arrival());
}

static void both_schedule(void)
{
	u64 before = q.epoch;
	u32 was_active = active;

	schedule();
	ref_schedule();
	check(curr == ref_curr, "%d runs, not %d", curr, ref_curr);
	/* rule 4.11.3: a swap iff the active array is empty. */
	check((q.epoch != before) == (active != was_active), "epoch %llu", q.epoch);
}

static bool preempts(s32 id)
{
	bool better;

	if (curr < 0)
		return true;
	better = array_better(&task[id].at, &task[curr].at);
	if (ref[id].array == (s32)active && ref[curr].array == (s32)active)
		check(better == (ref[id].prio < ref[curr].prio), "task %d", id);
	return better;
}

static void both_wake(s32 id)
{
	bool interrupt = coin(2), sync = coin(4);

	ref[id].type = SLEEP_NORMAL;
	ref[id].prio = ref_recalc(&ref[id], now_ns);
	if (ref[id].type == SLEEP_NORMAL)
		ref[id].type = interrupt ? SLEEP_INTERRUPTED : SLEEP_INTERACTIVE;
	ref[id].timestamp = now_ns;
	link_tail(id, ref[id].batch ? !active : active, ref[id].prio);
	nr_running++;

	o1_wake(&cfg, &task[id], &q, now_ns, interrupt, next_arrival());
	queue_insert(&dsq, id, array_key(&task[id].at));
	if (preempts(id) && (!sync || curr < 0))
		both_schedule();
}

static void both_block(void)
{
	o1_switch_out(&task[curr], now_ns);
	unlink_task(ref_curr);
	nr_running--;
	both_schedule();
}

static bool tick_ours(void)
{
	return o1_tick(&cfg, &task[curr], &q, nr_running, jiffies(), next_arrival()) != O1_KEEP;
}

static void both_tick(void)
{
	bool want = ref_tick();

	check(tick_ours() == want, "tick of %d", curr);
	if (want)
		both_schedule();
}

static void both_fork(s32 id, bool shares_memory)
{
	struct ref_task *p = &ref[curr], *c = &ref[id];
	bool out, first = !shares_memory;
	u32 at = 0;

	*c = (struct ref_task){ .sp = p->sp,
				.batch = p->batch,
				.user = p->user,
				.array = -1,
				.sleep_avg = p->sleep_avg,
				.timestamp = now_ns,
				.first = true,
				.slice = (p->slice + 1) / 2 };
	task[id] = (struct o1_task){ .static_prio = p->sp, .batch = p->batch, .user = p->user };
	p->slice /= 2;
	out = o1_fork(&task[curr], &task[id], now_ns);
	check(out == !p->slice, "slice %u", p->slice);
	if (out) {
		p->slice = 1;
		ref_tick();
		tick_ours();
	}
	check(task[id].slice == c->slice && task[curr].slice == p->slice, "%u and %u",
	      task[id].slice, task[curr].slice);

	c->sleep_avg = (u64)(ref_bonus(c->sleep_avg) * 95 / 100 * hz / 10) * (NSEC_PER_SEC / hz);
	nr_running++;
	if (first) {
		while (lists[p->array][p->prio].id[at] != curr)
			at++;
		link_at(id, p->array, p->prio, at);
	} else {
		link_tail(id, c->batch ? !active : active, ref_prio(c));
	}
	p->sleep_avg = (u64)(ref_bonus(p->sleep_avg) * 100 / 100 * hz / 10) * (NSEC_PER_SEC / hz);

	o1_join(&task[id], &task[curr], first, &q, next_arrival());
	task[curr].sleep_avg_ns = o1_forked_sleep_avg(task[curr].sleep_avg_ns, 100);
	queue_insert(&dsq, id, array_key(&task[id].at));
	if (first || out)
		both_schedule();
}

static void both_exit(s32 parent)
{
	struct ref_task *p = &ref[parent], *c = &ref[curr];
	bool same = coin(2);

	o1_switch_out(&task[curr], now_ns);
	ref_charge(c);
	o1_exit(&cfg, &task[parent], &task[curr], same);
	if (c->first && same) {
		p->slice += c->slice;
		if (p->slice > ref_slice(c->sp))
			p->slice = ref_slice(c->sp);
	}
	if (c->sleep_avg < p->sleep_avg)
		p->sleep_avg = p->sleep_avg / 4 * 3 + c->sleep_avg / 4;
	unlink_task(curr);
	nr_running--;
	both_schedule();
}

static void both_yield(void)
{
	u32 prio = ref[curr].prio;

	unlink_task(curr);
	link_tail(curr, !active, prio);
	o1_to_tail(&task[curr], &q, 1, next_arrival());
	both_schedule();
}

static void both_renice(s32 id)
{
	u32 sp = 100 + between(0, 39), old = ref[id].prio;
	s32 array = ref[id].array, change;

	if (array >= 0)
		unlink_task(id);
	ref[id].sp = sp;
	ref[id].prio = ref_prio(&ref[id]);
	if (array >= 0)
		link_tail(id, array, ref[id].prio);
	change = o1_renice(&task[id], sp, next_arrival());
	check(change == (s32)ref[id].prio - (s32)old, "%d", change);
	if (dsq.has[id])
		queue_insert(&dsq, id, array_key(&task[id].at));
	if (array >= 0 && (change < 0 || (change > 0 && id == curr)))
		both_schedule();
}

static void check_state(void)
{
	for (s32 id = 0; id < TASKS; id++) {
		check(task[id].sleep_avg_ns == ref[id].sleep_avg, "task %d: %llu, not %llu", id,
		      task[id].sleep_avg_ns, ref[id].sleep_avg);
		check(task[id].slice == ref[id].slice, "task %d: %u, not %u", id, task[id].slice,
		      ref[id].slice);
		check(ref[id].array < 0 || task[id].prio == ref[id].prio, "task %d: %u, not %u", id,
		      task[id].prio, ref[id].prio);
		/* rule 4.11.2 */
		check(ref[id].sleep_avg <= NSEC_PER_SEC, "%llu", ref[id].sleep_avg);
		check(task[id].slice <= 800 * hz / 1000, "%u", task[id].slice);
	}
}

static void advance(void)
{
	static const u64 steps_us[] = { 3, 50, 700, 4000, 60000, 900000, 5000000 };

	now_ns += between(1, 1000 * steps_us[between(0, coin(4) ? 6 : 3)]);
}

static void test_history(void)
{
	hz = (u32[]){ 100, 250, 1000 }[between(0, 2)];
	cfg = (struct o1_config){ .hz = hz, .cpus = between(1, 4) };
	q = (struct o1_queue){ .epoch = draw(), .best_expired_prio = 140 };
	memset(lists, 0, sizeof(lists));
	memset(&dsq, 0, sizeof(dsq));
	nr_active[0] = nr_active[1] = active = 0;
	best_expired = 140;
	expired_at = 0;
	arrivals = 2 * between(0, 1000);
	now_ns = between(0, 100 * NSEC_PER_SEC);
	nr_running = 0;
	curr = ref_curr = -1;
	for (s32 id = 0; id < TASKS; id++) {
		u32 sp = 100 + (coin(3) ? between(0, 39) : between(18, 22));

		ref[id] = (struct ref_task){ .sp = sp,
					     .array = -1,
					     .timestamp = now_ns,
					     .sleep_avg = between(0, NSEC_PER_SEC),
					     .batch = coin(12),
					     .user = !coin(5) };
		ref[id].slice = between(1, ref_slice(sp));
		ref[id].prio = ref_prio(&ref[id]);
		task[id] = (struct o1_task){ .static_prio = sp,
					     .slice = ref[id].slice,
					     .sleep_avg_ns = ref[id].sleep_avg,
					     .timestamp_ns = now_ns,
					     .batch = ref[id].batch,
					     .user = ref[id].user };
		o1_set_prio(&task[id], o1_prio(sp, task[id].sleep_avg_ns));
	}
	for (u32 step = 0; step < STEPS; step++) {
		s32 id = between(0, TASKS - 1);
		bool asleep = ref[id].array < 0;

		advance();
		if (asleep && (curr < 0 || coin(2))) {
			both_wake(id);
		} else if (curr >= 0) {
			switch (between(0, 11)) {
			case 0:
			case 1:
				both_block();
				break;
			case 2:
				both_yield();
				break;
			case 3:
				both_renice(id);
				break;
			case 4:
				if (asleep)
					both_fork(id, coin(3));
				break;
			case 5:
				if (id != curr)
					both_exit(id);
				break;
			case 6:
				both_schedule();
				break;
			default:
				/* Many ticks in a row, as slices are long. */
				for (u64 left = between(1, 80); left && curr >= 0; left--) {
					now_ns += NSEC_PER_SEC / hz;
					both_tick();
				}
			}
		}
		check_state();
	}
}

int main(int argc, char **argv)
{
	return rounds(argc, argv, 100000, test_history);
}
