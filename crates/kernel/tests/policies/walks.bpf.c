/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Takes the last of a queue by walking it, and says what is wrong itself: order, counts, moves during a walk, and that
 * what comes back during a walk is not part of it.
 */
#include <scx.h>

#define FIRST 1
#define SECOND 0x123456789ULL
#define SLICE (3 * NSEC_PER_MSEC)

static u64 key;

void BPF_STRUCT_OPS(walks_enqueue, struct task_struct *p, u64 enq_flags)
{
	scx_bpf_dsq_insert_vtime(p, FIRST, SLICE, ++key, enq_flags);
}

void BPF_STRUCT_OPS(walks_dispatch, s32 cpu, struct task_struct *prev)
{
	s32 queued = scx_bpf_dsq_nr_queued(FIRST), seen = 0, moved = 0;
	struct task_struct *p, *last = NULL;
	u64 before = 0;

	for_each_queued(it, p, FIRST)
	{
		if (p->scx.dsq_vtime < before)
			scx_bpf_error("walk out of order");
		before = p->scx.dsq_vtime;
		seen++;
		last = p;
		/* To the back of the same queue: the walk must not meet it again. */
		if (seen == 1 && queued > 1) {
			scx_bpf_dsq_move_set_vtime(it, ++key);
			if (!scx_bpf_dsq_move_vtime(it, p, FIRST, 0))
				scx_bpf_error("cannot move back");
		}
	}
	if (seen != queued)
		scx_bpf_error("%d queued and %d seen", queued, seen);
	if (scx_bpf_dsq_nr_queued(FIRST) != queued)
		scx_bpf_error("the count changed");
	if (!last)
		return;
	for_each_queued(again, p, FIRST)
	{
		if (p != last)
			continue;
		scx_bpf_dsq_move_set_slice(again, 2 * NSEC_PER_MSEC);
		if (!scx_bpf_dsq_move(again, p, SECOND, 0))
			scx_bpf_error("cannot move away");
		if (scx_bpf_dsq_move(again, p, SECOND, 0))
			scx_bpf_error("moved twice");
		moved++;
		if (p->scx.slice != 2 * NSEC_PER_MSEC)
			scx_bpf_error("slice not set");
	}
	if (moved != 1 || scx_bpf_dsq_nr_queued(SECOND) < 1)
		scx_bpf_error("%d moved", moved);
	scx_bpf_dsq_move_to_local(SECOND);
}

s32 BPF_STRUCT_OPS_SLEEPABLE(walks_init)
{
	s32 err = scx_bpf_create_dsq(FIRST, -1);

	if (err)
		return err;
	if (scx_bpf_create_dsq(FIRST, -1) != -EEXIST ||
	    scx_bpf_create_dsq(SCX_DSQ_GLOBAL, -1) != -EINVAL)
		scx_bpf_error("created what cannot be");
	return scx_bpf_create_dsq(SECOND, -1);
}

SCX_OPS_DEFINE(walks_ops, .enqueue = (void *)walks_enqueue, .dispatch = (void *)walks_dispatch,
	       .init = (void *)walks_init, .name = "walks");
