/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls that are answered from memory, compiled into a policy's translation: each does what the function of its name in
 * helpers.rs or kfuncs.rs does. The places of fields (WORLD_*, HANDLE_*, TASK_*) are defined before this text.
 */
#define FIELD(type, base, offset) (*(type *)((unsigned char *)(base) + (offset)))
#define ARGUMENTS struct host *h, u64 r1, u64 r2, u64 r3, u64 r4, u64 r5
#define PAY(price) (FIELD(u64, h, WORLD_outside) += (price))
#define INLINE static inline __attribute__((always_inline)) u64

#define ANSWER(name, field)                          \
	INLINE inline_##name(ARGUMENTS)              \
	{                                            \
		return FIELD(u64, h, WORLD_##field); \
	}

ANSWER(now, now_ns)
ANSWER(ktime, ktime_ns)
ANSWER(this_cpu, cpu)
ANSWER(current, current)
ANSWER(nr_cpu_ids, nr_cpu_ids)
ANSWER(possible, possible)
ANSWER(online, online)
ANSWER(idle, idle)
ANSWER(idle_smt, idle_smt)

INLINE inline_nothing(ARGUMENTS)
{
	return 0;
}

/* The kernel's own variables are those that are told; only the policy's objects may have copies. */
INLINE inline_this_cpu_ptr(ARGUMENTS)
{
	if (FIELD(u64, h, WORLD_has_per_cpu_objects))
		return h->calls[OUTSIDE_this_cpu_ptr](h, r1, r2, r3, r4, r5);
	PAY(PRICE_this_cpu_ptr);
	return r1;
}

INLINE inline_test_cpu(ARGUMENTS)
{
	u32 cpu = r1;

	return cpu < 1024 && (((u64 *)r2)[cpu / 64] >> (cpu % 64) & 1);
}

/* Arrays; other maps are looked into by the model, which has its own price. */
INLINE look_up(struct host *h, u64 outside, u64 price, u64 map, u64 key_at, u64 cpu)
{
	u64 values = FIELD(u64, map, HANDLE_values);
	u32 key;

	if (!values)
		return h->calls[outside](h, map, key_at, cpu, 0, 0);
	PAY(price);
	key = *(u32 *)key_at;
	if (key >= FIELD(u64, map, HANDLE_entries) || cpu >= FIELD(u64, h, WORLD_nr_cpu_ids))
		return 0;
	return values + cpu * FIELD(u64, map, HANDLE_cpu_stride) +
	       key * FIELD(u64, map, HANDLE_stride);
}

INLINE inline_lookup(ARGUMENTS)
{
	return look_up(h, OUTSIDE_lookup, PRICE_lookup, r1, r2, FIELD(u64, h, WORLD_cpu));
}

INLINE inline_lookup_percpu(ARGUMENTS)
{
	return look_up(h, OUTSIDE_lookup_percpu, PRICE_lookup_percpu, r1, r2, (u32)r3);
}

/* The storage of the map that was asked last; anything else is looked for by the model. */
INLINE inline_task_storage(ARGUMENTS)
{
	if (r2 && FIELD(u64, r2, TASK_storage_map) == r1) {
		PAY(PRICE_task_storage_get);
		return FIELD(u64, r2, TASK_storage);
	}
	return h->calls[OUTSIDE_task_storage_get](h, r1, r2, r3, r4, r5);
}

INLINE inline_num_new(ARGUMENTS)
{
	s32 start = r2, end = r3;
	u32 *it = (u32 *)r1;
	u32 many = (s64)end - start > MOST_LOOPS;
	u32 counts = start < end && !many;

	it[0] = counts ? start - 1 : 0;
	it[1] = counts ? end : 0;
	return start > end ? -22 : many ? -7 : 0;
}

INLINE inline_num_next(ARGUMENTS)
{
	s32 *it = (s32 *)r1;

	if ((s32)(it[0] + 1) >= it[1]) {
		it[0] = it[1] = 0;
		return 0;
	}
	it[0]++;
	return r1;
}

INLINE inline_num_destroy(ARGUMENTS)
{
	*(u64 *)r1 = 0;
	return 0;
}
