/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes CPU sets of its own, and says itself when one does not hold what it should. */
#include "expect.h"

#define SHARED 0
#define __kptr __attribute__((btf_type_tag("kptr")))

struct bpf_cpumask *bpf_cpumask_create(void) __ksym;
struct bpf_cpumask *bpf_cpumask_acquire(struct bpf_cpumask *cpumask) __ksym;
void bpf_cpumask_release(struct bpf_cpumask *cpumask) __ksym;
void bpf_cpumask_set_cpu(u32 cpu, struct bpf_cpumask *cpumask) __ksym;
void bpf_cpumask_clear_cpu(u32 cpu, struct bpf_cpumask *cpumask) __ksym;
bool bpf_cpumask_test_and_set_cpu(u32 cpu, struct bpf_cpumask *cpumask) __ksym;
bool bpf_cpumask_test_and_clear_cpu(u32 cpu, struct bpf_cpumask *cpumask) __ksym;
void bpf_cpumask_setall(struct bpf_cpumask *cpumask) __ksym;
void bpf_cpumask_clear(struct bpf_cpumask *cpumask) __ksym;
void bpf_cpumask_copy(struct bpf_cpumask *dst, const struct cpumask *src) __ksym;
bool bpf_cpumask_and(struct bpf_cpumask *dst, const struct cpumask *a,
		     const struct cpumask *b) __ksym;
void bpf_cpumask_or(struct bpf_cpumask *dst, const struct cpumask *a,
		    const struct cpumask *b) __ksym;
void bpf_cpumask_xor(struct bpf_cpumask *dst, const struct cpumask *a,
		     const struct cpumask *b) __ksym;
bool bpf_cpumask_equal(const struct cpumask *a, const struct cpumask *b) __ksym;
bool bpf_cpumask_subset(const struct cpumask *a, const struct cpumask *b) __ksym;
bool bpf_cpumask_full(const struct cpumask *cpumask) __ksym;
u32 bpf_cpumask_first_zero(const struct cpumask *cpumask) __ksym;
u32 bpf_cpumask_first_and(const struct cpumask *a, const struct cpumask *b) __ksym;

struct kept {
	struct bpf_cpumask __kptr *mask;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct kept);
} kept SEC(".maps");

static const struct cpumask *of(struct bpf_cpumask *mask)
{
	return (const struct cpumask *)mask;
}

static void single(struct bpf_cpumask *one)
{
	EXPECT(bpf_cpumask_empty(of(one)));
	bpf_cpumask_set_cpu(1, one);
	EXPECT(bpf_cpumask_test_cpu(1, of(one)) && !bpf_cpumask_test_cpu(0, of(one)));
	EXPECT(bpf_cpumask_first(of(one)) == 1 && bpf_cpumask_first_zero(of(one)) == 0);
	EXPECT(bpf_cpumask_weight(of(one)) == 1 && bpf_cpumask_any_distribute(of(one)) == 1);
	EXPECT(!bpf_cpumask_test_and_set_cpu(0, one) && bpf_cpumask_test_and_set_cpu(0, one));
	EXPECT(bpf_cpumask_weight(of(one)) == 2);
	EXPECT(bpf_cpumask_test_and_clear_cpu(0, one) && !bpf_cpumask_test_and_clear_cpu(0, one));
	/* No CPU has such a number. */
	bpf_cpumask_set_cpu(1 << 20, one);
	EXPECT(bpf_cpumask_weight(of(one)) == 1 && !bpf_cpumask_test_cpu(1 << 20, of(one)));
}

/* The first holds CPU 1. */
static void pairs(struct bpf_cpumask *one, struct bpf_cpumask *other)
{
	bpf_cpumask_copy(other, of(one));
	EXPECT(bpf_cpumask_equal(of(one), of(other)));
	bpf_cpumask_set_cpu(0, other);
	EXPECT(!bpf_cpumask_equal(of(one), of(other)));
	EXPECT(bpf_cpumask_subset(of(one), of(other)) && !bpf_cpumask_subset(of(other), of(one)));
	EXPECT(bpf_cpumask_intersects(of(one), of(other)));
	EXPECT(bpf_cpumask_first_and(of(one), of(other)) == 1);
	EXPECT(bpf_cpumask_any_and_distribute(of(one), of(other)) == 1);
	bpf_cpumask_xor(other, of(one), of(other));
	EXPECT(bpf_cpumask_weight(of(other)) == 1 && bpf_cpumask_test_cpu(0, of(other)));
	EXPECT(!bpf_cpumask_and(other, of(one), of(other)) && bpf_cpumask_empty(of(other)));
	bpf_cpumask_set_cpu(0, other);
	bpf_cpumask_or(other, of(one), of(other));
	EXPECT(bpf_cpumask_weight(of(other)) == 2);
	bpf_cpumask_clear_cpu(1, other);
	EXPECT(!bpf_cpumask_intersects(of(one), of(other)));
	bpf_cpumask_clear(other);
	EXPECT(bpf_cpumask_empty(of(other)));
}

static void machine(struct bpf_cpumask *all)
{
	const struct cpumask *possible = scx_bpf_get_possible_cpumask();
	u32 cpus = scx_bpf_nr_cpu_ids();
	s32 any;

	bpf_cpumask_setall(all);
	EXPECT(bpf_cpumask_full(of(all)) && bpf_cpumask_weight(of(all)) == cpus);
	EXPECT(bpf_cpumask_subset(possible, of(all)) && !bpf_cpumask_empty(possible));
	EXPECT(bpf_cpumask_first_zero(of(all)) >= cpus);
	any = scx_bpf_pick_any_cpu(possible, 0);
	EXPECT(any >= 0 && any < cpus);
	bpf_cpumask_clear(all);
	EXPECT(bpf_cpumask_first(of(all)) >= cpus && scx_bpf_pick_any_cpu(of(all), 0) == -EBUSY);
	scx_bpf_put_cpumask(possible);
}

/* A set with two references lives on when one is given back. */
static void keep(struct bpf_cpumask *one, u32 key)
{
	struct bpf_cpumask *same = bpf_cpumask_acquire(one), *before = NULL;
	struct kept *place = bpf_map_lookup_elem(&kept, &key);

	if (place)
		before = bpf_kptr_xchg(&place->mask, same);
	else
		bpf_cpumask_release(same);
	EXPECT(place && !before);
	if (before)
		bpf_cpumask_release(before);
}

void BPF_STRUCT_OPS(masks_enqueue, struct task_struct *p, u64 enq_flags)
{
	scx_bpf_dsq_insert(p, SHARED, SCX_SLICE_DFL, enq_flags);
}

void BPF_STRUCT_OPS(masks_dispatch, s32 cpu, struct task_struct *prev)
{
	u32 key = 0;
	struct kept *place = bpf_map_lookup_elem(&kept, &key);
	struct bpf_cpumask *mask = place ? place->mask : NULL;

	EXPECT(mask && bpf_cpumask_test_cpu(1, of(mask)) && bpf_cpumask_weight(of(mask)) == 1);
	scx_bpf_dsq_move_to_local(SHARED);
}

s32 BPF_STRUCT_OPS_SLEEPABLE(masks_init)
{
	struct bpf_cpumask *one = bpf_cpumask_create(), *other;

	if (!one)
		return -ENOMEM;
	other = bpf_cpumask_create();
	if (!other) {
		bpf_cpumask_release(one);
		return -ENOMEM;
	}
	single(one);
	pairs(one, other);
	machine(other);
	keep(one, 0);
	bpf_cpumask_release(one);
	bpf_cpumask_release(other);
	return scx_bpf_create_dsq(SHARED, -1);
}

SCX_OPS_DEFINE(masks_ops, .enqueue = (void *)masks_enqueue, .dispatch = (void *)masks_dispatch,
	       .init = (void *)masks_init, .name = "masks");
