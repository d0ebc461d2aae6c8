// SPDX-License-Identifier: GPL-2.0-or-later
//! What an object's own program set up, as the model begins with it.

use anyhow::{Context, Result, ensure};
use bpf::Preset;
use bpf::image::{Image, MemberValue};
use policy::set_up::Bytes;
use policy::{Object, SetUp};

use super::enumerations;
use super::filled::{Entry, Filled};
use super::maps;
use super::release::Release;

#[derive(Default)]
pub struct Prepared {
    pub maps: Vec<Filled>,
    pub runs: Vec<Run>,
}

/// A program of type `syscall`, as a user half has the kernel run it.
#[derive(Default)]
pub struct Run {
    pub function: u32,
    /// What its argument points to.
    pub context: Vec<u8>,
}

impl Run {
    pub fn of(image: &Image, program: &str, context: Vec<u8>) -> Result<Self> {
        let found = image.programs.iter().find(|one| one.name == program);
        let found = found.with_context(|| format!("runs: the object has no {program}"))?;
        Ok(Self {
            function: found.function,
            context,
        })
    }
}

/// For the linker. Constants of the kernel's interface are the model's, whatever kernel the program ran on.
pub fn preset(object: &Object, set_up: &SetUp, release: Release) -> Result<Preset> {
    let plain = |all: &std::collections::BTreeMap<String, Bytes>| {
        let pairs = all.iter();
        pairs
            .map(|(name, bytes)| (name.clone(), bytes.0.clone()))
            .collect()
    };
    let mut preset = Preset {
        data: plain(&set_up.data),
        members: plain(&set_up.members),
        cleared: set_up.cleared.clone(),
        left_out: set_up.left_out.clone(),
    };
    for (name, global) in policy::globals(&object.elf)? {
        let section = preset.data.get_mut(&global.section);
        let is_constant = name.starts_with("__SCX_");
        if let Some(place) = section.and_then(|section| global.slice(section))
            && is_constant
        {
            let value = enumerations::constant(&name, release)
                .unwrap_or(0)
                .to_le_bytes();
            let count = place.len().min(value.len());
            place[..count].copy_from_slice(&value[..count]);
        }
    }
    Ok(preset)
}

/// A user's values, which the policy is told of the machine beside.
pub fn set(set_up: &SetUp, image: &mut Image, release: Release) -> Result<()> {
    for section in &mut image.data {
        if let Some(bytes) = set_up.data.get(&section.name) {
            section.bytes.clone_from(&bytes.0);
        }
    }
    for (name, bytes) in &set_up.members {
        let tables = image.struct_ops.iter_mut();
        let mut members = tables.flat_map(|table| &mut table.members);
        let member = members.find(|member| member.name == *name);
        let member = member.with_context(|| {
            format!("struct sched_ext_ops has no {name} in the model of {release}")
        })?;
        member.value = MemberValue::Bytes(bytes.0.clone());
    }
    Ok(())
}

impl Prepared {
    /// Of an image that was linked with [`preset`]; its maps get the sizes that they were given.
    pub fn of(set_up: &SetUp, image: &mut Image) -> Result<Self> {
        let mut prepared = Self::default();
        for (name, map) in &set_up.maps {
            let at = image.maps.iter().position(|one| one.name == *name);
            let at = at.with_context(|| format!("map {name}: the object has none"))?;
            let shape = &mut image.maps[at];
            shape.max_entries = map.max_entries;
            let entries = map.entries.iter().map(|entry| {
                let fits = entry.key.0.len() == shape.key_bytes as usize
                    && (entry.values.iter())
                        .all(|value| value.0.len() == shape.value_bytes as usize);
                ensure!(
                    fits && maps::kind::WITH_ELEMENTS.contains(&shape.kind),
                    "map {name}: expected keys of {} and values of {} bytes in a map with elements",
                    shape.key_bytes,
                    shape.value_bytes
                );
                Ok(Entry {
                    key: entry.key.0.clone(),
                    values: entry.values.iter().map(|value| value.0.clone()).collect(),
                })
            });
            let entries = entries.collect::<Result<Vec<_>>>()?;
            if !entries.is_empty() {
                prepared.maps.push(Filled { map: at, entries });
            }
        }
        for run in &set_up.runs {
            prepared
                .runs
                .push(Run::of(image, &run.program, run.context.0.clone())?);
        }
        Ok(prepared)
    }
}
