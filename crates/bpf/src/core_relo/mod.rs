// SPDX-License-Identifier: GPL-2.0-or-later
//! "Compile once, run everywhere": what an object says about the kernel's types becomes what this kernel has. The
//! rules are those of libbpf's `relo_core.c`.

mod calculate;
mod compatible;
mod matching;
mod name;
mod patch;
mod spec;

pub use calculate::{Relocator, TYPE_ID_LOCAL, Wanted, WantedKind};
pub use compatible::types_are_compatible;
pub use name::essential;
pub use patch::patch;
