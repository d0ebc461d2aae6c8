// SPDX-License-Identifier: GPL-2.0-or-later
//! Reading the section `.BTF`.

use anyhow::{Context, Result, bail};

use super::types::{
    Btf, Composite, Enumeration, Int, Kind, Linkage, Member, Prototype, SectionVariable, Type,
};
use crate::bytes::{Reader, part, text};

const MAGIC: u16 = 0xeb9f;
/// Pinned by the format: offsets count from the end of the header.
const HEADER_BYTES: u32 = 24;

/// The strings of a `.BTF`, which `.BTF.ext` refers to as well.
pub fn strings(bytes: &[u8]) -> Result<&[u8]> {
    Ok(parts(bytes)?.1)
}

/// Types and strings.
fn parts(bytes: &[u8]) -> Result<(&[u8], &[u8])> {
    let mut header = Reader::new(bytes);
    if header.u16()? != MAGIC {
        bail!("no BTF of this byte order");
    }
    let version = header.u8()?;
    if version != 1 {
        bail!("version {version}");
    }
    header.u8()?;
    let header_bytes = header.u32()?;
    if header_bytes < HEADER_BYTES {
        bail!("a header of {header_bytes} bytes");
    }
    let [types_at, types_len, strings_at, strings_len] =
        [header.u32()?, header.u32()?, header.u32()?, header.u32()?];
    let body = bytes
        .get(header_bytes as usize..)
        .context("ends too soon")?;
    Ok((
        part(body, types_at, types_len)?,
        part(body, strings_at, strings_len)?,
    ))
}

impl Btf {
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let (types, strings) = parts(bytes)?;
        let mut reader = Reader::new(types);
        let mut found = Vec::new();
        while !reader.is_empty() {
            let id = found.len() + 1;
            found.push(one(&mut reader, strings).with_context(|| format!("type {id}"))?);
        }
        Ok(Self::new(found))
    }
}

fn one(reader: &mut Reader, strings: &[u8]) -> Result<Type> {
    let name = text(strings, reader.u32()?)?.to_owned();
    let info = reader.u32()?;
    let count = info & 0xffff;
    let flag = info >> 31 == 1;
    // A size or another type, as the kind has it.
    let of = reader.u32()?;
    let kind = match (info >> 24) & 0x1f {
        1 => {
            let data = reader.u32()?;
            Kind::Int(Int {
                bytes: of,
                encoding: (data >> 24 & 0xf) as u8,
                offset_bits: (data >> 16 & 0xff) as u8,
                bits: (data & 0xff) as u8,
            })
        }
        2 => Kind::Pointer(of),
        3 => {
            let element = reader.u32()?;
            reader.u32()?;
            Kind::Array {
                element,
                count: reader.u32()?,
            }
        }
        kind @ (4 | 5) => {
            let members = (0..count)
                .map(|_| member(reader, strings, flag))
                .collect::<Result<_>>()?;
            let composite = Composite { bytes: of, members };
            if kind == 4 {
                Kind::Struct(composite)
            } else {
                Kind::Union(composite)
            }
        }
        kind @ (6 | 19) => {
            let values = (0..count)
                .map(|_| enumerator(reader, strings, kind == 19))
                .collect::<Result<_>>()?;
            let enumeration = Enumeration {
                bytes: of,
                signed: flag,
                values,
            };
            if kind == 6 {
                Kind::Enum(enumeration)
            } else {
                Kind::Enum64(enumeration)
            }
        }
        7 => Kind::Forward { union: flag },
        8 => Kind::Typedef(of),
        9 => Kind::Volatile(of),
        10 => Kind::Const(of),
        11 => Kind::Restrict(of),
        12 => Kind::Function {
            prototype: of,
            linkage: linkage(count)?,
        },
        13 => {
            let parameters = (0..count)
                .map(|_| Ok((text(strings, reader.u32()?)?.to_owned(), reader.u32()?)))
                .collect::<Result<_>>()?;
            Kind::Prototype(Prototype {
                result: of,
                parameters,
            })
        }
        14 => Kind::Variable {
            of,
            linkage: linkage(reader.u32()?)?,
        },
        15 => {
            let mut variables = Vec::new();
            for _ in 0..count {
                variables.push(SectionVariable {
                    variable: reader.u32()?,
                    offset: reader.u32()?,
                    bytes: reader.u32()?,
                });
            }
            Kind::Section(variables)
        }
        16 => Kind::Float { bytes: of },
        17 => Kind::DeclTag {
            of,
            component: reader.u32()?.cast_signed(),
        },
        18 => Kind::TypeTag(of),
        kind => bail!("kind {kind}, which is not known"),
    };
    Ok(Type { name, kind })
}

fn member(reader: &mut Reader, strings: &[u8], with_bits: bool) -> Result<Member> {
    let name = text(strings, reader.u32()?)?.to_owned();
    let of = reader.u32()?;
    let place = reader.u32()?;
    let (bits, offset_bits) = if with_bits {
        (place >> 24, place & 0xff_ffff)
    } else {
        (0, place)
    };
    Ok(Member {
        name,
        of,
        offset_bits,
        bits,
    })
}

fn enumerator(reader: &mut Reader, strings: &[u8], is_wide: bool) -> Result<(String, u64)> {
    let name = text(strings, reader.u32()?)?.to_owned();
    let low = reader.u32()?;
    let value = if is_wide {
        u64::from(reader.u32()?) << 32 | u64::from(low)
    } else {
        i64::from(low.cast_signed()).cast_unsigned()
    };
    Ok((name, value))
}

fn linkage(number: u32) -> Result<Linkage> {
    Ok(match number {
        0 => Linkage::Static,
        1 => Linkage::Global,
        2 => Linkage::Extern,
        _ => bail!("linkage {number}, which is not known"),
    })
}
