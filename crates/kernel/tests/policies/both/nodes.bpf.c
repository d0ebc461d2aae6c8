/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Looks for idle CPUs node by node, and uses kfuncs that older kernels have not. Says itself what they do wrong. */
#include <scx.h>

#define SHARED 0
#define SCX_PICK_IDLE_IN_NODE 2
#define SCX_OPS_BUILTIN_IDLE_PER_NODE (1 << 6)

s32 scx_bpf_cpu_node(s32 cpu) __ksym;
u32 scx_bpf_nr_node_ids(void) __ksym;
s32 scx_bpf_pick_idle_cpu_node(const cpumask_t *cpus_allowed, s32 node, u64 flags) __ksym;
s32 scx_bpf_pick_any_cpu_node(const cpumask_t *cpus_allowed, s32 node, u64 flags) __ksym;
const struct cpumask *scx_bpf_get_idle_cpumask_node(s32 node) __ksym;
const struct cpumask *scx_bpf_get_idle_smtmask_node(s32 node) __ksym;
bool scx_bpf_dsq_insert___v2___compat(struct task_struct *p, u64 dsq_id, u64 slice,
				      u64 enq_flags) __ksym;
bool scx_bpf_dsq_move_to_local___v2___compat(u64 dsq_id, u64 enq_flags) __ksym;
struct task_struct *scx_bpf_dsq_peek(u64 dsq_id) __ksym;
struct task_struct *bpf_task_from_vpid(s32 vpid) __ksym;

STAT(near, "wake-ups placed on an idle CPU of the node");
STAT(peeks, "tasks seen at the head of the queue");

/* Every idle CPU of a node is one of its CPUs. */
static void look_at(s32 node)
{
	const struct cpumask *idle = scx_bpf_get_idle_cpumask_node(node);
	const struct cpumask *cores = scx_bpf_get_idle_smtmask_node(node);
	s32 cpu;

	for_range(cpu, 0, nr_cpus)
	{
		if ((bpf_cpumask_test_cpu(cpu, idle) || bpf_cpumask_test_cpu(cpu, cores)) &&
		    scx_bpf_cpu_node(cpu) != node)
			scx_bpf_error("CPU %llu is not of node %llu", cpu, node);
	}
	scx_bpf_put_idle_cpumask(cores);
	scx_bpf_put_idle_cpumask(idle);
}

s32 BPF_STRUCT_OPS(nodes_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	s32 node = scx_bpf_cpu_node(prev_cpu);
	s32 cpu;

	if (node < 0 || node >= scx_bpf_nr_node_ids()) {
		scx_bpf_error("CPU %llu is of node %llu", prev_cpu, node);
		return prev_cpu;
	}
	look_at(node);
	cpu = scx_bpf_pick_idle_cpu_node(p->cpus_ptr, node, SCX_PICK_IDLE_IN_NODE);
	if (cpu >= 0) {
		if (scx_bpf_cpu_node(cpu) != node)
			scx_bpf_error("CPU %llu was picked in node %llu", cpu, node);
		STAT_INC(near);
		return cpu;
	}
	cpu = scx_bpf_pick_idle_cpu_node(p->cpus_ptr, node, 0);
	if (cpu < 0)
		cpu = scx_bpf_pick_any_cpu_node(p->cpus_ptr, node, 0);
	return cpu < 0 ? prev_cpu : cpu;
}

/* A task with one CPU has only that, on whatever node one looks first, and none where one looks on other nodes alone. */
static void look_for_the_only_cpu(struct task_struct *p)
{
	s32 only = bpf_cpumask_first(p->cpus_ptr), node, cpu;

	for_range(node, 0, scx_bpf_nr_node_ids())
	{
		cpu = scx_bpf_pick_any_cpu_node(p->cpus_ptr, node, 0);
		if (cpu != only)
			scx_bpf_error("CPU %llu was picked, not %llu", cpu, only);
		cpu = scx_bpf_pick_any_cpu_node(p->cpus_ptr, node, SCX_PICK_IDLE_IN_NODE);
		if (cpu != (scx_bpf_cpu_node(only) == node ? only : -EBUSY))
			scx_bpf_error("CPU %llu was picked on node %llu", cpu, node);
	}
}

void BPF_STRUCT_OPS(nodes_enqueue, struct task_struct *p, u64 enq_flags)
{
	if (p->nr_cpus_allowed == 1)
		look_for_the_only_cpu(p);
	if (!scx_bpf_dsq_insert___v2___compat(p, SHARED, SCX_SLICE_DFL, enq_flags))
		scx_bpf_error("not inserted");
}

void BPF_STRUCT_OPS(nodes_dispatch, s32 cpu, struct task_struct *prev)
{
	struct task_struct *first = scx_bpf_dsq_peek(SHARED);

	if (first) {
		STAT_INC(peeks);
		if (first->pid <= 0)
			scx_bpf_error("the idle task waits");
	}
	scx_bpf_dsq_move_to_local___v2___compat(SHARED, 0);
}

s32 BPF_STRUCT_OPS_SLEEPABLE(nodes_init)
{
	struct task_struct *init = bpf_task_from_vpid(1 << 30);

	if (init) {
		bpf_task_release(init);
		scx_bpf_error("there is no such PID");
	}
	return scx_bpf_create_dsq(SHARED, -1);
}

SCX_OPS_DEFINE(nodes_ops, .select_cpu = (void *)nodes_select_cpu, .enqueue = (void *)nodes_enqueue,
	       .dispatch = (void *)nodes_dispatch, .init = (void *)nodes_init,
	       .flags = SCX_OPS_BUILTIN_IDLE_PER_NODE, .name = "nodes");
