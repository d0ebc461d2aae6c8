// SPDX-License-Identifier: GPL-2.0-or-later
//! A policy's variables after a run, by name, as the object's BTF describes them.

use anyhow::{Context, Result, bail};
use bpf::btf::{Btf, Kind, SIGNED, TypeId};
use kernel::Program;

/// The block of data that a run left, and what lies in it.
pub struct Globals<'a> {
    program: &'a Program,
    types: Btf,
    data: &'a [u8],
}

#[derive(Debug)]
pub enum Value {
    Number(i128),
    Text(String),
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Text(text) => write!(f, "{text:?}"),
        }
    }
}

impl<'a> Globals<'a> {
    pub fn new(program: &'a Program, elf: &[u8], data: &'a [u8]) -> Result<Self> {
        Ok(Self {
            program,
            types: bpf::types(elf)?,
            data,
        })
    }

    /// `VARIABLE` or `VARIABLE.MEMBER`.
    pub fn read(&self, path: &str) -> Result<Value> {
        let mut names = path.split('.');
        let name = names.next().unwrap_or_default();
        let types = &self.types;
        let unknown = || format!("{path}: the object has no such variable");
        let declared = types.find(name, |kind| matches!(kind, Kind::Variable { .. }));
        let Kind::Variable { of, .. } = types.get(declared.with_context(unknown)?).kind else {
            unreachable!("just looked for")
        };
        let mut of = types.skip(of);
        let mut place = self.program.global(self.data, name).with_context(unknown)?;
        for name in names {
            let members = types.get(of).kind.composite().with_context(unknown)?;
            let mut members = members.members.iter().filter(|member| member.bits == 0);
            let member = members.find(|member| member.name == name);
            let member = member.with_context(unknown)?;
            let begin = member.offset_bits as usize / 8;
            place = place.get(begin..).with_context(unknown)?;
            of = types.skip(member.of);
        }
        let bytes = types.size(of).with_context(unknown)? as usize;
        value(types, of, place.get(..bytes).with_context(unknown)?).with_context(|| path.to_owned())
    }
}

fn value(types: &Btf, of: TypeId, place: &[u8]) -> Result<Value> {
    let signed = match types.kind(of) {
        Kind::Int(int) => int.encoding & SIGNED != 0,
        Kind::Enum(values) | Kind::Enum64(values) => values.signed,
        Kind::Array { element, .. } if types.size(*element) == Some(1) => {
            let text = place.split(|byte| *byte == 0).next().unwrap_or_default();
            return Ok(Value::Text(String::from_utf8_lossy(text).into_owned()));
        }
        other => bail!("a {} cannot be compared", other.word()),
    };
    let negative = signed && place.last().is_some_and(|last| last & 0x80 != 0);
    let mut bytes = [if negative { 0xff } else { 0 }; 16];
    bytes[..place.len()].copy_from_slice(place);
    Ok(Value::Number(i128::from_le_bytes(bytes)))
}
