/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Kfuncs that have one name and one form in every kernel that has them. Those
 * that came after 6.12, or that a kernel may be built without, are weak.
 * compat.bpf.h has the others.
 */
#pragma once

#include "vmlinux.h"
#include "libbpf.bpf.h"

/* queues */
s32 scx_bpf_create_dsq(u64 dsq_id, s32 node) __ksym;
void scx_bpf_destroy_dsq(u64 dsq_id) __ksym;
s32 scx_bpf_dsq_nr_queued(u64 dsq_id) __ksym;
struct task_struct *scx_bpf_dsq_peek(u64 dsq_id) __ksym __weak;
u32 scx_bpf_dispatch_nr_slots(void) __ksym;
void scx_bpf_dispatch_cancel(void) __ksym;
int bpf_iter_scx_dsq_new(struct bpf_iter_scx_dsq *it, u64 dsq_id, u64 flags) __ksym __weak;
struct task_struct *bpf_iter_scx_dsq_next(struct bpf_iter_scx_dsq *it) __ksym __weak;
void bpf_iter_scx_dsq_destroy(struct bpf_iter_scx_dsq *it) __ksym __weak;

/* CPUs */
s32 scx_bpf_select_cpu_dfl(struct task_struct *p, s32 prev_cpu, u64 wake_flags,
			   bool *is_idle) __ksym;
s32 __scx_bpf_select_cpu_and(struct task_struct *p, const struct cpumask *cpus_allowed,
			     struct scx_bpf_select_cpu_and_args *args) __ksym __weak;
void scx_bpf_kick_cpu(s32 cpu, u64 flags) __ksym;
bool scx_bpf_test_and_clear_cpu_idle(s32 cpu) __ksym;
s32 scx_bpf_pick_idle_cpu(const cpumask_t *cpus_allowed, u64 flags) __ksym;
s32 scx_bpf_pick_idle_cpu_node(const cpumask_t *cpus_allowed, int node, u64 flags) __ksym __weak;
s32 scx_bpf_pick_any_cpu(const cpumask_t *cpus_allowed, u64 flags) __ksym;
s32 scx_bpf_pick_any_cpu_node(const cpumask_t *cpus_allowed, int node, u64 flags) __ksym __weak;
u32 scx_bpf_nr_cpu_ids(void) __ksym __weak;
u32 scx_bpf_nr_node_ids(void) __ksym __weak;
int scx_bpf_cpu_node(s32 cpu) __ksym __weak;
const struct cpumask *scx_bpf_get_possible_cpumask(void) __ksym __weak;
const struct cpumask *scx_bpf_get_online_cpumask(void) __ksym __weak;
void scx_bpf_put_cpumask(const struct cpumask *cpumask) __ksym __weak;
const struct cpumask *scx_bpf_get_idle_cpumask(void) __ksym;
const struct cpumask *scx_bpf_get_idle_cpumask_node(int node) __ksym __weak;
const struct cpumask *scx_bpf_get_idle_smtmask(void) __ksym;
const struct cpumask *scx_bpf_get_idle_smtmask_node(int node) __ksym __weak;
void scx_bpf_put_idle_cpumask(const struct cpumask *cpumask) __ksym;
u32 scx_bpf_cpuperf_cap(s32 cpu) __ksym __weak;
u32 scx_bpf_cpuperf_cur(s32 cpu) __ksym __weak;
void scx_bpf_cpuperf_set(s32 cpu, u32 perf) __ksym __weak;
struct rq *scx_bpf_cpu_rq(s32 cpu) __ksym __weak;
struct rq *scx_bpf_locked_rq(void) __ksym __weak;
struct task_struct *scx_bpf_cpu_curr(s32 cpu) __ksym __weak;

/* tasks */
bool scx_bpf_task_running(const struct task_struct *p) __ksym;
s32 scx_bpf_task_cpu(const struct task_struct *p) __ksym;
struct task_struct *bpf_task_from_pid(s32 pid) __ksym;
struct task_struct *bpf_task_from_vpid(s32 vpid) __ksym __weak;
struct task_struct *bpf_task_acquire(struct task_struct *p) __ksym;
void bpf_task_release(struct task_struct *p) __ksym;
int bpf_iter_task_new(struct bpf_iter_task *it, struct task_struct *task__nullable,
		      unsigned int flags) __ksym __weak;
struct task_struct *bpf_iter_task_next(struct bpf_iter_task *it) __ksym __weak;
void bpf_iter_task_destroy(struct bpf_iter_task *it) __ksym __weak;

/* cgroups */
struct cgroup *bpf_cgroup_acquire(struct cgroup *cgrp) __ksym;
struct cgroup *bpf_cgroup_ancestor(struct cgroup *cgrp, int level) __ksym;
struct cgroup *bpf_cgroup_from_id(u64 cgid) __ksym;
void bpf_cgroup_release(struct cgroup *cgrp) __ksym;
int bpf_iter_css_new(struct bpf_iter_css *it, struct cgroup_subsys_state *start,
		     unsigned int flags) __ksym __weak;
struct cgroup_subsys_state *bpf_iter_css_next(struct bpf_iter_css *it) __ksym __weak;
void bpf_iter_css_destroy(struct bpf_iter_css *it) __ksym __weak;

/* masks */
struct bpf_cpumask *bpf_cpumask_create(void) __ksym;
struct bpf_cpumask *bpf_cpumask_acquire(struct bpf_cpumask *cpumask) __ksym;
void bpf_cpumask_release(struct bpf_cpumask *cpumask) __ksym;
u32 bpf_cpumask_first(const struct cpumask *cpumask) __ksym;
u32 bpf_cpumask_first_zero(const struct cpumask *cpumask) __ksym;
u32 bpf_cpumask_first_and(const struct cpumask *a, const struct cpumask *b) __ksym __weak;
void bpf_cpumask_set_cpu(u32 cpu, struct bpf_cpumask *cpumask) __ksym;
void bpf_cpumask_clear_cpu(u32 cpu, struct bpf_cpumask *cpumask) __ksym;
bool bpf_cpumask_test_cpu(u32 cpu, const struct cpumask *cpumask) __ksym;
bool bpf_cpumask_test_and_set_cpu(u32 cpu, struct bpf_cpumask *cpumask) __ksym;
bool bpf_cpumask_test_and_clear_cpu(u32 cpu, struct bpf_cpumask *cpumask) __ksym;
void bpf_cpumask_setall(struct bpf_cpumask *cpumask) __ksym;
void bpf_cpumask_clear(struct bpf_cpumask *cpumask) __ksym;
bool bpf_cpumask_and(struct bpf_cpumask *to, const struct cpumask *a,
		     const struct cpumask *b) __ksym;
void bpf_cpumask_or(struct bpf_cpumask *to, const struct cpumask *a,
		    const struct cpumask *b) __ksym;
void bpf_cpumask_xor(struct bpf_cpumask *to, const struct cpumask *a,
		     const struct cpumask *b) __ksym;
bool bpf_cpumask_equal(const struct cpumask *a, const struct cpumask *b) __ksym;
bool bpf_cpumask_intersects(const struct cpumask *a, const struct cpumask *b) __ksym;
bool bpf_cpumask_subset(const struct cpumask *part, const struct cpumask *whole) __ksym;
bool bpf_cpumask_empty(const struct cpumask *cpumask) __ksym;
bool bpf_cpumask_full(const struct cpumask *cpumask) __ksym;
void bpf_cpumask_copy(struct bpf_cpumask *to, const struct cpumask *from) __ksym;
u32 bpf_cpumask_any_distribute(const struct cpumask *cpumask) __ksym;
u32 bpf_cpumask_any_and_distribute(const struct cpumask *a, const struct cpumask *b) __ksym;
u32 bpf_cpumask_weight(const struct cpumask *cpumask) __ksym;
int bpf_cpumask_populate(struct cpumask *to, void *from, size_t from__sz) __ksym __weak;

/* objects, lists, trees */
void *bpf_obj_new_impl(__u64 local_type_id, void *meta) __ksym;
void bpf_obj_drop_impl(void *object, void *meta) __ksym;
void *bpf_percpu_obj_new_impl(__u64 local_type_id, void *meta) __ksym;
void bpf_percpu_obj_drop_impl(void *object, void *meta) __ksym;
void *bpf_refcount_acquire_impl(void *object, void *meta) __ksym;
int bpf_list_push_front_impl(struct bpf_list_head *head, struct bpf_list_node *node, void *meta,
			     __u64 off) __ksym;
int bpf_list_push_back_impl(struct bpf_list_head *head, struct bpf_list_node *node, void *meta,
			    __u64 off) __ksym;
struct bpf_list_node *bpf_list_pop_front(struct bpf_list_head *head) __ksym;
struct bpf_list_node *bpf_list_pop_back(struct bpf_list_head *head) __ksym;
struct bpf_list_node *bpf_list_front(struct bpf_list_head *head) __ksym __weak;
struct bpf_list_node *bpf_list_back(struct bpf_list_head *head) __ksym __weak;
int bpf_rbtree_add_impl(struct bpf_rb_root *root, struct bpf_rb_node *node,
			bool(less)(struct bpf_rb_node *a, const struct bpf_rb_node *b), void *meta,
			__u64 off) __ksym;
struct bpf_rb_node *bpf_rbtree_remove(struct bpf_rb_root *root, struct bpf_rb_node *node) __ksym;
struct bpf_rb_node *bpf_rbtree_first(struct bpf_rb_root *root) __ksym;
struct bpf_rb_node *bpf_rbtree_root(struct bpf_rb_root *root) __ksym __weak;
struct bpf_rb_node *bpf_rbtree_left(struct bpf_rb_root *root,
				    struct bpf_rb_node *node) __ksym __weak;
struct bpf_rb_node *bpf_rbtree_right(struct bpf_rb_root *root,
				     struct bpf_rb_node *node) __ksym __weak;

#define bpf_obj_new(type) ((type *)bpf_obj_new_impl(bpf_core_type_id_local(type), NULL))
#define bpf_percpu_obj_new(type) \
	((type __percpu_kptr *)bpf_percpu_obj_new_impl(bpf_core_type_id_local(type), NULL))
#define bpf_percpu_obj_drop(object) bpf_percpu_obj_drop_impl(object, NULL)
#define bpf_obj_drop(object) bpf_obj_drop_impl(object, NULL)
#define bpf_refcount_acquire(object) bpf_refcount_acquire_impl(object, NULL)
#define bpf_list_push_front(head, node) bpf_list_push_front_impl(head, node, NULL, 0)
#define bpf_list_push_back(head, node) bpf_list_push_back_impl(head, node, NULL, 0)
#define bpf_rbtree_add(root, node, less) bpf_rbtree_add_impl(root, node, less, NULL, 0)

/* sections and locks */
void bpf_rcu_read_lock(void) __ksym;
void bpf_rcu_read_unlock(void) __ksym;
void bpf_preempt_disable(void) __ksym __weak;
void bpf_preempt_enable(void) __ksym __weak;
void bpf_local_irq_save(unsigned long *flags) __ksym __weak;
void bpf_local_irq_restore(unsigned long *flags) __ksym __weak;
int bpf_res_spin_lock(struct bpf_res_spin_lock *lock) __ksym __weak;
void bpf_res_spin_unlock(struct bpf_res_spin_lock *lock) __ksym __weak;
int bpf_res_spin_lock_irqsave(struct bpf_res_spin_lock *lock, unsigned long *flags) __ksym __weak;
void bpf_res_spin_unlock_irqrestore(struct bpf_res_spin_lock *lock,
				    unsigned long *flags) __ksym __weak;

/* iterators */
int bpf_iter_num_new(struct bpf_iter_num *it, int start, int end) __ksym __weak;
int *bpf_iter_num_next(struct bpf_iter_num *it) __ksym __weak;
void bpf_iter_num_destroy(struct bpf_iter_num *it) __ksym __weak;
int bpf_iter_bits_new(struct bpf_iter_bits *it, const u64 *unsafe_ptr__ign,
		      u32 nr_words) __ksym __weak;
int *bpf_iter_bits_next(struct bpf_iter_bits *it) __ksym __weak;
void bpf_iter_bits_destroy(struct bpf_iter_bits *it) __ksym __weak;

/* what is said, and what was counted */
void scx_bpf_exit_bstr(s64 exit_code, char *fmt, unsigned long long *data, u32 data__sz) __ksym;
void scx_bpf_error_bstr(char *fmt, unsigned long long *data, u32 data_len) __ksym;
void scx_bpf_dump_bstr(char *fmt, unsigned long long *data, u32 data_len) __ksym __weak;
void scx_bpf_events(struct scx_event_stats *events, size_t events__sz) __ksym __weak;

#define scx_read_event(e, name) (bpf_core_field_exists((e)->name) ? (e)->name : 0)
