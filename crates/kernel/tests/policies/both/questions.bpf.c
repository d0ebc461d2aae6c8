/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Asks what has one answer: who runs, where, when, what memory holds. Says itself when an answer cannot be right. */
#include "expect.h"

#define BPF_MAP_TYPE_RINGBUF 27
#define BPF_MAP_TYPE_USER_RINGBUF 31
#define PAGE_SIZE 4096
#define SHARED 0

struct cgroup *scx_bpf_task_cgroup(struct task_struct *p) __ksym;
struct cgroup *bpf_cgroup_ancestor(struct cgroup *cgrp, int level) __ksym;
void bpf_cgroup_release(struct cgroup *cgrp) __ksym;
struct task_struct *bpf_task_acquire(struct task_struct *p) __ksym;
void bpf_preempt_disable(void) __ksym;
void bpf_preempt_enable(void) __ksym;
void bpf_local_irq_save(unsigned long *flags) __ksym;
void bpf_local_irq_restore(unsigned long *flags) __ksym;
u32 scx_bpf_cpuperf_cap(s32 cpu) __ksym;
u32 scx_bpf_cpuperf_cur(s32 cpu) __ksym;
void scx_bpf_cpuperf_set(s32 cpu, u32 perf) __ksym;

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, PAGE_SIZE);
} events SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_USER_RINGBUF);
	__uint(max_entries, PAGE_SIZE);
} orders SEC(".maps");

static void about_now(void)
{
	u64 now = bpf_ktime_get_ns(), since_boot = bpf_ktime_get_boot_ns();
	u32 draws = 0, i;

	EXPECT(now <= bpf_ktime_get_ns() && since_boot <= bpf_ktime_get_boot_ns());
	EXPECT(bpf_get_numa_node_id() == 0);
	for (i = 0; i < 8; i++)
		draws |= bpf_get_prandom_u32();
	EXPECT(draws != 0);
}

static void about_current(void)
{
	struct task_struct *p = bpf_get_current_task_btf();
	u64 ids = bpf_get_current_pid_tgid();
	char comm[16], few[4];
	int i;

	EXPECT((u32)ids == p->pid && ids >> 32 == p->tgid);
	EXPECT((struct task_struct *)bpf_get_current_task() == p);
	EXPECT(!bpf_get_current_comm(comm, sizeof(comm)));
	for (i = 0; i < sizeof(comm) && comm[i]; i++)
		EXPECT(comm[i] == p->comm[i]);
	EXPECT(bpf_probe_read_kernel_str(few, sizeof(few), "scheduler") == sizeof(few));
	EXPECT(!bpf_strncmp(few, sizeof(few), "sch"));
	EXPECT(bpf_strncmp(few, sizeof(few), "sci") < 0 && !bpf_strncmp(few, 2, "sci"));
}

static void about_memory(void)
{
	u64 there = 5, copied = 0;
	char few[4] = "abc";

	EXPECT(!bpf_probe_read_kernel(&copied, sizeof(copied), &there) && copied == 5);
	EXPECT(bpf_probe_read_kernel(&copied, sizeof(copied), NULL) == -ERANGE && copied == 0);
	copied = 7;
	EXPECT(bpf_probe_read_kernel(&copied, sizeof(copied), NOWHERE) == -ERANGE && copied == 0);
	EXPECT(bpf_probe_read_kernel_str(few, sizeof(few), NOWHERE) == -ERANGE && !few[0]);
}

static long step(u32 index, u64 *sum)
{
	*sum += index;
	return index == 9;
}

static void loops(void)
{
	u64 sum = 0;

	EXPECT(bpf_loop(5, step, &sum, 0) == 5 && sum == 10);
	EXPECT(bpf_loop(100, step, &sum, 0) == 10 && sum == 10 + 45);
	/* The kernel puts the loop in place of the call, and sets the lower half of the result alone. */
	EXPECT(bpf_loop(1 << 24, step, &sum, 0) == (u32)-E2BIG);
}

static void records(void)
{
	u64 *record = bpf_ringbuf_reserve(&events, 8, 0);

	if (record) {
		*record = 1;
		bpf_ringbuf_submit(record, 0);
	}
	EXPECT(record);
}

static long order(struct bpf_dynptr *from, u64 *count)
{
	u64 value, *data;

	if (!bpf_dynptr_read(&value, sizeof(value), from, 0, 0))
		*count += value;
	data = bpf_dynptr_data(from, 0, sizeof(*data));
	if (data)
		*count += *data;
	return 0;
}

/* Nobody sends any in either world. */
static void drain(void)
{
	u64 count = 0;
	long drained = bpf_user_ringbuf_drain(&orders, order, &count, 0);

	/* The kernel lets one CPU at a time. */
	EXPECT((drained == 0 || drained == -EBUSY) && count == 0);
	EXPECT(bpf_user_ringbuf_drain(&orders, order, &count, 1 << 10) == -EINVAL);
}

void BPF_STRUCT_OPS(questions_enqueue, struct task_struct *p, u64 enq_flags)
{
	scx_bpf_dsq_insert(p, SHARED, SCX_SLICE_DFL, enq_flags);
}

void BPF_STRUCT_OPS(questions_dispatch, s32 cpu, struct task_struct *prev)
{
	EXPECT(scx_bpf_cpuperf_cap(cpu) > 0 && scx_bpf_cpuperf_cap(cpu) <= 1024);
	EXPECT(scx_bpf_cpuperf_cur(cpu) > 0);
	scx_bpf_cpuperf_set(cpu, 1024);
	drain();
	scx_bpf_dsq_move_to_local(SHARED);
}

void BPF_STRUCT_OPS(questions_running, struct task_struct *p)
{
	struct cgroup *group = scx_bpf_task_cgroup(p), *root;
	struct task_struct *same;
	unsigned long flags;

	if (group) {
		root = bpf_cgroup_ancestor(group, 0);
		EXPECT(root && root->level == 0);
		if (root)
			bpf_cgroup_release(root);
		root = bpf_cgroup_ancestor(group, group->level + 1);
		EXPECT(!root);
		if (root)
			bpf_cgroup_release(root);
		bpf_cgroup_release(group);
	}
	EXPECT(group);
	same = bpf_task_from_pid(p->pid);
	if (same) {
		EXPECT(same->pid == p->pid);
		bpf_task_release(same);
	}
	same = bpf_task_acquire(p);
	EXPECT(same);
	if (same)
		bpf_task_release(same);
	bpf_local_irq_save(&flags);
	bpf_local_irq_restore(&flags);
	bpf_preempt_disable();
	bpf_preempt_enable();
}

s32 BPF_STRUCT_OPS_SLEEPABLE(questions_init)
{
	about_now();
	about_current();
	about_memory();
	loops();
	records();
	bpf_printk("%d", 1);
	bpf_printk("%d %d %d %d", 1, 2, 3, 4);
	return scx_bpf_create_dsq(SHARED, -1);
}

SCX_OPS_DEFINE(questions_ops, .enqueue = (void *)questions_enqueue,
	       .dispatch = (void *)questions_dispatch, .running = (void *)questions_running,
	       .init = (void *)questions_init, .name = "questions");
