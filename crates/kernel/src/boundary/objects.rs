// SPDX-License-Identifier: GPL-2.0-or-later
//! Objects that a policy makes for itself (`bpf_obj_new`), each freed with its last reference.

use std::collections::BTreeMap;

use super::area::Area;
use super::maps::value::{Value, area, zeroed};

#[derive(Default)]
pub struct Objects {
    /// By address, which decides nothing but what is found.
    all: BTreeMap<u64, Object>,
    /// What was freed while code is under way that may still have its address.
    freed: Vec<Value>,
}

struct Object {
    value: Value,
    references: u32,
    /// From one CPU's copy to the next; 0 where there is one for all.
    stride: u32,
}

impl Objects {
    pub fn create(&mut self, bytes: u32) -> u64 {
        self.insert(zeroed(bytes as usize), 0)
    }

    /// One with a copy for each CPU.
    pub fn create_copies(&mut self, bytes: u32, cpus: u32) -> u64 {
        let stride = bytes.next_multiple_of(8);
        self.insert(zeroed((stride * cpus) as usize), stride)
    }

    fn insert(&mut self, value: Value, stride: u32) -> u64 {
        let address = value.pointer().cast::<u8>().expose_provenance() as u64;
        let object = Object {
            value,
            references: 1,
            stride,
        };
        self.all.insert(address, object);
        address
    }

    /// Where a CPU's copy is of what the first copy has here; the address itself where it is of no such object.
    pub fn copy_of(&self, address: u64, cpu: u32) -> u64 {
        let around = self.around(address);
        let stride = around.and_then(|start| Some(self.all.get(&start)?.stride));
        address + u64::from(stride.unwrap_or(0) * cpu)
    }

    /// One more reference; false where there is no such object.
    pub fn acquire(&mut self, address: u64) -> bool {
        let object = self.all.get_mut(&address);
        object.map(|object| object.references += 1).is_some()
    }

    /// One reference less; false where there is no such object.
    pub fn release(&mut self, address: u64) -> bool {
        let Some(object) = self.all.get_mut(&address) else {
            return false;
        };
        object.references -= 1;
        if object.references == 0 {
            self.freed
                .extend(self.all.remove(&address).map(|object| object.value));
        }
        true
    }

    /// The object that something lies in.
    pub fn around(&self, address: u64) -> Option<u64> {
        let (start, object) = self.all.range(..=address).next_back()?;
        area(&object.value).holds(address, 1).then_some(*start)
    }

    /// The code that was under way is through; whether anything was freed.
    #[inline]
    pub fn settle(&mut self) -> bool {
        let any = !self.freed.is_empty();
        if any {
            self.freed.clear();
        }
        any
    }

    pub fn areas(&self) -> impl Iterator<Item = Area> + '_ {
        let all = self.all.values().map(|object| &object.value);
        all.chain(&self.freed).map(area)
    }
}
