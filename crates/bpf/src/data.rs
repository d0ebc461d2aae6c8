// SPDX-License-Identifier: GPL-2.0-or-later
//! Sections of global data, and where they lie.

use std::collections::HashMap;

use anyhow::{Context, Result, bail};

use crate::elf::{Elf, Place, SymbolKind};
use crate::image::{DATA_ALIGN, Data, Global};
use crate::preset::Preset;

const ARENA: &str = ".addr_space.1";
/// The section of the kernel's settings, which no object has and a linker makes.
pub const KCONFIG: &str = ".kconfig";

/// No section may be larger.
const MOST_BYTES: u32 = 1 << 30;

/// Global data of an object.
#[derive(Debug, Default)]
pub struct Layout {
    pub data: Vec<Data>,
    pub globals: Vec<Global>,
    /// Size of the block.
    pub bytes: u32,
    /// Index into `data`, by that of the ELF file's section.
    by_section: HashMap<usize, usize>,
    /// Read-only data does not change any more.
    is_preset: bool,
}

impl Layout {
    pub fn of(elf: &Elf, preset: Option<&Preset>) -> Result<Self> {
        let mut layout = Self {
            is_preset: preset.is_some(),
            ..Self::default()
        };
        for (index, section) in elf.sections.iter().enumerate() {
            let is_named = |name: &str| {
                section
                    .name
                    .strip_prefix(name)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            };
            let is_zero = is_named(".bss") && section.is_zero;
            let is_data = is_named(".data") || is_named(".rodata") || section.name == ARENA;
            if section.bytes == 0 || section.is_code || !is_zero && (!is_data || section.is_zero) {
                continue;
            }
            if section.bytes > MOST_BYTES {
                bail!("section {}: {} bytes", section.name, section.bytes);
            }
            let bytes = match preset.and_then(|preset| preset.data.get(&section.name)) {
                Some(bytes) if bytes.len() < section.bytes as usize => bail!(
                    "section {}: set to {} bytes where the object has {}",
                    section.name,
                    bytes.len(),
                    section.bytes
                ),
                Some(bytes) => bytes.clone(),
                None if is_zero => vec![0; section.bytes as usize],
                None => section.stored.to_vec(),
            };
            let place = layout.push(&section.name, bytes, is_named(".rodata"))?;
            layout.by_section.insert(index, place);
        }
        for symbol in &elf.symbols {
            let Place::Section(section) = symbol.place else {
                continue;
            };
            let Some(data) = layout.by_section.get(&section) else {
                continue;
            };
            if symbol.kind == SymbolKind::Object {
                layout.globals.push(Global {
                    name: symbol.name.clone(),
                    data: *data as u32,
                    offset: symbol.value,
                    bytes: symbol.bytes,
                });
            }
        }
        Ok(layout)
    }

    /// One more section behind the others; its index.
    pub fn push(&mut self, name: &str, bytes: Vec<u8>, read_only: bool) -> Result<usize> {
        let arena = name == ARENA;
        let size = u32::try_from(bytes.len())?;
        let offset = if arena { 0 } else { self.bytes };
        if !arena {
            self.bytes = offset
                .checked_add(size)
                .and_then(|end| end.checked_next_multiple_of(DATA_ALIGN))
                .context("more than 4 GiB of global data")?;
        }
        self.data.push(Data {
            name: name.to_owned(),
            offset,
            bytes,
            read_only,
            arena,
        });
        Ok(self.data.len() - 1)
    }

    /// The number of so many bytes at a place of the block, where it never changes: the kernel's settings do not, and
    /// read-only data does not once a loader has set it.
    pub fn constant(&self, place: u64, bytes: u32) -> Option<u64> {
        let never_changes = |data: &&Data| data.name == KCONFIG || self.is_preset && data.read_only;
        self.data.iter().filter(never_changes).find_map(|data| {
            let start = usize::try_from(place.checked_sub(u64::from(data.offset))?).ok()?;
            let found = data.bytes.get(start..start.checked_add(bytes as usize)?)?;
            let mut number = [0; 8];
            number[..found.len()].copy_from_slice(found);
            Some(u64::from_le_bytes(number))
        })
    }

    /// The data that a section of the ELF file became.
    pub fn of_section(&self, section: usize) -> Option<&Data> {
        self.by_section
            .get(&section)
            .map(|index| &self.data[*index])
    }
}
