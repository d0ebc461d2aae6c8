// SPDX-License-Identifier: GPL-2.0-or-later
//! Ring buffers. There is no user half that reads them: records are counted and gone as soon as all before them are
//! complete, as with a reader that keeps up.

use std::collections::VecDeque;

use super::value::{Value, zeroed};

/// `BPF_RINGBUF_HDR_SZ`: what stands before each record.
const HEAD_BYTES: u64 = 8;

pub struct Ring {
    bytes: u64,
    /// Records that are not gone yet, the first of them reserved.
    records: VecDeque<Record>,
    /// All bytes ever taken, and given back.
    taken: u64,
    given_back: u64,
    /// Of records that were submitted.
    submitted: u64,
}

struct Record {
    /// Null for one that is complete.
    value: Option<Value>,
    bytes: u64,
}

impl Ring {
    pub fn new(bytes: u32) -> Self {
        Self {
            bytes: bytes.into(),
            records: VecDeque::new(),
            taken: 0,
            given_back: 0,
            submitted: 0,
        }
    }

    fn room(size: u64) -> u64 {
        (size + HEAD_BYTES).next_multiple_of(8)
    }

    /// Room for a record of so many bytes; null where there is none.
    pub fn reserve(&mut self, size: u64) -> *mut u8 {
        let bytes = Self::room(size);
        if bytes > self.bytes - (self.taken - self.given_back) {
            return std::ptr::null_mut();
        }
        let value = zeroed(size as usize);
        let at = value.pointer().cast();
        self.taken += bytes;
        self.records.push_back(Record {
            value: Some(value),
            bytes,
        });
        at
    }

    /// A record is complete; its memory, or `None` where this is no record that is reserved.
    pub fn complete(&mut self, record: *const u8, submitted: bool) -> Option<Value> {
        let is_it = |known: &Record| {
            (known.value.as_ref()).is_some_and(|value| std::ptr::eq(value.pointer().cast(), record))
        };
        let found = self.records.iter().position(is_it)?;
        let value = self.records[found].value.take();
        self.submitted += u64::from(submitted);
        while self
            .records
            .front()
            .is_some_and(|first| first.value.is_none())
        {
            let first = self.records.pop_front().expect("there is a first");
            self.given_back += first.bytes;
        }
        value
    }

    /// As `bpf_ringbuf_query` has it.
    pub fn query(&self, what: u64) -> u64 {
        match what {
            0 => self.taken - self.given_back,
            1 => self.bytes,
            2 => self.given_back,
            3 => self.taken,
            _ => 0,
        }
    }

    /// Records that nobody read.
    pub fn submitted(&self) -> u64 {
        self.submitted
    }

    pub fn reserved(&self) -> impl Iterator<Item = &Value> {
        self.records
            .iter()
            .filter_map(|record| record.value.as_ref())
    }
}
