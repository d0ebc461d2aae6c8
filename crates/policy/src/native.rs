// SPDX-License-Identifier: GPL-2.0-or-later
//! A natively built policy in this process.
//!
//! Every [`Native`] is a private copy, loaded from its own memory file, so that copies share no variable: one
//! simulated machine each. Constants are writable until the run begins, as they are for libbpf before a load, and
//! [`Native::reset`] puts every variable and constant back for the next run.

use std::ffi::c_void;
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsRawFd, FromRawFd};
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
use object::elf::{PF_R, PF_W, PF_X, PT_GNU_RELRO, PT_LOAD, ProgramHeader64, ProgramType};
use object::read::elf::{ElfFile64, ProgramHeader};
use object::{Endianness, Object, ObjectSymbol};

use crate::{Manifest, Setting, Source, Target, TopologyGlobals, abi};

/// Memory of the policy that a run may change, as it was after loading.
struct Region {
    start: *mut u8,
    pristine: Box<[u8]>,
}

/// A loaded policy. Not `Send`: one thread simulates one machine at a time.
pub struct Native {
    pub name: String,
    pub manifest: Manifest,
    library: Library,
    /// Kept open: the loader knows a library by its path, and this descriptor's number is the path.
    _memory: File,
    regions: Vec<Region>,
    sizes: Vec<(String, u64)>,
}

impl Native {
    /// Build (or take from the cache) and load the policy of a folder or `.bpf.c` file.
    pub fn load(path: &Path) -> Result<Self> {
        let source = Source::find(path)?;
        let built = crate::build_cached(&source, Target::Native)?;
        Self::open(&source.name, &built).with_context(|| source.file.display().to_string())
    }

    /// Load a shared object that was built before.
    pub fn open(name: &str, shared_object: &Path) -> Result<Self> {
        let bytes =
            std::fs::read(shared_object).with_context(|| shared_object.display().to_string())?;
        let elf = ElfFile64::<Endianness>::parse(&*bytes)?;
        let memory = memory_file(&bytes)?;
        let path = format!("/proc/self/fd/{}", memory.as_raw_fd());
        // SAFETY: the object's constructors are the C runtime's; the policy has none.
        let library = unsafe { Library::open(Some(&path), RTLD_NOW | RTLD_LOCAL) }?;
        let sizes: Vec<(String, u64)> = elf
            .dynamic_symbols()
            .filter(object::ObjectSymbol::is_definition)
            .filter_map(|symbol| Some((symbol.name().ok()?.to_owned(), symbol.size())))
            .collect();
        let mut native = Self {
            name: name.to_owned(),
            manifest: Manifest::of_elf(&bytes)?,
            library,
            _memory: memory,
            regions: Vec::new(),
            sizes,
        };
        native.check_abi()?;
        native.regions = native.changeable(&elf)?;
        Ok(native)
    }

    fn check_abi(&self) -> Result<()> {
        // SAFETY: the symbol is a `const struct scx_abi` in every policy built against the native scx.h.
        let abi = unsafe { *self.address("__scx_abi")?.cast::<abi::Abi>() };
        ensure!(
            abi == abi::EXPECTED,
            "built against another version of include/native/host.h ({abi:?}); build again"
        );
        Ok(())
    }

    /// Make constants writable and remember what all changeable memory holds.
    fn changeable(&self, elf: &ElfFile64<Endianness>) -> Result<Vec<Region>> {
        let anchor = "__scx_abi";
        let value = elf
            .dynamic_symbols()
            .find(|symbol| symbol.name() == Ok(anchor))
            .map(|symbol| symbol.address())
            .with_context(|| format!("no symbol {anchor}"))?;
        let base = self.address(anchor)? as u64 - value;
        let headers = elf.elf_program_headers();
        let relro = headers
            .iter()
            .find(|header| kind(header) == PT_GNU_RELRO)
            .map_or(0..0, page_range);
        let mut regions = Vec::new();
        for header in headers.iter().filter(|header| kind(header) == PT_LOAD) {
            let flags = header.p_flags(Endianness::Little).0;
            if flags & PF_X.0 != 0 || flags & PF_R.0 == 0 {
                continue;
            }
            let mut start = header.p_vaddr(Endianness::Little);
            let end = start + header.p_memsz(Endianness::Little);
            if flags & PF_W.0 == 0 {
                let pages = page_range(header);
                // SAFETY: the range is a segment of the library that this struct keeps loaded.
                let done = unsafe {
                    libc::mprotect(
                        (base + pages.start) as *mut c_void,
                        (pages.end - pages.start) as usize,
                        libc::PROT_READ | libc::PROT_WRITE,
                    )
                };
                ensure!(
                    done == 0,
                    "cannot make the policy's constants settable: {}",
                    std::io::Error::last_os_error()
                );
            } else if relro.contains(&start) {
                start = relro.end;
            }
            if start < end {
                let address = (base + start) as *mut u8;
                // SAFETY: as above; these bytes are mapped and readable.
                let pristine =
                    unsafe { std::slice::from_raw_parts(address, (end - start) as usize) }.into();
                regions.push(Region {
                    start: address,
                    pristine,
                });
            }
        }
        Ok(regions)
    }

    /// Put every variable and constant back to what it was after loading.
    pub fn reset(&mut self) {
        for region in &self.regions {
            // SAFETY: the region is writable memory of the loaded library, as long as it was when copied.
            unsafe {
                std::ptr::copy_nonoverlapping(
                    region.pristine.as_ptr(),
                    region.start,
                    region.pristine.len(),
                );
            };
        }
    }

    /// Give a tunable its value.
    pub fn set(&mut self, setting: &Setting) -> Result<()> {
        self.write(&setting.name, &setting.value.to_le_bytes(), true)
    }

    /// Tell the policy the machine it is on.
    pub fn set_topology(&mut self, topology: &TopologyGlobals) -> Result<()> {
        for (name, value) in topology.numbers() {
            self.write(name, &value.to_le_bytes(), false)?;
        }
        for (name, values) in topology.arrays() {
            let bytes: Vec<u8> = values
                .iter()
                .flat_map(|value| value.to_le_bytes())
                .collect();
            self.write(name, &bytes, false)?;
        }
        Ok(())
    }

    /// Point the policy at the simulator's table.
    ///
    /// # Safety
    /// `host` must stay valid and in place until the policy is reset or dropped.
    pub unsafe fn set_host(&mut self, host: *mut abi::ScxHost) -> Result<()> {
        self.write("__scx_host", &(host as usize).to_le_bytes(), false)
    }

    /// The policy's callbacks.
    pub fn ops(&self) -> Result<abi::SchedExtOps> {
        // SAFETY: `__scx_ops` points to the policy's `struct sched_ext_ops`, whose layout check_abi compared.
        Ok(unsafe { (**self.address("__scx_ops")?.cast::<*const abi::SchedExtOps>()).clone() })
    }

    /// Sum of a counter over all CPUs.
    pub fn stat(&self, name: &str) -> Result<u64> {
        let symbol = format!("stat_{name}");
        let cells = self.size(&symbol)? as usize / 8;
        // SAFETY: the symbol is an array of so many u64.
        Ok(
            unsafe { std::slice::from_raw_parts(self.address(&symbol)?.cast::<u64>(), cells) }
                .iter()
                .sum(),
        )
    }

    fn write(&mut self, symbol: &str, bytes: &[u8], truncate: bool) -> Result<()> {
        let size = self.size(symbol)? as usize;
        let bytes = if truncate {
            &bytes[..size.min(bytes.len())]
        } else {
            bytes
        };
        ensure!(
            bytes.len() <= size,
            "{symbol} holds {size} bytes, not {}",
            bytes.len()
        );
        // SAFETY: the symbol is a variable or (made writable at loading) constant of at least that many bytes.
        unsafe {
            std::ptr::copy_nonoverlapping(
                bytes.as_ptr(),
                self.address(symbol)?.cast(),
                bytes.len(),
            );
        };
        Ok(())
    }

    fn size(&self, symbol: &str) -> Result<u64> {
        match self.sizes.iter().find(|(name, _)| name == symbol) {
            Some((_, size)) => Ok(*size),
            None => bail!("{}: the policy has no {symbol}", self.name),
        }
    }

    fn address(&self, symbol: &str) -> Result<*mut c_void> {
        // SAFETY: only the address is taken.
        let address = unsafe { self.library.get::<*mut c_void>(symbol.as_bytes()) };
        Ok(address
            .with_context(|| format!("{}: the policy has no {symbol}", self.name))?
            .as_raw_ptr())
    }
}

fn kind(header: &ProgramHeader64<Endianness>) -> ProgramType {
    header.p_type(Endianness::Little)
}

/// The pages that a segment touches, as addresses before relocation.
fn page_range(header: &ProgramHeader64<Endianness>) -> std::ops::Range<u64> {
    const PAGE: u64 = 4096;
    let start = header.p_vaddr(Endianness::Little);
    let end = start + header.p_memsz(Endianness::Little);
    start / PAGE * PAGE..end.next_multiple_of(PAGE)
}

fn memory_file(bytes: &[u8]) -> Result<File> {
    // SAFETY: a plain system call; the descriptor it returns is owned by nobody else.
    let mut file = unsafe {
        let fd = libc::memfd_create(c"policy".as_ptr(), libc::MFD_CLOEXEC);
        ensure!(fd >= 0, "memfd_create: {}", std::io::Error::last_os_error());
        File::from_raw_fd(fd)
    };
    file.write_all(bytes)?;
    Ok(file)
}
