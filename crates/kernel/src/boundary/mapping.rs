// SPDX-License-Identifier: GPL-2.0-or-later
//! Address space that reads as 0 and costs memory only where it is written.

use std::io;
use std::ptr::NonNull;

pub const PAGE_BYTES: usize = 4096;

pub struct Mapping {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: nobody else knows the mapping.
unsafe impl Send for Mapping {}

impl Mapping {
    /// Nothing, at no address that means anything.
    pub fn none() -> Self {
        Self {
            start: NonNull::dangling(),
            bytes: 0,
        }
    }

    /// Whole pages.
    pub fn new(bytes: usize) -> io::Result<Self> {
        if bytes == 0 {
            return Ok(Self::none());
        }
        let bytes = bytes.next_multiple_of(PAGE_BYTES);
        // SAFETY: a mapping of its own.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::AddrNotAvailable)?;
        Ok(Self { start, bytes })
    }

    pub fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// Pages from such a one on read as 0 again.
    pub fn forget(&mut self, offset: usize, bytes: usize) {
        assert!(offset.is_multiple_of(PAGE_BYTES) && offset + bytes <= self.bytes);
        // SAFETY: pages of the mapping, to which no reference exists.
        unsafe {
            let start = self.start.add(offset).as_ptr();
            libc::madvise(start.cast(), bytes, libc::MADV_DONTNEED)
        };
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        if self.bytes > 0 {
            // SAFETY: made by `new`, and nobody runs the policy's code any more.
            unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes) };
        }
    }
}
