// SPDX-License-Identifier: GPL-2.0-or-later
//! The schedulers built into this program: one BPF object for every folder of `schedulers/`; and objects beside it.

use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use policy::{Manifest, SetUp, Snapshot, values};

/// A policy, built for the kernel.
pub struct Scheduler {
    pub name: &'static str,
    /// The first paragraph of its README.
    pub about: &'static str,
    /// First 16 hex digits of SHA-256 over its sources (`docs/records.md`).
    pub digest: &'static str,
    pub elf: &'static [u8],
    /// What a user sets its global data and its `struct sched_ext_ops` to.
    pub values: Option<SetUp>,
}

/// libelf reads the headers in place.
#[repr(align(8))]
struct Aligned<T>(T);

include!(concat!(env!("OUT_DIR"), "/schedulers.rs"));

impl Scheduler {
    pub fn find(name: &str) -> Result<&'static Self> {
        if let Some(found) = SCHEDULERS.iter().find(|scheduler| scheduler.name == name) {
            return Ok(found);
        }
        let names: Vec<&str> = SCHEDULERS.iter().map(|scheduler| scheduler.name).collect();
        bail!("unknown scheduler '{name}'; there are {}", names.join(", "))
    }

    /// A policy's object file, NAME.bpf.o or `scx_NAME.bpf.o`, or one with values of a user's own, NAME.bpf.json.
    pub fn open(path: &Path) -> Result<&'static Self> {
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        let name = (file.strip_suffix(".bpf.o")).or(file.strip_suffix(SNAPSHOT));
        let name = name.and_then(|name| {
            let name = name.strip_prefix("scx_").unwrap_or(name);
            let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
            (!name.is_empty() && name.chars().all(plain)).then_some(name)
        });
        let Some(name) = name else {
            bail!("{}: expected a policy's object, NAME.bpf.o", path.display());
        };
        let shown = || path.display().to_string();
        let (bytes, values) = if file.ends_with(SNAPSHOT) {
            let snapshot = Snapshot::read(path)?;
            let values = snapshot.values().with_context(shown)?.clone();
            (snapshot.object.0, Some(values))
        } else {
            (std::fs::read(path).with_context(shown)?, None)
        };
        // It is needed as long as the program runs, as the built-in ones are.
        let mut words = vec![0_u64; bytes.len().div_ceil(8)];
        for (word, bytes) in words.iter_mut().zip(bytes.chunks(8)) {
            let mut whole = [0; 8];
            whole[..bytes.len()].copy_from_slice(bytes);
            *word = u64::from_ne_bytes(whole);
        }
        let words: &'static [u64] = words.leak();
        // SAFETY: as many bytes as the words have, or fewer; any byte is a u8.
        let elf = unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), bytes.len()) };
        Ok(Box::leak(Box::new(Self {
            name: name.to_owned().leak(),
            about: "A policy built by itself.",
            digest: "",
            elf,
            values,
        })))
    }

    /// The same with the values of a file: `NAME = VALUE`, as TOML.
    pub fn with_values(&self, file: &Path) -> Result<&'static Self> {
        ensure!(
            self.values.is_none(),
            "--rodata {}: {} has values of a file already",
            file.display(),
            self.name
        );
        let values = values::of_file(self.elf, file)?;
        // It is needed as long as the program runs.
        Ok(Box::leak(Box::new(Self {
            values: Some(values),
            ..*self
        })))
    }

    /// By name, or by the path of an object.
    pub fn named(name: &str) -> Result<&'static Self> {
        if is_object(name) {
            Self::open(Path::new(name))
        } else {
            Self::find(name)
        }
    }

    /// `0.1.0-1a2b3c4d5`: this package's version and which sources of the policy. The commit is not in it: one that
    /// touches no policy and no line of the loader links nothing anew.
    pub fn version(&self) -> String {
        let package = env!("CARGO_PKG_VERSION");
        match self.digest.get(..9) {
            Some(sources) => format!("{package}-{sources}"),
            None => package.to_owned(),
        }
    }

    pub fn manifest(&self) -> Result<Manifest> {
        Manifest::of_elf(self.elf).with_context(|| format!("scheduler {}", self.name))
    }
}

const SNAPSHOT: &str = ".bpf.json";

pub fn is_object(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|end| end == "o") || name.ends_with(SNAPSHOT)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use policy::set_up::Bytes;

    use super::*;

    #[test]
    fn every_folder_is_embedded_and_describes_itself() {
        let folders = std::fs::read_dir("../../schedulers")
            .unwrap()
            .filter(|entry| {
                let dir = entry.as_ref().unwrap().path();
                dir.join(format!(
                    "scx_{}.bpf.c",
                    dir.file_name().unwrap().to_str().unwrap()
                ))
                .exists()
            });
        assert_eq!(folders.count(), SCHEDULERS.len());
        for scheduler in SCHEDULERS {
            scheduler.manifest().unwrap();
            assert!(
                !scheduler.about.is_empty(),
                "{}: README.md has no first paragraph",
                scheduler.name
            );
            assert_eq!(scheduler.digest.len(), 16);
        }
    }

    #[test]
    fn a_version_names_the_sources_where_they_are_known() {
        let vtime = Scheduler::find("vtime").unwrap();
        let package = env!("CARGO_PKG_VERSION");
        let expected = format!("{package}-{}", &vtime.digest[..9]);
        assert_eq!(vtime.version(), expected);
        let bare = Scheduler {
            name: "bare",
            about: "",
            digest: "",
            elf: &[],
            values: None,
        };
        assert_eq!(bare.version(), package);
    }

    #[test]
    fn an_object_is_a_scheduler_by_its_file_name() {
        let dir = std::env::temp_dir().join(format!("schedlab-object-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let vtime = Scheduler::find("vtime").unwrap();
        let path = dir.join("scx_mine.bpf.o");
        std::fs::write(&path, vtime.elf).unwrap();
        let mine = Scheduler::named(path.to_str().unwrap()).unwrap();
        assert_eq!((mine.name, mine.elf), ("mine", vtime.elf));
        assert_eq!(mine.elf.as_ptr() as usize % 8, 0);
        assert_eq!(mine.manifest().unwrap(), vtime.manifest().unwrap());
        let error = Scheduler::named("x/mine.o").err().unwrap().to_string();
        assert_eq!(error, "x/mine.o: expected a policy's object, NAME.bpf.o");
        let error = Scheduler::named("x/mine.bpf.o").err().unwrap();
        assert!(format!("{error:#}").starts_with("x/mine.bpf.o: No such file"));
        let snapshot = |cpus: Option<u32>| {
            let path = dir.join("theirs.bpf.json");
            let snapshot = Snapshot {
                format: 1,
                program: policy::snapshot::Program {
                    name: "scx_theirs".into(),
                    options: Vec::new(),
                    version: String::new(),
                    digest: String::new(),
                },
                kernel: String::new(),
                cpus,
                absent: Vec::new(),
                set_up: policy::SetUp {
                    data: BTreeMap::from([(".data".into(), Bytes(vec![7]))]),
                    ..policy::SetUp::default()
                },
                object: Bytes(vtime.elf.to_vec()),
            };
            std::fs::write(&path, serde_json::to_string(&snapshot).unwrap()).unwrap();
            Scheduler::named(path.to_str().unwrap())
        };
        let theirs = snapshot(None).unwrap();
        assert_eq!((theirs.name, theirs.elf), ("theirs", vtime.elf));
        let values = dir.join("values.toml");
        std::fs::write(&values, "rr_interval_us = 7\nbfs_ops.timeout_ms = 9\n").unwrap();
        let error = format!("{:#}", theirs.with_values(&values).err().unwrap());
        assert!(
            error.ends_with("theirs has values of a file already"),
            "{error}"
        );
        let bfs = Scheduler::find("bfs").unwrap();
        let set = bfs.with_values(&values).unwrap();
        assert_eq!((set.name, set.elf), ("bfs", bfs.elf));
        let set = set.values.as_ref().unwrap();
        assert_eq!(set.members["timeout_ms"].0, [9, 0, 0, 0]);
        assert!(set.data.contains_key(".rodata"));
        assert_eq!(theirs.values.as_ref().unwrap().data[".data"].0, [7]);
        let error = format!("{:#}", snapshot(Some(4)).err().unwrap());
        assert!(
            error.contains("a snapshot of a program runs in the simulator alone"),
            "{error}"
        );
        std::fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn an_unknown_name_lists_the_known_ones() {
        let message = Scheduler::find("bsf").err().unwrap().to_string();
        assert!(
            message.starts_with("unknown scheduler 'bsf'; there are "),
            "{message}"
        );
        assert!(message.contains("vtime"), "{message}");
    }
}
