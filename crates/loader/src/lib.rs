// SPDX-License-Identifier: GPL-2.0-or-later
//! Puts a policy into the running kernel, and runs cells on it.
//!
//! Every folder of `schedulers/` is built into this crate as a BPF object ([`schedulers`]); what a policy says about
//! itself decides its options. No line here knows a policy by name.

pub mod cells;
pub mod cli;
pub mod elf;
pub mod error;
pub mod exit;
pub mod kernel;
pub mod log;
pub mod monitor;
pub mod running;
pub mod schedulers;
pub mod stats;
pub mod sysfs;
pub mod topology;
