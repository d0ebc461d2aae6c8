// SPDX-License-Identifier: GPL-2.0-or-later
//! Kinds of maps that the model has, of `enum bpf_map_type`.

pub const HASH: u32 = 1;
pub const ARRAY: u32 = 2;
/// Without events: nobody opens a counter.
pub const PERF_EVENT_ARRAY: u32 = 4;
pub const PERCPU_HASH: u32 = 5;
pub const PERCPU_ARRAY: u32 = 6;
pub const LRU_HASH: u32 = 9;
pub const ARRAY_OF_MAPS: u32 = 12;
pub const HASH_OF_MAPS: u32 = 13;
pub const QUEUE: u32 = 22;
pub const STACK: u32 = 23;
pub const RINGBUF: u32 = 27;
pub const TASK_STORAGE: u32 = 29;
/// Always empty: there is no user half that writes into it.
pub const USER_RINGBUF: u32 = 31;
pub const CGRP_STORAGE: u32 = 32;
pub const ARENA: u32 = 33;

/// Maps that a user half fills.
pub const WITH_ELEMENTS: &[u32] = &[HASH, ARRAY, PERCPU_HASH, PERCPU_ARRAY, LRU_HASH];

pub const KNOWN: &[u32] = &[
    HASH,
    ARRAY,
    PERF_EVENT_ARRAY,
    PERCPU_HASH,
    PERCPU_ARRAY,
    LRU_HASH,
    ARRAY_OF_MAPS,
    HASH_OF_MAPS,
    QUEUE,
    STACK,
    RINGBUF,
    TASK_STORAGE,
    USER_RINGBUF,
    CGRP_STORAGE,
    ARENA,
];
