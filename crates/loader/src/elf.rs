// SPDX-License-Identifier: GPL-2.0-or-later
//! Where a policy's globals lie inside its data sections.

use anyhow::{Context, Result, ensure};
use object::{Object, ObjectSection, ObjectSymbol};

/// One global variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variable {
    pub offset: usize,
    pub size: usize,
}

pub struct Layout<'data> {
    file: object::File<'data>,
}

impl<'data> Layout<'data> {
    pub fn of(elf: &'data [u8]) -> Result<Self> {
        Ok(Self {
            file: object::File::parse(elf).context("not an ELF file")?,
        })
    }

    /// The variable `name` of section `.rodata` or `.bss`.
    pub fn find(&self, section: &str, name: &str) -> Result<Variable> {
        let symbol = self.file.symbols().find(|symbol| symbol.name() == Ok(name));
        let symbol = symbol.with_context(|| format!("the policy has no global '{name}'"))?;
        let home = symbol
            .section_index()
            .and_then(|index| self.file.section_by_index(index).ok());
        let home = home
            .and_then(|home| home.name().ok().map(str::to_owned))
            .unwrap_or_default();
        ensure!(
            home == section,
            "the policy's global '{name}' lies in {home}, not in {section}"
        );
        Ok(Variable {
            offset: symbol.address() as usize,
            size: symbol.size() as usize,
        })
    }
}

impl Variable {
    /// The variable's bytes inside its section.
    pub fn slice(self, section: &mut [u8]) -> Result<&mut [u8]> {
        let end = self.offset + self.size;
        section
            .get_mut(self.offset..end)
            .context("a global lies outside its section")
    }
}
