// SPDX-License-Identifier: GPL-2.0-or-later
//! The parts of an ELF file that a BPF object is made of.

use anyhow::{Context, Result, bail};
use object::LittleEndian;
use object::elf::{
    EM_BPF, FileHeader64, SHF_EXECINSTR, SHN_COMMON, SHN_UNDEF, SHT_NOBITS, SHT_REL, SHT_SYMTAB,
    STB_LOCAL, STB_WEAK, STT_FUNC, STT_OBJECT, STT_SECTION, STV_HIDDEN, STV_INTERNAL,
};
use object::read::elf::{FileHeader, Rel, SectionHeader, Sym};

type Header = FileHeader64<LittleEndian>;

#[derive(Debug)]
pub struct Elf<'a> {
    /// By the file's own index.
    pub sections: Vec<Section<'a>>,
    /// By the file's own index.
    pub symbols: Vec<Symbol>,
}

#[derive(Debug)]
pub struct Section<'a> {
    pub name: String,
    /// What is stored: nothing where `is_zero`.
    pub stored: &'a [u8],
    pub bytes: u32,
    pub is_code: bool,
    /// Memory that begins as zeros.
    pub is_zero: bool,
    /// Offsets with indices of symbols, by rising offset.
    pub relocations: Vec<(u32, usize)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SymbolKind {
    Function,
    Object,
    Section,
    Other,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Undefined,
    Section(usize),
    /// A variable whose section is left to a linker.
    Common,
    Other,
}

#[derive(Clone, Debug)]
pub struct Symbol {
    pub name: String,
    pub kind: SymbolKind,
    pub place: Place,
    pub value: u32,
    pub bytes: u32,
    pub is_weak: bool,
    pub is_local: bool,
    /// Global among the files of one program, and static for who loads it.
    pub is_hidden: bool,
}

impl<'a> Elf<'a> {
    pub fn parse(file: &'a [u8]) -> Result<Self> {
        let order = LittleEndian;
        let header = Header::parse(file).context("not an ELF file of 64 bits")?;
        if header.endian().is_err() {
            bail!("a BPF object of big-endian byte order");
        }
        if header.e_machine(order) != EM_BPF {
            bail!("an ELF file, but not of BPF");
        }
        let table = header.sections(order, file)?;
        let mut sections = Vec::new();
        for section in table.iter() {
            let name = text(table.section_name(order, section)?)?;
            sections.push(Section {
                stored: section
                    .data(order, file)
                    .with_context(|| format!("section {name}"))?,
                bytes: section.sh_size(order).try_into()?,
                is_code: section.sh_flags(order).contains(SHF_EXECINSTR),
                is_zero: section.sh_type(order) == SHT_NOBITS,
                relocations: Vec::new(),
                name,
            });
        }
        for section in table.iter().filter(|one| one.sh_type(order) == SHT_REL) {
            let target = section.info_link(order).0;
            let Some((relocations, _)) = section.rel(order, file)? else {
                continue;
            };
            let place = sections
                .get_mut(target)
                .context("relocations of a section that is not there")?;
            for relocation in relocations {
                let offset = relocation.r_offset(order).try_into()?;
                place
                    .relocations
                    .push((offset, relocation.r_sym(order) as usize));
            }
            place.relocations.sort_unstable();
        }
        let found = table.symbols(order, file, SHT_SYMTAB)?;
        let mut symbols = Vec::new();
        for (index, symbol) in found.enumerate() {
            let name = text(found.symbol_name(order, symbol)?)?;
            let number = symbol.st_shndx(order);
            let place = match number {
                SHN_UNDEF => Place::Undefined,
                SHN_COMMON => Place::Common,
                _ => found
                    .symbol_section(order, symbol, index)?
                    .map_or(Place::Other, |section| Place::Section(section.0)),
            };
            if let Place::Section(section) = place
                && section >= sections.len()
            {
                bail!("symbol {name} is in a section that is not there");
            }
            let kind = match symbol.st_type() {
                STT_FUNC => SymbolKind::Function,
                STT_OBJECT => SymbolKind::Object,
                STT_SECTION => SymbolKind::Section,
                _ => SymbolKind::Other,
            };
            symbols.push(Symbol {
                name,
                kind,
                place,
                value: symbol.st_value(order).try_into()?,
                bytes: symbol.st_size(order).try_into()?,
                is_weak: symbol.st_bind() == STB_WEAK,
                is_local: symbol.st_bind() == STB_LOCAL,
                is_hidden: matches!(symbol.st_visibility(), STV_HIDDEN | STV_INTERNAL),
            });
        }
        Ok(Self { sections, symbols })
    }

    /// The first section of this name.
    pub fn section(&self, name: &str) -> Option<&Section<'a>> {
        self.sections.iter().find(|section| section.name == name)
    }

    pub fn symbol(&self, index: usize) -> Result<&Symbol> {
        self.symbols
            .get(index)
            .context("a relocation against a symbol that is not there")
    }
}

fn text(bytes: &[u8]) -> Result<String> {
    Ok(std::str::from_utf8(bytes)
        .context("a name that is no UTF-8")?
        .to_owned())
}
