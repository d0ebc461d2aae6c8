/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One CPU under random histories: sd.h on a queue ordered by key, beside two
 * arrays of 40 literal lists, the literal matrix of slots, and minor rotations
 * that splice a whole list at once. At every step both must run the same task
 * with the same time left.
 */
#include "sd.h"
#include "../queue.h"
#include "../random.h"

#define TASKS 8
#define STEPS 120

/* The reference. */
struct ref_task {
	s64 left;
	u64 rotation, since;
	bool used[40];
	u32 nice, slot;
	bool batch;
	s32 array; /* -1: not runnable */
};

struct list {
	s32 id[TASKS];
	u32 n;
};

static struct ref_task ref[TASKS];
static struct list lists[2][40];
static s64 slot_left[2][40];
static bool matrix[40][40], batch_matrix[40][40];
static u32 active;
static u64 rotation, now_ns, looked_ns, rr; /* looked: at the running task, by the kernel */
static s32 ref_curr;
static s64 debt; /* of the running task, when looked at */

/* The tested. */
static struct stair_task task[TASKS];
static struct stair_queue q;
static struct stair_config cfg;
static struct queue dsq;
static s32 curr;
static u64 arrivals;

static void build_matrix(u32 rules)
{
	for (u32 nice = 0; nice < 40; nice++) {
		u32 sum = 0;

		for (u32 slot = 0; slot < 40; slot++) {
			sum += 40 - nice;
			matrix[nice][slot] = rules == STAIR_RSDL ? slot >= nice : sum >= 40;
			batch_matrix[nice][slot] = slot >= nice;
			if (sum >= 40)
				sum -= 40;
		}
	}
}

static bool entitled(const struct ref_task *t, u32 slot)
{
	return t->batch ? batch_matrix[t->nice][slot] : matrix[t->nice][slot];
}

static u64 ref_quota(u32 nice)
{
	s32 n = (s32)nice - 20;

	if (cfg.rules == STAIR_RSDL)
		return n < 0 ? rr * (20 - n) / 20 : rr;
	return n < -6 ? rr * (u64)(n * n) / 40 : n > 0 ? rr / 2 : rr;
}

static u32 runnable(u32 array)
{
	u32 n = 0;

	for (u32 slot = 0; slot < 40; slot++)
		n += lists[array][slot].n;
	return n;
}

static void unlink_task(s32 id)
{
	struct list *list = &lists[ref[id].array][ref[id].slot];
	u32 at = 0;

	while (list->id[at] != id)
		at++;
	memmove(&list->id[at], &list->id[at + 1], (list->n - at - 1) * sizeof(s32));
	list->n--;
	ref[id].array = -1;
}

static void link_tail(s32 id, u32 array, u32 slot)
{
	struct list *list = &lists[array][slot];

	list->id[list->n++] = id;
	ref[id].array = array;
	ref[id].slot = slot;
}

static void ref_enter(struct ref_task *t, u32 array, u32 slot)
{
	t->slot = slot;
	t->used[slot] = true;
	/* A fresh quota, less what was taken too much. */
	t->left = ref_quota(t->nice) + (t->left < 0 ? t->left : 0);
	slot_left[array][slot] += t->left;
}

/* At the first slot, in the active or the expired array. */
static void ref_begin(struct ref_task *t, u32 array)
{
	u32 slot = 0;

	memset(t->used, 0, sizeof(t->used));
	t->rotation = rotation + (array != active);
	while (!entitled(t, slot))
		slot++;
	ref_enter(t, array, slot);
}

/* One slot on. Returns the array it is in. */
static u32 ref_step(struct ref_task *t)
{
	if (t->left < 0)
		slot_left[active][t->slot] -= t->left;
	for (u32 slot = t->slot + 1; slot < 40; slot++) {
		if (entitled(t, slot) && !t->used[slot]) {
			ref_enter(t, active, slot);
			return active;
		}
	}
	ref_begin(t, !active);
	return !active;
}

/* rule 5.2. Returns the array; the slot is in the task. */
static u32 ref_place(struct ref_task *t)
{
	u32 array = active;

	if (t->rotation < rotation) {
		if (t->left < 0)
			t->left = 0;
		ref_begin(t, active);
		return active;
	}
	if (t->rotation > rotation)
		return !active;
	while (array == active &&
	       (t->left <= 0 || (cfg.rules == STAIR_RSDL && slot_left[active][t->slot] <= 0)))
		array = ref_step(t);
	return array;
}

/* A minor rotation, at once and in order. */
static void splice(u32 slot)
{
	struct list moving = lists[active][slot];

	lists[active][slot].n = 0;
	for (u32 i = 0; i < moving.n; i++) {
		struct ref_task *t = &ref[moving.id[i]];

		if (slot < 39) {
			link_tail(moving.id[i], active, slot + 1);
		} else {
			ref_begin(t, !active);
			link_tail(moving.id[i], !active, t->slot);
		}
	}
}

static void ref_charge(void)
{
	struct ref_task *t = &ref[ref_curr];

	t->left -= now_ns - t->since;
	slot_left[t->rotation == rotation ? active : !active][t->slot] -= now_ns - t->since;
	t->since = now_ns;
}

/* If its place is another one now, the tail of that. */
static void ref_replace(s32 id, bool tail)
{
	struct ref_task *t = &ref[id];
	u32 was = t->slot, array = ref_place(t), slot = t->slot;

	if (!tail && array == (u32)t->array && slot == was)
		return;
	t->slot = was;
	unlink_task(id);
	link_tail(id, array, slot);
}

static void ref_schedule(void)
{
	u32 slot = 0;

	ref_curr = -1;
	if (!runnable(active)) {
		if (!runnable(!active))
			return;
		memset(slot_left[active], 0, sizeof(slot_left[active]));
		active = !active;
		rotation++;
	}
	while (!lists[active][slot].n)
		slot++;
	ref_curr = lists[active][slot].id[0];
	ref[ref_curr].since = now_ns;
}

/* What the binding does around sd.h. */
static u64 next_arrival(void)
{
	return arrivals += 2;
}

static u64 key(s32 id)
{
	return array_key(&task[id].at);
}

static void schedule(bool stays)
{
	s32 head = queue_head(&dsq);

	while (head >= 0 && stair_pushed(&cfg, &task[head], &q)) {
		queue_insert(&dsq, head, key(head));
		head = queue_head(&dsq);
	}
	if (stays && (head < 0 || !before64(dsq.key[head], key(curr)))) {
		stair_rotate(&q, task[curr].at.epoch);
		task[curr].since_ns = now_ns;
		return;
	}
	if (stays)
		queue_insert(&dsq, curr, key(curr));
	curr = head;
	if (head < 0)
		return;
	dsq.has[head] = false;
	stair_rotate(&q, task[head].at.epoch);
	stair_run(&task[head], now_ns);
}

static void compare(void)
{
	looked_ns = now_ns;
	check(curr == ref_curr, "%d runs, not %d", curr, ref_curr);
	/* Invariant: the counter of rotations only grows, by the literal swaps. */
	check(q.epoch == rotation, "%llu, not %llu", q.epoch, rotation);
	if (curr < 0)
		return;
	debt = task[curr].left_ns < 0 ? task[curr].left_ns : 0;
	check(task[curr].left_ns == ref[curr].left, "task %d: %lld, not %lld", curr,
	      task[curr].left_ns, ref[curr].left);
	check(task[curr].at.level == ref[curr].slot, "task %d: slot %u, not %u", curr,
	      task[curr].at.level, ref[curr].slot);
	for (u32 slot = 0; cfg.rules == STAIR_RSDL && slot < 40; slot++)
		check(*stair_slot_ns(&q, q.epoch, slot) == slot_left[active][slot],
		      "slot %u: %lld, not %lld", slot, *stair_slot_ns(&q, q.epoch, slot),
		      slot_left[active][slot]);
}

/* The running task is looked at: who goes on? */
static void both_schedule(void)
{
	stair_charge(&task[curr], &q, now_ns);
	stair_place(&cfg, &task[curr], &q, false, next_arrival());
	schedule(true);
	ref_charge();
	ref_replace(ref_curr, false);
	ref_schedule();
	compare();
}

static void both_arrive(s32 id)
{
	bool better;

	stair_place(&cfg, &task[id], &q, true, next_arrival());
	queue_insert(&dsq, id, key(id));
	link_tail(id, ref_place(&ref[id]), ref[id].slot);
	if (curr < 0) {
		schedule(false);
		ref_schedule();
		compare();
		return;
	}
	better = array_better(&task[id].at, &task[curr].at);
	/* rule 5.4: preempts iff its list is a better one. */
	if (ref[curr].array == (s32)active)
		check(better == (ref[id].array == (s32)active && ref[id].slot < ref[curr].slot),
		      "task %d", id);
	if (better)
		both_schedule();
}

static void both_block(void)
{
	stair_charge(&task[curr], &q, now_ns);
	ref_charge();
	unlink_task(ref_curr);
	schedule(false);
	ref_schedule();
	compare();
}

static void both_tick(void)
{
	struct ref_task *t = &ref[ref_curr];
	bool again, want = true;
	s64 left;

	stair_charge(&task[curr], &q, now_ns);
	left = task[curr].left_ns;
	again = stair_tick(&cfg, &task[curr], &q, next_arrival());
	/* rule 5.7.1: at most its quota in a slot, give or take the tick that notices. */
	check(left >= debt - (s64)(now_ns - looked_ns), "%lld left", left);
	looked_ns = now_ns;
	debt = left < 0 ? left : 0;

	ref_charge();
	if (t->array == (s32)active) {
		u32 slot = t->slot;

		want = t->left <= 0;
		if (want)
			ref_replace(ref_curr, true);
		if (cfg.rules == STAIR_RSDL && slot_left[active][slot] <= 0) {
			want |= t->array == (s32)active && t->slot == slot;
			splice(slot);
		}
	}
	check(again == want, "tick of %d", curr);
	if (again)
		both_schedule();
}

static void both_fork(s32 id)
{
	struct ref_task *p = &ref[ref_curr], *c = &ref[id];
	s64 left;

	stair_charge(&task[curr], &q, now_ns);
	ref_charge();
	task[id] = (struct stair_task){ .nice = p->nice, .batch = p->batch };
	stair_fork(&task[curr], &task[id], now_ns);
	*c = *p;
	c->array = -1;
	left = p->left > 0 ? p->left : 0;
	c->left = left - left / 2;
	p->left -= c->left;
	both_arrive(id);
}

static void both_yield(void)
{
	stair_charge(&task[curr], &q, now_ns);
	stair_expire(&cfg, &task[curr], &q, next_arrival());
	ref_charge();
	if (ref[ref_curr].left < 0 && ref[ref_curr].array == (s32)active)
		slot_left[active][ref[ref_curr].slot] -= ref[ref_curr].left;
	unlink_task(ref_curr);
	ref_begin(&ref[ref_curr], !active);
	link_tail(ref_curr, !active, ref[ref_curr].slot);
	both_schedule();
}

static void both_renice(void)
{
	struct ref_task *t = &ref[ref_curr];
	u32 nice = between(0, 39), array;

	stair_renice(&cfg, &task[curr], &q, nice, next_arrival());
	array = t->array;
	unlink_task(ref_curr);
	t->nice = nice;
	if (t->left > (s64)ref_quota(nice))
		t->left = ref_quota(nice);
	if (array != active) {
		ref_begin(t, array);
	} else if (!entitled(t, t->slot)) {
		array = ref_step(t);
	}
	link_tail(ref_curr, array, t->slot);
	both_schedule();
}

static void test_history(void)
{
	u64 tick_ns = (u64[]){ 1, 4, 10 }[between(0, 2)] * NSEC_PER_MSEC;
	bool crowded = coin(2);

	rr = between(2, 20) * NSEC_PER_MSEC;
	build_matrix(round_nr % 2);
	stair_init(&cfg, round_nr % 2, rr);
	memset(lists, 0, sizeof(lists));
	memset(slot_left, 0, sizeof(slot_left));
	memset(&dsq, 0, sizeof(dsq));
	active = 0;
	rotation = between(1, 1ULL << 40);
	q = (struct stair_queue){ .epoch = rotation };
	arrivals = 2 * between(0, 1000);
	now_ns = between(0, 100 * NSEC_PER_SEC);
	curr = ref_curr = -1;
	for (s32 id = 0; id < TASKS; id++) {
		u32 nice = crowded ? between(34, 39) : between(0, 39);

		ref[id] = (struct ref_task){ .nice = nice, .array = -1, .batch = coin(8) };
		task[id] = (struct stair_task){ .nice = nice, .batch = ref[id].batch };
	}
	for (u32 step = 0; step < STEPS; step++) {
		s32 id = between(0, TASKS - 1);
		bool asleep = ref[id].array < 0;

		now_ns += between(1, coin(3) ? 3000000 : 30000);
		if (asleep && (curr < 0 || coin(2))) {
			both_arrive(id);
			continue;
		}
		if (curr < 0)
			continue;
		switch (between(0, 11)) {
		case 0:
		case 1:
			both_block();
			break;
		case 2:
			both_yield();
			break;
		case 3:
			both_renice();
			break;
		case 4:
		case 5:
			if (asleep)
				both_fork(id);
			break;
		case 6:
			both_schedule();
			break;
		default:
			for (u64 left = between(1, 12); left && curr >= 0; left--) {
				now_ns += tick_ns;
				both_tick();
			}
		}
	}
}

/*
 * Hogs alone, a tick of 1 ms: in every rotation each runs, and all in all each
 * has its slots times its quota.
 */
static void test_shares(void)
{
	u64 ran[TASKS] = {}, in_rotation[TASKS] = {}, rotations = 0, was;
	u32 hogs = between(2, TASKS);

	rr = between(2, 20) * NSEC_PER_MSEC;
	stair_init(&cfg, round_nr % 2, rr);
	memset(&dsq, 0, sizeof(dsq));
	q = (struct stair_queue){ .epoch = 5 };
	now_ns = arrivals = 0;
	curr = -1;
	for (u32 id = 0; id < hogs; id++) {
		task[id] = (struct stair_task){ .nice = between(0, 39) };
		stair_place(&cfg, &task[id], &q, true, next_arrival());
		queue_insert(&dsq, id, key(id));
	}
	schedule(false);
	while (rotations < 4) {
		was = q.epoch;
		now_ns += NSEC_PER_MSEC;
		stair_charge(&task[curr], &q, now_ns);
		ran[curr] += NSEC_PER_MSEC;
		in_rotation[curr] += NSEC_PER_MSEC;
		if (!stair_tick(&cfg, &task[curr], &q, next_arrival()))
			continue;
		schedule(true);
		if (q.epoch == was)
			continue;
		check(q.epoch == was + 1, "rotation %llu", q.epoch);
		rotations++;
		for (u32 id = 0; id < hogs; id++) {
			s64 want = (40 - task[id].nice) * stair_quota(&cfg, task[id].nice);

			check(in_rotation[id], "nice %u had nothing", task[id].nice);
			check(llabs((s64)(ran[id] - want * rotations)) <= (s64)(2 * NSEC_PER_MSEC),
			      "nice %u: %llu, not %lld", task[id].nice, ran[id], want * rotations);
			in_rotation[id] = 0;
		}
	}
}

int main(int argc, char **argv)
{
	rounds(1, argv, 400, test_shares);
	return rounds(argc, argv, 200000, test_history);
}
