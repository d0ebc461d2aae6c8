// SPDX-License-Identifier: GPL-2.0-or-later
//! Reading the section `.BTF.ext`: what BTF says about places in code.

use std::collections::HashMap;

use anyhow::{Context, Result, bail};

use super::parse;
use super::types::TypeId;
use crate::bytes::{Reader, part, text};

const MAGIC: u16 = 0xeb9f;

/// Records by the name of their section of code, in the order of the object.
#[derive(Clone, Debug, Default)]
pub struct Ext {
    /// Where a function begins, and its BTF.
    pub functions: HashMap<String, Vec<(u32, TypeId)>>,
    pub lines: HashMap<String, Vec<LineInfo>>,
    pub relocations: HashMap<String, Vec<CoreRelo>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineInfo {
    /// Offset in the section, in bytes.
    pub offset: u32,
    pub file: String,
    pub line: u32,
}

/// A place that depends on the kernel's types.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoreRelo {
    /// Offset in the section, in bytes.
    pub offset: u32,
    /// The object's type.
    pub of: TypeId,
    /// Indices of members and elements, such as `0:2:1`.
    pub access: String,
    /// A number of `enum bpf_core_relo_kind`.
    pub kind: u32,
}

impl Ext {
    /// `btf` is the section `.BTF`, whose strings are meant.
    pub fn parse(bytes: &[u8], btf: &[u8]) -> Result<Self> {
        let strings = parse::strings(btf)?;
        let mut header = Reader::new(bytes);
        if header.u16()? != MAGIC {
            bail!("no BTF of this byte order");
        }
        header.u16()?;
        let header_bytes = header.u32()?;
        let fields = header_bytes.saturating_sub(8) / 4;
        let mut places = [0; 6];
        for place in places.iter_mut().take(fields as usize) {
            *place = header.u32()?;
        }
        let body = bytes
            .get(header_bytes as usize..)
            .context("ends too soon")?;
        let info = |at: usize| part(body, places[at], places[at + 1]);
        Ok(Self {
            functions: sections(info(0)?, strings, |record| {
                Ok((record.u32()?, record.u32()?))
            })
            .context("functions")?,
            lines: sections(info(2)?, strings, |record| {
                let offset = record.u32()?;
                let file = text(strings, record.u32()?)?.to_owned();
                record.u32()?;
                Ok(LineInfo {
                    offset,
                    file,
                    line: record.u32()? >> 10,
                })
            })
            .context("lines")?,
            relocations: sections(info(4)?, strings, |record| {
                Ok(CoreRelo {
                    offset: record.u32()?,
                    of: record.u32()?,
                    access: text(strings, record.u32()?)?.to_owned(),
                    kind: record.u32()?,
                })
            })
            .context("relocations")?,
        })
    }
}

/// One of the three tables: the size of its records, then for each section its name, a count, and so many records.
fn sections<T>(
    bytes: &[u8],
    strings: &[u8],
    read: impl Fn(&mut Reader) -> Result<T>,
) -> Result<HashMap<String, Vec<T>>> {
    let mut found: HashMap<String, Vec<T>> = HashMap::new();
    if bytes.is_empty() {
        return Ok(found);
    }
    let mut reader = Reader::new(bytes);
    let record_bytes = reader.u32()? as usize;
    while !reader.is_empty() {
        let records = found
            .entry(text(strings, reader.u32()?)?.to_owned())
            .or_default();
        for _ in 0..reader.u32()? {
            records.push(read(&mut Reader::new(reader.take(record_bytes)?))?);
        }
    }
    Ok(found)
}
