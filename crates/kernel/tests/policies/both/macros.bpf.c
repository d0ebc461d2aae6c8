/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What scx's headers have beside calls: loops, access to arrays, arithmetic, locks. Says itself what is not so. */
#include <scx/common.bpf.h>
#include <scx/percpu.bpf.h>
#include <limits.h>
#include <string.h>

char _license[] SEC("license") = "GPL";

UEI_DEFINE(uei);

#define SHARED 0
#define ROWS 4
#define COLUMNS 8

#define EXPECT(condition)                                                               \
	({                                                                              \
		if (!(condition))                                                       \
			scx_bpf_error("CPU %d: not so: %s", bpf_get_smp_processor_id(), \
				      #condition);                                      \
	})

struct cell {
	u32 first;
	u64 second;
};

const volatile u32 rows = ROWS;
static struct cell table[ROWS][COLUMNS];
u64 RESIZABLE_ARRAY(data, numbers);
private(counting) struct bpf_spin_lock lock;
private(counting) u64 counted;
private(masks) struct bpf_cpumask __kptr *everyone;

static void loops(void)
{
	u32 sum = 0, times = 0;
	int i, *at;

	/* What the verifier knows it follows through every turn. */
	__sink(sum);
	__sink(times);
	bpf_for(i, 2, 6)
		sum += i;
	EXPECT(sum == 2 + 3 + 4 + 5);
	bpf_for(i, 5, 5)
		sum = 0;
	EXPECT(sum == 14);
	bpf_repeat(7) {
		if (++times == 5)
			break;
	}
	EXPECT(times == 5);
	bpf_for_each(num, at, 10, 13)
		sum += *at;
	EXPECT(sum == 14 + 33);
}

/* The index comes from where neither compiler nor verifier know it. */
static void arrays(void)
{
	u32 row = bpf_get_prandom_u32(), i;
	struct cell *found;
	u64 *number;

	found = MEMBER_VPTR(table, [row % 2][COLUMNS - 1]);
	EXPECT(found);
	if (found)
		found->second = row;
	number = MEMBER_VPTR(table, [row % 2][COLUMNS - 1].second);
	EXPECT(number && *number == row);
	EXPECT(!MEMBER_VPTR(table, [ROWS + row % 2][0]));
	EXPECT(!MEMBER_VPTR(table[0], [row | 1 << 20].second));
	found = ARRAY_ELEM_PTR(table[0], row % 3, 3);
	EXPECT(found == &table[0][row % 3]);
	EXPECT(!ARRAY_ELEM_PTR(table[0], 3 + row % 5, 3));
	number = ARRAY_ELEM_PTR(numbers, row % 2, 1);
	EXPECT(!number == (row % 2 == 1));
	bpf_for(i, 0, rows) {
		found = MEMBER_VPTR(table, [i][0]);
		if (found)
			WRITE_ONCE(found->first, i);
	}
	EXPECT(READ_ONCE(table[ROWS - 1][0].first) == ROWS - 1);
	memset(&table[0][0], 0xff, sizeof(table[0][0]));
	EXPECT(table[0][0].first == UINT_MAX);
}

static void arithmetic(void)
{
	u64 zero = bpf_get_prandom_u32() & 0, wrapped = zero - 5;

	EXPECT(time_before(wrapped, 3) && time_after(3, wrapped) && time_delta(3, wrapped) == 8);
	EXPECT(time_delta(wrapped, 3) == 0 && time_in_range(0, wrapped, 0));
	EXPECT(time_before_eq(zero, 0) && time_after_eq(zero, 0) &&
	       !time_in_range_open(0, wrapped, 0));
	EXPECT(log2_u32(zero + 1) == 0 && log2_u32(zero + 1000) == 9 &&
	       log2_u32(UINT_MAX - zero) == 31);
	EXPECT(log2_u64(zero + 1) == 1 && log2_u64(zero + (1ULL << 40)) == 41);
	EXPECT(__sqrt_u64(zero) == 0 && __sqrt_u64(zero + 99) == 9 && __sqrt_u64(zero + 100) == 10);
	EXPECT(__sqrt_u64(zero - 1) == UINT_MAX && __sqrt_u64(zero + 3) == 1);
	EXPECT(ctzll(zero + 1) == 0 && ctzll((zero + 3) << 44) == 44);
	EXPECT(__calc_avg(zero + 800, zero + 1600, 2) == 1000 &&
	       __calc_avg(zero + 1, zero, 2) == 0);
	EXPECT(__calc_avg(zero + 2, zero + 10, 3) == 6);
	EXPECT(get_prandom_u64() != get_prandom_u64());
}

static s32 masks(void)
{
	struct bpf_cpumask *mask = bpf_cpumask_create();
	u32 online = 0, possible = 0;
	s32 *cpu;

	if (!mask)
		return -ENOMEM;
	__sink(online);
	__sink(possible);
	for_each_possible_cpu(cpu) possible++;
	for_each_online_cpu(cpu)
	{
		if (*cpu < 0)
			break;
		bpf_cpumask_set_cpu(*cpu, mask);
		online++;
	}
	EXPECT(online >= 1 && online <= possible && possible <= scx_bpf_nr_cpu_ids());
	EXPECT(bpf_cpumask_weight(cast_mask(mask)) == online);
	mask = bpf_kptr_xchg(&everyone, mask);
	if (mask)
		bpf_cpumask_release(mask);
	EXPECT(cpu_llc_id(0) == 0 || cpu_llc_id(0) == -ENOENT);
	EXPECT(this_cpu_llc_id() >= 0 || this_cpu_llc_id() == -ENOENT);
	return 0;
}

void BPF_STRUCT_OPS(macros_enqueue, struct task_struct *p, u64 enq_flags)
{
	struct bpf_cpumask *mask;

	arrays();
	bpf_spin_lock(&lock);
	counted++;
	bpf_spin_unlock(&lock);
	bpf_rcu_read_lock();
	mask = everyone;
	EXPECT(mask && !bpf_cpumask_empty(cast_mask(mask)));
	bpf_rcu_read_unlock();
	scx_bpf_dsq_insert(p, SHARED, SCX_SLICE_DFL, enq_flags);
}

void BPF_STRUCT_OPS(macros_dispatch, s32 cpu, struct task_struct *prev)
{
	loops();
	scx_bpf_dsq_move_to_local(SHARED, 0);
}

s32 BPF_STRUCT_OPS_SLEEPABLE(macros_init)
{
	s32 error = masks();

	arithmetic();
	return error ?: scx_bpf_create_dsq(SHARED, NUMA_NO_NODE);
}

void BPF_STRUCT_OPS(macros_exit, struct scx_exit_info *ei)
{
	UEI_RECORD(uei, ei);
}

SCX_OPS_DEFINE(macros_ops, .enqueue = (void *)macros_enqueue, .dispatch = (void *)macros_dispatch,
	       .init = (void *)macros_init, .exit = (void *)macros_exit, .timeout_ms = 20000,
	       .name = "macros");
