// SPDX-License-Identifier: GPL-2.0-or-later
//! Inputs of applications: made once by the workload's own script, kept in the cache, checked before they are used.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use cell::hex_digest;
use sha2::{Digest, Sha256};
use workload::command::Input;

use super::{script, tools};
use crate::error::{Interrupted, NotHere};

/// Sums of the files, as sha256sum prints them, beside the folder `files`.
const SUMS: &str = "SHA256SUMS";

/// The folder of the input. It has the hash of its script, its parameters and the files it is made with in its name.
pub fn ensure(name: &str, input: &Input) -> Result<PathBuf> {
    let recipe = serde_json::to_string(&(&input.make, &input.environment, &input.beside))?;
    let place = root()?.join(format!("{name}-{}", hex_digest(recipe.as_bytes(), 16)));
    if !place.join(SUMS).exists() {
        tools::need(&format!("{name}: its input"), &input.tools)?;
        let _lock = lock(&place)?;
        if !place.join(SUMS).exists() {
            make(name, input, &place)?;
        }
    }
    check(name, &place)?;
    Ok(place.join("files"))
}

/// `$SCHEDLAB_CACHE`, else `$XDG_CACHE_HOME/schedlab`, else `~/.cache/schedlab`.
fn root() -> Result<PathBuf> {
    let set = |name: &str| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    let cache = set("SCHEDLAB_CACHE")
        .or_else(|| set("XDG_CACHE_HOME").map(|folder| folder.join("schedlab")))
        .or_else(|| set("HOME").map(|home| home.join(".cache/schedlab")));
    let cache = cache.ok_or_else(|| NotHere("no place for inputs: set SCHEDLAB_CACHE".into()))?;
    Ok(std::path::absolute(cache)?.join("inputs"))
}

fn lock(place: &Path) -> Result<File> {
    let path = place.with_extension("lock");
    let folder = path.parent().expect("below the cache");
    fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    let file = File::create(&path).with_context(|| path.display().to_string())?;
    // SAFETY: no memory; a descriptor that is open.
    let locked = unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX) } == 0;
    ensure!(
        locked,
        "{}: {}",
        path.display(),
        std::io::Error::last_os_error()
    );
    Ok(file)
}

fn make(name: &str, input: &Input, place: &Path) -> Result<()> {
    eprintln!("{name}: making its input, once");
    let new = place.with_extension("new");
    let _ = fs::remove_dir_all(&new);
    let files = new.join("files");
    fs::create_dir_all(&files).with_context(|| files.display().to_string())?;
    let made = fill(input, &new);
    if let Err(error) = made {
        fs::remove_dir_all(&new)?;
        return Err(error.context(format!("{name}: its input")));
    }
    let sums = sums(&files)?;
    ensure!(
        !sums.is_empty(),
        "{name}: its input: expected files, the script made none"
    );
    fs::write(new.join(SUMS), sums)?;
    let _ = fs::remove_dir_all(place);
    fs::rename(&new, place).with_context(|| place.display().to_string())
}

fn fill(input: &Input, new: &Path) -> Result<()> {
    let (beside, log) = (new.join("beside"), new.join("log"));
    fs::create_dir(&beside).with_context(|| beside.display().to_string())?;
    for (name, text) in &input.beside {
        let path = beside.join(name);
        fs::write(&path, text).with_context(|| path.display().to_string())?;
    }
    let mut environment = input.environment.clone();
    environment.insert("beside".into(), beside.display().to_string());
    let surroundings = script::Surroundings::Own {
        folder: &new.join("files"),
        unprivileged: false,
    };
    let mut child = script::start(&input.make, &log, &environment, surroundings)?;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if signals::caught() {
            script::kill(child.id());
            child.wait()?;
            return Err(Interrupted(libc::SIGINT).into());
        }
        signals::wait(std::time::Duration::from_millis(50));
    };
    script::judge("the script", status, &log)
}

/// Of every file, a line each, in the order of their paths.
fn sums(folder: &Path) -> Result<String> {
    let mut found = BTreeMap::new();
    let mut waiting = vec![folder.to_path_buf()];
    while let Some(next) = waiting.pop() {
        for entry in fs::read_dir(&next).with_context(|| next.display().to_string())? {
            let path = entry?.path();
            if path.is_dir() {
                waiting.push(path);
                continue;
            }
            let mut hash = Sha256::new();
            let mut file = File::open(&path).with_context(|| path.display().to_string())?;
            let mut bytes = vec![0; 1 << 16];
            loop {
                match std::io::Read::read(&mut file, &mut bytes)? {
                    0 => break,
                    count => hash.update(&bytes[..count]),
                }
            }
            let digest = hash.finalize();
            let mut hex = String::new();
            for byte in &digest {
                write!(hex, "{byte:02x}")?;
            }
            let below = path.strip_prefix(folder).expect("walked from there");
            found.insert(below.display().to_string(), hex);
        }
    }
    let mut lines = String::new();
    for (path, sum) in found {
        writeln!(lines, "{sum}  files/{path}")?;
    }
    Ok(lines)
}

fn check(name: &str, place: &Path) -> Result<()> {
    let path = place.join(SUMS);
    let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let found = sums(&place.join("files"))?;
    ensure!(
        text == found,
        "{name}: its input has changed since it was made: remove {}",
        place.display()
    );
    Ok(())
}
