// SPDX-License-Identifier: GPL-2.0-or-later
//! BPF Type Format: the types of an object, of the kernel, or of whatever takes its place.

mod builder;
mod ext;
mod parse;
mod types;

pub use builder::Builder;
pub use ext::{CoreRelo, Ext, LineInfo};
pub use types::{
    BOOL, Btf, CHAR, Composite, Enumeration, Int, Kind, Linkage, Member, Prototype, SIGNED,
    SectionVariable, Type, TypeId,
};
