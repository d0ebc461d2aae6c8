// SPDX-License-Identifier: GPL-2.0-or-later
//! Reading what a policy merely says is an address, as `strncpy_from_kernel_nofault` does: whoever reads what is not
//! there gets nothing, and no signal.

use crate::consts::{EFAULT, ERANGE};

/// The lowest address of the kernel's own half.
const KERNEL: u64 = 0xffff_8000_0000_0000;

/// What the kernel says of memory that it could not read: it does not even try an address that is not its own.
pub fn error(address: u64) -> i32 {
    if address < KERNEL { ERANGE } else { EFAULT }
}

/// As many bytes from there on as may be read, at most so many.
pub fn read(address: u64, most: usize) -> Vec<u8> {
    let mut bytes = vec![0; most];
    let into = libc::iovec {
        iov_base: bytes.as_mut_ptr().cast(),
        iov_len: most,
    };
    let from = libc::iovec {
        iov_base: std::ptr::with_exposed_provenance_mut(address as usize),
        iov_len: most,
    };
    // SAFETY: the kernel writes to `bytes` only, and checks the other address itself.
    let count = unsafe {
        libc::process_vm_readv(libc::getpid(), &raw const into, 1, &raw const from, 1, 0)
    };
    bytes.truncate(usize::try_from(count).unwrap_or(0));
    bytes
}

/// Text up to its NUL, at most so long; empty where nothing may be read.
#[cfg(not(miri))]
pub fn text(address: u64, most: usize) -> Vec<u8> {
    let mut bytes = read(address, most);
    let end = bytes.iter().position(|byte| *byte == 0);
    bytes.truncate(end.unwrap_or(bytes.len()));
    bytes
}

/// Miri knows no call that reads and asks nobody; what its tests name is there.
#[cfg(miri)]
pub fn text(address: u64, most: usize) -> Vec<u8> {
    let at: *const u8 = std::ptr::with_exposed_provenance(address as usize);
    // SAFETY: the text ends with a NUL.
    let bytes = (0..most).map(|index| unsafe { *at.add(index) });
    bytes.take_while(|byte| *byte != 0).collect()
}

#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_there_is_empty() {
        assert_eq!(text(0, 1_024), b"");
        assert_eq!(text(0x10, 1_024), b"");
        assert_eq!(text(u64::MAX, 1_024), b"");
        let there = c"a text".as_ptr().expose_provenance() as u64;
        assert_eq!(text(there, 1_024), b"a text");
        assert_eq!(text(there, 3), b"a t");
    }

    #[test]
    fn a_text_before_a_hole_is_read_to_the_hole() {
        // SAFETY: a mapping of two pages of its own, of which the second is taken away.
        unsafe {
            let pages = libc::mmap(
                std::ptr::null_mut(),
                8_192,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            );
            assert_ne!(pages, libc::MAP_FAILED);
            assert_eq!(libc::munmap(pages.add(4_096), 4_096), 0);
            pages.add(4_093).cast::<[u8; 3]>().write(*b"end");
            assert_eq!(
                text(pages.add(4_093).expose_provenance() as u64, 1_024),
                b"end"
            );
            libc::munmap(pages, 4_096);
        }
    }
}
