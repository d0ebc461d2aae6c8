/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Walks over numbers, bits, tasks, cgroups and queues. Says itself when a walk is not what it should be. */
#include "expect.h"

#define EACCES 13
#define EFAULT 14
#define SHARED 0
#define SCX_DSQ_ITER_REV (1 << 16)
#define MOST_LOOPS (8 << 20) /* BPF_MAX_LOOPS */

enum { ALL_PROCS, ALL_THREADS, PROC_THREADS };
enum { SELF_ONLY = 1, DESCENDANTS_PRE, DESCENDANTS_POST, ANCESTORS_UP, CHILDREN };

struct bpf_iter_bits {
	u64 __opaque[2];
} __attribute__((aligned(8)));

struct bpf_iter_task {
	u64 __opaque[3];
} __attribute__((aligned(8)));

struct bpf_iter_css {
	u64 __opaque[3];
} __attribute__((aligned(8)));

int bpf_iter_bits_new(struct bpf_iter_bits *it, const u64 *words, u32 nr_words) __ksym;
int *bpf_iter_bits_next(struct bpf_iter_bits *it) __ksym;
void bpf_iter_bits_destroy(struct bpf_iter_bits *it) __ksym;
int bpf_iter_task_new(struct bpf_iter_task *it, struct task_struct *p, unsigned int flags) __ksym;
struct task_struct *bpf_iter_task_next(struct bpf_iter_task *it) __ksym;
void bpf_iter_task_destroy(struct bpf_iter_task *it) __ksym;
int bpf_iter_css_new(struct bpf_iter_css *it, struct cgroup_subsys_state *start,
		     unsigned int flags) __ksym;
struct cgroup_subsys_state *bpf_iter_css_next(struct bpf_iter_css *it) __ksym;
void bpf_iter_css_destroy(struct bpf_iter_css *it) __ksym;
int bpf_iter_num_new(struct bpf_iter_num *it, int start, int end) __ksym;
int *bpf_iter_num_next(struct bpf_iter_num *it) __ksym;
void bpf_iter_num_destroy(struct bpf_iter_num *it) __ksym;
void bpf_rcu_read_lock(void) __ksym;
void bpf_rcu_read_unlock(void) __ksym;
struct cgroup *scx_bpf_task_cgroup(struct task_struct *p) __ksym;
void bpf_cgroup_release(struct cgroup *cgrp) __ksym;
struct bpf_cpumask *bpf_cpumask_create(void) __ksym;
void bpf_cpumask_release(struct bpf_cpumask *cpumask) __ksym;
int bpf_cpumask_populate(struct cpumask *cpumask, void *src, u64 src__sz) __ksym;

STAT(reversals, "walks backwards over two tasks or more");

static u32 walks;
static u64 clock; /* of insertions: tasks wait in the order in which they came */

/* One more, but no more than a few: the verifier follows every number that a walk may count to. */
static u32 more(u32 count, u32 most)
{
	return count < most ? count + 1 : count;
}

/* How many numbers there are from one to before another, and what beginning says. */
static int numbers(int from, int to, int *said)
{
	struct bpf_iter_num it;
	int *number, count = 0;

	*said = bpf_iter_num_new(&it, from, to);
	while ((number = bpf_iter_num_next(&it))) {
		EXPECT(*number == from + count);
		if (++count == 4)
			break;
	}
	bpf_iter_num_destroy(&it);
	return count;
}

static void about_numbers(void)
{
	int said;

	EXPECT(numbers(-1, 2, &said) == 3 && said == 0);
	EXPECT(numbers(3, 3, &said) == 0 && said == 0);
	EXPECT(numbers(4, 3, &said) == 0 && said == -EINVAL);
	EXPECT(numbers(-1, MOST_LOOPS - 1, &said) == 4 && said == 0);
	EXPECT(numbers(-1, MOST_LOOPS, &said) == 0 && said == -E2BIG);
}

/* The sum of the numbers of what is set, as decimal digits of which each counts. */
static u64 bits(const u64 *words, u32 count, int *said)
{
	struct bpf_iter_bits it;
	u64 found = 0;
	int *bit;

	*said = bpf_iter_bits_new(&it, words, count);
	while ((bit = bpf_iter_bits_next(&it)))
		found = found * 1000 + *bit;
	bpf_iter_bits_destroy(&it);
	return found;
}

static void about_bits(void)
{
	u64 one = 1ULL << 63 | 1 << 5, three[3] = { 2, 0, 1ULL << 40 }, none = 0;
	int said;

	EXPECT(bits(&one, 1, &said) == 5063 && said == 0);
	EXPECT(bits(three, 3, &said) == 1168 && said == 0);
	EXPECT(bits(&none, 1, &said) == 0 && said == 0);
	EXPECT(bits(&one, 0, &said) == 0 && said == -EINVAL);
	EXPECT(bits(NULL, 1, &said) == 0 && said == -EINVAL);
	EXPECT(bits(&one, 512, &said) == 0 && said == -E2BIG);
	EXPECT(bits(NOWHERE, 1, &said) == 0 && said == -EFAULT);
	EXPECT(bits(NOWHERE, 2, &said) == 0 && said == -ERANGE);
}

static void about_masks(void)
{
	struct bpf_cpumask *set = bpf_cpumask_create();
	u64 words[16] = { 1 };

	if (!set)
		return;
	EXPECT(!bpf_cpumask_populate((struct cpumask *)set, words, sizeof(words)));
	EXPECT(bpf_cpumask_weight((const struct cpumask *)set) == 1);
	EXPECT(bpf_cpumask_test_cpu(0, (const struct cpumask *)set));
	EXPECT(bpf_cpumask_populate((struct cpumask *)set, words, 1) == -EACCES);
	EXPECT(bpf_cpumask_weight((const struct cpumask *)set) == 1);
	bpf_cpumask_release(set);
}

/* All threads: the idle task first, then init, and this one is among them. */
static void all_threads(struct task_struct *p)
{
	struct bpf_iter_task it;
	struct task_struct *each;
	u32 count = 0, same = 0;

	EXPECT(!bpf_iter_task_new(&it, NULL, ALL_THREADS));
	while ((each = bpf_iter_task_next(&it))) {
		EXPECT(count > 1 || each->pid == (int)count);
		if (each->pid == p->pid)
			same = more(same, 2);
		count = more(count, 3);
	}
	bpf_iter_task_destroy(&it);
	EXPECT(count > 2 && same == 1);
}

static void all_processes(void)
{
	struct bpf_iter_task it;
	struct task_struct *each;
	u32 count = 0;

	EXPECT(!bpf_iter_task_new(&it, NULL, ALL_PROCS));
	while ((each = bpf_iter_task_next(&it))) {
		EXPECT(each->pid == each->tgid);
		count = more(count, 3);
	}
	bpf_iter_task_destroy(&it);
	EXPECT(count > 2);
}

/* From the task itself on. */
static void threads_of(struct task_struct *p)
{
	struct bpf_iter_task it;
	struct task_struct *each;
	u32 count = 0;

	EXPECT(!bpf_iter_task_new(&it, p, PROC_THREADS));
	while ((each = bpf_iter_task_next(&it))) {
		EXPECT(each->tgid == p->tgid && (count || each->pid == p->pid));
		count = 1;
	}
	bpf_iter_task_destroy(&it);
	EXPECT(count > 0);
}

static void mistaken(struct task_struct *p, u32 flags)
{
	struct bpf_iter_task it;

	EXPECT(bpf_iter_task_new(&it, p, flags) == -EINVAL);
	EXPECT(!bpf_iter_task_next(&it));
	bpf_iter_task_destroy(&it);
}

/* What a walk gives first and last, by their levels, and how many. */
static u32 groups(struct cgroup *from, u32 flags, int *said, int *first, int *last)
{
	struct cgroup_subsys_state *each;
	struct bpf_iter_css it;
	u32 count = 0;

	*said = bpf_iter_css_new(&it, &from->self, flags);
	while ((each = bpf_iter_css_next(&it))) {
		if (!count)
			*first = each->cgroup->level;
		*last = each->cgroup->level;
		count = more(count, 9);
	}
	bpf_iter_css_destroy(&it);
	return count;
}

static void about_groups(struct cgroup *group)
{
	int said, first = -1, last = -1, level = group->level;

	EXPECT(groups(group, DESCENDANTS_PRE, &said, &first, &last) > 0);
	EXPECT(said == 0 && first == level);
	EXPECT(groups(group, DESCENDANTS_POST, &said, &first, &last) > 0);
	EXPECT(said == 0 && last == level);
	EXPECT(groups(group, ANCESTORS_UP, &said, &first, &last) == (u32)level + 1);
	EXPECT(said == 0 && first == level && last == 0);
	first = level + 1;
	groups(group, CHILDREN, &said, &first, &last);
	EXPECT(said == 0 && first == level + 1);
	EXPECT(groups(group, SELF_ONLY, &said, &first, &last) == 0 && said == -EINVAL);
}

/* Another CPU may take a task meanwhile and bring it back: it is later then than what had been inserted before. */
static void queue(u64 flags)
{
	bool backwards = flags & SCX_DSQ_ITER_REV;
	u64 limit = clock, last = backwards ? ~0ULL : 0;
	struct bpf_iter_scx_dsq it;
	struct task_struct *p;
	u32 count = 0;

	EXPECT(!bpf_iter_scx_dsq_new(&it, SHARED, flags));
	while ((p = bpf_iter_scx_dsq_next(&it))) {
		u64 key = p->scx.dsq_vtime;

		if (key > limit)
			continue;
		EXPECT(backwards ? key < last : key > last);
		last = key;
		count = more(count, 2);
	}
	bpf_iter_scx_dsq_destroy(&it);
	if (backwards && count > 1)
		STAT_INC(reversals);
}

static void mistaken_queue(u64 id, u64 flags, int error)
{
	struct bpf_iter_scx_dsq it;

	EXPECT(bpf_iter_scx_dsq_new(&it, id, flags) == error);
	EXPECT(!bpf_iter_scx_dsq_next(&it));
	bpf_iter_scx_dsq_destroy(&it);
}

void BPF_STRUCT_OPS(iterators_enqueue, struct task_struct *p, u64 enq_flags)
{
	u64 now = __sync_fetch_and_add(&clock, 1) + 1;

	scx_bpf_dsq_insert_vtime(p, SHARED, SCX_SLICE_DFL, now, enq_flags);
}

void BPF_STRUCT_OPS(iterators_dispatch, s32 cpu, struct task_struct *prev)
{
	queue(0);
	queue(SCX_DSQ_ITER_REV);
	mistaken_queue(SHARED, 1, -EINVAL);
	mistaken_queue(77, 0, -ENOENT);
	scx_bpf_dsq_move_to_local(SHARED);
}

void BPF_STRUCT_OPS(iterators_running, struct task_struct *p)
{
	struct cgroup *group;

	/* A walk over all tasks of a real machine takes long. */
	if (walks >= 50)
		return;
	walks++;
	bpf_rcu_read_lock();
	all_threads(p);
	all_processes();
	threads_of(p);
	mistaken(NULL, PROC_THREADS);
	mistaken(p, 7);
	group = scx_bpf_task_cgroup(p);
	if (group) {
		about_groups(group);
		bpf_cgroup_release(group);
	}
	bpf_rcu_read_unlock();
}

s32 BPF_STRUCT_OPS_SLEEPABLE(iterators_init)
{
	about_numbers();
	about_bits();
	about_masks();
	return scx_bpf_create_dsq(SHARED, -1);
}

SCX_OPS_DEFINE(iterators_ops, .enqueue = (void *)iterators_enqueue,
	       .dispatch = (void *)iterators_dispatch, .running = (void *)iterators_running,
	       .init = (void *)iterators_init, .name = "iterators");
