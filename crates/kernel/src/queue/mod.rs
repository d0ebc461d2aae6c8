// SPDX-License-Identifier: GPL-2.0-or-later
//! Queues: shared dispatch queues by their ids, and the lists of the real-time class.

pub mod dsq;
pub mod rt;
pub mod rt_budget;

use std::collections::BTreeMap;
use std::ops::{Index, IndexMut};

use crate::consts::{DSQ_BUILTIN, DSQ_GLOBAL, EEXIST, EINVAL};
use crate::ids::{DsqIndex, Table};
use dsq::Dsq;

/// Ids below this are found without a search.
const SMALL: u64 = 4_096;

/// The shared dispatch queues: one global queue a node, then those that the policy created.
pub struct Dsqs {
    all: Table<DsqIndex, Dsq>,
    nodes: usize,
    by_id: BTreeMap<u64, DsqIndex>,
    by_small_id: Vec<Option<DsqIndex>>,
}

impl Dsqs {
    pub fn new(nodes: usize) -> Self {
        Self {
            all: Table::filled(nodes, || Dsq::new(DSQ_GLOBAL)),
            nodes,
            by_id: BTreeMap::new(),
            by_small_id: Vec::new(),
        }
    }

    #[inline]
    pub fn find(&self, id: u64) -> Option<DsqIndex> {
        if let Some(dsq) = self.by_small_id.get(id as usize) {
            return *dsq;
        }
        self.by_id.get(&id).copied()
    }

    pub fn create(&mut self, id: u64) -> i32 {
        if id & DSQ_BUILTIN != 0 {
            return EINVAL;
        }
        if self.find(id).is_some() {
            return EEXIST;
        }
        let index = self.all.push(Dsq::new(id));
        self.by_id.insert(id, index);
        if id < SMALL {
            let id = id as usize;
            if self.by_small_id.len() <= id {
                self.by_small_id.resize(id + 1, None);
            }
            self.by_small_id[id] = Some(index);
        }
        0
    }

    pub fn destroy(&mut self, id: u64) -> Result<(), String> {
        let Some(index) = self.find(id) else {
            return Err(format!("attempting to destroy non-existent DSQ 0x{id:x}"));
        };
        if !self.all[index].is_empty() {
            return Err(format!("attempting to destroy in-use dsq 0x{id:016x}"));
        }
        self.by_id.remove(&id);
        if let Some(known) = self.by_small_id.get_mut(id as usize) {
            *known = None;
        }
        Ok(())
    }

    /// The policy has gone, and its queues with it.
    pub fn clear(&mut self) {
        self.all.truncate(self.nodes);
        self.by_id.clear();
        self.by_small_id.clear();
    }
}

impl Index<DsqIndex> for Dsqs {
    type Output = Dsq;

    #[inline]
    fn index(&self, index: DsqIndex) -> &Dsq {
        &self.all[index]
    }
}

impl IndexMut<DsqIndex> for Dsqs {
    #[inline]
    fn index_mut(&mut self, index: DsqIndex) -> &mut Dsq {
        &mut self.all[index]
    }
}
