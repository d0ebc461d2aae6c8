/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The queue of queue.bpf.h, line by line as the kernel runs it, on DSQs that
 * are plain arrays: two DSQs and the delayed sleepers find who the literal
 * search over all of them finds, and nobody gets lost between the two.
 */
#include <scx.h>

#include "check.h"
#include "queue.bpf.h"

#define MOST 48

struct fake_task {
	struct task_struct p;
	struct task_ctx t;
	u64 dsq, seq;
	bool queued;
};

static struct fake_task fakes[MOST];
static u32 count;
static u64 sequence, new_vtime;
static u64 moves, now_ns;

/* Like the kernel's: what is queued after the walk began is not seen. */
struct walk {
	u64 dsq, upto, at_vtime, at_seq, started;
};

u64 scx_bpf_now(void)
{
	return now_ns;
}

/* Nobody waits for a CPU to look. */
void scx_bpf_kick_cpu(s32 cpu, u64 flags)
{
	(void)cpu, (void)flags;
}

void bpf_iter_scx_dsq_new(struct bpf_iter_scx_dsq *it, u64 dsq_id, u64 flags)
{
	struct walk *w = (struct walk *)it;

	(void)flags;
	*w = (struct walk){ .dsq = dsq_id, .upto = sequence };
}

static bool behind(const struct fake_task *f, const struct walk *w)
{
	s64 ahead = f->p.scx.dsq_vtime - w->at_vtime;

	return !w->started || ahead > 0 || (!ahead && f->seq > w->at_seq);
}

struct task_struct *bpf_iter_scx_dsq_next(struct bpf_iter_scx_dsq *it)
{
	struct walk *w = (struct walk *)it;
	struct fake_task *found = NULL, *f;

	for (u32 i = 0; i < count; i++) {
		f = &fakes[i];
		if (!f->queued || f->dsq != w->dsq || f->seq > w->upto || !behind(f, w))
			continue;
		if (!found || before64(f->p.scx.dsq_vtime, found->p.scx.dsq_vtime) ||
		    (f->p.scx.dsq_vtime == found->p.scx.dsq_vtime && f->seq < found->seq))
			found = f;
	}
	if (!found)
		return NULL;
	w->at_vtime = found->p.scx.dsq_vtime;
	w->at_seq = found->seq;
	w->started = 1;
	return &found->p;
}

void scx_bpf_dsq_move_set_vtime(struct bpf_iter_scx_dsq *it, u64 vtime)
{
	(void)it;
	new_vtime = vtime;
}

bool scx_bpf_dsq_move_vtime(struct bpf_iter_scx_dsq *it, struct task_struct *p, u64 dsq_id,
			    u64 enq_flags)
{
	struct fake_task *f = (struct fake_task *)p;

	(void)it, (void)enq_flags;
	moves++;
	f->dsq = dsq_id;
	f->seq = ++sequence;
	p->scx.dsq_vtime = new_vtime;
	return true;
}

bool scx_bpf_dsq_move(struct bpf_iter_scx_dsq *it, struct task_struct *p, u64 dsq_id, u64 enq_flags)
{
	struct fake_task *f = (struct fake_task *)p;

	(void)it, (void)enq_flags;
	check(dsq_id == SCX_DSQ_LOCAL, "to %llx", dsq_id);
	f->queued = false;
	return true;
}

void scx_bpf_dsq_insert_vtime(struct task_struct *p, u64 dsq_id, u64 slice, u64 vtime,
			      u64 enq_flags)
{
	struct fake_task *f = (struct fake_task *)p;

	(void)slice, (void)enq_flags;
	f->dsq = dsq_id;
	f->seq = ++sequence;
	f->queued = true;
	p->scx.dsq_vtime = vtime;
}

/* A task that is pushed to another CPU; the test has only one. */
void scx_bpf_dsq_insert(struct task_struct *p, u64 dsq_id, u64 slice, u64 enq_flags)
{
	(void)slice, (void)enq_flags;
	check(false, "task %d to %llx", p->pid, dsq_id);
}

static struct cpumask everywhere = { { ~0ULL } }, elsewhere = { { ~1ULL } };

static struct literal literally(const struct rq *rq)
{
	struct literal l = { .near = rq->sums.v0 };

	for (u32 i = 0; i < count; i++)
		if (fakes[i].t.queued ||
		    (fakes[i].t.delayed &&
		     rq->delayed[fakes[i].t.delayed_index].pid == fakes[i].p.pid))
			literal_add(&l, fakes[i].t.e.v, fakes[i].t.e.weight);
	return l;
}

/* rule 3.5 over everybody who waits; 0: nobody is eligible. */
static u64 earliest(const struct rq *rq, bool delayed_too, bool *any)
{
	struct literal l = literally(rq);
	u64 d = 0;

	*any = false;
	for (u32 i = 0; i < count; i++) {
		struct fake_task *f = &fakes[i];
		bool waits = f->t.queued && f->queued;

		if (delayed_too && f->t.delayed && rq->delayed[f->t.delayed_index].pid == f->p.pid)
			waits = true;
		if (!waits || !literal_eligible(&l, f->t.e.v))
			continue;
		if (!*any || before64(f->t.e.d, d))
			d = f->t.e.d;
		*any = true;
	}
	return d;
}

/* rule 3.6: of all that wait and of the delayed sleepers, where one asked for a slice; never more than the own. */
static void check_least_slice(struct rq *rq)
{
	u64 own = between(1, 40) * NSEC_PER_MSEC / 8, want = own, slice_ns;
	bool asked = false;

	for (u32 i = 0; i < count; i++) {
		const struct task_ctx *t = &fakes[i].t;
		bool sleeps = t->delayed && rq->delayed[t->delayed_index].pid == fakes[i].p.pid;

		asked |= t->queued && t->e.custom;
		slice_ns = t->e.slice_ns;
		if (((t->queued && fakes[i].queued) || sleeps) && slice_ns < want)
			want = slice_ns;
	}
	if (asked)
		check(least_slice(0, rq, own) == want, "%llu, not %llu", least_slice(0, rq, own),
		      want);
}

static void add(struct rq *rq, struct fake_task *f, u64 around)
{
	f->t = (struct task_ctx){ .e.weight = eevdf_nice_weight[between(10, 30)] };
	eevdf_request(&prm, &f->t.e, coin(3) ? between(1, 20) * NSEC_PER_MSEC / 4 : 0);
	f->t.e.v = around + between(0, 8 * NSEC_PER_MSEC) - 4 * NSEC_PER_MSEC;
	f->t.e.d = f->t.e.v + eevdf_vdelta(f->t.e.slice_ns, f->t.e.weight);
	enter(rq, &f->t, 0);
	queue_insert(0, rq, &f->p, &f->t, 0);
}

static void test(void)
{
	struct rq *rq = &rqs[0];
	u64 base = draw(), want, got;
	bool any;
	u32 n;

	rqs[0] = (struct rq){ .sums.v0 = base };
	eevdf_params_init(&prm, EEVDF_7_2, between(1, 8), 250);
	count = between(1, MOST);
	sequence = 0;
	for (u32 i = 0; i < count; i++) {
		fakes[i] = (struct fake_task){ .p.pid = 100 + i, .p.cpus_ptr = &everywhere };
		fakes[i].p.storage = &fakes[i].t;
	}
	for (u32 i = 0; i < count; i++)
		add(rq, &fakes[i], base);
	for (u32 turn = 0; turn < 40; turn++) {
		struct fake_task *f = &fakes[between(0, count - 1)];

		now_ns += NSEC_PER_MSEC;
		if (f->queued && coin(3)) {
			/* It runs, is put back further on, leaves, or sleeps above its share. */
			f->queued = false;
			if (coin(2)) {
				u64 more = eevdf_vdelta(between(1, NSEC_PER_MSEC), f->t.e.weight);

				f->t.e.v += more;
				rq->sums.wv += more * f->t.e.weight;
				eevdf_renew(&prm, &f->t.e);
				queue_insert(0, rq, &f->p, &f->t, 0);
			} else {
				f->t.queued = false;
				count_out(rq, &f->t);
				if (!delay(rq, &f->p, &f->t))
					eevdf_leave(&rq->sums, f->t.e.v, f->t.e.weight);
			}
		} else if (!f->t.queued && !f->queued && coin(2)) {
			if (!f->t.delayed || !undelay(rq, &f->p, &f->t, 0)) {
				eevdf_place(&prm, &rq->sums, &f->t.e, false);
				enter(rq, &f->t, 0);
			}
			queue_insert(0, rq, &f->p, &f->t, 0);
		}
		rq->sums.v0 = eevdf_average(&rq->sums);
		/* Sums hold whoever competes, and nobody else. */
		check(literally(rq).wv == (s128)eevdf_key_sum(&rq->sums), "sums");

		check_least_slice(rq);
		want = earliest(rq, false, &any);
		look_for_best(0, rq);
		check(any == !!rq->best_pid && (!any || rq->best_d == want), "looked: %d", any);
		sort_and_find(0, rq);
		check(any == !!rq->best_pid && (!any || rq->best_d == want),
		      "%llu, not %llu, from V", rq->best_d, want);
		want = earliest(rq, true, &any);
		got = delayed_first(rq) >= 0 ? rq->delayed[rq->best_delayed].d : rq->best_d;
		check(!any || got == want, "with delayed: %llu, not %llu", got, want);
		if (delayed_first(rq) >= 0 && coin(2))
			drop_delayed(rq, rq->best_delayed);
	}
	/* Everybody who waits is found by his number, once. */
	n = rq->nr;
	for (u32 i = 0; i < count; i++)
		if (fakes[i].queued) {
			fakes[i].p.cpus_ptr = &elsewhere;
			check(!take(0, fakes[i].p.pid) && fakes[i].queued, "task %u, confined", i);
			fakes[i].p.cpus_ptr = &everywhere;
			check(take(0, fakes[i].p.pid), "task %u", i);
			check(!take(0, fakes[i].p.pid), "task %u twice", i);
			n--;
		}
	check(!n, "%u lost", n);
}

/* rule 3.8: whoever is delayed here and wakes elsewhere brings no positive lag along, and is gone from here. */
static void test_wakes_elsewhere(void)
{
	struct fake_task *sleeper = &fakes[0];
	struct eevdf_entity *e = &sleeper->t.e;
	struct rq *here = &rqs[0];
	u64 base = draw();
	s64 lag, most;

	rqs[0] = (struct rq){ .sums.v0 = base };
	rqs[1] = (struct rq){ .sums.v0 = draw() };
	eevdf_params_init(&prm, EEVDF_7_2, between(1, 8), 250);
	*sleeper = (struct fake_task){ .p.pid = 100, .p.cpus_ptr = &everywhere };
	e->weight = 1024;
	e->slice_ns = prm.base_slice_ns;
	e->v = base + between(2, 3 * NSEC_PER_MSEC);
	eevdf_join(&here->sums, e->v, e->weight);
	eevdf_join(&here->sums, base, 1024);
	check(delay(here, &sleeper->p, &sleeper->t), "it is eligible");
	/* The other one runs, past it or not. */
	here->sums.wv += 1024ULL * between(0, 6 * NSEC_PER_MSEC);
	here->sums.v0 = eevdf_average(&here->sums);
	lag = here->sums.v0 - e->v;
	most = max_u64(2 * prm.base_slice_ns, prm.tick_ns);
	lag = lag > 0 ? 0 : lag < -most ? -most : lag;
	check(!undelay(&rqs[1], &sleeper->p, &sleeper->t, 1), "it is in the sums there");
	check(e->vlag == lag && !sleeper->t.delayed, "a lag of %lld, not %lld", e->vlag, lag);
	drain(here);
	check(here->sums.nr == 1 && here->sums.w == 1024 && !here->nr_delayed, "still here");
}

/* What other CPUs took is subtracted in their order, and never more than there is room for. */
static void test_notes(void)
{
	struct rq *rq = &rqs[0];
	struct eevdf_sums want;
	u32 left = 0;

	rqs[0] = (struct rq){ .sums.v0 = draw() };
	for (u32 i = 0; i < 60; i++)
		eevdf_join(&rq->sums, rq->sums.v0 + i, 1024 + i);
	want = rq->sums;
	for (u32 i = 0; i < 60; i++) {
		if (!room_to_leave(rq) || coin(4)) {
			check(left <= NR_GONE, "%u notes", left);
			drain(rq);
			left = 0;
			check(rq->sums.wv == want.wv && rq->sums.w == want.w &&
				      rq->sums.nr == want.nr,
			      "note %u", i);
		}
		leave_note(rq, want.v0 + i, 1024 + i);
		eevdf_leave(&want, want.v0 + i, 1024 + i);
		left++;
		if (i == 58)
			break;
	}
}

/* Two queues a CPU, and no queue of two CPUs. */
static void test_ids(void)
{
	static u32 users[2 * MAX_CPUS];

	for (u32 cpu = 0; cpu < MAX_CPUS; cpu++) {
		check(waiting_dsq(cpu) < 2 * MAX_CPUS && eligible_dsq(cpu) < 2 * MAX_CPUS, "CPU %u",
		      cpu);
		check(!users[waiting_dsq(cpu)]++ && !users[eligible_dsq(cpu)]++, "CPU %u", cpu);
	}
}

int main(int argc, char **argv)
{
	rounds(1, argv, 1, test_ids);
	rounds(argc, argv, 1000, test_notes);
	rounds(argc, argv, 10000, test_wakes_elsewhere);
	rounds(argc, argv, 30000, test);
	printf("%llu moves\n", moves);
	return 0;
}
