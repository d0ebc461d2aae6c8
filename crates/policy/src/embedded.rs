// SPDX-License-Identifier: GPL-2.0-or-later
//! BPF objects inside of programs: what loads a scheduler usually carries it, as one ELF file within another.

use std::ops::Range;

use object::elf::{EM_BPF, FileHeader64};
use object::read::elf::{FileHeader, SectionHeader};
use object::{Endianness, Object, ObjectSection};

const MAGIC: &[u8] = b"\x7fELF\x02\x01";

/// Every BPF object in these bytes that holds callbacks of the kernel, from its first byte to its last.
pub fn schedulers(bytes: &[u8]) -> Vec<&[u8]> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(offset) = bytes[at..]
        .windows(MAGIC.len())
        .position(|window| window == MAGIC)
    {
        at += offset;
        match extent(&bytes[at..]) {
            Some(extent) if has_callbacks(&bytes[at..][extent.clone()]) => {
                found.push(&bytes[at..][extent.clone()]);
                at += extent.end;
            }
            _ => at += MAGIC.len(),
        }
    }
    found
}

/// The part of these bytes that the ELF file at their beginning takes; none if it is not one for BPF.
fn extent(bytes: &[u8]) -> Option<Range<usize>> {
    let header = FileHeader64::<Endianness>::parse(bytes).ok()?;
    let endian = header.endian().ok()?;
    if header.e_machine(endian) != EM_BPF {
        return None;
    }
    let sections = header.section_headers(endian, bytes).ok()?;
    let table = header.e_shoff(endian) + size_of_val(sections) as u64;
    let contents = sections
        .iter()
        .filter_map(|section| section.file_range(endian));
    let end = contents
        .map(|(start, size)| start + size)
        .fold(table, u64::max);
    let end = usize::try_from(end).ok()?;
    (end <= bytes.len()).then_some(0..end)
}

fn has_callbacks(elf: &[u8]) -> bool {
    object::File::parse(elf).is_ok_and(|file| {
        (file.sections()).any(|section| {
            section
                .name()
                .is_ok_and(|name| name.starts_with(".struct_ops"))
        })
    })
}
