/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * BFS, Con Kolivas 2009-2012: one queue, and the task that has waited long
 * enough for its nice level runs next.
 *
 * A task holds a time slice (6 ms) and a deadline. Both are renewed together,
 * and only when the slice is used up: deadline = now + D(nice). D is 41 ms at
 * nice 0, a tenth more for every nice level below and a tenth less above:
 * 6 ms at -20, 250 ms at 19. A CPU that needs a task takes the one whose
 * deadline is earliest. Sleeping changes nothing: a sleeper keeps deadline and
 * slice, and so, when it wakes, is ahead of all tasks that used theirs up since.
 *
 * By hand: one CPU, hogs A and B at nice 0, hog C at nice 5 (D = 66 ms).
 *
 *	t = 0	all three renewed together: A 41, B 41, C 66
 *	0-6	A runs, renewed at 6: A 47.		B 41, C 66
 *	6-12	B runs, renewed at 12: B 53.		A 47, C 66
 *	12-18	A, then 59; B, then 65; A at 24-30, then 71
 *	30-36	B (65) before C (66), then B 77
 *	36-42	C, at last: 36 ms after it asked, then 42 + 66 = 108
 *
 * From then on C gets 6 ms of every 42, A and B the rest in equal parts:
 * nice says how far ahead of a task others may renew, not how much it gets.
 * A sleeper S that last renewed at t = 0 and wakes at 20 has deadline 41: it is
 * ahead of everyone and is switched in at once. It stays ahead until it has
 * used 6 ms; then it waits behind all others once. That one wait is what the
 * 99th percentile of a small sleeper's latency is made of, and what `modern`
 * takes away: there, time asleep counts as time in the queue. S slept 300 ms
 * while it used its 6 ms: it is renewed to now + 41 - 300, what a refill 300 ms
 * ago would have given, and no hog is ahead of that. Had it slept 10 ms, it
 * would get now + 31 and wait behind those hogs that renewed more than 10 ms
 * ago. In general it passes n hogs exactly if it slept longer than their round
 * of n slices: if it used less than its equal share.
 *
 * Good at: latency of tasks that use less than their share, by rules a person
 * can follow; few tasks a CPU; one shared cache. Bad at: many CPUs, since the
 * published versions share one locked queue; caches, which it hardly knows
 * (modern: a queue for each); many small tasks woken at once (modern: first
 * turns); shares by nice, which come out coarse (nice 1 beside nice 0: half).
 *
 * Rule numbers are those of docs/rules/bfs.md.
 */
#pragma once

#include "rules.h" /* versions and their constants */
#include "task.h" /* slice and deadline through a task's life */
#include "iso.h" /* how much ISO tasks took */
#include "cpu.h" /* what CPUs publish */
#include "bandwidth.h" /* how long the tasks of control groups may run */
/*
 * preempt.h (which CPU is kicked) and pick.h (which task is next) ask for queues
 * and CPUs; their first lines say what has to be defined before they are included.
 */
