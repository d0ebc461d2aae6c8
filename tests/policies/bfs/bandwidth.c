/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Accounts of control groups against what a period-by-period bookkeeping says. */
#include "model.h"

/* Each period by itself: what is left, no more than a burst of it, and the quota. */
struct book {
	s64 left, quota, burst;
	u64 period, next;
};

static void turn_pages(struct book *book, u64 now)
{
	for (; book->next <= now; book->next += book->period) {
		s64 kept = book->left < book->burst ? book->left : book->burst;

		book->left = kept + book->quota;
	}
}

static void random_case(void)
{
	struct bfs_group g = {};
	u64 now = below(1000) * NSEC_PER_SEC, period = NSEC_PER_MSEC * between(1, 1000);
	u64 quota = 1000 * between(1, 2 * period / 1000), burst = coin(2) ? between(0, quota) : 0;
	struct book book = { .left = quota, .quota = quota, .burst = burst, .period = period };

	book.next = now + period;
	bfs_set_limit(&g, quota, period, burst, now);
	for (u32 step = 0; step < 200; step++) {
		u64 ran = between(0, quota / 4);

		now += between(0, coin(4) ? 20 * period : period / 4);
		turn_pages(&book, now);
		book.left -= ran;
		CHECK(bfs_use(&g, ran, now) == (book.left <= 0));
		CHECK(g.left_ns == book.left);
		CHECK(now + bfs_until_next(&g, now) == book.next);
	}
}

static void changes(void)
{
	struct bfs_group g = {};

	bfs_set_limit(&g, 20, 100, 0, 1000);
	CHECK(!bfs_use(&g, 19, 1050) && bfs_use(&g, 6, 1060) && g.left_ns == -5);
	/* A change begins a period; what was run ahead stays so. */
	bfs_set_limit(&g, 10, 50, 5, 1070);
	CHECK(g.left_ns == 5 && bfs_until_next(&g, 1075) == 45 && bfs_until_next(&g, 1300) == 1);
	/* Nothing is kept but a burst, which may be less than before. */
	bfs_set_limit(&g, 10, 50, 5, 1080);
	CHECK(g.left_ns == 15);
	bfs_set_limit(&g, 10, 50, 0, 1090);
	CHECK(g.left_ns == 10);
	g.left_ns = 17;
	CHECK(!bfs_use(&g, 0, 1140) && g.left_ns == 10);
	/* For ever. */
	CHECK(!bfs_use(&g, 0, 1ULL << 62) && g.left_ns == 10);
	/* Without a limit nothing comes in. */
	g.quota_ns = 0;
	CHECK(!bfs_use(&g, 4, 1ULL << 63) && g.left_ns == 6);
}

static void limits(void)
{
	CHECK(is_limit(99, 50, 2) && !is_limit(100, 50, 2));
	CHECK(!is_limit(~0ULL, 1000000, 1024) && is_limit(1, 1, 2));
}

int main(void)
{
	limits();
	changes();
	for (unsigned long number = 0; number < 20000; number++) {
		start_case(number);
		random_case();
	}
	return 0;
}
