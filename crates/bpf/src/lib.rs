// SPDX-License-Identifier: GPL-2.0-or-later
//! BPF objects outside of a kernel: from an ELF file to code that runs in this process.
//!
//! An object is read and linked against an environment, which is the BTF of a kernel and what else it offers; the
//! result is an [`image::Image`], in which every reference is resolved. An image is executed by its translation to
//! native code or by the interpreter, which is the reference for it. Both see the world through a [`host::Host`].
//!
//! Nothing here knows what sched_ext or a simulated machine is.

pub mod btf;
pub mod host;
pub mod image;
pub mod op;

mod acts;
mod blocks;
mod bytes;
mod clang;
mod core_relo;
mod coverage;
mod data;
mod decode;
mod elf;
mod environment;
mod error;
mod executor;
mod externs;
mod fault;
mod functions;
mod interpret;
mod kconfig;
mod kept;
mod link;
mod maps;
mod names;
mod native;
mod pointers;
mod preset;
mod reach;
mod resolve;
mod special;
mod struct_ops;
mod translate;

pub use acts::acts;
pub use clang::Clang;
pub use coverage::{Coverage, File as FileCoverage};
pub use environment::Environment;
pub use error::{LinkError, Missing, MissingKind, Source};
pub use executor::Executor;
pub use interpret::Interpreter;
pub use kept::keep;
pub use link::{link, link_preset, types};
pub use names::{helper, helper_number, map_kind};
pub use native::Native;
pub use preset::Preset;
pub use struct_ops::is_optional;
pub use translate::{Inline, Options, translate};
