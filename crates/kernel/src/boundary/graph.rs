// SPDX-License-Identifier: GPL-2.0-or-later
//! Red-black trees and lists of objects (`bpf_rbtree_*`, `bpf_list_*`), known by the addresses of roots, heads and nodes.
//!
//! A tree is kept as the sequence of its nodes. A policy that descends from the root finds the middle of the sequence
//! there, and beneath each node the middles of what is left on its two sides: every search comes to the same end as in
//! the kernel's red-black tree, though not in as many steps. What lies in the policy's memory stays as it is: the kernel lets no
//! policy look into it.

use std::cmp::Ordering;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

/// The root of a tree or the head of a list, and a node: by address, which decides nothing but what is found.
pub type Root = u64;
pub type Node = u64;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum End {
    Front,
    Back,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Left,
    Right,
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

    /// The root of a tree.
    pub fn top(&self, root: Root) -> Option<Node> {
        self.middle(root, 0..self.len(root))
    }

    /// The node on this side beneath another of the same tree.
    pub fn beneath(&self, root: Root, node: Node, side: Side) -> Option<Node> {
        let nodes = self.nodes.get(&root)?;
        let place = nodes.iter().position(|other| *other == node)?;
        let mut within = 0..nodes.len();
        loop {
            let middle = usize::midpoint(within.start, within.end);
            match (place.cmp(&middle), side) {
                (Ordering::Less, _) => within.end = middle,
                (Ordering::Greater, _) => within.start = middle + 1,
                (Ordering::Equal, Side::Left) => return self.middle(root, within.start..middle),
                (Ordering::Equal, Side::Right) => return self.middle(root, middle + 1..within.end),
            }
        }
    }

    fn middle(&self, root: Root, within: Range<usize>) -> Option<Node> {
        if within.is_empty() {
            return None;
        }
        self.nth(root, usize::midpoint(within.start, within.end))
    }

    pub fn pop(&mut self, root: Root, end: End) -> Option<Node> {
        let node = self.at(root, end)?;
        self.remove(root, node);
        Some(node)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_descent_from_the_root_meets_every_node_in_order() {
        for count in 0..40 {
            let mut graph = Graph::default();
            for node in 0..count {
                graph.insert(7, node as usize, 100 + node);
            }
            let mut met = Vec::new();
            in_order(&graph, graph.top(7), &mut met);
            assert_eq!(met, (100..100 + count).collect::<Vec<_>>());
        }
    }

    fn in_order(graph: &Graph, node: Option<Node>, met: &mut Vec<Node>) {
        let Some(node) = node else { return };
        in_order(graph, graph.beneath(7, node, Side::Left), met);
        met.push(node);
        in_order(graph, graph.beneath(7, node, Side::Right), met);
    }

    #[test]
    fn nothing_is_beneath_a_node_of_another_tree() {
        let mut graph = Graph::default();
        graph.insert(7, 0, 100);
        graph.insert(7, 1, 101);
        graph.insert(8, 0, 102);
        assert_eq!(graph.top(7), Some(101));
        assert_eq!(graph.beneath(7, 101, Side::Left), Some(100));
        assert_eq!(graph.beneath(8, 101, Side::Left), None);
        assert_eq!(graph.top(9), None);
    }
}
