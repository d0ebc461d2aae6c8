// SPDX-License-Identifier: GPL-2.0-or-later
//! Building a policy with clang: one BPF object, which the kernel loads and the simulator executes.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use bpf::Clang;
use sha2::{Digest, Sha256};

use crate::{Source, headers};

/// A policy that does not compile: the first complaint in one line, and all that the compiler said.
#[derive(Debug)]
pub struct CompileError {
    complaint: String,
    pub said: String,
}

impl std::fmt::Display for CompileError {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str(&self.complaint)
    }
}

impl std::error::Error for CompileError {}

/// Build `source` into `out`; what is built already is copied. An error is the compiler's first complaint, in one line.
/// Headers are looked for in `include`, then beside the source, then among those of this project.
pub fn build(source: &Source, include: &[PathBuf], out: &Path) -> Result<()> {
    build_with(&[], source, include, out)
}

/// An object that names its sources as seen from `root`, so that it is the same in every checkout.
pub fn build_in(root: &Path, source: &Source, out: &Path) -> Result<()> {
    let named = format!("-ffile-prefix-map={}/=", root.display());
    build_with(&["-fdebug-compilation-dir=.", &named], source, &[], out)
}

fn build_with(options: &[&str], source: &Source, include: &[PathBuf], out: &Path) -> Result<()> {
    if let Some(object) = source.object()? {
        return std::fs::write(out, object).with_context(|| out.display().to_string());
    }
    let scratch = tempfile::tempdir()?;
    let own = headers::write(scratch.path())?;
    let clang = Clang::find()?;
    let mut command = clang.command();
    command.args([
        "-g",
        "-O2",
        "-Wall",
        "-Werror=implicit-function-declaration",
        // Callbacks that a source names in struct sched_ext_ops without a cast; kernels build theirs so too.
        "-Wno-incompatible-function-pointer-types",
        "-target",
        "bpf",
        "-mcpu=v3",
        "-D__TARGET_ARCH_x86",
        "-c",
    ]);
    // Headers of this program are named as in the source tree, not by where they were written to.
    command.arg(format!("-ffile-prefix-map={}/=", scratch.path().display()));
    command.args(options);
    for folder in include.iter().chain([&source.dir]).chain(&own) {
        command.arg("-I").arg(folder);
    }
    let output = command
        .arg(&source.file)
        .arg("-o")
        .arg(out)
        .output()
        .with_context(|| clang.program().to_owned())?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let complaint = complaint(source, &said);
    Err(CompileError { complaint, said }.into())
}

/// The object, from the cache if these very sources and headers were built by this clang before.
pub fn build_cached(source: &Source) -> Result<PathBuf> {
    if source.is_object() {
        return Ok(source.file.clone());
    }
    let mut hash = Sha256::new();
    hash.update(Clang::find()?.version());
    hash.update(source.digest()?);
    hash.update(source.file.as_os_str().as_encoded_bytes());
    for (name, text) in headers::HEADERS {
        hash.update(name);
        hash.update(text);
    }
    let cache = cache_dir("policies")?;
    let key = u64::from_be_bytes(hash.finalize()[..8].try_into()?);
    let file = cache.join(format!("{}-{key:016x}.bpf.o", source.name));
    bpf::keep(&file, |fresh| build(source, &[], fresh))?;
    Ok(file)
}

/// A folder of the user's cache, made if it is not there.
pub fn cache_dir(folder: &str) -> Result<PathBuf> {
    let from = |name: &str| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    let cache = from("SCHEDLAB_CACHE")
        .or_else(|| from("XDG_CACHE_HOME").map(|dir| dir.join("schedlab")))
        .or_else(|| from("HOME").map(|dir| dir.join(".cache/schedlab")))
        .context("no cache folder: set SCHEDLAB_CACHE or HOME")?
        .join(folder);
    std::fs::create_dir_all(&cache).with_context(|| cache.display().to_string())?;
    Ok(cache)
}

/// What a complaint ends with that is about a name which nothing declares, in a source that was not written for us.
const WRITTEN_FOR_SCX: &str = "what include/scx and include/vmlinux.h leave out: docs/policies.md, \"Written against scx's headers\"";

/// The first error of a compiler's output. A kfunc outside the subset is refused by its name.
fn complaint(source: &Source, stderr: &str) -> String {
    let file = source.file.display();
    let error = stderr.lines().find(|line| line.contains("error:"));
    let Some(error) = error.or_else(|| stderr.lines().next()) else {
        return format!("{file}: clang failed and said nothing");
    };
    let of_another = is_written_for_scx(source);
    if of_another && UNKNOWN.iter().any(|kind| error.contains(kind)) {
        return format!("{error}; {WRITTEN_FOR_SCX}");
    }
    match error.split_once("call to undeclared function '") {
        Some((_, rest)) if !of_another => {
            let name = rest.split('\'').next().unwrap_or(rest);
            format!("{file}: {name} is not in the frozen sched_ext subset (include/scx.h)")
        }
        _ => error.to_owned(),
    }
}

/// How clang speaks of a name that nothing declares.
const UNKNOWN: &[&str] = &[
    "undeclared",
    "no member named",
    "unknown type name",
    "incomplete type",
    "incomplete definition",
    "file not found",
];

/// Whether a policy includes what scx's headers are called, itself or by its own.
fn is_written_for_scx(source: &Source) -> bool {
    let files = source.files().unwrap_or_default();
    files.iter().any(|(_, path)| {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        text.lines().any(|line| {
            line.trim_start().starts_with('#')
                && (line.contains("scx/common.bpf.h") || line.contains("vmlinux.h"))
        })
    })
}
