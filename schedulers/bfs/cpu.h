/* SPDX-License-Identifier: GPL-2.0-only */
/* What CPUs and queues publish for CPUs that do not hold their lock. */
#pragma once

#include "task.h"

/*
 * What is known of a queue without its lock: no key in it is before `bound`.
 * BFS_EMPTY: there is none. BFS_LOOK: only a look at the queue tells.
 */
#define BFS_EMPTY (~0ULL >> 1)
#define BFS_LOOK (BFS_EMPTY + 1)

struct bfs_hint {
	u64 bound;
	u64 inserts;  /* begun */
	u64 underway; /* of them, those of which it is not known that they are done */
	u64 due_key; /* of the last task there that waits for its first turn (modern); 0: none */
	s32 due_pid; /* that task, as others may have its key */
	u32 handed_over; /* one may wait that was handed over to a CPU of this cache (modern) */
};

/* What a CPU publishes, read by others without a lock (rule 1.1.4). */
struct bfs_cpu {
	u64 key;	 /* of the running task; BFS_EMPTY: idle */
	u64 deadline;
	u64 since_ns;  /* when it was switched in */
	u64 last_tick_ns;
	u64 waiting_key; /* of the task handed to this CPU; BFS_EMPTY: none */
	struct bfs_hint own; /* its own queue: pinned tasks and the sticky one */
	u32 inserting; /* the queue, + 1, of an insertion that this CPU may not have finished; 0: none */
	u32 level; /* BFS_IDLE_CPU: idle */
	u32 sticky; /* pid of the task that sticks to this CPU (rule 1.5.10); 0: none */
	bool crowded; /* a task that stuck here before it is still in the own queue */
	bool offline;
	bool dither;
	bool due; /* its task is in its first turn (modern) */
	bool looking; /* between ticks (modern) */
} __attribute__((aligned(128)));

/* Queue numbers. */
#define BFS_U(group) ((group) * 2)
#define BFS_E(group) ((group) * 2 + 1)
#define BFS_PLAIN(llc) (llc)
#define BFS_OWN(cpu) (0x100000 + (cpu))
#define BFS_ASIDE(group) (0x200000 + (group))

/* The first task of a queue, as far as a pick has to know it. */
struct bfs_head {
	u64 key;
	u64 seq;
	u64 deadline;
	u32 level;
};
