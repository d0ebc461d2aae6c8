// SPDX-License-Identifier: GPL-2.0-or-later
//! The project's own C headers travel inside the binaries, so that a policy builds wherever clang is.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

macro_rules! headers {
    ($($name:literal,)*) => {
        &[$(($name, include_str!(concat!("../include/", $name))),)*]
    };
}

/// Path below the include folder, and contents.
pub const HEADERS: &[(&str, &str)] = headers! {
    "bpf_arena_common.bpf.h",
    "integers.h",
    "libc/errno.h",
    "libc/limits.h",
    "libc/string.h",
    "policy.h",
    "scx.h",
    "scx/arithmetic.bpf.h",
    "scx/bpf_arena_common.bpf.h",
    "scx/bpf_arena_common.h",
    "scx/common.bpf.h",
    "scx/compat.bpf.h",
    "scx/enums.bpf.h",
    "scx/kfuncs.bpf.h",
    "scx/libbpf.bpf.h",
    "scx/percpu.bpf.h",
    "scx/say.bpf.h",
    "scx/tasks.bpf.h",
    "scx/user_exit_info.bpf.h",
    "scx/user_exit_info.h",
    "scx/user_exit_info_common.h",
    "scx/verifier.bpf.h",
    "scx_consts.h",
    "scx_ops.h",
    "types.h",
    "uapi_integers.h",
    "vmlinux.h",
    "vmlinux/bpf.h",
    "vmlinux/kernel.h",
    "vmlinux/sched_ext.h",
};

/// Write them below `dir` and return the folders in which they are looked for: ours, and C's for BPF.
pub fn write(dir: &Path) -> Result<[PathBuf; 2]> {
    let include = dir.join("include");
    for (name, text) in HEADERS {
        let file = include.join(name);
        std::fs::create_dir_all(file.parent().unwrap_or(dir))
            .and_then(|()| std::fs::write(&file, text))
            .with_context(|| file.display().to_string())?;
    }
    let libc = include.join("libc");
    Ok([include, libc])
}
