// SPDX-License-Identifier: GPL-2.0-or-later
//! The global constants and variables of an object.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use object::{Object, ObjectSection, ObjectSymbol, SymbolKind};

/// Where a global lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Global {
    pub section: String,
    pub offset: usize,
    pub bytes: usize,
}

impl Global {
    /// Its place in its section, where the section is long enough.
    pub fn slice<'a>(&self, section: &'a mut [u8]) -> Option<&'a mut [u8]> {
        section.get_mut(self.offset..self.offset + self.bytes)
    }
}

/// By name.
pub fn globals(elf: &[u8]) -> Result<BTreeMap<String, Global>> {
    let file = object::File::parse(elf).context("not an ELF file")?;
    let mut found = BTreeMap::new();
    for symbol in file.symbols() {
        let section = (symbol.section_index()).and_then(|at| file.section_by_index(at).ok());
        let section = section.and_then(|section| section.name().ok().map(str::to_owned));
        if let (Ok(name), Some(section), SymbolKind::Data) = (symbol.name(), section, symbol.kind())
        {
            let global = Global {
                section,
                offset: symbol.address() as usize,
                bytes: symbol.size() as usize,
            };
            found.insert(name.to_owned(), global);
        }
    }
    Ok(found)
}
