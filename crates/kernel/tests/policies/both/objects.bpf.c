/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Keeps a note of every waiting task in a red-black tree by pid, and of every dispatch in a list, of objects that it
 * makes itself. Says itself when trees, lists or locks do not do what the kernel's do.
 */
#include "graph.h"

#define SHARED 0

void *bpf_obj_new_impl(u64 local_type_id, void *meta) __ksym;
void bpf_obj_drop_impl(void *kptr, void *meta) __ksym;
void *bpf_refcount_acquire_impl(void *kptr, void *meta) __ksym;
int bpf_rbtree_add_impl(struct bpf_rb_root *root, struct bpf_rb_node *node,
			bool(less)(struct bpf_rb_node *a, const struct bpf_rb_node *b), void *meta,
			u64 off) __ksym;
struct bpf_rb_node *bpf_rbtree_first(struct bpf_rb_root *root) __ksym;
struct bpf_rb_node *bpf_rbtree_remove(struct bpf_rb_root *root, struct bpf_rb_node *node) __ksym;
int bpf_list_push_front_impl(struct bpf_list_head *head, struct bpf_list_node *node, void *meta,
			     u64 off) __ksym;
int bpf_list_push_back_impl(struct bpf_list_head *head, struct bpf_list_node *node, void *meta,
			    u64 off) __ksym;
struct bpf_list_node *bpf_list_pop_front(struct bpf_list_head *head) __ksym;
struct bpf_list_node *bpf_list_pop_back(struct bpf_list_head *head) __ksym;

#define bpf_obj_new(type) ((type *)bpf_obj_new_impl(bpf_core_type_id_local(type), NULL))
#define bpf_obj_drop(at) bpf_obj_drop_impl(at, NULL)

struct note {
	struct bpf_rb_node node;
	struct bpf_refcount references;
	u64 key;
};

struct entry {
	struct bpf_list_node node;
	u64 key;
};

private(tree) struct bpf_spin_lock tree_lock;
private(tree) struct bpf_rb_root tree __contains(note, node);
private(list) struct bpf_spin_lock list_lock;
private(list) struct bpf_list_head list __contains(entry, node);

STAT(notes, "notes taken out of the tree");

static bool less(struct bpf_rb_node *a, const struct bpf_rb_node *b)
{
	return container_of(a, struct note, node)->key < container_of(b, struct note, node)->key;
}

static bool note_down(u64 key)
{
	struct note *note = bpf_obj_new(struct note);

	if (!note)
		return false;
	note->key = key;
	bpf_spin_lock(&tree_lock);
	bpf_rbtree_add_impl(&tree, &note->node, less, NULL, 0);
	bpf_spin_unlock(&tree_lock);
	return true;
}

/* The least key, whose note is gone then; 0 where there is none. */
static u64 take_first(void)
{
	struct bpf_rb_node *node;
	struct note *note;
	u64 key;

	bpf_spin_lock(&tree_lock);
	node = bpf_rbtree_first(&tree);
	if (!node) {
		bpf_spin_unlock(&tree_lock);
		return 0;
	}
	node = bpf_rbtree_remove(&tree, node);
	bpf_spin_unlock(&tree_lock);
	if (!node)
		return 0;
	note = container_of(node, struct note, node);
	key = note->key;
	bpf_obj_drop(note);
	return key;
}

static bool enter(u64 key, bool front)
{
	struct entry *entry = bpf_obj_new(struct entry);

	if (!entry)
		return false;
	entry->key = key;
	bpf_spin_lock(&list_lock);
	if (front)
		bpf_list_push_front_impl(&list, &entry->node, NULL, 0);
	else
		bpf_list_push_back_impl(&list, &entry->node, NULL, 0);
	bpf_spin_unlock(&list_lock);
	return true;
}

static u64 take_entry(bool front)
{
	struct bpf_list_node *node;
	struct entry *entry;
	u64 key;

	bpf_spin_lock(&list_lock);
	node = front ? bpf_list_pop_front(&list) : bpf_list_pop_back(&list);
	bpf_spin_unlock(&list_lock);
	if (!node)
		return 0;
	entry = container_of(node, struct entry, node);
	key = entry->key;
	bpf_obj_drop(entry);
	return key;
}

/* A note with two references lives on when one is dropped. */
static void references(void)
{
	struct note *note = bpf_obj_new(struct note), *same;

	if (!note) {
		scx_bpf_error("no object");
		return;
	}
	note->key = 9;
	same = bpf_refcount_acquire_impl(note, NULL);
	bpf_obj_drop(note);
	EXPECT(same->key == 9);
	bpf_obj_drop(same);
}

void BPF_STRUCT_OPS(objects_enqueue, struct task_struct *p, u64 enq_flags)
{
	note_down(p->pid);
	scx_bpf_dsq_insert(p, SHARED, SCX_SLICE_DFL, enq_flags);
}

void BPF_STRUCT_OPS(objects_dispatch, s32 cpu, struct task_struct *prev)
{
	if (take_first())
		STAT_INC(notes);
	scx_bpf_dsq_move_to_local(SHARED);
}

s32 BPF_STRUCT_OPS_SLEEPABLE(objects_init)
{
	EXPECT(note_down(5) && note_down(2) && note_down(8) && note_down(2));
	EXPECT(take_first() == 2);
	EXPECT(take_first() == 2);
	EXPECT(take_first() == 5);
	EXPECT(note_down(1) && take_first() == 1);
	EXPECT(take_first() == 8);
	EXPECT(take_first() == 0);
	EXPECT(enter(2, false) && enter(3, false) && enter(1, true));
	EXPECT(take_entry(true) == 1);
	EXPECT(take_entry(false) == 3);
	EXPECT(take_entry(true) == 2);
	EXPECT(take_entry(true) == 0);
	references();
	return scx_bpf_create_dsq(SHARED, -1);
}

SCX_OPS_DEFINE(objects_ops, .enqueue = (void *)objects_enqueue,
	       .dispatch = (void *)objects_dispatch, .init = (void *)objects_init,
	       .name = "objects");
