// SPDX-License-Identifier: GPL-2.0-or-later
//! Structures of callbacks: variables of `.struct_ops` and `.struct_ops.link`, against the kernel's types.

use std::collections::HashMap;

use anyhow::{Context, Result, bail};

use crate::btf::{self, Btf, Kind, Type};
use crate::core_relo::essential;
use crate::elf::{Elf, Place};
use crate::environment::Environment;
use crate::error::{Missing, MissingKind};
use crate::functions::Functions;
use crate::image::{Member, MemberValue, StructOps};
use crate::preset::Preset;

/// With a `?` before it, a loader leaves such a section out.
const SECTIONS: [&str; 2] = [".struct_ops", ".struct_ops.link"];

/// What a scheduler hears of control groups is left out where the kernel does not have it, as by our loader and scx's.
pub fn is_optional(kind: &str, member: &str) -> bool {
    kind == "sched_ext_ops" && member.starts_with("cgroup_")
}

/// Of a program's section: is it a callback, and may it sleep?
pub fn callback(section: &str) -> Option<bool> {
    let name = section.strip_prefix('?').unwrap_or(section);
    let kind = name.split_once('/').map_or(name, |(kind, _)| kind);
    match kind {
        "struct_ops" => Some(false),
        "struct_ops.s" => Some(true),
        _ => None,
    }
}

/// A function that a variable refers to.
#[derive(Debug)]
pub struct Callback {
    /// By its index in [`Functions`].
    pub function: usize,
    /// `TYPE.MEMBER`.
    pub name: String,
    /// Its arguments that may be NULL, a bit each.
    pub nullable: u64,
}

/// All such variables of an object.
#[derive(Debug, Default)]
pub struct Found {
    /// With functions by their index in [`Functions`].
    pub struct_ops: Vec<StructOps>,
    /// Every function that a variable refers to, also for members that the kernel lacks.
    pub callbacks: Vec<Callback>,
    pub missing: Vec<Missing>,
}

pub fn collect(
    elf: &Elf,
    btf: &Btf,
    functions: &Functions,
    environment: &Environment,
    preset: Option<&Preset>,
) -> Result<Found> {
    let mut found = Found::default();
    for (index, section) in elf.sections.iter().enumerate() {
        if !SECTIONS.contains(&section.name.as_str()) {
            continue;
        }
        // Where a pointer is, and the function that it is to.
        let mut pointers = HashMap::new();
        for &(offset, symbol) in &section.relocations {
            let symbol = elf.symbol(symbol)?;
            let function = match symbol.place {
                Place::Section(place) => functions.at(place, symbol.value),
                _ => None,
            };
            let function = function.with_context(|| {
                format!(
                    "section {}, offset {offset:#x}: {} is no function",
                    section.name, symbol.name
                )
            })?;
            pointers.insert(offset, function);
        }
        let mut symbols: Vec<_> = elf
            .symbols
            .iter()
            .filter(|symbol| symbol.place == Place::Section(index) && symbol.bytes > 0)
            .collect();
        symbols.sort_by_key(|symbol| symbol.value);
        for symbol in symbols {
            let name = &symbol.name;
            let end = symbol.value.saturating_add(symbol.bytes) as usize;
            let bytes = section
                .stored
                .get(symbol.value as usize..end)
                .with_context(|| format!("{name}: outside of its section"))?;
            let variable = Variable {
                btf,
                functions,
                section: &section.name,
                name,
                bytes,
                pointer: &|offset| pointers.get(&symbol.value.wrapping_add(offset)).copied(),
                preset,
            };
            variable.link(environment, &mut found)?;
        }
    }
    Ok(found)
}

struct Variable<'a> {
    btf: &'a Btf,
    functions: &'a Functions,
    section: &'a str,
    name: &'a str,
    bytes: &'a [u8],
    /// The function that is pointed to from an offset.
    pointer: &'a dyn Fn(u32) -> Option<usize>,
    preset: Option<&'a Preset>,
}

impl Variable<'_> {
    /// A member's bytes, as a loader may have set them.
    fn set<'a>(&'a self, member: &btf::Member, bytes: &'a [u8]) -> Result<&'a [u8]> {
        let set = (self.preset).and_then(|preset| preset.members.get(&member.name));
        match set {
            Some(set) if set.len() != bytes.len() => bail!(
                "set to {} bytes where the object has {}",
                set.len(),
                bytes.len()
            ),
            Some(set) => Ok(set),
            None => Ok(bytes),
        }
    }

    /// The function that a member points to, unless a loader has cleared it.
    fn function(&self, member: &btf::Member) -> Option<usize> {
        let is_cleared = (self.preset).is_some_and(|preset| preset.cleared.contains(&member.name));
        (self.pointer)(member.offset_bits / 8).filter(|_| !is_cleared)
    }

    fn callback(
        &self,
        kind: &str,
        member: &btf::Member,
        environment: &Environment,
    ) -> Option<Callback> {
        let name = format!("{kind}.{}", member.name);
        Some(Callback {
            function: self.function(member)?,
            nullable: environment.nullable.get(&name).copied().unwrap_or(0),
            name,
        })
    }

    fn link(&self, environment: &Environment, found: &mut Found) -> Result<()> {
        let (btf, kernel, name) = (self.btf, &environment.btf, self.name);
        let Some((
            _,
            Type {
                kind: Kind::Variable { of, .. },
                ..
            },
        )) = btf.find_in_section(self.section, name)
        else {
            bail!("{name}: no BTF");
        };
        let of = btf.skip(*of);
        let Kind::Struct(composite) = &btf.get(of).kind else {
            bail!("{name}: no struct");
        };
        let kind = essential(&btf.get(of).name);
        let lacks = |what: MissingKind, name: String, why: Option<&str>| Missing {
            at: None,
            kind: what,
            name,
            why: why.map(str::to_owned),
        };
        let callbacks = composite.members.iter();
        found
            .callbacks
            .extend(callbacks.filter_map(|member| self.callback(kind, member, environment)));
        let Some((_, target)) = kernel.find_struct(kind) else {
            found
                .missing
                .push(lacks(MissingKind::Type, kind.to_owned(), None));
            return Ok(());
        };
        let mut members = Vec::new();
        for member in &composite.members {
            let offset = member.offset_bits / 8;
            let context = || format!("{name}: member {}", member.name);
            let size = btf.size(member.of).with_context(context)?;
            let bytes = self
                .bytes
                .get(offset as usize..offset as usize + size as usize)
                .with_context(context)?;
            let bytes = self.set(member, bytes).with_context(context)?;
            let function = self.function(member);
            let full_name = format!("{kind}.{}", member.name);
            let is_set = function.is_some() || bytes.iter().any(|byte| *byte != 0);
            let Some(other) = target.members.iter().find(|one| one.name == member.name) else {
                if is_set && !is_optional(kind, &member.name) {
                    let missing = lacks(MissingKind::Member, full_name, None);
                    found.missing.push(missing);
                }
                continue;
            };
            let (one, two) = (btf.kind(member.of), kernel.kind(other.of));
            let is_pointer = matches!(one, Kind::Pointer(_));
            if std::mem::discriminant(one) != std::mem::discriminant(two)
                || !is_pointer && kernel.size(other.of) != Some(size)
                || member.bits > 0
                || other.bits > 0
            {
                let why = Some("the kernel's is of another type");
                found
                    .missing
                    .push(lacks(MissingKind::Member, full_name, why));
                continue;
            }
            let value = match (function, is_pointer) {
                (Some(function), true) => {
                    let section = &self.functions.all[function].section_name;
                    let sleepable = callback(section).with_context(|| {
                        format!(
                            "{full_name}: {} is in section {section}, which is not one of callbacks",
                            self.functions.all[function].name
                        )
                    })?;
                    MemberValue::Function {
                        function: function as u32,
                        sleepable,
                    }
                }
                (Some(_), false) => bail!("{full_name}: a function where there is no pointer"),
                (None, true) => MemberValue::None,
                (None, false) => MemberValue::Bytes(bytes.to_vec()),
            };
            members.push(Member {
                name: member.name.clone(),
                value,
            });
        }
        found.struct_ops.push(StructOps {
            variable: name.to_owned(),
            kind: kind.to_owned(),
            members,
        });
        Ok(())
    }
}
