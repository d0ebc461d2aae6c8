/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The pick of scx_fifo against one explicit line of all who are runnable, on
 * 1-4 CPUs with random affinities: woken to the end, yielded to the end,
 * preempted where it was. And on one CPU, literally: two places, head and tail.
 */
#include "../queue/model.h"
#include "fifo/fifo.h"

enum { ASLEEP, QUEUED, RUNNING };

static struct fifo_task task[TASKS];
static u32 state[TASKS], cpu_of[TASKS], allowed[TASKS];
static u32 line[TASKS], in_line; /* the reference: who is before whom */
static s32 runs[CPUS];
static u64 now, picks;

static void reference_remove(u32 t)
{
	u32 i = 0;

	while (line[i] != t)
		i++;
	memmove(&line[i], &line[i + 1], (--in_line - i) * sizeof(u32));
}

static s32 reference_pick(u32 cpu)
{
	for (u32 i = 0; i < in_line; i++) {
		u32 t = line[i];

		if (allowed[t] >> cpu & 1 && (state[t] == QUEUED || cpu_of[t] == cpu))
			return t;
	}
	return -1;
}

static void put_back(u32 t)
{
	state[t] = QUEUED;
	queue_insert(t, fifo_key(&task[t], now));
}

/* As fifo_dispatch() decides. */
static void pick(u32 cpu)
{
	s32 prev = runs[cpu], first = queue_first(allowed, cpu), expected = reference_pick(cpu);
	u64 prev_key = prev >= 0 ? fifo_key(&task[prev], now) : 0;
	s32 got =
		prev >= 0 && queue_goes_on(prev_key, first >= 0, first >= 0 ? queue[first].key : 0)
			? prev
			: first;

	check(got == expected, "CPU %u picked %d, the line says %d", cpu, got, expected);
	picks++;
	if (got == prev)
		return;
	if (prev >= 0)
		put_back(prev);
	queue[got].here = false;
	state[got] = RUNNING;
	cpu_of[got] = cpu;
	runs[cpu] = got;
}

static void event(u32 cpus)
{
	u32 cpu = below(cpus), t = below(TASKS);
	s32 prev = runs[cpu];

	now += 1 + below(1000);
	switch (below(6)) {
	case 0:
	case 1: /* a wake-up; an idle CPU looks */
		if (state[t] != ASLEEP)
			return;
		line[in_line++] = t;
		put_back(t);
		for (cpu = 0; cpu < cpus; cpu++)
			if (runs[cpu] < 0)
				pick(cpu);
		return;
	case 2: /* the running task yields */
		if (prev < 0)
			return;
		reference_remove(prev);
		line[in_line++] = prev;
		queue_leave(&task[prev].place);
		break;
	case 3: /* it sleeps */
		if (prev < 0)
			return;
		reference_remove(prev);
		queue_leave(&task[prev].place);
		state[prev] = ASLEEP;
		runs[cpu] = -1;
		break;
	case 4: /* something above preempts it and is gone again */
		if (prev < 0)
			return;
		put_back(prev);
		runs[cpu] = -1;
		now += below(1000);
		break;
	case 5: /* a look for no reason: on one CPU no equal is ever preferred */
		pick(cpu);
		check(cpus > 1 || prev < 0 || runs[cpu] == prev, "switched from %d to %d", prev,
		      runs[cpu]);
		return;
	}
	pick(cpu);
}

static void test_history(void)
{
	u32 cpus = 1 + below(CPUS), events = 20 + below(60);

	memset(task, 0, sizeof(task));
	memset(queue, 0, sizeof(queue));
	memset(state, 0, sizeof(state));
	in_line = 0;
	now = below(2) ? 0 : draw() >> 8;
	for (u32 cpu = 0; cpu < CPUS; cpu++)
		runs[cpu] = -1;
	for (u32 t = 0; t < TASKS; t++) {
		allowed[t] = below(2) ? ~0u : draw() & ((1u << cpus) - 1);
		if (!allowed[t])
			allowed[t] = 1u << below(cpus);
	}
	for (u32 i = 0; i < events; i++)
		event(cpus);
}

/* Keys compare rightly at every level and when the clock's 58 bits wrap. */
static void test_keys(void)
{
	u64 a = draw(), later = a + 1 + below(1u << 30);
	u32 high = 1 + below(QUEUE_LEVELS - 1), low = below(high);
	bool wraps = (a ^ later) >> QUEUE_TIME_BITS;

	check(before64(queue_key(high, a), queue_key(low, later)), "levels %u %u", high, low);
	check(wraps || before64(queue_key(high, later), queue_key(low, a)), "levels %u %u", high,
	      low);
	check(wraps || before64(queue_key(low, a), queue_key(low, later)), "at %llu", a);
	check(queue_starves(a, later + 5, later - a) && !queue_starves(a, later, later - a),
	      "at %llu", a);
}

int main(int argc, char **argv)
{
	rounds(argc, argv, 100000, test_keys);
	rounds(argc, argv, 150000, test_history);
	printf("%llu picks, all as the line says\n", picks);
	return 0;
}
