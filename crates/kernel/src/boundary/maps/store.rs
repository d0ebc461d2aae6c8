// SPDX-License-Identifier: GPL-2.0-or-later
//! What a map holds, by its kind.

use std::collections::BTreeMap;
use std::ffi::c_void;

use bpf::image;

use super::Handle;
use super::hash::Hash;
use super::kind;
use super::queue::{End, Queue};
use super::ring::Ring;
use super::value::{Value, area, zeroed};
use crate::boundary::area::Area;
use crate::ids::{Id, TaskId};

pub enum Store {
    /// Elements, of all CPUs one after the other where each has its own.
    Array(Value),
    TaskStorage(Vec<Option<Value>>),
    /// By the groups' places.
    CgroupStorage(Vec<Option<Value>>),
    Hash(Hash),
    Queue(Queue),
    Ring(Ring),
    /// Maps by their keys, as indices.
    Maps(BTreeMap<Vec<u8>, usize>),
    Empty,
}

pub struct Map {
    pub name: String,
    pub key_bytes: usize,
    pub value_bytes: usize,
    pub store: Store,
}

impl Map {
    pub fn new(shape: &image::Map, cpus: usize) -> (Self, Handle) {
        let (value_bytes, most) = (shape.value_bytes as usize, shape.max_entries as usize);
        let stride = value_bytes.next_multiple_of(8);
        let mut handle = Handle {
            values: std::ptr::null_mut(),
            entries: 0,
            stride: stride as u64,
            cpu_stride: 0,
        };
        let mut array = |copies: usize| {
            let bytes = stride * most;
            let values = zeroed(bytes * copies);
            handle.values = values.pointer().cast();
            handle.entries = u64::from(shape.max_entries);
            handle.cpu_stride = if copies > 1 { bytes as u64 } else { 0 };
            Store::Array(values)
        };
        let store = match shape.kind {
            kind::ARRAY => array(1),
            kind::PERCPU_ARRAY => array(cpus),
            kind::HASH => Store::Hash(Hash::new(most, value_bytes, 1, false)),
            kind::LRU_HASH => Store::Hash(Hash::new(most, value_bytes, 1, true)),
            kind::PERCPU_HASH => Store::Hash(Hash::new(most, value_bytes, cpus, false)),
            kind::TASK_STORAGE => Store::TaskStorage(Vec::new()),
            kind::CGRP_STORAGE => Store::CgroupStorage(Vec::new()),
            kind::QUEUE => Store::Queue(Queue::new(most, End::Front)),
            kind::STACK => Store::Queue(Queue::new(most, End::Back)),
            kind::RINGBUF => Store::Ring(Ring::new(shape.max_entries)),
            kind::ARRAY_OF_MAPS | kind::HASH_OF_MAPS => Store::Maps(within(shape)),
            _ => Store::Empty,
        };
        let made = Self {
            name: shape.name.clone(),
            key_bytes: shape.key_bytes as usize,
            value_bytes,
            store,
        };
        (made, handle)
    }

    /// # Safety
    /// The key is readable for as many bytes as the map's keys have.
    pub unsafe fn found(&self, key: *const u8, cpu: usize) -> *mut c_void {
        let Store::Hash(hash) = &self.store else {
            return std::ptr::null_mut();
        };
        // SAFETY: the caller's promise.
        hash.found(
            unsafe { std::slice::from_raw_parts(key, self.key_bytes) },
            cpu,
        )
    }

    pub fn areas(&self) -> impl Iterator<Item = Area> + '_ {
        let (one, storage, hash, ring) = match &self.store {
            Store::Array(value) => (Some(value), [].as_slice(), None, None),
            Store::CgroupStorage(values) | Store::TaskStorage(values) => {
                (None, values.as_slice(), None, None)
            }
            Store::Hash(hash) => (None, [].as_slice(), Some(hash), None),
            Store::Ring(ring) => (None, [].as_slice(), None, Some(ring)),
            Store::Queue(_) | Store::Maps(_) | Store::Empty => (None, [].as_slice(), None, None),
        };
        let values = one.into_iter().chain(storage.iter().flatten());
        let values = values.chain(hash.into_iter().flat_map(Hash::values));
        values
            .chain(ring.into_iter().flat_map(Ring::reserved))
            .map(area)
    }

    /// What a task's storage was.
    pub fn forget(&mut self, task: TaskId) -> Option<Value> {
        match &mut self.store {
            Store::TaskStorage(values) => values.get_mut(task.index())?.take(),
            _ => None,
        }
    }
}

/// The maps that a loader puts into a map of maps: by their places in its definition.
fn within(shape: &image::Map) -> BTreeMap<Vec<u8>, usize> {
    let values = shape.values.iter().enumerate();
    let key = |place: usize| {
        let mut key = vec![0; shape.key_bytes as usize];
        for (to, from) in key.iter_mut().zip(place.to_le_bytes()) {
            *to = from;
        }
        key
    };
    values
        .filter_map(|(place, map)| Some((key(place), (*map)? as usize)))
        .collect()
}
