// SPDX-License-Identifier: GPL-2.0-or-later
//! The constants of an object that describes nothing: whoever loads it may set them, by their names.

use anyhow::Result;
use bpf::btf::{BOOL, Btf, Kind, SIGNED, TypeId};
use object::{Object, ObjectSection};

use crate::globals::{Global, globals};
use crate::topology;
use crate::tunable::Tunable;

const SECTION: &str = ".rodata";

/// Every `const volatile` number of the object, by name, within the bounds of its type. Facts that a loader tells by
/// itself are none: those of the machine, the interface's own constants, and the length of a dump, which has to be that
/// of the array beside it.
pub fn constants(elf: &[u8]) -> Result<Vec<Tunable>> {
    let known = globals(elf)?;
    let file = object::File::parse(elf)?;
    let Some(section) = file.section_by_name(SECTION) else {
        return Ok(Vec::new());
    };
    let stored = section.data()?;
    let types = bpf::types(elf)?;
    let told = |name: &str| {
        let length_of = name.strip_suffix("_len");
        name.starts_with("__SCX_")
            || topology::is_told(name)
            || length_of.is_some_and(|array| array.ends_with("_dump") && known.contains_key(array))
    };
    let mut found = Vec::new();
    for (name, global) in &known {
        let declared = types.find(name, |kind| matches!(kind, Kind::Variable { .. }));
        let (Some(id), false) = (declared, told(name) || global.section != SECTION) else {
            continue;
        };
        if let Kind::Variable { of, .. } = types.get(id).kind
            && is_volatile(&types, of)
            && let Some(is_signed) = number(&types, of)
        {
            found.extend(tunable(
                name,
                global,
                stored,
                is_signed,
                is_bool(&types, of),
            ));
        }
    }
    Ok(found)
}

/// None where its bytes are not stored.
fn tunable(
    name: &str,
    global: &Global,
    stored: &[u8],
    is_signed: bool,
    is_bool: bool,
) -> Option<Tunable> {
    let bytes = stored.get(global.offset..global.offset + global.bytes)?;
    let bits = 8 * global.bytes as u32;
    let value = bytes
        .iter()
        .rev()
        .fold(0, |value: i128, byte| (value << 8) | i128::from(*byte));
    let top = (1_i128 << bits) - 1;
    let (min, max, kind) = match (is_bool, is_signed) {
        (true, _) => (0, 1, "bool".to_owned()),
        (false, true) => (-(top >> 1) - 1, top >> 1, format!("s{bits}")),
        (false, false) => (0, top, format!("u{bits}")),
    };
    Some(Tunable {
        name: name.to_owned(),
        kind,
        default: if value > max { value - top - 1 } else { value },
        min,
        max,
        unit: String::new(),
        about: String::new(),
        choices: Vec::new(),
    })
}

/// Whether numbers of this type have a sign, if it is one of numbers.
fn number(types: &Btf, of: TypeId) -> Option<bool> {
    match types.kind(types.skip(of)) {
        Kind::Int(int) => Some(int.encoding & SIGNED != 0),
        Kind::Enum(_) | Kind::Enum64(_) => Some(false),
        _ => None,
    }
}

fn is_bool(types: &Btf, of: TypeId) -> bool {
    matches!(types.kind(types.skip(of)), Kind::Int(int) if int.encoding & BOOL != 0)
}

fn is_volatile(types: &Btf, of: TypeId) -> bool {
    match types.get(of).kind {
        Kind::Const(inner) => matches!(types.get(inner).kind, Kind::Volatile(_)),
        Kind::Volatile(_) => true,
        _ => false,
    }
}
