// SPDX-License-Identifier: GPL-2.0-or-later
//! Where a policy comes from: its source, an object that somebody built, a program that holds one, or its snapshot.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use sha2::{Digest, Sha256};

use crate::embedded;
use crate::snapshot::Snapshot;

const SOURCE: &str = ".bpf.c";
const OBJECT: &str = ".bpf.o";
const SNAPSHOT: &str = ".bpf.json";
/// What scx's schedulers in Rust call each of their sources, as `scx_NAME/src/bpf/main.bpf.c`.
const MAIN: &str = "main";

/// One policy: its name, the file it is, and the folder of that file, where a source's own headers are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    pub name: String,
    pub file: PathBuf,
    pub dir: PathBuf,
}

impl Source {
    /// A policy's folder (`schedulers/bfs`, holding `scx_bfs.bpf.c`), its `.bpf.c` file, its object, `.bpf.o`, its
    /// snapshot, `.bpf.json`, or a program that holds its object.
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
        let plain = is_program(&path).then_some(&*name);
        let Some(name) = (name.strip_suffix(SOURCE))
            .or(name.strip_suffix(OBJECT))
            .or(name.strip_suffix(SNAPSHOT))
            .or(plain)
        else {
            bail!(
                "{}: expected a policy's folder, its .bpf.c file, its object, .bpf.o, its snapshot, .bpf.json, or a \
                 program that holds one",
                path.display()
            );
        };
        if !path.is_file() {
            bail!("{}: no such policy", path.display());
        }
        let dir = path.parent().unwrap_or(Path::new(".")).to_path_buf();
        let name = if name == MAIN {
            folder_of(&dir).unwrap_or(name)
        } else {
            name
        };
        Ok(Self {
            name: name.strip_prefix("scx_").unwrap_or(name).to_owned(),
            file: path,
            dir,
        })
    }

    /// Whether there is nothing to build.
    pub fn is_object(&self) -> bool {
        is_object(&self.file)
    }

    /// Whether its program has set it up.
    pub fn is_snapshot(&self) -> bool {
        self.file.to_string_lossy().ends_with(SNAPSHOT)
    }

    /// The object, where there is nothing to build. That of a snapshot is nothing without what was set up.
    pub fn object(&self) -> Result<Option<Vec<u8>>> {
        let read = || std::fs::read(&self.file).with_context(|| self.file.display().to_string());
        if self.is_snapshot() {
            let shown = self.file.display();
            Snapshot::read(&self.file)?
                .values()
                .with_context(|| shown.to_string())?;
            bail!("{shown}: a user's values are not for this command: name the object itself");
        }
        if self.is_object() {
            return Ok(Some(read()?));
        }
        if !is_program(&self.file) {
            return Ok(None);
        }
        let program = read()?;
        match embedded::schedulers(&program).as_slice() {
            [object] => Ok(Some(object.to_vec())),
            found => bail!(
                "{}: expected a program that holds one scheduler's BPF object; it holds {}",
                self.file.display(),
                found.len()
            ),
        }
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

    /// The files that make the policy out of its source, by name: every `.h` and `.bpf.c` of its folder, and what these
    /// include from other folders, as `../lib/domains.h`.
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

    /// What the README beside a source begins with, in one line; empty without one. Headings and comments are passed
    /// over. A README beside an object may be about anything.
    pub fn about(&self) -> String {
        if !self.file.to_string_lossy().ends_with(SOURCE) {
            return String::new();
        }
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

    /// SHA-256 over the files, each as its name, a NUL and its bytes, or over the object, snapshot or program alone
    /// (`docs/records.md`). On a real kernel the program decides, too, not only the object in it.
    pub fn digest(&self) -> Result<[u8; 32]> {
        if self.is_object() || self.is_snapshot() || is_program(&self.file) {
            let bytes = std::fs::read(&self.file);
            let bytes = bytes.with_context(|| self.file.display().to_string())?;
            return Ok(Sha256::digest(bytes).into());
        }
        let mut hash = Sha256::new();
        for (name, path) in self.files()? {
            hash.update(name.as_bytes());
            hash.update([0]);
            hash.update(std::fs::read(&path).with_context(|| path.display().to_string())?);
        }
        Ok(hash.finalize().into())
    }
}

/// Whether a path names an object rather than a source.
pub fn is_object(path: &Path) -> bool {
    path.to_string_lossy().ends_with(OBJECT)
}

/// Whether this is a file that the kernel would execute or the linker load, and neither a source nor an object.
pub fn is_program(path: &Path) -> bool {
    let mut magic = [0; 4];
    let named = path.to_string_lossy();
    let mut read = |file: &mut File| file.read_exact(&mut magic).is_ok();
    !named.ends_with(SOURCE)
        && !named.ends_with(OBJECT)
        && File::open(path).is_ok_and(|mut file| read(&mut file))
        && magic == *b"\x7fELF"
}

/// The name of the nearest folder around this one, or itself, that is a scheduler's.
fn folder_of(dir: &Path) -> Option<&str> {
    let mut names = dir.ancestors().filter_map(|dir| dir.file_name()?.to_str());
    names.find(|name| name.starts_with("scx_"))
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
    fn what_is_called_main_has_the_name_of_its_schedulers_folder() {
        let dir = tempfile::tempdir().unwrap();
        for (folder, name) in [("scx_mine/src/bpf", "mine"), ("src/bpf", "main")] {
            let folder = dir.path().join(folder);
            std::fs::create_dir_all(&folder).unwrap();
            let file = folder.join("main.bpf.c");
            std::fs::write(&file, "").unwrap();
            assert_eq!(Source::find(&file).unwrap().name, name);
        }
    }

    #[test]
    fn an_object_is_what_it_is() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("README.md"), "Something else.\n").unwrap();
        std::fs::write(dir.path().join("other.h"), "").unwrap();
        for name in ["scx_mine.bpf.o", "mine.bpf.o"] {
            let file = dir.path().join(name);
            std::fs::write(&file, "ELF").unwrap();
            let source = Source::find(&file).unwrap();
            assert_eq!((source.name.as_str(), source.is_object()), ("mine", true));
            assert_eq!(source.about(), "");
            assert_eq!(
                source.digest().unwrap(),
                <[u8; 32]>::from(Sha256::digest("ELF"))
            );
        }
        let error = Source::find(&dir.path().join("mine.o")).unwrap_err();
        let expected = "its object, .bpf.o, its snapshot, .bpf.json, or a program that holds one";
        assert!(error.to_string().ends_with(expected), "{error}");
        let error = Source::find(&dir.path().join("none.bpf.o")).unwrap_err();
        assert!(error.to_string().ends_with("no such policy"), "{error}");
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
