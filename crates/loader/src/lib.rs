// SPDX-License-Identifier: GPL-2.0-or-later
//! Puts a policy into the running kernel, and runs cells on it.
//!
//! Every folder of `schedulers/` is built into this crate as a BPF object ([`schedulers`]); what a policy says about
//! itself decides its options. No line here knows a policy by name.
//!
//! [`running`] is a scheduler in the kernel, from opening its object to detaching it; [`constants`] are those of the
//! kernel that it is told, [`exit`] says why it ended, and [`log`] what libbpf and the verifier said. [`program`] is a
//! scheduler that another program loads; [`kernel_log`] and [`told`] say why that one ended. [`snapshot`] keeps what such
//! a program sets up: [`bpf_calls`] shows when, [`held_maps`] and [`kernel_ops`] what. [`sysfs`], [`topology`] and
//! [`kernel`] read what the system tells about itself; [`elf`] and [`stats`] read a policy's counters, which [`stats_server`]
//! tells and [`monitor`] asks for in the words of [`scx_stats`].
//! [`environment`] tells what the machine is like. [`cells`] runs a shard's cells, for another machine under a [`lock`]
//! as long as its [`input`] lasts, and [`cli`] has the command lines.

pub mod bpf_calls;
pub mod cells;
pub mod cli;
pub mod constants;
pub mod elf;
pub mod environment;
pub mod error;
pub mod exit;
pub mod held_maps;
pub mod input;
pub mod kernel;
pub mod kernel_log;
pub mod kernel_ops;
pub mod lock;
pub mod log;
pub mod monitor;
pub mod program;
pub mod running;
pub mod schedulers;
pub mod scx_stats;
pub mod snapshot;
pub mod stats;
pub mod stats_server;
pub mod sysfs;
pub mod told;
pub mod topology;
