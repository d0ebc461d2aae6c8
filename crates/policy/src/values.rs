// SPDX-License-Identifier: GPL-2.0-or-later
//! Values of an object's constants and variables, and of the members of its `struct sched_ext_ops`, as a user writes
//! them in a file: `NAME = VALUE`, by the object's BTF.

use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use bpf::btf::{BOOL, Btf, Kind, SIGNED, TypeId};
use input::Node;
use object::{Object, ObjectSection};

use crate::globals::globals;
use crate::set_up::{Bytes, SetUp};

/// Where libbpf finds a scheduler's `struct sched_ext_ops`.
const STRUCT_OPS: &str = ".struct_ops";
/// Members that are the loader's to set.
const LOADERS: [&str; 2] = ["name", "hotplug_seq"];

/// The values of a file, as [`read`] has them.
pub fn of_file(elf: &[u8], file: &Path) -> Result<SetUp> {
    let text = input::read(file, "a readable file of values")?;
    read(elf, &text, &file.display().to_string())
}

/// What a file sets.
pub fn names(file: &Path) -> Result<Vec<String>> {
    let text = input::read(file, "a readable file of values")?;
    let root = Node::parse(&text, &file.display().to_string())?;
    let entries = root.table()?.entries();
    Ok(entries.iter().map(|(name, _)| name.clone()).collect())
}

/// The sections in which the globals named in this text lie, with those values. `file` is what errors call the text.
///
/// A number is an integer, a Boolean `true` or `false`, an enumeration's value its name, a string a text; arrays are
/// lists, no longer than they are, and structures tables of those members that are set. A scheduler's own structure is
/// one of these: `mine_ops.timeout_ms = 5000`.
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
            let of_data = [".rodata", ".data", ".bss", STRUCT_OPS];
            of_data
                .iter()
                .any(|begin| global.section.starts_with(begin))
        });
        let (Some(id), Some(global)) = (declared, global) else {
            let near = nearest(name, known.keys().map(String::as_str));
            let what = "the object has no global constant or variable";
            bail!(node.error(format!("{what} {name}{near}")));
        };
        let Kind::Variable { of, .. } = types.get(id).kind else {
            unreachable!("just looked for")
        };
        if global.section.starts_with(STRUCT_OPS) {
            members(&types, of, node, &mut set_up)?;
            continue;
        }
        let data = set_up.data.entry(global.section.clone());
        let data = data.or_insert_with(|| Bytes(contents(elf, &global.section)));
        let place = global.slice(&mut data.0);
        let place = place.with_context(|| format!("{name}: outside of its section"))?;
        put(&types, of, node, place)?;
    }
    Ok(set_up)
}

/// Numbers of a scheduler's structure. Its callbacks are programs of the object, which no file has.
fn members(types: &Btf, of: TypeId, node: &Node, set_up: &mut SetUp) -> Result<()> {
    let Kind::Struct(composite) = types.kind(types.skip(of)) else {
        bail!(node.error("the object has no structure of that name"))
    };
    for (name, node) in node.table()?.entries() {
        let found = composite.members.iter().find(|member| member.name == *name);
        let Some(member) = found else {
            let names = composite.members.iter().map(|member| member.name.as_str());
            let near = nearest(name, names);
            bail!(node.error(format!("the structure has no member {name}{near}")));
        };
        ensure!(
            !LOADERS.contains(&name.as_str()),
            node.error(format!("{name} is set by whoever loads the object"))
        );
        let mut bytes = vec![0; types.size(member.of).unwrap_or_default() as usize];
        put(types, member.of, node, &mut bytes)?;
        set_up.members.insert(name.clone(), Bytes(bytes));
    }
    Ok(())
}

/// Which of many names was probably meant: an object has hundreds, too many to list.
fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let near = input::suggest(name, known);
    if near.starts_with("did") {
        format!(": {near}")
    } else {
        String::new()
    }
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
