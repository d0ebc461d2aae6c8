// SPDX-License-Identifier: GPL-2.0-or-later
//! Where a policy's globals lie inside its data sections.

use anyhow::{Context, Result};
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

    /// The variable `name` of section `.rodata`, `.data` or `.bss`, if it is there.
    pub fn find(&self, section: &str, name: &str) -> Option<Variable> {
        self.variables(section)
            .find_map(|(found, variable)| (found == name).then_some(variable))
    }

    /// The same of a variable that is there in every policy made with `include/`.
    pub fn expect(&self, section: &str, name: &str) -> Result<Variable> {
        self.find(section, name)
            .with_context(|| format!("the policy has no global '{name}' in {section}"))
    }

    /// Everything in a section that has a name.
    pub fn variables(&self, section: &str) -> impl Iterator<Item = (&str, Variable)> {
        let home = self.file.section_by_name(section).map(|home| home.index());
        self.file
            .symbols()
            .filter(move |symbol| home.is_some() && symbol.section_index() == home)
            .filter_map(|symbol| {
                let variable = Variable {
                    offset: symbol.address() as usize,
                    size: symbol.size() as usize,
                };
                Some((symbol.name().ok()?, variable))
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
