// SPDX-License-Identifier: GPL-2.0-or-later
//! Policies: finding their sources, building them, and what they say about themselves.
//!
//! A policy is one C file, `schedulers/NAME/scx_NAME.bpf.c`, with the headers beside it. Built, it is a BPF object
//! ([`Object`]), which the kernel loads and the simulator executes; an object that somebody else built does as well.
//!
//! `source` finds the files and their digest, `headers` holds those of `include/`, `compile` calls clang. [`manifest`]
//! is what an object says about itself, `constants` is what may be set of one that says
//! nothing, [`topology`] what a policy is told about the machine. [`mod@globals`] are its constants and variables. [`set_up`] is what an
//! object's own program does to it, [`snapshot`] a file with both; [`values`] are
//! some of that by a user's own word.

mod compile;
mod constants;
pub mod embedded;
pub mod globals;
mod headers;
pub mod manifest;
mod object;
pub mod set_up;
pub mod snapshot;
mod source;
pub mod topology;
mod tunable;
pub mod values;

pub use compile::{CompileError, build, build_cached, build_in, cache_dir};
pub use globals::{Global, globals};
pub use manifest::{Manifest, Setting};
pub use object::Object;
pub use set_up::SetUp;
pub use snapshot::Snapshot;
pub use source::{Source, is_program};
pub use topology::TopologyGlobals;
pub use tunable::Tunable;
