// SPDX-License-Identifier: GPL-2.0-or-later
//! Values of an object's constants and variables, as a user writes them in a file: `NAME = VALUE`, by the object's BTF.

use anyhow::{Context, Result, bail, ensure};
use bpf::btf::{BOOL, Btf, Kind, SIGNED, TypeId};
use input::Node;
use object::{Object, ObjectSection};

use crate::globals::globals;
use crate::set_up::{Bytes, SetUp};

/// The sections in which the globals named in this text lie, with those values. `file` is what errors call the text.
///
/// A number is an integer, a Boolean `true` or `false`, an enumeration's value its name, a string a text; arrays are
/// lists, no longer than they are, and structures tables of those members that are set.
pub fn read(elf: &[u8], text: &str, file: &str) -> Result<SetUp> {
    of(elf, &Node::parse(text, file)?)
}

/// The same from a table that was read before.
pub fn of(elf: &[u8], root: &Node) -> Result<SetUp> {
    let types = bpf::types(elf)?;
    let known = globals(elf)?;
    let mut set_up = SetUp::default();
    for (name, node) in root.table()?.entries() {
        let declared = types.find(name, |kind| matches!(kind, Kind::Variable { .. }));
        let global = known.get(name).filter(|global| {
            let of_data = [".rodata", ".data", ".bss"];
            of_data
                .iter()
                .any(|begin| global.section.starts_with(begin))
        });
        let (Some(id), Some(global)) = (declared, global) else {
            // An object has hundreds of them.
            let near = input::suggest(name, known.keys().map(String::as_str));
            let near = if near.starts_with("did") {
                format!(": {near}")
            } else {
                String::new()
            };
            let what = "the object has no global constant or variable";
            bail!(node.error(format!("{what} {name}{near}")));
        };
        let Kind::Variable { of, .. } = types.get(id).kind else {
            unreachable!("just looked for")
        };
        let data = set_up.data.entry(global.section.clone());
        let data = data.or_insert_with(|| Bytes(contents(elf, &global.section)));
        let place = global.slice(&mut data.0);
        let place = place.with_context(|| format!("{name}: outside of its section"))?;
        put(&types, of, node, place)?;
    }
    Ok(set_up)
}

/// Zeros where nothing is stored.
fn contents(elf: &[u8], section: &str) -> Vec<u8> {
    let found = object::File::parse(elf).ok().and_then(|file| {
        let section = file.section_by_name(section)?;
        let mut bytes = section.data().ok()?.to_vec();
        bytes.resize(section.size() as usize, 0);
        Some(bytes)
    });
    found.unwrap_or_default()
}

fn put(types: &Btf, of: TypeId, node: &Node, place: &mut [u8]) -> Result<()> {
    let of = types.skip(of);
    let bytes = types.size(of).unwrap_or_default() as usize;
    let place = place.get_mut(..bytes);
    let place = place.ok_or_else(|| node.error("lies outside of its global"))?;
    match types.kind(of) {
        Kind::Int(int) if int.encoding & BOOL != 0 => place[0] = u8::from(node.bool()?),
        Kind::Int(int) => number(node, int.encoding & SIGNED != 0, place)?,
        Kind::Enum(enumeration) | Kind::Enum64(enumeration) => {
            let name = node.text()?;
            let found = enumeration.values.iter().find(|(known, _)| known == name);
            let Some((_, value)) = found else {
                let names = enumeration.values.iter().map(|(name, _)| name.as_str());
                let names = names.collect::<Vec<_>>().join(", ");
                bail!(node.expected(&format!("one of {names}")))
            };
            place.copy_from_slice(&value.to_le_bytes()[..bytes]);
        }
        Kind::Array { element, count } => {
            if let (input::Kind::Text(text), Some(1)) = (&node.kind, types.size(*element)) {
                return string(node, text, place);
            }
            let list = node.list()?;
            let most = *count as usize;
            ensure!(
                list.len() <= most,
                node.expected(&format!("a list of at most {most}"))
            );
            let each = types.size(*element).unwrap_or_default() as usize;
            for (one, place) in list.iter().zip(place.chunks_mut(each.max(1))) {
                put(types, *element, one, place)?;
            }
        }
        Kind::Struct(composite) | Kind::Union(composite) => {
            let table = node.table()?;
            for member in composite.members.iter().filter(|member| member.bits == 0) {
                if let Some(one) = table.optional(&member.name) {
                    put(
                        types,
                        member.of,
                        one,
                        &mut place[member.offset_bits as usize / 8..],
                    )?;
                }
            }
            table.finish()?;
        }
        other => bail!(node.error(format!("a {} cannot be set", other.word()))),
    }
    Ok(())
}

fn number(node: &Node, is_signed: bool, place: &mut [u8]) -> Result<()> {
    let bits = 8 * place.len() as u32;
    let most = match (is_signed, bits) {
        (_, 64..) => i64::MAX,
        (true, bits) => (1 << (bits - 1)) - 1,
        (false, bits) => (1 << bits) - 1,
    };
    let least = if is_signed { -most - 1 } else { 0 };
    let value = i128::from(node.integer(least..=most)?).to_le_bytes();
    place.copy_from_slice(&value[..place.len()]);
    Ok(())
}

/// With the NUL at its end.
fn string(node: &Node, text: &str, place: &mut [u8]) -> Result<()> {
    ensure!(
        text.len() < place.len(),
        node.expected(&format!("a text of less than {} bytes", place.len()))
    );
    place.fill(0);
    place[..text.len()].copy_from_slice(text.as_bytes());
    Ok(())
}
