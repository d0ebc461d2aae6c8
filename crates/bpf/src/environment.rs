// SPDX-License-Identifier: GPL-2.0-or-later
//! What an object is linked against.

use std::collections::{BTreeMap, BTreeSet};

use crate::btf::Btf;

/// A kernel, as far as an object can tell.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    /// Its types; its kfuncs as functions, its variables as variables, and of what it can be extended by the types.
    pub btf: Btf,
    /// By the numbers of `enum bpf_func_id`.
    pub helpers: BTreeSet<u32>,
    /// By the numbers of `enum bpf_map_type`.
    pub map_kinds: BTreeSet<u32>,
    /// `CONFIG_NAME`, with its value as `/proc/config.gz` has it: `y`, `250`, `"text"`.
    pub config: BTreeMap<String, String>,
    /// Arguments of callbacks that may be NULL, by the callback (`TYPE.MEMBER`), a bit each.
    pub nullable: BTreeMap<String, u64>,
    /// As `KERNEL_VERSION` makes it of its three numbers.
    pub version: u32,
    /// What `LINUX_HAS_BPF_COOKIE` and `LINUX_HAS_SYSCALL_WRAPPER` say.
    pub has_cookie: bool,
    pub has_syscall_wrapper: bool,
}
