// SPDX-License-Identifier: GPL-2.0-or-later
//! Maps as BTF defines them: variables of the section `.maps`, whose types say what they are.

use std::collections::HashMap;

use anyhow::{Context, Result, bail};

use crate::btf::{Btf, Kind, Type, TypeId};
use crate::elf::{Elf, Place};
use crate::image::Map;
use crate::special;

const SECTION: &str = ".maps";
const PAGE_BYTES: u32 = 4096;
const ARRAY_OF_MAPS: u32 = 12;
const HASH_OF_MAPS: u32 = 13;
const PROG_ARRAY: u32 = 3;
const RINGBUF: u32 = 27;
const USER_RINGBUF: u32 = 31;

/// The maps of an object, in the order of their places in its section.
#[derive(Debug, Default)]
pub struct Maps {
    pub all: Vec<Map>,
    /// The ELF file's index of the section.
    section: Option<usize>,
    by_offset: HashMap<u32, usize>,
}

impl Maps {
    pub fn of(elf: &Elf, btf: &Btf) -> Result<Self> {
        let Some(index) = elf.sections.iter().position(|one| one.name == SECTION) else {
            return Ok(Self::default());
        };
        let mut maps = Self {
            section: Some(index),
            ..Self::default()
        };
        // The order in BTF is no order of places; offsets are the symbols', since a compiler leaves them out of BTF.
        let mut symbols: Vec<_> = elf
            .symbols
            .iter()
            .filter(|symbol| {
                let end = symbol.value.checked_add(symbol.bytes);
                symbol.place == Place::Section(index)
                    && symbol.bytes > 0
                    && end.is_some_and(|end| end <= elf.sections[index].bytes)
            })
            .collect();
        symbols.sort_by_key(|symbol| symbol.value);
        let mut places = Vec::new();
        for symbol in symbols {
            let name = &symbol.name;
            let context = || format!("map {name}");
            let Some((
                _,
                Type {
                    kind: Kind::Variable { of, .. },
                    ..
                },
            )) = btf.find_in_section(SECTION, name)
            else {
                bail!("map {name}: no BTF");
            };
            let definition = btf.skip(*of);
            let (map, values_at) = define(btf, name, definition, true).with_context(context)?;
            maps.by_offset.insert(symbol.value, maps.all.len());
            maps.all.push(map);
            places.push((symbol.value, symbol.bytes, values_at));
        }
        for &(offset, symbol) in &elf.sections[index].relocations {
            let symbol = elf.symbol(symbol)?;
            let (at, (start, _, values_at)) = places
                .iter()
                .enumerate()
                .find(|(_, (start, bytes, _))| (*start..start + bytes).contains(&offset))
                .context("a value of a map that is not there")?;
            // The value of an array of programs is a program, which no image has.
            if maps.all[at].kind == PROG_ARRAY {
                continue;
            }
            let value = maps
                .by_symbol(symbol.place, symbol.value)
                .with_context(|| {
                    format!(
                        "map {}: its value {} is no map",
                        maps.all[at].name, symbol.name
                    )
                })?;
            let slot = values_at
                .and_then(|values_at| (offset - start).checked_sub(values_at))
                .context("a value outside of a map's values")? as usize
                / 8;
            let values = &mut maps.all[at].values;
            values.resize(values.len().max(slot + 1), None);
            values[slot] = Some(value as u32);
        }
        Ok(maps)
    }

    /// The map that a symbol stands for.
    pub fn by_symbol(&self, place: Place, value: u32) -> Option<usize> {
        if self.section.map(Place::Section) != Some(place) {
            return None;
        }
        self.by_offset.get(&value).copied()
    }
}

/// A map, and where in its definition the values begin.
fn define(btf: &Btf, name: &str, definition: TypeId, is_outer: bool) -> Result<(Map, Option<u32>)> {
    let Kind::Struct(composite) = &btf.get(definition).kind else {
        bail!("its definition is no struct");
    };
    let mut map = Map {
        name: name.to_owned(),
        ..Map::default()
    };
    let mut values_at = None;
    for member in &composite.members {
        let number = || {
            array_of(btf, member.of)
                .with_context(|| format!("{} is not set by __uint", member.name))
        };
        let sized = |size: &mut u32, bytes: u32| {
            if *size != 0 && *size != bytes {
                bail!("{} says {bytes} bytes, another member {size}", member.name);
            }
            *size = bytes;
            Ok(())
        };
        match member.name.as_str() {
            "type" => map.kind = number()?,
            "max_entries" => map.max_entries = number()?,
            "map_flags" => map.flags = number()?,
            "key_size" => sized(&mut map.key_bytes, number()?)?,
            "value_size" => sized(&mut map.value_bytes, number()?)?,
            "key" => sized(&mut map.key_bytes, pointed(btf, member.of, "key")?.1)?,
            "value" => {
                let (of, bytes) = pointed(btf, member.of, "value")?;
                sized(&mut map.value_bytes, bytes)?;
                map.special = special::fields(btf, of);
            }
            "map_extra" => map.extra = long(btf, member.of)?,
            "values" => {
                if !is_outer {
                    bail!("a map in a map in a map");
                }
                sized(&mut map.value_bytes, 4)?;
                values_at = Some(member.offset_bits / 8);
                if map.kind == ARRAY_OF_MAPS || map.kind == HASH_OF_MAPS {
                    let inner = inner_of(btf, member.of).context("values is not set by __array")?;
                    let (inner, _) = define(btf, &format!("{name}.inner"), inner, false)?;
                    map.inner = Some(Box::new(inner));
                }
            }
            // Where a map lies, and under what name others find it, nobody else sees.
            "numa_node" | "pinning" => {}
            other => bail!("{other}, which is not known"),
        }
    }
    if map.kind == 0 {
        bail!("no type");
    }
    if matches!(map.kind, RINGBUF | USER_RINGBUF) {
        map.max_entries = ring_bytes(map.max_entries);
    }
    Ok((map, values_at))
}

/// A ring is a power of two of pages; a loader rounds it up.
fn ring_bytes(bytes: u32) -> u32 {
    if bytes == 0 {
        return 0;
    }
    let pages = bytes.div_ceil(PAGE_BYTES).checked_next_power_of_two();
    pages
        .and_then(|pages| pages.checked_mul(PAGE_BYTES))
        .unwrap_or(bytes)
}

/// A number as `__uint` hides it: in the size of an array that is pointed to.
fn array_of(btf: &Btf, id: TypeId) -> Option<u32> {
    let Kind::Pointer(to) = btf.kind(id) else {
        return None;
    };
    match btf.get(*to).kind {
        Kind::Array { count, .. } => Some(count),
        _ => None,
    }
}

/// A number as `__uint` has it, or as `__ulong` does, in the only value of an enumeration.
fn long(btf: &Btf, id: TypeId) -> Result<u64> {
    let kind = btf.kind(id);
    if let Some(enumeration) = kind.enumeration()
        && let [(_, value)] = &enumeration.values[..]
    {
        return Ok(*value);
    }
    array_of(btf, id)
        .map(u64::from)
        .context("map_extra is not set by __ulong")
}

/// A type as `__type` hides it, and its size.
fn pointed(btf: &Btf, id: TypeId, name: &str) -> Result<(TypeId, u32)> {
    let Kind::Pointer(to) = btf.get(id).kind else {
        bail!("{name} is not set by __type");
    };
    let bytes = btf
        .size(to)
        .with_context(|| format!("{name} has no size"))?;
    Ok((to, bytes))
}

/// The definition of the maps in a map of maps.
fn inner_of(btf: &Btf, id: TypeId) -> Option<TypeId> {
    let Kind::Array { element, count: 0 } = btf.get(id).kind else {
        return None;
    };
    match btf.kind(element) {
        Kind::Pointer(to) => Some(btf.skip(*to)),
        _ => None,
    }
}
