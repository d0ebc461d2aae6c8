// SPDX-License-Identifier: GPL-2.0-or-later
//! Which of an object's maps, data and programs a process has in the kernel, and what is in them.

use std::collections::BTreeSet;

use anyhow::{Result, anyhow};
use libbpf_rs::btf::{BtfType, TypeId};
use libbpf_rs::libbpf_sys::{
    BPF_MAP_TYPE_ARRAY, BPF_MAP_TYPE_CGRP_STORAGE, BPF_MAP_TYPE_HASH, BPF_MAP_TYPE_LRU_HASH,
    BPF_MAP_TYPE_LRU_PERCPU_HASH, BPF_MAP_TYPE_PERCPU_ARRAY, BPF_MAP_TYPE_PERCPU_HASH,
    BPF_MAP_TYPE_RINGBUF, BPF_MAP_TYPE_TASK_STORAGE, bpf_map__type,
};
use libbpf_rs::query::{MapInfo, MapInfoIter, ProgInfoIter, ProgInfoQueryOptions, ProgramInfo};
use libbpf_rs::{AsRawLibbpf, Btf, MapCore, MapFlags, MapHandle, MapType, ObjectBuilder};
use policy::SetUp;
use policy::set_up::{Bytes, Entry, Map};

/// The kernel keeps so much of a map's name.
const NAME: usize = 15;
/// More of one map is not kept.
const MOST_BYTES: usize = 1 << 20;

/// An object's maps and programs, in its order.
pub struct Declared {
    maps: Vec<DeclaredMap>,
    /// Names and sections of programs that a loader loads by itself.
    programs: Vec<(String, String)>,
    syscalls: BTreeSet<String>,
}

struct DeclaredMap {
    name: String,
    /// One of `enum bpf_map_type`.
    kind: u32,
    key_bytes: u32,
}

impl Declared {
    pub fn of(object: &[u8]) -> Result<Self> {
        let open = ObjectBuilder::default().open_memory(object)?;
        let maps = open.maps().map(|map| DeclaredMap {
            name: map.name().to_string_lossy().into_owned(),
            // SAFETY: the map is the object's, which is open.
            kind: unsafe { bpf_map__type(map.as_libbpf_object().as_ptr()) },
            key_bytes: map.key_size(),
        });
        let all: Vec<_> = open
            .progs()
            .map(|program| {
                let text = |text: &std::ffi::OsStr| text.to_string_lossy().into_owned();
                (text(program.name()), text(program.section()))
            })
            .collect();
        let is_syscall = |section: &str| section.trim_start_matches('?') == "syscall";
        let syscalls = all.iter().filter(|(_, section)| is_syscall(section));
        Ok(Self {
            maps: maps.collect(),
            syscalls: syscalls.map(|(name, _)| name.clone()).collect(),
            programs: (all.iter())
                .filter(|(_, section)| !section.starts_with('?'))
                .cloned()
                .collect(),
        })
    }

    pub fn is_syscall(&self, program: &str) -> bool {
        self.syscalls.contains(program)
    }

    /// The name of a map in the kernel that looks like one of these.
    pub fn named(&self, number: u32) -> Option<String> {
        let info = MapInfoIter::default().find(|info| info.id == number)?;
        let mut maps = self.maps.iter();
        let found = maps.find(|one| is_like(one, &info) && info.ty != MapType::StructOps);
        found.map(|map| map.name.clone())
    }

    /// What is in the maps and data of these numbers, and which programs are not there. What cannot be kept is told.
    pub fn read(&self, maps: &[u32], programs: &[u32], absent: &mut Vec<String>) -> Result<SetUp> {
        let loaded = loaded(programs);
        let mut set_up = SetUp::default();
        for (name, section) in &self.programs {
            if !loaded
                .iter()
                .any(|one| program_full_name(one).as_deref() == Some(name))
            {
                set_up.left_out.insert(name.clone());
            } else if !section.starts_with("struct_ops") && !self.is_syscall(name) {
                absent.push(format!(
                    "program {name} ({section}), which the kernel calls at its own events"
                ));
            }
        }
        let mut infos: Vec<MapInfo> = MapInfoIter::default()
            .filter(|info| maps.contains(&info.id))
            .collect();
        // As they were made, which is the object's order.
        infos.sort_by_key(|info| info.id);
        let types = loaded.iter().find_map(|program| {
            let types = Btf::from_prog_id(program.id).ok()?;
            Some((program.btf_id, types))
        });
        infos.retain(|info| {
            let types = types.as_ref().filter(|(id, _)| *id == info.btf_id);
            let section = types.and_then(|(_, types)| section(types, info));
            let Some(section) = section else { return true };
            // The kernel's settings are those of the machine at hand.
            if section != ".kconfig"
                && let Ok(Some(bytes)) = contents(info.id)
            {
                set_up.data.insert(section, Bytes(bytes));
            }
            false
        });
        for declared in &self.maps {
            let Some(at) = infos.iter().position(|info| is_like(declared, info)) else {
                continue;
            };
            let info = infos.remove(at);
            if info.ty == MapType::StructOps {
                continue;
            }
            // Data without types, as a compiler's section of strings.
            if declared.name.starts_with('.') {
                if let Some(bytes) = contents(info.id)? {
                    set_up.data.insert(declared.name.clone(), Bytes(bytes));
                }
                continue;
            }
            let entries = match entries(declared.kind, &info)? {
                Ok(entries) => entries,
                Err(why) => {
                    absent.push(format!("what is in map {}: {why}", declared.name));
                    Vec::new()
                }
            };
            let max_entries = info.max_entries;
            let map = Map {
                max_entries,
                entries,
            };
            set_up.maps.insert(declared.name.clone(), map);
        }
        Ok(set_up)
    }
}

fn is_like(declared: &DeclaredMap, info: &MapInfo) -> bool {
    let name = declared.name.as_bytes();
    info.name.as_encoded_bytes() == name.get(..NAME).unwrap_or(name)
        && info.ty == MapType::from(declared.kind)
        && info.key_size == declared.key_bytes
}

/// The section of global data that a map holds.
fn section(types: &Btf, info: &MapInfo) -> Option<String> {
    let holds = info.ty == MapType::Array && info.btf_key_type_id == 0;
    let of = TypeId::from(info.btf_value_type_id);
    let found = types.type_by_id::<BtfType>(of).filter(|_| holds)?;
    let name = found.name()?.to_string_lossy();
    name.starts_with('.').then(|| name.into_owned())
}

fn contents(number: u32) -> Result<Option<Vec<u8>>> {
    let map = MapHandle::from_map_id(number)?;
    Ok(map.lookup(&0_u32.to_ne_bytes(), MapFlags::ANY)?)
}

/// All that is in a map and not zero; or why that cannot be kept.
fn entries(kind: u32, info: &MapInfo) -> Result<Result<Vec<Entry>, String>> {
    match kind {
        BPF_MAP_TYPE_ARRAY
        | BPF_MAP_TYPE_PERCPU_ARRAY
        | BPF_MAP_TYPE_HASH
        | BPF_MAP_TYPE_LRU_HASH
        | BPF_MAP_TYPE_PERCPU_HASH
        | BPF_MAP_TYPE_LRU_PERCPU_HASH => {}
        // Of tasks and cgroups that the scheduler has not seen yet; for a reader who gets nothing before.
        BPF_MAP_TYPE_TASK_STORAGE | BPF_MAP_TYPE_CGRP_STORAGE | BPF_MAP_TYPE_RINGBUF => {
            return Ok(Ok(Vec::new()));
        }
        kind => {
            return Ok(Err(format!(
                "maps of type {} are not kept",
                bpf::map_kind(kind)
            )));
        }
    }
    let is_array = matches!(kind, BPF_MAP_TYPE_ARRAY | BPF_MAP_TYPE_PERCPU_ARRAY);
    let map = MapHandle::from_map_id(info.id)?;
    let bytes = info.max_entries as usize * info.value_size as usize;
    if is_array && bytes > MOST_BYTES {
        return Ok(Err(format!("{bytes} bytes are more than {MOST_BYTES}")));
    }
    let keys: Box<dyn Iterator<Item = Vec<u8>>> = if is_array {
        Box::new((0..info.max_entries).map(|key| key.to_ne_bytes().to_vec()))
    } else {
        Box::new(map.keys())
    };
    let mut found = Vec::new();
    let mut bytes = 0;
    for key in keys {
        let values = if info.ty.is_percpu() {
            map.lookup_percpu(&key, MapFlags::ANY)?
        } else {
            map.lookup(&key, MapFlags::ANY)?.map(|value| vec![value])
        };
        let values = values.ok_or_else(|| anyhow!("a map that changes while it is read"))?;
        if is_array && values.iter().flatten().all(|byte| *byte == 0) {
            continue;
        }
        bytes += key.len() + values.iter().map(Vec::len).sum::<usize>();
        if bytes > MOST_BYTES {
            return Ok(Err(format!("more than {MOST_BYTES} bytes")));
        }
        found.push(Entry {
            key: Bytes(key),
            values: values.into_iter().map(Bytes).collect(),
        });
    }
    Ok(Ok(found))
}

fn loaded(programs: &[u32]) -> Vec<ProgramInfo> {
    let options = ProgInfoQueryOptions::default().include_func_info(true);
    ProgInfoIter::with_query_opts(options)
        .filter(|program| programs.contains(&program.id))
        .collect()
}

/// The full name of a program in the kernel.
pub fn program_name(number: u32) -> Option<String> {
    program_full_name(loaded(&[number]).first()?)
}

/// The kernel keeps 15 characters of a program's name; its types have that of the function.
fn program_full_name(program: &ProgramInfo) -> Option<String> {
    let types = Btf::from_prog_id(program.id).ok()?;
    let function = TypeId::from(program.func_info.first()?.type_id);
    let function = types.type_by_id::<BtfType>(function)?;
    Some(function.name()?.to_string_lossy().into_owned())
}
