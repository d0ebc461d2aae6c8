// SPDX-License-Identifier: GPL-2.0-or-later
//! A linked object: code, global data and maps, with every reference resolved and nothing left of ELF.

use std::collections::BTreeMap;

use crate::op::Op;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Image {
    /// Programs and subprograms. A subprogram is here once, however many call it.
    pub functions: Vec<Function>,
    /// Entry points that a program's loader would run or attach, except the members of [`Image::struct_ops`]. Those
    /// whose section begins with `?` are left out, as loaders do.
    pub programs: Vec<Program>,
    pub struct_ops: Vec<StructOps>,
    pub maps: Vec<Map>,
    /// Global data, in the order of their places in one block.
    pub data: Vec<Data>,
    /// Size of the block of all global data.
    pub data_bytes: u32,
    pub globals: Vec<Global>,
    /// Sizes of the object's own types by their ids, of those whose ids the code passes on.
    pub type_bytes: BTreeMap<u32, u32>,
    /// Helpers and kfuncs that the code calls.
    pub outside: Vec<Outside>,
    /// Names of the kernel's variables that the code refers to.
    pub variables: Vec<String>,
    /// Names of source files, as the object gives them.
    pub files: Vec<String>,
    pub license: String,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Function {
    pub name: String,
    pub ops: Vec<Op>,
    /// Source lines, by rising first operation; empty where the object has none.
    pub lines: Vec<Line>,
}

/// From this operation on, up to the next entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    pub op: u32,
    /// Index into [`Image::files`].
    pub file: u32,
    pub line: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    pub name: String,
    /// The ELF section, such as `syscall` or `tp_btf/sched_switch`.
    pub section: String,
    pub function: u32,
}

/// A variable in a section `.struct_ops` or `.struct_ops.link`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StructOps {
    pub variable: String,
    /// The name of its type, without a flavour (`___suffix`).
    pub kind: String,
    /// Members that the environment's type has too, in the order of the object.
    pub members: Vec<Member>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    pub name: String,
    pub value: MemberValue,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemberValue {
    /// A callback.
    Function { function: u32, sleepable: bool },
    /// A null pointer to a function.
    None,
    /// Anything else, as bytes.
    Bytes(Vec<u8>),
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Map {
    pub name: String,
    /// `BPF_MAP_TYPE_*`.
    pub kind: u32,
    pub key_bytes: u32,
    pub value_bytes: u32,
    pub max_entries: u32,
    pub flags: u32,
    pub extra: u64,
    /// What lies in a value and is the kernel's: timers, locks, kptrs, …
    pub special: Vec<Special>,
    /// The shape of the maps in a map of maps.
    pub inner: Option<Box<Map>>,
    /// The maps that a map of maps starts with, by index of the image's.
    pub values: Vec<Option<u32>>,
}

/// A field of a map's value that has a meaning for the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Special {
    pub offset: u32,
    pub bytes: u32,
    /// The type's name, such as `bpf_timer`, or `kptr:NAME` for a pointer with a tag `kptr` to a struct NAME.
    pub kind: String,
}

/// A section of global data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Data {
    /// `.rodata`, `.data`, `.bss`, with what follows (`.data.shared`); `.kconfig` for the kernel's settings.
    pub name: String,
    /// Place in the block; a multiple of [`DATA_ALIGN`].
    pub offset: u32,
    /// As the object has it; longer than what is stored for `.bss`.
    pub bytes: Vec<u8>,
    pub read_only: bool,
    /// Global data that lies in an arena (`.addr_space.1`), and so not in the block; then `offset` is the place there.
    pub arena: bool,
}

pub const DATA_ALIGN: u32 = 64;

/// A global variable or constant, or a setting of the kernel that the object asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Global {
    pub name: String,
    /// Index into [`Image::data`].
    pub data: u32,
    /// Place within that section.
    pub offset: u32,
    pub bytes: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Outside {
    /// By the number of `enum bpf_func_id`.
    Helper(u32),
    /// By the kernel's name, without a flavour.
    Kfunc(String),
}
