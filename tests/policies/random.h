/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Random draws and checks: a failure prints the line that repeats it and ends the test. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "types.h"

static u64 seed = 1, round_nr, random_state;
static const char *program;

/* splitmix64: every round has its own stream. */
static inline u64 draw(void)
{
	u64 z = random_state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

/* A number from lo to hi, both included. */
static inline u64 between(u64 lo, u64 hi)
{
	return lo + draw() % (hi - lo + 1);
}

static inline u32 below(u32 n)
{
	return draw() % n;
}

static inline bool coin(u32 one_in)
{
	return draw() % one_in == 0;
}

#define check(condition, format, ...)                                                             \
	do {                                                                                      \
		if (!(condition)) {                                                               \
			fprintf(stderr, "%s:%d: %s: " format "; again: %s %llu %llu\n", __FILE__, \
				__LINE__, #condition, ##__VA_ARGS__, program, seed, round_nr);    \
			exit(1);                                                                  \
		}                                                                                 \
	} while (0)

/* Run rounds 0..count of a test, or the one named on the command line: PROGRAM [SEED [ROUND]]. */
static inline int rounds(int argc, char **argv, u64 count, void (*test)(void))
{
	u64 first = argc > 2 ? strtoull(argv[2], NULL, 0) : 0;
	u64 end = argc > 2 ? first + 1 : count;

	program = argv[0];
	if (argc > 1)
		seed = strtoull(argv[1], NULL, 0);
	for (round_nr = first; round_nr < end; round_nr++) {
		random_state = seed * 0x2545f4914f6cdd1dULL + round_nr * 0xd1342543de82ef95ULL;
		test();
	}
	printf("%llu rounds\n", end - first);
	return 0;
}
