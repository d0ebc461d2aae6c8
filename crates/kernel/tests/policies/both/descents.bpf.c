/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Searches a red-black tree from its root, looks at the ends of a list, and counts in an object of which every CPU has
 * a copy. Says itself when it finds what it should not. Kfuncs have the names of 7.1, and the older ones beside them.
 */
#include "graph.h"

#define SHARED 0

#define __percpu_kptr __attribute__((btf_type_tag("percpu_kptr")))

struct bpf_res_spin_lock {
	u32 val;
};

void *bpf_obj_new(u64 local_type_id) __ksym;
void bpf_obj_drop(void *kptr) __ksym;
void *bpf_refcount_acquire(void *kptr) __ksym;
void *bpf_percpu_obj_new(u64 local_type_id) __ksym;
void bpf_percpu_obj_drop(void *kptr) __ksym;
void *bpf_percpu_obj_new_impl(u64 local_type_id, void *meta) __ksym;
void bpf_percpu_obj_drop_impl(void *kptr, void *meta) __ksym;
int bpf_rbtree_add(struct bpf_rb_root *root, struct bpf_rb_node *node,
		   bool(less)(struct bpf_rb_node *a, const struct bpf_rb_node *b)) __ksym;
struct bpf_rb_node *bpf_rbtree_root(struct bpf_rb_root *root) __ksym;
struct bpf_rb_node *bpf_rbtree_left(struct bpf_rb_root *root, struct bpf_rb_node *node) __ksym;
struct bpf_rb_node *bpf_rbtree_right(struct bpf_rb_root *root, struct bpf_rb_node *node) __ksym;
int bpf_list_push_front(struct bpf_list_head *head, struct bpf_list_node *node) __ksym;
int bpf_list_push_back(struct bpf_list_head *head, struct bpf_list_node *node) __ksym;
struct bpf_list_node *bpf_list_front(struct bpf_list_head *head) __ksym;
struct bpf_list_node *bpf_list_back(struct bpf_list_head *head) __ksym;
int bpf_res_spin_lock(struct bpf_res_spin_lock *lock) __ksym;
void bpf_res_spin_unlock(struct bpf_res_spin_lock *lock) __ksym;
int bpf_res_spin_lock_irqsave(struct bpf_res_spin_lock *lock, unsigned long *flags) __ksym;
void bpf_res_spin_unlock_irqrestore(struct bpf_res_spin_lock *lock, unsigned long *flags) __ksym;

#define new(type) ((type *)bpf_obj_new(bpf_core_type_id_local(type)))
#define new_copies(type) ((type *)bpf_percpu_obj_new(bpf_core_type_id_local(type)))

struct note {
	struct bpf_rb_node node;
	struct bpf_refcount references;
	u64 key;
};

struct entry {
	struct bpf_list_node node;
	u64 key;
};

struct counter {
	u64 count;
};

struct kept {
	struct counter __percpu_kptr *counter;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct kept);
} kept SEC(".maps");

private(tree) struct bpf_spin_lock tree_lock;
private(tree) struct bpf_rb_root tree __contains(note, node);
private(list) struct bpf_spin_lock list_lock;
private(list) struct bpf_list_head list __contains(entry, node);
private(plain) struct bpf_res_spin_lock plain;

static u64 counted[MAX_CPUS];

static bool less(struct bpf_rb_node *a, const struct bpf_rb_node *b)
{
	return container_of(a, struct note, node)->key < container_of(b, struct note, node)->key;
}

static bool note_down(u64 key)
{
	struct note *note = new (struct note);

	if (!note)
		return false;
	note->key = key;
	bpf_spin_lock(&tree_lock);
	bpf_rbtree_add(&tree, &note->node, less);
	bpf_spin_unlock(&tree_lock);
	return true;
}

static bool is_noted(u64 key)
{
	struct bpf_rb_node *node;
	bool found = false;
	int i;

	bpf_spin_lock(&tree_lock);
	node = bpf_rbtree_root(&tree);
	for (i = 0; i < 8 && node; i++) {
		struct note *note = container_of(node, struct note, node);

		if (note->key == key) {
			found = true;
			break;
		}
		node = key < note->key ? bpf_rbtree_left(&tree, node)
				       : bpf_rbtree_right(&tree, node);
	}
	bpf_spin_unlock(&tree_lock);
	return found;
}

static void searches(void)
{
	int i;

	EXPECT(!is_noted(3));
	for_range(i, 0, 7) EXPECT(note_down(2 * ((u64)i * 5 % 7)));
	for_range(i, 0, 7)
	{
		EXPECT(is_noted(2 * (u64)i));
		EXPECT(!is_noted(2 * (u64)i + 1));
	}
}

static bool enter(u64 key, bool front)
{
	struct entry *entry = new (struct entry);

	if (!entry)
		return false;
	entry->key = key;
	bpf_spin_lock(&list_lock);
	if (front)
		bpf_list_push_front(&list, &entry->node);
	else
		bpf_list_push_back(&list, &entry->node);
	bpf_spin_unlock(&list_lock);
	return true;
}

static u64 key_at(bool front)
{
	struct bpf_list_node *node;
	u64 key = 0;

	bpf_spin_lock(&list_lock);
	node = front ? bpf_list_front(&list) : bpf_list_back(&list);
	if (node)
		key = container_of(node, struct entry, node)->key;
	bpf_spin_unlock(&list_lock);
	return key;
}

static void ends(void)
{
	EXPECT(key_at(true) == 0);
	EXPECT(enter(2, false) && enter(3, false) && enter(1, true));
	EXPECT(key_at(true) == 1 && key_at(false) == 3);
}

/* A note with two references lives on when one is dropped. */
static void references(void)
{
	struct note *note = new (struct note), *same;

	if (!note) {
		scx_bpf_error("no object");
		return;
	}
	note->key = 9;
	same = bpf_refcount_acquire(note);
	bpf_obj_drop(note);
	EXPECT(same->key == 9);
	bpf_obj_drop(same);
}

static void copies(void)
{
	struct counter __percpu_kptr *counter = new_copies(struct counter), *before;
	struct counter __percpu_kptr *older =
		bpf_percpu_obj_new_impl(bpf_core_type_id_local(struct counter), NULL);
	u32 key = 0;
	struct kept *place = bpf_map_lookup_elem(&kept, &key);

	EXPECT(counter && older);
	if (older)
		bpf_percpu_obj_drop_impl(older, NULL);
	if (!counter)
		return;
	if (!place) {
		bpf_percpu_obj_drop(counter);
		return;
	}
	before = bpf_kptr_xchg(&place->counter, counter);
	EXPECT(!before);
	if (before)
		bpf_percpu_obj_drop(before);
}

static void locks(void)
{
	unsigned long flags;

	if (bpf_res_spin_lock(&plain)) {
		scx_bpf_error("a lock that nobody holds");
		return;
	}
	bpf_res_spin_unlock(&plain);
	if (bpf_res_spin_lock_irqsave(&plain, &flags)) {
		scx_bpf_error("a lock that was given back");
		return;
	}
	bpf_res_spin_unlock_irqrestore(&plain, &flags);
}

void BPF_STRUCT_OPS(descents_enqueue, struct task_struct *p, u64 enq_flags)
{
	u32 key = 0, cpu = cpu_index(bpf_get_smp_processor_id());
	struct kept *place = bpf_map_lookup_elem(&kept, &key);
	struct counter *counter = place ? place->counter : NULL, *mine, *same;

	EXPECT(counter);
	if (counter) {
		mine = bpf_this_cpu_ptr(counter);
		EXPECT(mine->count == counted[cpu]);
		mine->count++;
		counted[cpu]++;
		same = bpf_per_cpu_ptr(counter, cpu);
		EXPECT(same && same->count == counted[cpu]);
		EXPECT(!bpf_per_cpu_ptr(counter, 1 << 20));
	}
	scx_bpf_dsq_insert(p, SHARED, SCX_SLICE_DFL, enq_flags);
}

void BPF_STRUCT_OPS(descents_dispatch, s32 cpu, struct task_struct *prev)
{
	locks();
	EXPECT(is_noted(6) && !is_noted(7));
	scx_bpf_dsq_move_to_local(SHARED);
}

s32 BPF_STRUCT_OPS_SLEEPABLE(descents_init)
{
	searches();
	ends();
	references();
	copies();
	return scx_bpf_create_dsq(SHARED, -1);
}

SCX_OPS_DEFINE(descents_ops, .enqueue = (void *)descents_enqueue,
	       .dispatch = (void *)descents_dispatch, .init = (void *)descents_init,
	       .name = "descents");
