// SPDX-License-Identifier: GPL-2.0-or-later
//! Where a policy's source is.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use sha2::{Digest, Sha256};

/// One policy's source: its name, its `.bpf.c` file, and the folder that file's own headers are in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    pub name: String,
    pub file: PathBuf,
    pub dir: PathBuf,
}

impl Source {
    /// A policy's folder (`schedulers/bfs`, holding `scx_bfs.bpf.c`) or its `.bpf.c` file.
    pub fn find(path: &Path) -> Result<Self> {
        let path = std::path::absolute(path)?;
        if path.is_dir() {
            let name = file_name(&path)?;
            let file = path.join(format!("scx_{name}.bpf.c"));
            if !file.is_file() {
                bail!(
                    "{}: a policy's folder NAME holds scx_NAME.bpf.c, and scx_{name}.bpf.c is not there",
                    path.display()
                );
            }
            return Ok(Self {
                name,
                file,
                dir: path,
            });
        }
        let name = file_name(&path)?;
        let Some(name) = name.strip_suffix(".bpf.c") else {
            bail!(
                "{}: expected a policy's folder or its .bpf.c file",
                path.display()
            );
        };
        if !path.is_file() {
            bail!("{}: no such policy", path.display());
        }
        let dir = path.parent().unwrap_or(Path::new(".")).to_path_buf();
        Ok(Self {
            name: name.strip_prefix("scx_").unwrap_or(name).to_owned(),
            file: path,
            dir,
        })
    }

    /// All policies of a `schedulers/` folder, by name.
    pub fn all(schedulers: &Path) -> Result<Vec<Self>> {
        let mut found = Vec::new();
        for entry in
            std::fs::read_dir(schedulers).with_context(|| schedulers.display().to_string())?
        {
            let dir = entry?.path();
            if dir.is_dir()
                && dir
                    .join(format!("scx_{}.bpf.c", file_name(&dir)?))
                    .is_file()
            {
                found.push(Self::find(&dir)?);
            }
        }
        found.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(found)
    }

    /// The files that make the policy, by name: every `.h` and `.bpf.c` of its folder, and what these include from
    /// other folders, as `../lib/domains.h`.
    pub fn files(&self) -> Result<Vec<(String, PathBuf)>> {
        let mut waiting = Vec::new();
        for entry in std::fs::read_dir(&self.dir).with_context(|| self.dir.display().to_string())? {
            let path = entry?.path();
            let name = file_name(&path)?;
            if path.extension().is_some_and(|end| end == "h") || name.ends_with(".bpf.c") {
                waiting.push(name);
            }
        }
        let mut files = BTreeMap::new();
        while let Some(name) = waiting.pop() {
            let path = self.dir.join(&name);
            if !path.is_file() || files.contains_key(&name) {
                continue;
            }
            let text = std::fs::read(&path).with_context(|| path.display().to_string())?;
            let folder = name.rsplit_once('/').map_or("", |(folder, _)| folder);
            let included = String::from_utf8_lossy(&text)
                .lines()
                .filter_map(included)
                .map(|file| plain(&format!("{folder}/{file}")))
                .collect::<Vec<_>>();
            waiting.extend(included);
            files.insert(name, path);
        }
        Ok(files.into_iter().collect())
    }

    /// What the README beside it begins with, in one line; empty without one. Headings and comments are passed over.
    pub fn about(&self) -> String {
        let text = std::fs::read_to_string(self.dir.join("README.md")).unwrap_or_default();
        let outside =
            |line: &&str| line.is_empty() || line.starts_with('#') || line.starts_with("<!--");
        let lines = text.lines().map(str::trim);
        let paragraph = lines.skip_while(outside).take_while(|line| !outside(line));
        paragraph.collect::<Vec<_>>().join(" ")
    }

    /// The first 16 hex digits of the digest, by which records name it.
    pub fn id(&self) -> Result<String> {
        let digest = self.digest()?;
        let head: [u8; 8] = digest[..8].try_into()?;
        Ok(format!("{:016x}", u64::from_be_bytes(head)))
    }

    /// SHA-256 over the files, each as its name, a NUL and its bytes (`docs/records.md`).
    pub fn digest(&self) -> Result<[u8; 32]> {
        let mut hash = Sha256::new();
        for (name, path) in self.files()? {
            hash.update(name.as_bytes());
            hash.update([0]);
            hash.update(std::fs::read(&path).with_context(|| path.display().to_string())?);
        }
        Ok(hash.finalize().into())
    }
}

/// What a line of C includes with double quotes.
fn included(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix('#')?.trim_start();
    let name = rest
        .strip_prefix("include")?
        .trim_start()
        .strip_prefix('"')?;
    Some(name.split_once('"')?.0)
}

/// A relative path without `.` and without `..` behind a name.
fn plain(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/').filter(|part| !matches!(*part, "" | ".")) {
        if part == ".." && parts.last().is_some_and(|last| *last != "..") {
            parts.pop();
        } else {
            parts.push(part);
        }
    }
    parts.join("/")
}

fn file_name(path: &Path) -> Result<String> {
    let name = path.file_name().and_then(|name| name.to_str());
    Ok(name
        .with_context(|| format!("{}: not a name in UTF-8", path.display()))?
        .to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_readme_says_what_it_is_in_its_first_paragraph() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("mine");
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("scx_mine.bpf.c"), "").unwrap();
        let source = Source::find(&folder).unwrap();
        assert_eq!(source.about(), "");
        let text = "<!-- SPDX -->\n# mine\n\nOne line\nand another.\n\nMore.\n";
        std::fs::write(folder.join("README.md"), text).unwrap();
        assert_eq!(source.about(), "One line and another.");
    }

    #[test]
    fn headers_of_other_folders_belong_to_a_policy() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let file = dir.path().join(name);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, text).unwrap();
        };
        write(
            "mine/scx_mine.bpf.c",
            "#include <scx.h>\n#include \"mine.h\"\n",
        );
        write("mine/mine.h", "# include \"../shared/a.h\"\n");
        write("shared/a.h", "#include \"types.h\"\n#include \"./b.h\"\n");
        write("shared/b.h", "#include \"../mine/../shared/a.h\"\n");
        write("shared/other.h", "");
        write("mine/README.md", "not hashed");
        write("mine/notes.c", "not hashed");
        let source = Source::find(&dir.path().join("mine")).unwrap();
        let names: Vec<_> = source
            .files()
            .unwrap()
            .into_iter()
            .map(|file| file.0)
            .collect();
        assert_eq!(
            names,
            ["../shared/a.h", "../shared/b.h", "mine.h", "scx_mine.bpf.c"]
        );
        // Each file as its name, a NUL and its bytes, in the order of the names.
        let mut whole = Sha256::new();
        for (name, file) in names.iter().zip([
            "shared/a.h",
            "shared/b.h",
            "mine/mine.h",
            "mine/scx_mine.bpf.c",
        ]) {
            whole.update(name);
            whole.update([0]);
            whole.update(std::fs::read(dir.path().join(file)).unwrap());
        }
        let before = source.digest().unwrap();
        assert_eq!(before, <[u8; 32]>::from(whole.finalize()));
        assert!(
            source
                .id()
                .unwrap()
                .starts_with(&format!("{:02x}", before[0]))
        );
        assert_eq!(source.id().unwrap().len(), 16);
        write("shared/other.h", "changed");
        assert_eq!(source.digest().unwrap(), before);
        write("shared/b.h", "changed");
        assert_ne!(source.digest().unwrap(), before);
    }
}
