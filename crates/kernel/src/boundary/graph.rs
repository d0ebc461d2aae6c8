// SPDX-License-Identifier: GPL-2.0-or-later
//! Red-black trees and lists of objects (`bpf_rbtree_*`, `bpf_list_*`), known by the addresses of roots, heads and nodes.
//!
//! A tree is kept as the sequence of its nodes. What lies in the policy's memory stays as it is: the kernel lets no
//! policy look into it.

use std::collections::{BTreeMap, VecDeque};

/// The root of a tree or the head of a list, and a node: by address, which decides nothing but what is found.
pub type Root = u64;
pub type Node = u64;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum End {
    Front,
    Back,
}

#[derive(Default)]
pub struct Graph {
    nodes: BTreeMap<Root, VecDeque<Node>>,
    /// Where a node is.
    owners: BTreeMap<Node, Root>,
}

impl Graph {
    pub fn len(&self, root: Root) -> usize {
        self.nodes.get(&root).map_or(0, VecDeque::len)
    }

    pub fn nth(&self, root: Root, place: usize) -> Option<Node> {
        self.nodes.get(&root)?.get(place).copied()
    }

    pub fn is_somewhere(&self, node: Node) -> bool {
        self.owners.contains_key(&node)
    }

    /// A node that is nowhere yet.
    pub fn insert(&mut self, root: Root, place: usize, node: Node) {
        self.owners.insert(node, root);
        self.nodes.entry(root).or_default().insert(place, node);
    }

    /// Takes a node out of what it is in; false where it is not.
    pub fn remove(&mut self, root: Root, node: Node) -> bool {
        let is_there = self.owners.get(&node) == Some(&root);
        if is_there {
            self.owners.remove(&node);
            if let Some(nodes) = self.nodes.get_mut(&root) {
                nodes.retain(|other| *other != node);
            }
        }
        is_there
    }

    pub fn at(&self, root: Root, end: End) -> Option<Node> {
        let nodes = self.nodes.get(&root)?;
        match end {
            End::Front => nodes.front().copied(),
            End::Back => nodes.back().copied(),
        }
    }

    pub fn pop(&mut self, root: Root, end: End) -> Option<Node> {
        let node = self.at(root, end)?;
        self.remove(root, node);
        Some(node)
    }
}
