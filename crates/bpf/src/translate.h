// SPDX-License-Identifier: GPL-2.0-or-later
// What every translated image begins with. struct host is host.rs's, field by field.
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed char s8;
typedef short s16;
typedef int s32;
typedef long long s64;

// Values in memory, which need not be aligned.
typedef u8 __attribute__((may_alias)) m8;
typedef u16 __attribute__((may_alias, aligned(1))) m16;
typedef u32 __attribute__((may_alias, aligned(1))) m32;
typedef u64 __attribute__((may_alias, aligned(1))) m64;

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "maps and values are little-endian");
_Static_assert(sizeof(void *) == 8, "a register holds an address");

#define unlikely(condition) __builtin_expect(!!(condition), 0)

struct host;
typedef u64 (*call_fn)(struct host *, u64, u64, u64, u64, u64);
typedef u64 (*access_fn)(struct host *, u64 address, u64 bytes, u64 write);
typedef u64 (*invoke_fn)(struct host *, u32 function, const u64 *args);

struct frame {
	const struct frame *outer;
	u64 low, high;
};

struct allowed {
	u64 start, bytes, writable;
};
#define ALLOWED_PLACES 256

struct host {
	u64 executed, limit;
	u32 fault, fault_function, fault_op, fault_bytes;
	u64 fault_address;
	u32 depth;
	const struct frame *frames;
	u8 *data, *maps;
	u64 map_stride;
	u8 *const *variables;
	const call_fn *calls;
	u8 *arena;
	u64 arena_user;
	access_fn access;
	const struct allowed *allowed;
	invoke_fn invoke;
	const void *executor;
	void *owner;
};

enum { FAULT_ACCESS = 1, FAULT_LIMIT, FAULT_MISSING, FAULT_DEPTH, FAULT_OUTSIDE, FAULT_LOCK };
#define NOWHERE 0xffffffffu
#define FRAMES 8
#define NULL_PAGE 4096

static u64 invoke(struct host *h, u32 function, const u64 *args);

__attribute__((cold, noinline)) static u64 fault(struct host *h, u64 executed, u32 kind,
						 u32 function, u32 op, u32 bytes, u64 address)
{
	h->executed = executed;
	h->fault = kind;
	h->fault_function = function;
	h->fault_op = op;
	h->fault_bytes = bytes;
	h->fault_address = address;
	return 0;
}

// After a call that left a fault: where it was, unless somebody deeper has said so.
__attribute__((cold, noinline)) static u64 called(struct host *h, u32 function, u32 op)
{
	if (h->fault_function == NOWHERE) {
		h->fault_function = function;
		h->fault_op = op;
	}
	return 0;
}

__attribute__((noinline)) static u64 refused_anew(struct host *h, u64 address, u64 bytes, u64 write)
{
	for (const struct frame *f = h->frames; f; f = f->outer)
		if (f->low <= address && address <= f->high && bytes <= f->high - address)
			return 0;
	return h->access && !h->access(h, address, bytes, write);
}

static inline u64 refused(struct host *h, u64 address, u64 bytes, u64 write)
{
	const struct allowed *known = h->allowed;

	if (known) {
		known += address / 64 % ALLOWED_PLACES;
		if (address - known->start < known->bytes &&
		    bytes <= known->bytes - (address - known->start) && write <= known->writable)
			return 0;
	}
	return refused_anew(h, address, bytes, write);
}

static inline u64 div64(u64 a, u64 b)
{
	return b ? a / b : 0;
}
static inline u32 div32(u32 a, u32 b)
{
	return b ? a / b : 0;
}
static inline u64 mod64(u64 a, u64 b)
{
	return b ? a % b : a;
}
static inline u32 mod32(u32 a, u32 b)
{
	return b ? a % b : a;
}
static inline u64 sdiv64(u64 a, u64 b)
{
	return b == 0 ? 0 : b == -1ull ? -a : (u64)((s64)a / (s64)b);
}
static inline u32 sdiv32(u32 a, u32 b)
{
	return b == 0 ? 0 : b == -1u ? -a : (u32)((s32)a / (s32)b);
}
static inline u64 smod64(u64 a, u64 b)
{
	return b == 0 ? a : b == -1ull ? 0 : (u64)((s64)a % (s64)b);
}
static inline u32 smod32(u32 a, u32 b)
{
	return b == 0 ? a : b == -1u ? 0 : (u32)((s32)a % (s32)b);
}
