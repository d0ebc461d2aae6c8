/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The walks of ../lib that balance CPUs, line by line as the kernel runs them,
 * on machines and queues by chance: when a domain is balanced, who balances it,
 * which queue gives, which tasks move (rules 2.2.11.1, 2.2.11.2, 2.2.11.4,
 * 2.2.11.5, 4.10.2 and 4.10.6), and where a new task begins (rules 2.2.8.4 and
 * 4.10.8), and whether a woken task goes to its waker (rules 2.2.8.2, 2.2.8.3 and
 * 4.10.4). The references know a CPU by its place on the machine, and have what
 * the kernels' load_balance() does in the order in which those do it. How much
 * moves is arithmetic, which balance.c tests.
 */
#include "walks.h"

/* What the references work on: the state before, which they carry on. */
struct model {
	struct rq rqs[MOST_CPUS];
	struct {
		u32 cpu, notified;
		u64 seq;
	} tasks[MOST_TASKS];
	u64 sequence;
	bool excluded[MOST_CPUS];
	u32 kicks;
};

static struct model m;

static void take_over(void)
{
	memcpy(m.rqs, rqs, sizeof(m.rqs));
	for (u32 i = 0; i < count; i++) {
		m.tasks[i].cpu = fakes[i].t.cpu;
		m.tasks[i].seq = fakes[i].seq;
		m.tasks[i].notified = 0;
	}
	m.sequence = sequence;
	m.kicks = 0;
}

static void compare(void)
{
	for (u32 i = 0; i < count; i++) {
		check(fakes[i].t.cpu == m.tasks[i].cpu, "era %u: task %u on CPU %u, not %u", era, i,
		      fakes[i].t.cpu, m.tasks[i].cpu);
		check(fakes[i].notified == m.tasks[i].notified, "task %u", i);
		check(fakes[i].seq == m.tasks[i].seq, "task %u", i);
	}
	for (u32 cpu = 0; cpu < nr_cpus; cpu++) {
		const struct rq *got = rq_of(cpu), *want = &m.rqs[cpu];

		check(got->nr == want->nr && got->weight == want->weight, "CPU %u", cpu);
		check(got->push_pid == want->push_pid && got->push_cpu == want->push_cpu,
		      "era %u: CPU %u gives %d", era, cpu, got->push_pid);
		check(got->next_balance == want->next_balance, "era %u: CPU %u: %llu, not %llu",
		      era, cpu, got->next_balance, want->next_balance);
		for (u32 level = SD_SMT; level < SD_LEVELS; level++) {
			const struct sd_state *g = &got->sd[level], *w = &want->sd[level];

			check(g->interval_ms == w->interval_ms && g->failed == w->failed &&
				      g->last_ticks == w->last_ticks,
			      "era %u: CPU %u level %u: %u ms failed %u, not %u ms failed %u", era,
			      cpu, level, g->interval_ms, g->failed, w->interval_ms, w->failed);
		}
	}
	check(kicks == m.kicks, "%u kicks", kicks);
}

static bool takes(u32 cpu)
{
	const struct rq *rq = &m.rqs[cpu];

	return rq->online && (!rq->refuses_until_ns || rq->refuses_until_ns < now_ns);
}

/* The rows of topology.h, in the kernels' order of fields. */
struct row {
	u32 min_ms, max_ms, busy_factor, pct, tries, busy_idx, idle_idx, newidle_idx, wake_idx,
		fork_idx;
	bool newidle, fork, prefer;
};

static struct row row_of(u32 level)
{
	bool old = era == LB_2_6_22;

	switch (level) {
	case SD_SMT:
		return (struct row){ 1, 2, 64, 110, 0, 0, 0, old, 0, 0, true, !old, false };
	case SD_MC:
		if (old)
			return (struct row){ 1, 4, 64, 125, 1, 2, 1, 2, 1, 1, true, false, false };
		if (era == LB_2_6_31)
			return (struct row){ 1, 4, 64, 125, 1, 2, 0, 0, 1, 1, false, true, false };
		return (struct row){ 1, 4, 64, 125, 1, 2, 0, 0, 0, 0, true, true, era == LB_2_6_32 };
	case SD_CPU:
		if (era <= LB_2_6_31)
			return (struct row){ 1, 4, 64, 125, 1, 2, 1, 2, 1, 1, old, !old, false };
		return (struct row){ 1, 4, 64, 125, 1, 2, 1, 0, 0, 0, true, true, true };
	default:
		if (era <= LB_2_6_31)
			return (struct row){ 8,		  32, 32, 125,	 2,    3,    2,
					     old ? 0 : 2, 1,  1,  false, true, false };
		return (struct row){
			8, 32, 32, 125, 2, 3, 2, 0, 0, 0, true, era == LB_2_6_32, false
		};
	}
}

static u64 load_of(u32 cpu, u32 idx, bool local)
{
	u64 now = m.rqs[cpu].weight, then = idx ? cpu_load[cpu][idx - 1] : now;

	return local == (then > now) ? then : now;
}

/* rule 2.2.11.2: the first idle CPU of the group, or its first if none is idle. */
static bool balances(u32 this, u32 level)
{
	u32 from = begin(place_of[this], level - 1), first = MOST_CPUS;

	for (u32 place = from; place < from + width[level - 1]; place++) {
		u32 cpu = cpu_at[place];

		if (!takes(cpu) || m.excluded[cpu])
			continue;
		if (!m.rqs[cpu].nr)
			return cpu == this;
		if (first == MOST_CPUS)
			first = cpu;
	}
	return first == this;
}

/* rule 2.2.11.3: the busiest queue of the busiest group, -1 if the domain is balanced. */
static s32 busiest_queue(u32 this, u32 level, u32 idle, u64 *imbalance)
{
	u32 domain = begin(place_of[this], level), local = begin(place_of[this], level - 1);
	struct row row = row_of(level);
	u32 idx = idle == CPU_IDLE	 ? row.idle_idx
		  : idle == CPU_NOT_IDLE ? row.busy_idx
					 : row.newidle_idx;
	u32 groups = width[level] / width[level - 1];
	struct lb_stats lb;
	u64 most = 0;
	s32 found = -1;

	lb_init(&lb, era, level, has_groups(level - 1) && row_of(level - 1).prefer);
	for (u32 i = 0; i < groups; i++) {
		/* The own group first, then those behind it, and around. */
		u32 group = domain + (local - domain + i * width[level - 1]) % width[level];
		struct lb_group g;

		lb_group_init(&g, group, group == local);
		for (u32 place = group; place < group + width[level - 1]; place++) {
			u32 cpu = cpu_at[place];

			if (!takes(cpu) || m.excluded[cpu])
				continue;
			lb_group_feed(&g, load_of(cpu, idx, group == local), m.rqs[cpu].weight,
				      m.rqs[cpu].nr);
			sd_span_add(&g.span, begin(place, SD_SMT), begin(place, SD_MC));
		}
		if (g.span.cpus)
			lb_feed(&lb, &g);
	}
	*imbalance = lb_end(&lb, idle, row.pct);
	if (lb.busiest < 0)
		return -1;
	for (u32 place = lb.busiest; place < lb.busiest + width[level - 1]; place++) {
		u32 cpu = cpu_at[place];
		const struct rq *rq = &m.rqs[cpu];

		if (!rq->online || m.excluded[cpu] || !rq->nr ||
		    (rq->nr == 1 && (u64)rq->weight > *imbalance) || (u64)rq->weight <= most)
			continue;
		most = rq->weight;
		found = cpu;
	}
	return found;
}

static struct fake_task *queued_behind(u32 cpu, u64 at, u64 upto)
{
	s32 found = -1;

	for (u32 i = 0; i < count; i++)
		if (m.tasks[i].cpu == cpu && m.tasks[i].seq > at && m.tasks[i].seq <= upto &&
		    (found < 0 || m.tasks[i].seq < m.tasks[found].seq))
			found = i;
	return found < 0 ? NULL : &fakes[found];
}

/* rule 2.2.11.4: how many were moved, -1 if none of those looked at may run here. */
static s32 pull_from(u32 from, u32 this, u32 level, u32 idle, u64 left)
{
	u32 failed = m.rqs[this].sd[level].failed;
	bool all_pinned = true, some = false;
	s32 moved = 0;

	for (u32 turn = 0; turn < TURNS && (!turn || left); turn++) {
		u64 upto = m.sequence, at = 0;
		u32 of_array = 0;
		struct fake_task *f;

		while ((f = queued_behind(from, at, upto))) {
			u32 i = f - fakes, weight = f->t.weight;

			at = m.tasks[i].seq;
			/* The kernel walks over one array, and then over the other. */
			if (f->turn != turn)
				continue;
			if (of_array == TURNS * 32)
				break;
			of_array++;
			some = true;
			if (!(f->cpus.bits[0] >> this & 1))
				continue;
			all_pinned = false;
			if (weight >> (era != LB_2_6_22) > left ||
			    (f->hot && failed <= row_of(level).tries) || f->lost)
				continue;
			m.rqs[from].nr--;
			m.rqs[from].weight -= weight;
			m.rqs[this].nr++;
			m.rqs[this].weight += weight;
			m.tasks[i].cpu = this;
			m.tasks[i].seq = ++m.sequence;
			m.tasks[i].notified += idle != CPU_NEWLY_IDLE;
			moved++;
			left = weight < left ? left - weight : 0;
			if (!left)
				break;
		}
	}
	return some && all_pinned ? -1 : moved;
}

#define NOT_THIS_CPU (-2)

/* load_balance() and load_balance_newidle(); -1: nothing came, and a sibling thread is busy. */
static s32 balance(u32 this, u32 level, u32 idle)
{
	struct sd_state *sd = &m.rqs[this].sd[level];
	bool all_pinned = false, pushes = false, idle_core = level == SD_SMT && era != LB_3_6;
	u32 domain = begin(place_of[this], level);
	struct row row = row_of(level);
	s32 moved = 0, from = -1, nothing;
	u64 imbalance;

	/* Until 2.6.38: is the whole core idle? */
	for (u32 place = domain; place < domain + width[level]; place++)
		if (m.rqs[cpu_at[place]].nr || idle == CPU_NOT_IDLE)
			idle_core = false;
	nothing = level == SD_SMT && era != LB_3_6 && !idle_core ? -1 : 0;
	memset(m.excluded, 0, sizeof(m.excluded));
	for (u32 turn = 0; turn < 4; turn++) {
		if (idle != CPU_NEWLY_IDLE && !balances(this, level))
			return NOT_THIS_CPU;
		from = busiest_queue(this, level, idle, &imbalance);
		if (from < 0)
			break;
		moved = m.rqs[from].nr > 1 ? pull_from(from, this, level, idle, imbalance) : 0;
		if (moved > 0 || (!moved && !(era == LB_2_6_22 && idle == CPU_NEWLY_IDLE)))
			break;
		/* Once more without that queue. */
		all_pinned |= moved < 0;
		m.excluded[from] = true;
		from = -1;
	}
	if (from < 0) {
		sd->failed = 0;
		if (idle != CPU_NEWLY_IDLE &&
		    (sd->interval_ms < row.max_ms || (all_pinned && sd->interval_ms < 512)))
			sd->interval_ms *= 2;
		return nothing;
	}
	if (moved) {
		sd->failed = 0;
	} else if (idle != CPU_NEWLY_IDLE) {
		sd->failed++;
		if (sd->failed > row.tries + 2) {
			sd->failed = row.tries + 1;
			/* Not if another CPU has already asked for it. */
			if (!m.rqs[from].push_pid) {
				pushes = true;
				if (m.rqs[from].curr_pid) {
					m.rqs[from].push_pid = m.rqs[from].curr_pid;
					m.rqs[from].push_cpu = this;
					m.kicks++;
				}
			}
		}
	}
	if (idle != CPU_NEWLY_IDLE) {
		if (!pushes)
			sd->interval_ms = row.min_ms;
		else if (sd->interval_ms < row.max_ms)
			sd->interval_ms *= 2;
	}
	return moved ? moved : nothing;
}

static u64 ticks_of(u64 ms)
{
	u64 ticks = (ms * tick_hz + 999) / 1000;

	return ticks ? ticks : 1;
}

static u64 earlier(u64 a, u64 b)
{
	return a < b ? a : b;
}

/* rule 2.2.11.1, the domains of a CPU at a tick. */
static void rebalance(u32 this, u32 idle)
{
	u64 ticks = 1 + now_ns / tick_ns(), next = ticks + 60 * tick_hz;

	for (u32 level = SD_SMT; level < SD_LEVELS; level++) {
		struct sd_state *sd = &m.rqs[this].sd[level];
		u64 interval = ticks_of(sd->interval_ms *
					(idle == CPU_IDLE ? 1 : row_of(level).busy_factor));
		s32 got = 0;

		if (!has_groups(level))
			continue;
		if (era == LB_3_6 && interval > tick_hz * nr_online / 10)
			interval = tick_hz * nr_online / 10 ? tick_hz * nr_online / 10 : 1;
		if (ticks >= sd->last_ticks + interval) {
			got = balance(this, level, idle);
			if (got > 0 || got == -1)
				idle = CPU_NOT_IDLE;
			sd->last_ticks = ticks;
		}
		next = earlier(next, sd->last_ticks + interval);
		if (got == NOT_THIS_CPU)
			break;
	}
	m.rqs[this].next_balance = next;
}

/* rules 2.2.9, 2.2.11.6 and 4.10.6. */
static s32 pull_when_idle(u32 this)
{
	u64 ticks = 1 + now_ns / tick_ns(), next = ticks + (era == LB_2_6_22 ? 60 : 1) * tick_hz;
	s32 pulled = 0;

	if (newidle == 1 || !takes(this) || !worth)
		return 0;
	for (u32 level = SD_SMT; level < SD_LEVELS && !pulled; level++) {
		struct sd_state *sd = &m.rqs[this].sd[level];
		bool pulls = newidle == 2 || row_of(level).newidle;

		if (!has_groups(level) || (!pulls && era == LB_2_6_22))
			continue;
		if (pulls)
			pulled = balance(this, level, CPU_NEWLY_IDLE);
		next = earlier(next, sd->last_ticks + ticks_of(sd->interval_ms));
	}
	if (era == LB_2_6_22 ? pulled <= 0 : pulled || m.rqs[this].next_balance < ticks)
		m.rqs[this].next_balance = next;
	return pulled;
}

static void some_state(void)
{
	era = between(LB_2_6_22, LB_3_6);
	tick_hz = coin(2) ? 1000 : between(1, 4) * 100;
	newidle = coin(3) ? between(1, 2) : 0;
	worth = !coin(8);
	some_machine();
	some_queues();
	take_over();
}

static void test_at_a_tick(void)
{
	u32 this, idle;

	some_state();
	this = below(nr_cpus);
	idle = rq_of(this)->nr ? CPU_NOT_IDLE : CPU_IDLE;
	rebalance_domains(this, idle);
	rebalance(this, idle);
	compare();
}

static void test_on_going_idle(void)
{
	s32 got, want;
	u32 this;

	some_state();
	this = below(nr_cpus);
	got = newidle_balance(this);
	want = pull_when_idle(this);
	check(got == want, "era %u: %d, not %d", era, got, want);
	compare();
}

/* The idlest group of the widest level that places new tasks, its idlest CPU, and on from there. */
static void test_a_new_task(void)
{
	struct cpumask cpus = { coin(2) ? draw() : ~0ULL };
	struct task_struct p = { .cpus_ptr = &cpus };
	u32 cpu, got, want;

	some_state();
	cpu = want = below(nr_cpus);
	got = select_fork(&p, cpu);
	for (u32 level = SD_NODE; level > SD_SELF; level--) {
		u32 domain = begin(place_of[want], level), local = begin(place_of[want], level - 1);
		struct row row = row_of(level);
		struct lb_idlest find;
		u64 least = ~0ULL;
		s32 group, found = -1;

		if (!has_groups(level) || !row.fork)
			continue;
		lb_idlest_init(&find);
		for (u32 i = 0; i < width[level] / width[level - 1]; i++) {
			u32 from = domain + (local - domain + i * width[level - 1]) % width[level];
			struct sd_span span;
			bool usable = false;
			u64 load = 0;

			sd_span_init(&span);
			for (u32 place = from; place < from + width[level - 1]; place++) {
				u32 at = cpu_at[place];

				if (!takes(at))
					continue;
				usable |= cpus.bits[0] >> at & 1;
				load += load_of(at, row.fork_idx, from != local);
				sd_span_add(&span, begin(place, SD_SMT), begin(place, SD_MC));
			}
			if (usable)
				lb_idlest_feed(&find, from, from == local, load,
					       lb_group_power(era, level, &span));
		}
		group = lb_idlest_end(&find, row.pct);
		if (group < 0)
			continue;
		for (u32 place = group; place < group + width[level - 1]; place++) {
			u32 at = cpu_at[place];

			if (!takes(at) || !(cpus.bits[0] >> at & 1) ||
			    (u64)m.rqs[at].weight >= least)
				continue;
			least = m.rqs[at].weight;
			found = at;
		}
		want = found >= 0 ? found : want;
	}
	check(got == want, "era %u: CPU %u, not %u", era, got, want);
}

/* rules 2.2.8.2, 2.2.8.3 and 4.10.4: the waker's CPU, by the domain that has both, and what the kernels ask there. */
static void test_woken(void)
{
	struct fake_task f = { .t.weight = coin(2) ? 1024 : between(3, 3000) };
	u32 this, prev, level = SD_SMT, wake_idx, pct;
	bool affine, passive, sync = coin(2), want;
	s64 here, there, target, per_task;

	some_state();
	this = below(nr_cpus);
	prev = below(nr_cpus);
	if (nr_cpus == 1)
		return;
	while (prev == this)
		prev = below(nr_cpus);
	while (begin(place_of[this], level) != begin(place_of[prev], level))
		level++;
	if (coin(2)) {
		/* Around where the answer changes. */
		rqs[prev].weight = rqs[this].weight + f.t.weight;
		take_over();
	}
	wake_idx = row_of(level).wake_idx;
	pct = 100 + (row_of(level).pct - 100) / 2;
	affine = level < SD_NODE || era == LB_2_6_31;
	affine = affine || (era == LB_2_6_32 && level == SD_NODE);
	passive = era == LB_2_6_31 || (era == LB_2_6_22 && level == SD_NODE);
	here = load_of(this, wake_idx, true);
	there = load_of(prev, wake_idx, false);
	target = load_of(prev, wake_idx, true);
	per_task = m.rqs[this].nr     ? m.rqs[this].weight / m.rqs[this].nr
		   : era == LB_2_6_22 ? 128
				      : 0;
	want = affine &&
	       (100 * (here + f.t.weight) <= pct * there ||
		(here <= there && here + target <= per_task) || (era == LB_3_6 && here <= 0));
	want |= passive && pct * here <= 100 * there;
	check(wants_affine(&f.t, this, prev, level, sync) == want,
	      "era %u level %u: %lld and %u here, %lld there, %lld each", era, level, here,
	      f.t.weight, there, per_task);
	check(!wants_affine(NULL, this, prev, level, sync), "no task");
}

/* rule 2.2.11.5: who was asked for goes to the CPU that asked, once, if it may. */
static void test_pushed(void)
{
	struct fake_task *f;
	bool asked, goes;
	s32 pid;
	u32 to;

	some_state();
	if (!count)
		return;
	f = &fakes[below(count)];
	to = coin(8) ? f->t.cpu : below(nr_cpus);
	pid = coin(4) ? f->p.pid + 1 : f->p.pid;
	rqs[f->t.cpu].push_pid = pid;
	rqs[f->t.cpu].push_cpu = to;
	asked = pid == f->p.pid;
	goes = asked && (f->cpus.bits[0] >> to & 1) && takes(to) && to != f->t.cpu;
	check(push_to_other(&f->p, &f->t, rq_of(f->t.cpu)) == goes, "CPU %u to %u", f->t.cpu, to);
	check(f->pushed_to == (goes ? (s32)to : -1), "CPU %d, not %u", f->pushed_to, to);
	check(rqs[f->t.cpu].push_pid == (asked ? 0 : pid), "%d", rqs[f->t.cpu].push_pid);
}

int main(int argc, char **argv)
{
	rounds(argc, argv, 50000, test_woken);
	rounds(argc, argv, 20000, test_pushed);
	rounds(argc, argv, 50000, test_on_going_idle);
	rounds(argc, argv, 50000, test_a_new_task);
	return rounds(argc, argv, 150000, test_at_a_tick);
}
