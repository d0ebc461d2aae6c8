// SPDX-License-Identifier: GPL-2.0-or-later
//! Building a policy with clang, for the kernel and for the simulator.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};

use crate::{Source, headers};

/// Below 17, clang's BPF back end miscompiles or rejects what sched_ext programs use.
const OLDEST: u32 = 17;
const NEWEST: u32 = 30;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// A BPF object for the kernel.
    Bpf,
    /// A shared object for the simulator.
    Native,
    /// The same, which stops at an index outside its array.
    Checked,
}

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

/// A clang that is new enough.
#[derive(Clone, Debug)]
pub struct Clang {
    program: String,
    version: String,
}

impl Clang {
    /// `$SCHEDLAB_CLANG`, else the newest `clang-N`, else `clang`; looked for once.
    pub fn find() -> Result<Self> {
        static FOUND: OnceLock<Clang> = OnceLock::new();
        if let Some(found) = FOUND.get() {
            return Ok(found.clone());
        }
        let found = Self::look()?;
        Ok(FOUND.get_or_init(|| found).clone())
    }

    fn look() -> Result<Self> {
        if let Ok(program) = std::env::var("SCHEDLAB_CLANG") {
            return Self::probe(&program).with_context(|| {
                format!("SCHEDLAB_CLANG={program}: not a clang {OLDEST} or newer")
            });
        }
        (OLDEST..=NEWEST)
            .rev()
            .map(|version| format!("clang-{version}"))
            .chain(["clang".to_owned()])
            .filter(|program| is_in_path(program))
            .find_map(|program| Self::probe(&program))
            .with_context(|| {
                format!("no clang {OLDEST} or newer found; `schedlab doctor` names the package")
            })
    }

    fn probe(program: &str) -> Option<Self> {
        let output = Command::new(program).arg("--version").output().ok()?;
        let version = String::from_utf8_lossy(&output.stdout)
            .lines()
            .next()?
            .to_owned();
        let number = version
            .split("version ")
            .nth(1)?
            .split('.')
            .next()?
            .parse::<u32>()
            .ok()?;
        (number >= OLDEST).then(|| Self {
            program: program.to_owned(),
            version,
        })
    }

    /// The compiler, without arguments.
    pub fn command(&self) -> Command {
        Command::new(&self.program)
    }

    /// Build `source` into `out`. An error is the compiler's or linker's first complaint, in one line.
    pub fn build(&self, source: &Source, target: Target, out: &Path) -> Result<()> {
        let scratch = tempfile::tempdir()?;
        let include = headers::write(scratch.path())?;
        let mut command = self.command();
        // Debug information names the file as the user does, wherever it was built.
        command.args([
            "-g",
            "-O2",
            "-Wall",
            "-Werror=implicit-function-declaration",
        ]);
        match target {
            Target::Bpf => command
                .args(["-target", "bpf", "-mcpu=v3", "-D__TARGET_ARCH_x86"])
                .args(["-c", "-I"])
                .arg(include.join("bpf")),
            Target::Native | Target::Checked => command
                .args(["-fPIC", "-shared", "-Wl,-z,defs", "-Wl,-Bsymbolic", "-I"])
                .arg(include.join("native")),
        };
        if target == Target::Checked {
            command.args(["-fsanitize=bounds", "-fsanitize-trap=bounds"]);
        }
        let output = command
            .arg("-I")
            .arg(&include)
            .arg("-I")
            .arg(&source.dir)
            .arg(&source.file)
            .arg("-o")
            .arg(out)
            .output()
            .with_context(|| self.program.clone())?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let complaint = complaint(source, &said);
        Err(CompileError { complaint, said }.into())
    }

    /// The native build, from the cache if these very sources and headers were built by this clang before.
    pub fn build_cached(&self, source: &Source, target: Target) -> Result<PathBuf> {
        let mut hash = Sha256::new();
        hash.update(format!("{target:?}"));
        hash.update(&self.version);
        hash.update(source.digest()?);
        hash.update(source.file.as_os_str().as_encoded_bytes());
        for (name, text) in headers::HEADERS {
            hash.update(name);
            hash.update(text);
        }
        let cache = cache_dir()?.join("policies");
        std::fs::create_dir_all(&cache).with_context(|| cache.display().to_string())?;
        let key = u64::from_be_bytes(hash.finalize()[..8].try_into()?);
        let file = cache.join(format!("{}-{key:016x}.so", source.name));
        if !file.exists() {
            let fresh = tempfile::Builder::new()
                .prefix(".build-")
                .suffix(".so")
                .tempfile_in(&cache)?
                .into_temp_path();
            self.build(source, target, &fresh)?;
            fresh
                .persist(&file)
                .with_context(|| file.display().to_string())?;
        }
        Ok(file)
    }
}

/// Looking is cheaper than a dozen attempts to start what is not there.
fn is_in_path(program: &str) -> bool {
    std::env::var_os("PATH").is_some_and(|path| {
        std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
    })
}

fn cache_dir() -> Result<PathBuf> {
    let from = |name: &str| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    from("SCHEDLAB_CACHE")
        .or_else(|| from("XDG_CACHE_HOME").map(|dir| dir.join("schedlab")))
        .or_else(|| from("HOME").map(|dir| dir.join(".cache/schedlab")))
        .context("no cache folder: set SCHEDLAB_CACHE or HOME")
}

/// The first error of a compiler's or linker's output. A kfunc outside the subset is refused by its name.
fn complaint(source: &Source, stderr: &str) -> String {
    let file = source.file.display();
    for line in stderr.lines() {
        for mark in [
            "undefined symbol: ",
            "undefined reference to `",
            "call to undeclared function '",
        ] {
            if let Some((_, rest)) = line.split_once(mark) {
                let name = rest.split(['\'', '`', ';', ' ']).next().unwrap_or(rest);
                return format!(
                    "{file}: {name} is not in the frozen sched_ext subset (include/native/scx.h)"
                );
            }
        }
    }
    let error = stderr
        .lines()
        .find(|line| line.contains("error:"))
        .or_else(|| stderr.lines().next());
    error.map_or_else(
        || format!("{file}: clang failed and said nothing"),
        str::to_owned,
    )
}
