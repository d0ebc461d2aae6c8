// SPDX-License-Identifier: GPL-2.0-or-later
//! Policies: finding their sources, building them for both worlds, and what they say about themselves.
//!
//! A policy is one C file, `schedulers/NAME/scx_NAME.bpf.c`, with the headers beside it. Built for the kernel it is a
//! BPF object; built natively, from the same lines, a shared object that the simulator loads ([`native`]).
//!
//! `source` finds the files and their digest, `headers` holds those of `include/`, `compile` calls clang. [`manifest`]
//! is what an object says about itself, [`topology`] what a policy is told about the machine, and [`abi`] the structures
//! that a natively built policy and the simulator share.

pub mod abi;
mod compile;
mod headers;
pub mod manifest;
pub mod native;
mod source;
pub mod topology;

pub use compile::{CompileError, Target, build, build_cached};
pub use manifest::{Manifest, Setting, Tunable};
pub use native::Native;
pub use source::Source;
pub use topology::TopologyGlobals;
