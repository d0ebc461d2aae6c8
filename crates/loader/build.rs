// SPDX-License-Identifier: GPL-2.0-or-later
//! Builds every `schedulers/NAME/scx_NAME.bpf.c` for the kernel and writes the table that embeds the objects.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use policy::Source;

fn main() {
    if let Err(error) = embed_schedulers() {
        println!("cargo::error={error:#}");
        std::process::exit(1);
    }
    link_statically();
}

fn embed_schedulers() -> Result<()> {
    // A published crate is alone: there, what it needs of the checkout is what its links had led to.
    let checkout = Path::new("../..");
    let alone = !checkout.join("schedulers").is_dir();
    let root = if alone { Path::new(".") } else { checkout }.canonicalize()?;
    let out = PathBuf::from(std::env::var_os("OUT_DIR").context("OUT_DIR: set by cargo")?);
    for watched in ["schedulers", "include"] {
        println!("cargo:rerun-if-changed={}", root.join(watched).display());
    }
    println!("cargo:rerun-if-env-changed=SCHEDLAB_CLANG");
    let mut table = String::from("pub static SCHEDULERS: &[Scheduler] = &[\n");
    for source in Source::all(&root.join("schedulers"))? {
        let object = out.join(format!("{}.bpf.o", source.name));
        policy::build_in(&root, &source, &object)?;
        writeln!(
            table,
            "    Scheduler {{ name: {:?}, about: {:?}, digest: {:?}, elf: &Aligned(*include_bytes!({:?})).0, values: None }},",
            source.name,
            source.about(),
            source.id()?,
            object.display().to_string(),
        )?;
    }
    table.push_str("];\n");
    std::fs::write(out.join("schedulers.rs"), table)?;
    Ok(())
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
