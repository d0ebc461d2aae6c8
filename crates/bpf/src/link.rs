// SPDX-License-Identifier: GPL-2.0-or-later
//! From an object to an image.

use std::collections::{BTreeMap, HashMap, HashSet};

use anyhow::{Context, Result};

use crate::btf::{Btf, Ext};
use crate::core_relo::{Relocator, TYPE_ID_LOCAL};
use crate::data::Layout;
use crate::elf::Elf;
use crate::environment::Environment;
use crate::error::{LinkError, Missing, MissingKind};
use crate::externs::{self, Extern};
use crate::functions::{Function, Functions};
use crate::image::{self, Image, Line, MemberValue, Program};
use crate::maps::Maps;
use crate::names;
use crate::op::{Callee, Op, Value};
use crate::preset::Preset;
use crate::reach::{self, Reached, Root, Subject};
use crate::resolve::{Beyond, Poison, References, Resolved};
use crate::struct_ops::{self, Callback};

/// Link an object against a kernel. Whoever runs the image may change its data before it does.
pub fn link(object: &[u8], environment: &Environment) -> Result<Image, LinkError> {
    link_with(object, environment, None)
}

/// Link an object as its own loader has set it up. Read-only data must stay as it is then.
pub fn link_preset(
    object: &[u8],
    environment: &Environment,
    preset: &Preset,
) -> Result<Image, LinkError> {
    link_with(object, environment, Some(preset))
}

fn link_with(
    object: &[u8],
    environment: &Environment,
    preset: Option<&Preset>,
) -> Result<Image, LinkError> {
    let elf = Elf::parse(object)?;
    let section = elf.section(".BTF").context("an object without BTF")?;
    let btf = Btf::parse(section.stored).context("section .BTF")?;
    let ext = match elf.section(".BTF.ext") {
        Some(ext) => Ext::parse(ext.stored, section.stored).context("section .BTF.ext")?,
        None => Ext::default(),
    };
    let functions = Functions::of(&elf)?;
    let maps = Maps::of(&elf, &btf)?;
    let mut layout = Layout::of(&elf, preset)?;
    let externs = externs::resolve(&elf, &btf, environment, &mut layout)?;
    let tables = struct_ops::collect(&elf, &btf, &functions, environment, preset)?;
    let (mut struct_ops, mut missing) = (tables.struct_ops, tables.missing);

    let references = References {
        elf: &elf,
        ext: &ext,
        relocator: Relocator::new(&btf, &environment.btf),
        functions: &functions,
        maps: &maps,
        layout: &layout,
        externs: &externs,
        environment,
    };
    let mut beyond = Beyond::default();
    let mut resolved = Vec::new();
    for function in &functions.all {
        resolved.push(references.resolve(function, &mut beyond)?);
    }
    let mut programs = programs(&functions, preset);
    let Reached {
        ops: reached,
        unchecked,
    } = reach(&functions, &resolved, &programs, &tables.callbacks, &layout);

    missing.extend(missing_map_kinds(&maps, environment));
    missing.extend(missing_externs(&references));
    missing.extend(unchecked_arguments(
        &references,
        &tables.callbacks,
        &unchecked,
    ));
    for (resolved, reached) in resolved.iter_mut().zip(&reached) {
        for (at, poison) in std::mem::take(&mut resolved.poison) {
            match poison {
                _ if !reached[at] => {}
                Poison::Missing(one) => missing.push(one),
                Poison::Error(error) => return Err(error.into()),
            }
        }
    }
    if !missing.is_empty() {
        return Err(LinkError::Missing(once(missing)));
    }

    // Functions that nothing reaches are left out; the others keep their order.
    let mut count = 0;
    let numbers: Vec<Option<u32>> = reached
        .iter()
        .map(|reached| {
            reached.first().filter(|is_reached| **is_reached)?;
            count += 1;
            Some(count - 1)
        })
        .collect();
    let number = |function: &mut u32| {
        *function = numbers[*function as usize].expect("reached, as an entry point");
    };
    for program in &mut programs {
        number(&mut program.function);
    }
    for member in struct_ops.iter_mut().flat_map(|one| &mut one.members) {
        if let MemberValue::Function { function, .. } = &mut member.value {
            number(function);
        }
    }
    let mut files = Vec::new();
    let mut linked = Vec::new();
    for ((function, resolved), number) in functions.all.iter().zip(resolved).zip(&numbers) {
        if number.is_some() {
            linked.push(image::Function {
                name: function.name.clone(),
                ops: renumbered(resolved.ops, &numbers),
                lines: lines(function, &ext, &mut files),
            });
        }
    }
    Ok(Image {
        functions: linked,
        programs,
        struct_ops,
        maps: maps.all,
        data_bytes: layout.bytes,
        data: layout.data,
        globals: layout.globals,
        type_bytes: passed_types(&btf, &ext),
        outside: beyond.outside,
        variables: beyond.variables,
        files,
        license: license(&elf)?,
    })
}

/// Types whose ids the code passes to the kernel.
fn passed_types(btf: &Btf, ext: &Ext) -> BTreeMap<u32, u32> {
    let all = ext.relocations.values().flatten();
    all.filter(|relo| relo.kind == TYPE_ID_LOCAL)
        .filter_map(|relo| Some((relo.of, btf.size(relo.of)?)))
        .collect()
}

/// Entry points that are no callbacks, by index of `functions`.
fn programs(functions: &Functions, preset: Option<&Preset>) -> Vec<Program> {
    let all = functions.all.iter().enumerate();
    all.filter(|(_, function)| {
        !function.is_subprogram()
            && !function.section_name.starts_with('?')
            && struct_ops::callback(&function.section_name).is_none()
            && preset.is_none_or(|preset| !preset.left_out.contains(&function.name))
    })
    .map(|(index, function)| Program {
        name: function.name.clone(),
        section: function.section_name.clone(),
        function: index as u32,
    })
    .collect()
}

fn reach(
    functions: &Functions,
    resolved: &[Resolved],
    programs: &[Program],
    callbacks: &[Callback],
    layout: &Layout,
) -> Reached {
    let entries = programs.iter().map(|program| Root {
        function: program.function as usize,
        nullable: 0,
    });
    let callbacks = callbacks.iter().map(|callback| Root {
        function: callback.function,
        nullable: callback.nullable,
    });
    let roots: Vec<Root> = entries.chain(callbacks).collect();
    let subjects: Vec<Subject> = functions
        .all
        .iter()
        .zip(resolved)
        .map(|(function, resolved)| Subject {
            ops: &resolved.ops,
            is_global: function.is_global,
        })
        .collect();
    reach::reached(&subjects, &roots, &|place, bytes| {
        layout.constant(place, bytes)
    })
}

/// What is missing in more than one place is said once, for the first of them.
fn once(mut missing: Vec<Missing>) -> Vec<Missing> {
    let mut seen = HashSet::new();
    missing.sort();
    missing.retain(|one| seen.insert((one.kind, one.name.clone())));
    missing
}

fn missing_map_kinds(maps: &Maps, environment: &Environment) -> Vec<Missing> {
    let outer = maps.all.iter();
    let all = outer.flat_map(|map| std::iter::once(map).chain(map.inner.as_deref()));
    all.filter(|map| !environment.map_kinds.contains(&map.kind))
        .map(|map| Missing {
            at: None,
            kind: MissingKind::MapKind,
            name: format!("{} of {}", names::map_kind(map.kind), map.name),
            why: None,
        })
        .collect()
}

/// Names that the kernel should define, each where it is first used.
fn missing_externs(references: &References) -> Vec<Missing> {
    let mut at = HashMap::new();
    for function in &references.functions.all {
        for (offset, symbol) in references.relocations(function) {
            at.entry(symbol)
                .or_insert_with(|| references.source(function, offset));
        }
    }
    let externs = references.externs.iter();
    externs
        .filter_map(|(symbol, found)| match found {
            Extern::Missing(missing) => Some(Missing {
                at: at.remove(symbol).flatten(),
                ..missing.clone()
            }),
            _ => None,
        })
        .collect()
}

/// Arguments that may be NULL and are used as if they were not. In a function that several callbacks call, it is one of
/// theirs: the first that has such an argument is named.
fn unchecked_arguments(
    references: &References,
    callbacks: &[Callback],
    unchecked: &[(usize, usize, u32)],
) -> Vec<Missing> {
    let name = |function: usize, argument: u32| {
        let has = |callback: &&Callback| callback.nullable >> argument & 1 != 0;
        let own = (callbacks.iter()).find(|one| one.function == function && has(one));
        let callback = own.or_else(|| callbacks.iter().find(has));
        let of = callback.map_or("a callback", |callback| &callback.name);
        format!("{} of {of}", argument + 1)
    };
    let all = unchecked.iter().map(|&(function, op, argument)| {
        let code = &references.functions.all[function];
        Missing {
            at: references.source(code, code.offset(op)),
            kind: MissingKind::Argument,
            name: name(function, argument),
            why: None,
        }
    });
    all.collect()
}

/// Functions by their index in the image. What only leads to functions that are left out is never reached.
fn renumbered(mut ops: Vec<Op>, numbers: &[Option<u32>]) -> Vec<Op> {
    for op in &mut ops {
        if let Op::Call(Callee::Function(function))
        | Op::Immediate {
            value: Value::Function(function),
            ..
        } = op
        {
            match numbers[*function as usize] {
                Some(number) => *function = number,
                None => *op = Op::Call(Callee::Missing),
            }
        }
    }
    ops
}

fn lines(function: &Function, ext: &Ext, files: &mut Vec<String>) -> Vec<Line> {
    let infos = ext.lines.get(&function.section_name);
    let mut lines: Vec<Line> = infos
        .into_iter()
        .flatten()
        .filter(|info| (function.start..function.end()).contains(&info.offset))
        .filter_map(|info| {
            let op = function.insn(info.offset)? as u32;
            let file = files.iter().position(|file| *file == info.file);
            let file = file.unwrap_or_else(|| {
                files.push(info.file.clone());
                files.len() - 1
            }) as u32;
            Some(Line {
                op,
                file,
                line: info.line,
            })
        })
        .collect();
    lines.sort_by_key(|line| line.op);
    lines
}

fn license(elf: &Elf) -> Result<String> {
    let Some(section) = elf.section("license") else {
        return Ok(String::new());
    };
    let text = section.stored.split(|byte| *byte == 0).next();
    let text = std::str::from_utf8(text.unwrap_or_default()).context("section license")?;
    Ok(text.to_owned())
}

/// The types of an object.
pub fn types(object: &[u8]) -> Result<Btf> {
    let elf = Elf::parse(object)?;
    let section = elf.section(".BTF").context("an object without BTF")?;
    Btf::parse(section.stored).context("section .BTF")
}
