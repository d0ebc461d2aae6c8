// SPDX-License-Identifier: GPL-2.0-or-later
//! An image as native code in this process.
//!
//! A shared object is kept by the digests of its text and flags, and of its compiler. Where there is no compiler, what
//! another one made of the same text serves: so it can be built on one machine and run on others. Its code holds no
//! state but what it counts, so that one opening serves many hosts.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context, Result, bail, ensure};
use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
use sha2::{Digest, Sha256};

use crate::Clang;
use crate::host::{Call, Host, Invoke};
use crate::image::Image;
use crate::kept::keep;
use crate::translate::{Options, TABLE_VERSION, translate};

const FLAGS: &[&str] = &[
    "-x",
    "c",
    "-std=gnu11",
    "-O2",
    "-w",
    "-ffreestanding",
    "-fno-strict-aliasing",
    "-fwrapv",
    "-fno-delete-null-pointer-checks",
    "-fno-stack-protector",
    "-fcf-protection=none",
    "-fvisibility=hidden",
    "-fPIC",
    "-shared",
    "-nostdlib",
];

/// What the shared object exports as `bpf_image`.
#[repr(C)]
struct Table {
    version: u32,
    host_bytes: u32,
    count: u32,
    functions: *const Call,
    invoke: Invoke,
}

pub struct Native {
    functions: Vec<Call>,
    invoke: Invoke,
    /// Lies in the library, which outlives it.
    counts: &'static [AtomicU64],
    file: PathBuf,
    /// Holds what the addresses point to.
    _library: Library,
}

impl Native {
    /// Builds an image, or takes what was kept of it in `folder`.
    pub fn load(image: &Image, options: &Options, folder: &Path) -> Result<Self> {
        image.validate()?;
        let text = translate(image, options);
        let counters = if options.counted { image.counters() } else { 0 };
        let native = Self::open(&kept(&text, folder)?, counters)?;
        ensure!(
            native.functions.len() == image.functions.len(),
            "the table has {} functions, the image {}",
            native.functions.len(),
            image.functions.len()
        );
        Ok(native)
    }

    fn open(file: &Path, counters: usize) -> Result<Self> {
        let name = || file.display().to_string();
        // SAFETY: the object has no constructors.
        let library = unsafe { Library::open(Some(file), RTLD_NOW | RTLD_LOCAL) }?;
        // SAFETY: the symbol is a `const struct table` in everything that `translate` made.
        let table = unsafe { library.get::<*const Table>(b"bpf_image") }.with_context(name)?;
        // SAFETY: as above; what lies behind the version is looked at only where that is right.
        let (functions, invoke) = unsafe {
            let table = *table;
            ensure!(
                (*table).version == TABLE_VERSION
                    && (*table).host_bytes as usize == size_of::<Host>(),
                "{}: built for another version of the host",
                name()
            );
            let count = (*table).count as usize;
            let functions = std::slice::from_raw_parts((*table).functions, count);
            (functions.to_vec(), (*table).invoke)
        };
        let counts: &[AtomicU64] = if counters > 0 {
            // SAFETY: code that was translated to count has so many of them, for as long as the library is open.
            unsafe {
                let first = library.get::<*const AtomicU64>(b"bpf_counts");
                std::slice::from_raw_parts(*first.with_context(name)?, counters)
            }
        } else {
            &[]
        };
        Ok(Self {
            functions,
            invoke,
            counts,
            file: file.to_owned(),
            _library: library,
        })
    }

    /// The functions of the image, by index.
    pub fn functions(&self) -> &[Call] {
        &self.functions
    }

    /// Where the code is kept.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// What was counted of all hosts since the last time, for [`Image::coverage`]; empty for code that does not count.
    pub fn take_counts(&self) -> Vec<u64> {
        let take = |count: &AtomicU64| count.swap(0, Ordering::Relaxed);
        self.counts.iter().map(take).collect()
    }

    /// For [`Host::invoke`].
    pub fn invoke(&self) -> Invoke {
        self.invoke
    }
}

/// The shared object of a text.
fn kept(text: &str, folder: &Path) -> Result<PathBuf> {
    let built = digest(FLAGS.iter().copied().chain([text]));
    let clang = match Clang::find() {
        Ok(clang) => clang,
        Err(none) => return by_another(&built, folder).ok_or(none),
    };
    let compiler = digest([clang.version()]);
    let file = folder.join(format!("{built}-{}.so", &compiler[..8]));
    keep(&file, |fresh| compile(&clang, text, fresh))?;
    Ok(file)
}

fn digest<'a>(parts: impl IntoIterator<Item = &'a str>) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    let mut head = [0; 16];
    head.copy_from_slice(&hash.finalize()[..16]);
    format!("{:032x}", u128::from_be_bytes(head))
}

/// What some compiler made of a text; the first by name, so that it is the same one everywhere.
fn by_another(built: &str, folder: &Path) -> Option<PathBuf> {
    let files = folder.read_dir().ok()?.flatten().map(|entry| entry.path());
    let of_it = |path: &PathBuf| {
        let name = path.file_stem().and_then(|name| name.to_str());
        name.is_some_and(|name| name.starts_with(built))
            && path.extension().is_some_and(|end| end == "so")
    };
    files.filter(of_it).min()
}

fn compile(clang: &Clang, text: &str, out: &Path) -> Result<()> {
    let program = || clang.program().to_owned();
    let mut child = clang
        .command()
        .args(FLAGS)
        .arg("-")
        .arg("-o")
        .arg(out)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(program)?;
    let mut input = child.stdin.take().expect("the input is a pipe");
    // A compiler that stops early says why on its other side.
    let written = input.write_all(text.as_bytes());
    drop(input);
    let output = child.wait_with_output().with_context(program)?;
    if output.status.success() {
        return written.with_context(program);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let complaint = said.lines().find(|line| line.contains("error:"));
    bail!(
        "the translated image does not compile: {}",
        complaint
            .or(said.lines().next())
            .unwrap_or("clang said nothing")
    )
}
