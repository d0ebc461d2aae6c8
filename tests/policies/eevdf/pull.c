/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The walks of pull.bpf.h that balance CPUs, line by line as the kernel runs
 * them, on machines and queues by chance: when a domain is balanced, who
 * balances it, which queue gives and which tasks move (rules 3.11.5 and 3.11.6).
 * How much moves is arithmetic, which groups.c tests.
 */
#include <scx.h>

#include "check.h"
#include "pull.bpf.h"

#define MOST_CPUS 16
#define MOST_TASKS 160
#define LOOKS 32

struct fake_task {
	struct task_struct p;
	struct task_ctx t;
	struct cpumask cpus;
	u64 dsq, seq; /* seq 0: it runs */
	bool lost; /* another CPU takes it first */
};

static struct fake_task fakes[MOST_TASKS];
static u32 count, kicks, this; /* the CPU that balances */
static bool confined; /* hardly anybody may run there */
static u64 sequence, new_vtime, now_ns;

u64 scx_bpf_now(void)
{
	return now_ns;
}

void scx_bpf_kick_cpu(s32 cpu, u64 flags)
{
	check(flags == SCX_KICK_PREEMPT && rqs[cpu].push_pid, "CPU %d, flags %llu", cpu, flags);
	kicks++;
}

/* Like the kernel's: what is queued after the walk began is not seen. */
struct walk {
	u64 dsq, upto, at_vtime, at_seq;
};

void bpf_iter_scx_dsq_new(struct bpf_iter_scx_dsq *it, u64 dsq_id, u64 flags)
{
	check(!flags, "flags %llu", flags);
	*(struct walk *)it = (struct walk){ .dsq = dsq_id, .upto = sequence };
}

/* By key, and by arrival among equals. */
static struct fake_task *next_of(u64 dsq, u64 upto, u64 vtime, u64 seq)
{
	struct fake_task *found = NULL;

	for (u32 i = 0; i < count; i++) {
		struct fake_task *f = &fakes[i];
		u64 key = f->p.scx.dsq_vtime;

		if (!f->seq || f->dsq != dsq || f->seq > upto || key < vtime ||
		    (key == vtime && f->seq <= seq))
			continue;
		if (!found || key < found->p.scx.dsq_vtime ||
		    (key == found->p.scx.dsq_vtime && f->seq < found->seq))
			found = f;
	}
	return found;
}

struct task_struct *bpf_iter_scx_dsq_next(struct bpf_iter_scx_dsq *it)
{
	struct walk *w = (struct walk *)it;
	struct fake_task *f = next_of(w->dsq, w->upto, w->at_vtime, w->at_seq);

	if (!f)
		return NULL;
	w->at_vtime = f->p.scx.dsq_vtime;
	w->at_seq = f->seq;
	return &f->p;
}

void scx_bpf_dsq_move_set_vtime(struct bpf_iter_scx_dsq *it, u64 vtime)
{
	new_vtime = vtime;
}

bool scx_bpf_dsq_move_vtime(struct bpf_iter_scx_dsq *it, struct task_struct *p, u64 dsq_id,
			    u64 enq_flags)
{
	struct fake_task *f = (struct fake_task *)p;

	if (f->lost)
		return false;
	f->dsq = dsq_id;
	f->seq = ++sequence;
	p->scx.dsq_vtime = new_vtime;
	return true;
}

bool scx_bpf_dsq_move(struct bpf_iter_scx_dsq *it, struct task_struct *p, u64 dsq_id, u64 enq_flags)
{
	check(false, "task %d to %llx", p->pid, dsq_id);
	return false;
}

void scx_bpf_dsq_insert_vtime(struct task_struct *p, u64 dsq_id, u64 slice, u64 vtime,
			      u64 enq_flags)
{
	struct fake_task *f = (struct fake_task *)p;

	f->dsq = dsq_id;
	f->seq = ++sequence;
	p->scx.dsq_vtime = vtime;
}

void scx_bpf_dsq_insert(struct task_struct *p, u64 dsq_id, u64 slice, u64 enq_flags)
{
	check(false, "task %d to %llx", p->pid, dsq_id);
}

/* The machine, numbered as it is built: threads of a core, cores of a cache, caches of a socket, sockets. */
static u32 width[SD_LEVELS];

static u32 begin(u32 cpu, u32 level)
{
	return cpu / width[level] * width[level];
}

static bool has_groups(u32 level)
{
	return level > SD_SELF && width[level] > width[level - 1];
}

static void some_machine(void)
{
	u32 threads = between(1, 2), cores = between(1, 2), llcs = between(1, 2),
	    nodes = between(1, 2);

	width[SD_SELF] = 1;
	width[SD_SMT] = threads;
	width[SD_MC] = threads * cores;
	width[SD_CPU] = width[SD_MC] * llcs;
	width[SD_NODE] = nr_cpus = width[SD_CPU] * nodes;
	nr_llcs = llcs * nodes;
	nr_nodes = nodes;
	for (u32 cpu = 0; cpu < nr_cpus; cpu++) {
		u32 core = begin(cpu, SD_SMT);

		((u16 *)cpu_by_llc)[cpu] = cpu;
		cpu_node[cpu] = cpu / width[SD_CPU];
		cpu_sibling[cpu] = core + (cpu - core + 1) % threads;
	}
	for (u32 llc = 0; llc <= nr_llcs; llc++)
		llc_first[llc] = llc * width[SD_MC];
	placed = 0;
	memset(span_len, 0, sizeof(span_len));
	map_machine();
}

static void add_task(u32 cpu, bool runs)
{
	struct fake_task *f = &fakes[count++];
	struct rq *rq = rq_of(cpu);

	*f = (struct fake_task){ .p.pid = count,
				 .p.policy = coin(8) ? 5 : 0,
				 .cpus = { coin(4) ? draw() : ~0ULL },
				 .lost = coin(20) };
	if (confined && !coin(12))
		f->cpus.bits[0] &= ~(1ULL << this);
	f->p.cpus_ptr = &f->cpus;
	f->p.storage = &f->t;
	f->t.e.weight = coin(2) ? 1024 : some_weight();
	eevdf_request(&prm, &f->t.e, 0);
	f->t.e.v = rq->sums.v0 + between(0, 8) * 500000 - 2000000;
	f->t.e.d = f->t.e.v + between(0, 8) * 500000;
	/* Around the time after which a cache is cold. */
	f->t.last_ran_ns = now_ns - (coin(2) ? NSEC_PER_SEC : 500 * NSEC_PER_USEC + below(3) - 1);
	f->t.avg = (struct eevdf_avg){ .at_ns = now_ns - below(3) * NSEC_PER_MSEC,
				       .load = (u64)f->t.e.weight << EEVDF_AVG_SHIFT,
				       .util = below(1025) << EEVDF_AVG_SHIFT };
	enter(rq, &f->t, cpu);
	if (runs) {
		rq->curr_pid = f->p.pid;
		rq->curr = f->t.e;
	}
}

static void some_queue(u32 cpu)
{
	struct rq *rq = rq_of(cpu);
	u32 many = coin(30) ? between(33, 40) : between(0, 4);

	if (coin(3) || count + many + 1 > MOST_TASKS)
		return;
	if (!coin(4))
		add_task(cpu, true);
	for (u32 i = 0; i < many; i++)
		add_task(cpu, false);
	for (u32 i = 0; i < count; i++)
		if (fakes[i].t.cpu == cpu && fakes[i].p.pid != rq->curr_pid)
			queue_insert(cpu, rq, &fakes[i].p, &fakes[i].t, 0);
	rq->push_pid = coin(8) ? 1 : 0;
	if (coin(4) && many)
		rq->next_pid = fakes[count - 1].p.pid;
}

/* The state before, which the reference carries on. */
struct model {
	struct rq rqs[MOST_CPUS];
	struct {
		u32 cpu;
		bool gone; /* it runs, or was moved by this balance */
		u64 v, d, last_ran_ns;
		struct eevdf_avg avg;
	} tasks[MOST_TASKS];
	bool excluded[MOST_CPUS];
	u32 kicks, scan_limit[MOST_CPUS];
};

static struct model m;

static void some_state(void)
{
	u64 ticks;

	eevdf_params_init(&prm, between(0, EEVDF_ERAS - 1), between(1, 8), 250);
	prm.place_lag = !coin(4);
	tick_hz = coin(2) ? 1000 : between(1, 4) * 100;
	some_machine();
	this = below(nr_cpus);
	confined = coin(4);
	count = sequence = kicks = 0;
	now_ns = between(1000, 2000) * NSEC_PER_SEC;
	ticks = now_ticks();
	nr_online = between(1, MOST_CPUS);
	for (u32 cpu = 0; cpu < nr_cpus; cpu++) {
		struct rq *rq = rq_of(cpu);

		*rq = (struct rq){ .online = !coin(8), .sums.v0 = 1ULL << 40 };
		if (coin(6))
			rq->refuses_until_ns = now_ns + between(0, 2) - 1;
		for (u32 level = SD_SMT; level < SD_LEVELS; level++)
			rq->sd[level] = (struct sd_state){
				.last_ticks = ticks - between(0, coin(2) ? 20 : 3000),
				.interval_ms = 1U << between(0, 5),
				.failed = between(0, 6),
				.imbalanced = coin(6),
			};
		rq->avg = (struct eevdf_avg){ .at_ns = now_ns };
		some_queue(cpu);
		rq->avg.load = (weight_of(rq) * between(1, 3) / 2) << EEVDF_AVG_SHIFT;
		rq->avg.util = (coin(2) ? !!rq->nr * 1024 : below(1025)) << EEVDF_AVG_SHIFT;
		rq->avg.runnable = (nr_of(rq) * between(1, 3) * 512) << EEVDF_AVG_SHIFT;
		rq->avg.at_ns -= below(3) * 8 * NSEC_PER_MSEC;
	}
	memcpy(m.rqs, rqs, sizeof(m.rqs));
	for (u32 i = 0; i < count; i++) {
		m.tasks[i].cpu = fakes[i].t.cpu;
		m.tasks[i].gone = !fakes[i].seq;
		m.tasks[i].v = fakes[i].t.e.v;
		m.tasks[i].d = fakes[i].t.e.d;
		m.tasks[i].last_ran_ns = fakes[i].t.last_ran_ns;
		m.tasks[i].avg = fakes[i].t.avg;
	}
	memset(scan_limit, 0, sizeof(scan_limit));
	memset(m.scan_limit, 0, sizeof(m.scan_limit));
	m.kicks = 0;
}

static bool takes(u32 cpu)
{
	const struct rq *rq = &m.rqs[cpu];

	return rq->online && (!rq->refuses_until_ns || rq->refuses_until_ns < now_ns);
}

/* Levels as kernels since 5.5 have them. */
static u32 pct_of(u32 level)
{
	return level == SD_SMT ? 110 : 117;
}

static u32 tries_of(u32 level)
{
	return level == SD_SMT ? 0 : level == SD_NODE ? 2 : 1;
}

#define NOT_THIS_CPU (-2)

/* The queue to pull from, -1 if the domain is balanced; what of it is in lb. */
static s32 busiest_queue(u32 level, u32 idle, struct eevdf_lb *lb)
{
	u32 domain = begin(this, level), own = begin(this, level - 1), step = width[level - 1];
	u64 most = 0, util = 0;
	s32 first = -1, first_idle = -1, found = -1;

	for (u32 cpu = own; cpu < own + step; cpu++)
		if (takes(cpu) && !m.excluded[cpu]) {
			first = first < 0 ? (s32)cpu : first;
			first_idle = first_idle < 0 && !m.rqs[cpu].nr ? (s32)cpu : first_idle;
		}
	if (idle != CPU_NEWLY_IDLE && (first_idle < 0 ? first : first_idle) != (s32)this)
		return NOT_THIS_CPU;
	*lb = (struct eevdf_lb){ .busiest.id = -1,
				 .prefer_sibling = has_groups(level - 1),
				 .share_cache = level <= SD_MC };
	for (u32 i = 0; i < width[level] / step; i++) {
		u32 group = domain + (own - domain + i * step) % width[level];
		bool imbalanced = false;
		struct eevdf_group g;

		eevdf_group_init(&g, group);
		for (u32 cpu = group; cpu < group + step; cpu++) {
			struct rq *rq = &m.rqs[cpu];

			if (!takes(cpu))
				continue;
			if (!rq->nr)
				eevdf_avg_update(&rq->avg, now_ns, 0, 0, false);
			util += rq->avg.util / 1024;
			if (m.excluded[cpu])
				continue;
			imbalanced |= rq->sd[level - 1].imbalanced;
			eevdf_group_feed(&g, &rq->avg, rq->nr);
		}
		if (!g.cpus)
			continue;
		eevdf_group_end(&g, pct_of(level), imbalanced && group != own);
		lb->total_load += g.load;
		lb->total_cpus += g.cpus;
		if (group == own)
			lb->local = g;
		else if (eevdf_busier(&g, &lb->busiest))
			lb->busiest = g;
	}
	/* update_idle_cpu_scan() has no time when a CPU is newly idle. */
	if (level == SD_MC && idle != CPU_NEWLY_IDLE)
		m.scan_limit[domain] = eevdf_scan_limit(util, width[SD_MC], pct_of(level));
	eevdf_lb_end(lb, idle, pct_of(level));
	for (u32 cpu = lb->busiest.id; lb->busiest.id >= 0 && cpu < lb->busiest.id + step; cpu++) {
		u64 score = eevdf_lb_queue(lb, &m.rqs[cpu].avg, m.rqs[cpu].nr);

		if (!m.rqs[cpu].online || m.excluded[cpu] || score <= most)
			continue;
		most = score;
		found = cpu;
	}
	return found;
}

struct pulled {
	s64 left;
	u32 moved;
	bool pinned, movable;
};

/* rule 3.11.6, and caches that are warm. */
static bool leaves(u32 i, u32 from, u32 level)
{
	u32 failed = m.rqs[this].sd[level].failed;

	if (!failed && prm.place_lag && m.rqs[this].sums.nr && m.tasks[i].v > m.rqs[from].sums.v0)
		return false;
	if (failed > tries_of(level) || level == SD_SMT || fakes[i].p.policy == 5)
		return true;
	if (fakes[i].p.pid == m.rqs[from].next_pid && m.rqs[this].nr)
		return false;
	return now_ns >= m.tasks[i].last_ran_ns + 500 * NSEC_PER_USEC;
}

/* First those that were eligible, by deadline, then the others, by v. */
static void pull_from(u32 from, u32 level, u32 idle, enum eevdf_move what, struct pulled *x)
{
	u32 looked_at = 0;

	for (u32 half = 0; half < 2; half++) {
		bool seen[MOST_TASKS] = {};

		while (true) {
			struct rq *here = &m.rqs[this], *there = &m.rqs[from];
			u64 first = ~0ULL;
			s32 at = -1;
			s64 worth;

			for (u32 i = 0; i < count; i++) {
				u64 key = half ? m.tasks[i].v : m.tasks[i].d;
				bool eligible = m.rqs[from].sums.v0 >= m.tasks[i].v;

				if (m.tasks[i].cpu != from || m.tasks[i].gone || seen[i] ||
				    eligible == half)
					continue;
				if (key >= first)
					continue;
				first = key;
				at = i;
			}
			if (at < 0 || looked_at++ >= LOOKS || x->left <= 0)
				break;
			if ((idle != CPU_NOT_IDLE && there->nr == 1) ||
			    (idle == CPU_NEWLY_IDLE && x->moved))
				break;
			seen[at] = true;
			if (!(fakes[at].cpus.bits[0] >> this & 1)) {
				x->pinned = true;
				continue;
			}
			x->movable = true;
			if (!leaves(at, from, level))
				continue;
			eevdf_avg_update(&m.tasks[at].avg, now_ns, fakes[at].t.e.weight, 1, false);
			worth = eevdf_lb_fit(what, x->left, &m.tasks[at].avg,
					     here->sd[level].failed);
			if (worth < 0 || fakes[at].lost)
				continue;
			if (there->next_pid == fakes[at].p.pid)
				there->next_pid = 0;
			eevdf_avg_update(&here->avg, now_ns, here->weight, here->nr,
					 here->curr_pid != 0);
			there->nr--;
			there->weight -= fakes[at].t.e.weight;
			here->nr++;
			here->sums.nr++;
			here->weight += fakes[at].t.e.weight;
			m.tasks[at].cpu = this;
			m.tasks[at].gone = true;
			x->moved++;
			x->left -= worth;
		}
	}
}

static s32 balance(u32 level, u32 idle)
{
	struct sd_state *sd = &m.rqs[this].sd[level];
	u32 least_ms = width[level];
	struct pulled x = {};
	struct eevdf_lb lb;
	s32 from = -1;

	memset(m.excluded, 0, sizeof(m.excluded));
	for (u32 turn = 0; turn < 4; turn++) {
		from = busiest_queue(level, idle, &lb);
		if (from == NOT_THIS_CPU)
			return -1;
		if (from < 0)
			break;
		x = (struct pulled){ .left = lb.imbalance };
		if (m.rqs[from].nr > 1)
			pull_from(from, level, idle, lb.move, &x);
		sd->imbalanced = x.pinned && x.left > 0;
		if (x.movable || !x.pinned)
			break;
		/* All that it looked at may not run here: once more without that queue. */
		m.excluded[from] = true;
		from = -1;
	}
	if (from < 0) {
		sd->failed = 0;
		if (idle != CPU_NEWLY_IDLE && sd->interval_ms < 2 * least_ms)
			sd->interval_ms *= 2;
		return 0;
	}
	if (x.moved) {
		sd->failed = 0;
		sd->interval_ms = least_ms;
		return x.moved;
	}
	if (idle == CPU_NEWLY_IDLE)
		return 0;
	sd->interval_ms = least_ms;
	sd->failed++;
	if (sd->failed > tries_of(level) + 2 && lb.move == EEVDF_MOVE_TASK &&
	    !m.rqs[from].push_pid && m.rqs[from].curr_pid) {
		m.rqs[from].push_pid = m.rqs[from].curr_pid;
		m.rqs[from].push_cpu = this;
		m.kicks++;
		sd->failed = tries_of(level) + 1;
	}
	return 0;
}

static s32 all_levels(u32 idle)
{
	u64 ticks = 1 + now_ns / (NSEC_PER_SEC / tick_hz), next = ticks + 60 * tick_hz, due;
	s32 pulled = 0, got;

	for (u32 level = SD_SMT; level < SD_LEVELS; level++) {
		struct sd_state *sd = &m.rqs[this].sd[level];

		if (!has_groups(level))
			continue;
		if (idle == CPU_NEWLY_IDLE) {
			pulled = pulled ? pulled : balance(level, idle);
			continue;
		}
		got = 0;
		if (ticks >= sd->last_ticks + eevdf_interval(sd->interval_ms, idle == CPU_NOT_IDLE,
							     nr_online, tick_hz)) {
			got = balance(level, idle);
			sd->last_ticks = ticks;
		}
		due = sd->last_ticks +
		      eevdf_interval(sd->interval_ms, idle == CPU_NOT_IDLE, nr_online, tick_hz);
		next = due < next ? due : next;
		if (got > 0) {
			pulled += got;
			idle = CPU_NOT_IDLE;
		}
	}
	if (idle != CPU_NEWLY_IDLE)
		m.rqs[this].next_balance = next;
	return pulled > 0 ? pulled : 0;
}

/* Who has come is queued by this CPU's clock: by its v, or by its deadline where all are looked at again. */
static bool in_order(const struct fake_task *f, u32 cpu)
{
	if (f->dsq == eligible_dsq(cpu))
		return f->p.scx.dsq_vtime == f->t.e.d;
	return f->dsq == waiting_dsq(cpu) && f->p.scx.dsq_vtime == f->t.e.v;
}

static void test(void)
{
	s32 got, want;
	u32 idle;

	some_state();
	idle = rq_of(this)->nr ? CPU_NOT_IDLE : coin(2) ? CPU_IDLE : CPU_NEWLY_IDLE;
	got = rebalance(this, idle);
	want = all_levels(idle);
	check(got == want, "idle %u: %d, not %d", idle, got, want);
	for (u32 i = 0; i < count; i++) {
		check(fakes[i].t.cpu == m.tasks[i].cpu, "task %u on CPU %u, not %u", i,
		      fakes[i].t.cpu, m.tasks[i].cpu);
		check(!fakes[i].seq || in_order(&fakes[i], m.tasks[i].cpu), "task %u", i);
	}
	for (u32 cpu = 0; cpu < nr_cpus; cpu++) {
		const struct rq *g = rq_of(cpu), *w = &m.rqs[cpu];

		check(g->nr == w->nr && g->weight == w->weight, "CPU %u: %d, not %d", cpu, g->nr,
		      w->nr);
		check(g->push_pid == w->push_pid && g->push_cpu == w->push_cpu, "CPU %u gives %d",
		      cpu, g->push_pid);
		check(g->next_pid == w->next_pid, "CPU %u: %d next", cpu, g->next_pid);
		check(g->next_balance == w->next_balance, "CPU %u: %llu, not %llu", cpu,
		      g->next_balance, w->next_balance);
		check(scan_limit[cpu] == m.scan_limit[cpu], "CPU %u: %u", cpu, scan_limit[cpu]);
		for (u32 level = SD_SMT; level < SD_LEVELS; level++)
			check(g->sd[level].interval_ms == w->sd[level].interval_ms &&
				      g->sd[level].failed == w->sd[level].failed &&
				      g->sd[level].imbalanced == w->sd[level].imbalanced &&
				      g->sd[level].last_ticks == w->sd[level].last_ticks,
			      "CPU %u level %u: %u ms failed %u, not %u ms failed %u", cpu, level,
			      g->sd[level].interval_ms, g->sd[level].failed,
			      w->sd[level].interval_ms, w->sd[level].failed);
	}
	check(kicks == m.kicks, "%u kicks", kicks);
}

const struct cpumask *scx_bpf_get_idle_cpumask(void)
{
	return NULL;
}

const struct cpumask *scx_bpf_get_idle_smtmask(void)
{
	return NULL;
}

void scx_bpf_put_idle_cpumask(const struct cpumask *mask)
{
}

struct task_struct *bpf_get_current_task_btf(void)
{
	return NULL;
}

int main(int argc, char **argv)
{
	return rounds(argc, argv, 100000, test);
}
