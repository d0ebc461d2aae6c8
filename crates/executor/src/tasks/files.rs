// SPDX-License-Identifier: GPL-2.0-or-later
//! Disk actions: two files without names, one to read from, one to write to; and /dev/null.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;

use super::context::Context;
use super::fault::{Fault, Kind};
use workload::plan::Inst;

/// What is read is this long, and read again from the start.
const READ_BYTES: u64 = 1 << 20;
/// What is written begins again here.
const WRITE_BYTES: u64 = 1 << 30;

#[derive(Default)]
pub struct Files {
    source: Option<File>,
    target: Option<File>,
    null: Option<File>,
    read_at: u64,
    written_at: u64,
    block: Vec<u8>,
}

impl Files {
    /// Opens and fills what the program needs.
    pub fn open(context: &Context, program: &[Inst]) -> Result<Self, Fault> {
        let uses = |writes: bool| {
            program
                .iter()
                .any(|inst| matches!(inst, Inst::Disk { write, .. } if *write == writes))
        };
        let new = || {
            tempfile::tempfile_in(&context.options.scratch)
                .map_err(|error| Fault::os(Kind::Disk, &error))
        };
        let mut files = Self::default();
        let discards = program
            .iter()
            .any(|inst| matches!(inst, Inst::Discard { .. }));
        if uses(false) || uses(true) || discards {
            files.block = vec![0x5a; READ_BYTES as usize];
        }
        if uses(false) {
            let source = new()?;
            source
                .write_all_at(&files.block, 0)
                .map_err(|error| Fault::os(Kind::Disk, &error))?;
            files.source = Some(source);
        }
        if uses(true) {
            files.target = Some(new()?);
        }
        if discards {
            let null = OpenOptions::new().write(true).open("/dev/null");
            files.null = Some(null.map_err(|error| Fault::os(Kind::Disk, &error))?);
        }
        Ok(files)
    }

    /// One system call, as /dev/null takes all that it is given.
    pub fn discard(&mut self, bytes: u64) -> Result<(), Fault> {
        let mut null = self.null.as_ref().ok_or(Fault::value(Kind::Disk, 0))?;
        let length = bytes.min(self.block.len() as u64) as usize;
        let written = null.write(&self.block[..length]);
        written
            .map(drop)
            .map_err(|error| Fault::os(Kind::Disk, &error))
    }

    /// `sync` writes wait for the device, as those to a file opened with `O_SYNC` do; `sync` reads do not come from the
    /// page cache.
    pub fn transfer(&mut self, bytes: u64, write: bool, sync: bool) -> Result<(), Fault> {
        let (file, at, end) = if write {
            (self.target.as_ref(), &mut self.written_at, WRITE_BYTES)
        } else {
            (self.source.as_ref(), &mut self.read_at, READ_BYTES)
        };
        let file = file.ok_or(Fault::value(Kind::Disk, 0))?;
        if sync && !write {
            // SAFETY: no memory; only advice.
            unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
        }
        let mut left = bytes;
        while left > 0 {
            let length = left.min(end - *at).min(self.block.len() as u64);
            let block = &mut self.block[..length as usize];
            let result = match (write, sync) {
                (true, true) => write_sync(file, block, *at),
                (true, false) => file.write_all_at(block, *at),
                (false, _) => file.read_exact_at(block, *at),
            };
            result.map_err(|error| Fault::os(Kind::Disk, &error))?;
            left -= length;
            *at = (*at + length) % end;
        }
        Ok(())
    }
}

/// One write that returns when the device has it.
fn write_sync(file: &File, mut block: &[u8], mut at: u64) -> std::io::Result<()> {
    while !block.is_empty() {
        let part = libc::iovec {
            iov_base: block.as_ptr().cast_mut().cast(),
            iov_len: block.len(),
        };
        // By system call, as not every libc has it; the position goes in two halves, the second of which 64-bit
        // kernels ignore.
        // SAFETY: reads one buffer that lives here.
        let written = unsafe {
            libc::syscall(
                libc::SYS_pwritev2,
                file.as_raw_fd(),
                &raw const part,
                1usize,
                at as usize,
                at >> 32,
                libc::RWF_SYNC,
            )
        };
        match written {
            1.. => {
                block = &block[written as usize..];
                at += written as u64;
            }
            0 => return Err(std::io::ErrorKind::WriteZero.into()),
            _ => {
                let error = std::io::Error::last_os_error();
                if error.kind() != std::io::ErrorKind::Interrupted {
                    return Err(error);
                }
            }
        }
    }
    Ok(())
}
