// SPDX-License-Identifier: GPL-2.0-or-later
//! The functions of an object: programs, one section or more, and subprograms in `.text`.

use std::collections::HashMap;

use anyhow::{Context, Result, bail};

use crate::decode::{Code, SLOT_BYTES, decode};
use crate::elf::{Elf, Place, SymbolKind};

/// Where subprograms are.
const TEXT: &str = ".text";

#[derive(Debug)]
pub struct Function {
    pub name: String,
    /// The ELF file's index.
    pub section: usize,
    pub section_name: String,
    /// Offset in its section.
    pub start: u32,
    pub bytes: u32,
    pub code: Code,
    /// The verifier looks at it by itself, whoever calls it.
    pub is_global: bool,
}

impl Function {
    pub fn is_subprogram(&self) -> bool {
        self.section_name == TEXT
    }

    /// Offset in its section of what follows it.
    pub fn end(&self) -> u32 {
        self.start + self.bytes
    }

    /// The instruction at an offset of its section.
    pub fn insn(&self, offset: u32) -> Option<usize> {
        let offset = offset.checked_sub(self.start)?;
        if offset % SLOT_BYTES != 0 {
            return None;
        }
        self.code.at(offset / SLOT_BYTES)
    }

    /// Offset in its section of an instruction.
    pub fn offset(&self, insn: usize) -> u32 {
        self.start + self.code.slots[insn] * SLOT_BYTES
    }

    pub fn place(&self, insn: usize) -> String {
        format!(
            "section {}, offset {:#x}",
            self.section_name,
            self.offset(insn)
        )
    }
}

#[derive(Debug, Default)]
pub struct Functions {
    /// By section, then by offset.
    pub all: Vec<Function>,
    by_place: HashMap<(usize, u32), usize>,
    text: Option<usize>,
}

impl Functions {
    pub fn of(elf: &Elf) -> Result<Self> {
        let mut found = Vec::new();
        for symbol in &elf.symbols {
            let Place::Section(index) = symbol.place else {
                continue;
            };
            let section = &elf.sections[index];
            if !section.is_code || symbol.kind != SymbolKind::Function || symbol.bytes == 0 {
                continue;
            }
            let end = symbol.value.saturating_add(symbol.bytes) as usize;
            let bytes = section
                .stored
                .get(symbol.value as usize..end)
                .with_context(|| format!("{}: outside of its section", symbol.name))?;
            if symbol.is_local && section.name != TEXT {
                bail!("{}: a program that is static", symbol.name);
            }
            found.push(Function {
                name: symbol.name.clone(),
                section: index,
                section_name: section.name.clone(),
                start: symbol.value,
                bytes: symbol.bytes,
                code: decode(bytes, &section.name, symbol.value)?,
                is_global: !symbol.is_local && !symbol.is_hidden,
            });
        }
        found.sort_by_key(|function| (function.section, function.start));
        let by_place = found
            .iter()
            .enumerate()
            .map(|(index, function)| ((function.section, function.start), index))
            .collect();
        Ok(Self {
            by_place,
            all: found,
            text: elf.sections.iter().position(|one| one.name == TEXT),
        })
    }

    /// The function that begins at an offset of a section.
    pub fn at(&self, section: usize, offset: u32) -> Option<usize> {
        self.by_place.get(&(section, offset)).copied()
    }

    /// The subprogram that begins at an offset.
    pub fn subprogram(&self, offset: u32) -> Option<usize> {
        self.at(self.text?, offset)
    }

    pub fn is_text(&self, place: Place) -> bool {
        self.text.map(Place::Section) == Some(place)
    }
}
