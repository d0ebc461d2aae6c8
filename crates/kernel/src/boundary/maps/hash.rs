// SPDX-License-Identifier: GPL-2.0-or-later
//! Values by keys of any bytes.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::c_void;

use super::value::{Value, zeroed};
use crate::consts::{E2BIG, EEXIST, ENOENT};

/// Flags of an update.
pub const NO_EXIST: u64 = 1;
pub const EXIST: u64 = 2;

/// Keys in the order of their bytes, so that a walk is the same everywhere.
pub struct Hash {
    values: BTreeMap<Vec<u8>, Entry>,
    most: usize,
    /// Where it is full, the value that was longest not looked at makes room.
    least_recent_goes: bool,
    /// From one CPU's copy of a value to the next, in words; 0 where all have the same.
    cpu_words: usize,
    bytes: usize,
    uses: Cell<u64>,
}

struct Entry {
    value: Value,
    used: Cell<u64>,
}

impl Hash {
    /// Of at most so many values, which have so many bytes and, where `copies` is above 1, a copy for each CPU.
    pub fn new(most: usize, value_bytes: usize, copies: usize, least_recent_goes: bool) -> Self {
        let stride = value_bytes.next_multiple_of(8);
        Self {
            values: BTreeMap::new(),
            most,
            least_recent_goes,
            cpu_words: if copies > 1 { stride / 8 } else { 0 },
            bytes: stride * copies,
            uses: Cell::new(0),
        }
    }

    pub fn keys(&self) -> impl Iterator<Item = &[u8]> {
        self.values.keys().map(Vec::as_slice)
    }

    pub fn values(&self) -> impl Iterator<Item = &Value> {
        self.values.values().map(|entry| &entry.value)
    }

    fn next_use(&self) -> u64 {
        self.uses.set(self.uses.get() + 1);
        self.uses.get()
    }

    /// Where a CPU's value of a key lies; null for none.
    pub fn found(&self, key: &[u8], cpu: usize) -> *mut c_void {
        match self.values.get(key) {
            None => std::ptr::null_mut(),
            Some(entry) => {
                entry.used.set(self.next_use());
                let words = cpu * self.cpu_words;
                debug_assert!(words < entry.value.len().max(1));
                // SAFETY: within the value, which has a copy for every CPU where it has more than one.
                unsafe { entry.value.pointer().cast::<u64>().add(words) }.cast()
            }
        }
    }

    /// The place of a key's value, made if it has to be, and what had to go for it.
    pub fn made(
        &mut self,
        key: &[u8],
        flags: u64,
        cpu: usize,
    ) -> Result<(*mut c_void, Option<Value>), i32> {
        let known = self.found(key, cpu);
        match (known.is_null(), flags) {
            (false, NO_EXIST) => return Err(EEXIST),
            (true, EXIST) => return Err(ENOENT),
            (false, _) => return Ok((known, None)),
            (true, _) => {}
        }
        let mut evicted = None;
        if self.values.len() >= self.most {
            if !self.least_recent_goes {
                return Err(E2BIG);
            }
            let oldest = self.values.iter().min_by_key(|(_, entry)| entry.used.get());
            let oldest = oldest.map(|(key, _)| key.clone());
            evicted = oldest.and_then(|key| self.removed(&key));
        }
        let used = Cell::new(self.next_use());
        let value = zeroed(self.bytes);
        self.values.insert(key.to_vec(), Entry { value, used });
        Ok((self.found(key, cpu), evicted))
    }

    pub fn removed(&mut self, key: &[u8]) -> Option<Value> {
        self.values.remove(key).map(|entry| entry.value)
    }
}
