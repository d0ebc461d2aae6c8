// SPDX-License-Identifier: GPL-2.0-or-later
//! What an object names and the kernel defines: kfuncs and variables in `.ksyms`, settings in `.kconfig`.

use std::collections::HashMap;

use anyhow::{Result, bail};

use crate::btf::{Btf, Kind, Linkage, TypeId};
use crate::core_relo::{essential, types_are_compatible};
use crate::data::{KCONFIG, Layout};
use crate::elf::{Elf, Place};
use crate::environment::Environment;
use crate::error::{Missing, MissingKind};
use crate::image::Global;
use crate::kconfig::{self, Setting};

const KSYMS: &str = ".ksyms";

/// What the kernel makes of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Extern {
    /// By the kernel's name.
    Kfunc(String),
    /// By the kernel's name.
    Variable(String),
    /// A place in the block of global data.
    Setting(u32),
    /// Not there, and the object can do without, as long as nothing calls it.
    Absent(Missing),
    /// Not there.
    Missing(Missing),
}

/// Every extern of an object, by its symbol's index; `layout` gains the section `.kconfig`.
pub fn resolve(
    elf: &Elf,
    btf: &Btf,
    environment: &Environment,
    layout: &mut Layout,
) -> Result<HashMap<usize, Extern>> {
    let mut found = HashMap::new();
    let mut settings = Vec::new();
    for (index, symbol) in elf.symbols.iter().enumerate() {
        if symbol.place != Place::Undefined || symbol.name.is_empty() {
            continue;
        }
        let name = &symbol.name;
        let found_in = |section| Some((section, btf.find_in_section(section, name)?.1));
        let declared = found_in(KSYMS).or_else(|| found_in(KCONFIG));
        match declared.map(|(section, found)| (section, &found.kind)) {
            Some((
                KSYMS,
                Kind::Function {
                    prototype,
                    linkage: Linkage::Extern,
                },
            )) => {
                let kfunc = kfunc(btf, name, *prototype, environment);
                found.insert(index, or_absent(kfunc, symbol.is_weak));
            }
            Some((
                KSYMS,
                Kind::Variable {
                    of,
                    linkage: Linkage::Extern,
                },
            )) => {
                let variable = variable(btf, name, *of, environment);
                // Of a wrong type is not the same as not being there.
                let is_weak =
                    symbol.is_weak && matches!(&variable, Err(missing) if missing.why.is_none());
                found.insert(index, or_absent(variable, is_weak));
            }
            Some((
                KCONFIG,
                Kind::Variable {
                    of,
                    linkage: Linkage::Extern,
                },
            )) => settings.push((index, Setting::of(btf, name, *of, symbol.is_weak)?)),
            _ => bail!(
                "{name}: defined nowhere; what the kernel defines is declared __ksym or __kconfig"
            ),
        }
    }
    if settings.is_empty() {
        return Ok(found);
    }
    settings.sort_by(|(_, one), (_, other)| one.order(other));
    let mut bytes = Vec::new();
    let mut places = Vec::new();
    for (index, setting) in &settings {
        bytes.resize(bytes.len().next_multiple_of(setting.align as usize), 0);
        places.push((*index, bytes.len()));
        match kconfig::value(setting, environment) {
            Ok(value) => bytes.extend(value),
            Err(missing) => {
                bytes.resize(bytes.len() + setting.bytes as usize, 0);
                found.insert(*index, Extern::Missing(missing));
            }
        }
    }
    let data = layout.push(KCONFIG, bytes, true)?;
    let start = layout.data[data].offset;
    for ((index, place), (_, setting)) in places.into_iter().zip(&settings) {
        layout.globals.push(Global {
            name: setting.name.clone(),
            data: data as u32,
            offset: place as u32,
            bytes: setting.bytes,
        });
        found
            .entry(index)
            .or_insert(Extern::Setting(start + place as u32));
    }
    Ok(found)
}

fn or_absent(found: Result<Extern, Missing>, is_weak: bool) -> Extern {
    found.unwrap_or_else(|missing| {
        if is_weak {
            Extern::Absent(missing)
        } else {
            Extern::Missing(missing)
        }
    })
}

fn kfunc(
    btf: &Btf,
    name: &str,
    prototype: TypeId,
    environment: &Environment,
) -> Result<Extern, Missing> {
    let kernel = &environment.btf;
    let name = essential(name);
    let missing = |why: Option<&str>| Missing {
        at: None,
        kind: MissingKind::Kfunc,
        name: name.to_owned(),
        why: why.map(str::to_owned),
    };
    let id = kernel
        .find(name, |kind| matches!(kind, Kind::Function { .. }))
        .ok_or_else(|| missing(None))?;
    let Kind::Function { prototype: of, .. } = kernel.get(id).kind else {
        unreachable!("found as a function");
    };
    if !types_are_compatible(btf, btf.skip(prototype), kernel, of) {
        return Err(missing(Some("the kernel's takes or returns other types")));
    }
    Ok(Extern::Kfunc(name.to_owned()))
}

fn variable(
    btf: &Btf,
    name: &str,
    of: TypeId,
    environment: &Environment,
) -> Result<Extern, Missing> {
    let kernel = &environment.btf;
    let missing = |why: Option<&str>| Missing {
        at: None,
        kind: MissingKind::Variable,
        name: name.to_owned(),
        why: why.map(str::to_owned),
    };
    let id = kernel
        .find(name, |kind| matches!(kind, Kind::Variable { .. }))
        .ok_or_else(|| missing(None))?;
    let Kind::Variable { of: kernels, .. } = kernel.get(id).kind else {
        unreachable!("found as a variable");
    };
    let local = btf.skip(of);
    // Of a variable declared as void, only the address is wanted.
    if local != 0 && !types_are_compatible(btf, local, kernel, kernel.skip(kernels)) {
        return Err(missing(Some("the kernel's is of another type")));
    }
    Ok(Extern::Variable(name.to_owned()))
}
