// SPDX-License-Identifier: GPL-2.0-or-later
//! Builds every `schedulers/NAME/scx_NAME.bpf.c` for the kernel and writes the table that embeds the objects.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use policy::{Clang, Source, Target};

fn main() {
    if let Err(error) = embed_schedulers() {
        println!("cargo::error={error:#}");
        std::process::exit(1);
    }
    link_statically();
    git_id();
}

fn embed_schedulers() -> Result<()> {
    let root = Path::new("../..").canonicalize()?;
    let out = PathBuf::from(std::env::var_os("OUT_DIR").context("OUT_DIR: set by cargo")?);
    for watched in ["schedulers", "include"] {
        println!("cargo:rerun-if-changed={}", root.join(watched).display());
    }
    println!("cargo:rerun-if-env-changed=SCHEDLAB_CLANG");
    let clang = Clang::find()?;
    let mut table = String::from("pub static SCHEDULERS: &[Scheduler] = &[\n");
    for source in Source::all(&root.join("schedulers"))? {
        let object = out.join(format!("{}.bpf.o", source.name));
        clang.build(&source, Target::Bpf, &object)?;
        let digest: String =
            source
                .digest()?
                .iter()
                .take(8)
                .fold(String::new(), |mut hex, byte| {
                    let _ = write!(hex, "{byte:02x}");
                    hex
                });
        writeln!(
            table,
            "    Scheduler {{ name: {:?}, about: {:?}, digest: {digest:?}, elf: &Aligned(*include_bytes!({:?})).0 }},",
            source.name,
            about(&source.dir.join("README.md")),
            object.display().to_string(),
        )?;
    }
    table.push_str("];\n");
    std::fs::write(out.join("schedulers.rs"), table)?;
    Ok(())
}

/// The first paragraph below the title of a scheduler's README, in one line.
fn about(readme: &Path) -> String {
    let text = std::fs::read_to_string(readme).unwrap_or_default();
    let lines = text
        .lines()
        .map(str::trim)
        .skip_while(|line| !line.starts_with("# "))
        .skip(1);
    lines
        .skip_while(|line| line.is_empty())
        .take_while(|line| !line.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

/// libelf may have been built with zstd, which a static link has to name.
fn link_statically() {
    println!("cargo:rerun-if-env-changed=CARGO_CFG_TARGET_FEATURE");
    let features = std::env::var("CARGO_CFG_TARGET_FEATURE").unwrap_or_default();
    if !features.split(',').any(|feature| feature == "crt-static") {
        return;
    }
    let libelf = pkg_config::Config::new()
        .statik(true)
        .cargo_metadata(false)
        .probe("libelf");
    if libelf.is_ok_and(|libelf| libelf.libs.iter().any(|lib| lib == "zstd")) {
        println!("cargo:rustc-link-arg-bins=-lzstd");
    }
}

/// `SCHEDLAB_GIT`: the commit, or empty outside a checkout.
fn git_id() {
    let log = Path::new("../../.git/logs/HEAD");
    if log.exists() {
        println!("cargo:rerun-if-changed={}", log.display());
    }
    let output = Command::new("git")
        .args(["rev-parse", "--short=9", "HEAD"])
        .output();
    let id = output
        .ok()
        .filter(|output| output.status.success())
        .map(|output| output.stdout)
        .unwrap_or_default();
    println!(
        "cargo:rustc-env=SCHEDLAB_GIT={}",
        String::from_utf8_lossy(&id).trim()
    );
}
