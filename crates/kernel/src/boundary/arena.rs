// SPDX-License-Identifier: GPL-2.0-or-later
//! The arena: memory that a policy shares with its user half, and finds by addresses of user space (`kernel/bpf/arena.c`).
//!
//! Addresses are the same in every run. A page that nobody has allocated reads as 0, as in the kernel. The kernel also
//! drops what is written to such a page; here it stays until the page is allocated, and checked execution refuses it.

use std::ptr::NonNull;

use anyhow::{Context, Result, ensure};
use bpf::image;

use super::mapping::{Mapping, PAGE_BYTES};

/// Code reaches all addresses that agree in their upper halves.
const REACH_BYTES: usize = 1 << 32;
/// And, with an instruction's offset, a little before and behind.
const GUARD_BYTES: usize = 1 << 16;
const MAPPED_BYTES: usize = 2 * REACH_BYTES + 2 * GUARD_BYTES;
/// Where user space has an arena that asks for no address.
const USER_ADDRESS: u64 = 1 << 44;

pub struct Arena {
    mapping: Mapping,
    /// Where the address with a lower half of 0 lies.
    base: NonNull<u8>,
    user: u64,
    /// Whether a page is allocated.
    pages: Vec<bool>,
}

impl Arena {
    /// That of an image, if one of its maps is an arena, with its global data.
    pub fn of(maps: &[image::Map], data: &[image::Data]) -> Result<Option<Self>> {
        let Some(shape) = maps.iter().find(|map| map.kind == super::maps::kind::ARENA) else {
            return Ok(None);
        };
        let pages = shape.max_entries as usize;
        let user = if shape.extra == 0 {
            USER_ADDRESS
        } else {
            shape.extra
        };
        let low = user as u32 as usize;
        ensure!(
            low.is_multiple_of(PAGE_BYTES) && low + pages * PAGE_BYTES <= REACH_BYTES,
            "arena {}: {pages} pages at {user:#x} are not within 4 GiB of the same upper half",
            shape.name
        );
        let globals = data.iter().filter(|section| section.arena);
        let globals = globals.map(|section| section.offset as usize + section.bytes.len());
        ensure!(
            globals.max().unwrap_or(0) <= pages * PAGE_BYTES,
            "arena {}: {pages} pages, which do not hold its global data",
            shape.name
        );
        let mapping = Mapping::new(MAPPED_BYTES).context("8 GiB of address space for an arena")?;
        // SAFETY: within the mapping, which has room for one multiple of 4 GiB with all of its reach and guards.
        let base = unsafe {
            let first = mapping.start().add(GUARD_BYTES);
            first.add(first.addr().get().next_multiple_of(REACH_BYTES) - first.addr().get())
        };
        base.as_ptr().expose_provenance();
        let mut arena = Self {
            mapping,
            base,
            user,
            pages: vec![false; pages],
        };
        arena.fill(data);
        Ok(Some(arena))
    }

    /// As it was in the beginning.
    pub fn reset(&mut self, data: &[image::Data]) {
        self.pages.fill(false);
        self.forget(0, self.pages.len());
        self.fill(data);
    }

    /// With global data, for which there are pages.
    fn fill(&mut self, data: &[image::Data]) {
        for section in data.iter().filter(|section| section.arena) {
            let (start, bytes) = (section.offset as usize, section.bytes.len());
            self.pages[start / PAGE_BYTES..(start + bytes).div_ceil(PAGE_BYTES)].fill(true);
            let at = self.at(start / PAGE_BYTES) as usize + start % PAGE_BYTES;
            let to: *mut u8 = std::ptr::with_exposed_provenance_mut(at);
            // SAFETY: within the arena.
            unsafe { std::ptr::copy_nonoverlapping(section.bytes.as_ptr(), to, bytes) };
        }
    }

    pub fn base(&self) -> *mut u8 {
        self.base.as_ptr()
    }

    pub fn user(&self) -> u64 {
        self.user
    }

    /// Where code finds a page.
    fn at(&self, page: usize) -> u64 {
        (self.base.as_ptr().addr() + self.user as u32 as usize + page * PAGE_BYTES) as u64
    }

    /// So many free pages, the first that lie together or those at an address of user space; the address of the first.
    pub fn allocate(&mut self, address: u64, count: u32) -> Option<u64> {
        let count = count as usize;
        if count == 0 || count > self.pages.len() {
            return None;
        }
        let free = |pages: &[bool]| pages.iter().all(|used| !used);
        let first = if address == 0 {
            self.pages.windows(count).position(free)?
        } else {
            let page = self.page(address)?;
            let wanted = self.pages.get(page..page + count)?;
            free(wanted).then_some(page)?
        };
        self.pages[first..first + count].fill(true);
        self.forget(first, count);
        Some(self.user + (first * PAGE_BYTES) as u64)
    }

    /// Pages from an address of user space on; what is not allocated stays so.
    pub fn free(&mut self, address: u64, count: u32) {
        let Some(first) = self.page(address) else {
            return;
        };
        let count = (count as usize).min(self.pages.len() - first);
        self.pages[first..first + count].fill(false);
        self.forget(first, count);
    }

    /// Which page an address of user space is the beginning of, by its lower half.
    fn page(&self, address: u64) -> Option<usize> {
        let offset = (address as u32).wrapping_sub(self.user as u32) as usize;
        let page = offset / PAGE_BYTES;
        (offset.is_multiple_of(PAGE_BYTES) && page < self.pages.len()).then_some(page)
    }

    /// Pages read as 0 again.
    fn forget(&mut self, first: usize, count: usize) {
        let offset = self.at(first) as usize - self.mapping.start().addr().get();
        self.mapping.forget(offset, count * PAGE_BYTES);
    }

    /// Everything that code reaches may be read; what is allocated may be written.
    pub fn may_touch(&self, address: u64, bytes: u64, write: bool) -> bool {
        let base = self.base.as_ptr().addr() as u64;
        let reach = base - GUARD_BYTES as u64..base + (REACH_BYTES + GUARD_BYTES) as u64;
        if !write {
            return reach.contains(&address) && bytes <= reach.end - address;
        }
        let Some(offset) = address.checked_sub(self.at(0)) else {
            return false;
        };
        let last = (offset + bytes - 1) / PAGE_BYTES as u64;
        let pages = (offset / PAGE_BYTES as u64) as usize..=last as usize;
        self.pages
            .get(pages)
            .is_some_and(|pages| pages.iter().all(|used| *used))
    }
}
