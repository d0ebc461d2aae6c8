// SPDX-License-Identifier: GPL-2.0-or-later
//! The `struct sched_ext_ops` that the kernel was given, as a map of type `struct_ops` shows it.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};
use bpf::btf::{Btf, Kind};
use policy::set_up::Bytes;

use crate::sysfs;

const OPS: &str = "sched_ext_ops";
/// The map's value: the structure behind a head of the kernel's own.
const VALUE: &str = "bpf_struct_ops_sched_ext_ops";
/// Counts CPUs that came and went on that machine alone.
const HOTPLUG_SEQ: &str = "hotplug_seq";

pub struct Ops {
    /// Members that are no callbacks and that the object has, too.
    pub members: BTreeMap<String, Bytes>,
    /// Callbacks that the object may have and that are null in the kernel.
    pub cleared: BTreeSet<String>,
}

pub fn read(value: &[u8], object: &[u8]) -> Result<Ops> {
    let kernel = std::fs::read(sysfs::BTF).context(sysfs::BTF)?;
    read_by(
        value,
        &Btf::parse(&kernel).context(sysfs::BTF)?,
        &bpf::types(object)?,
    )
}

fn read_by(value: &[u8], kernel: &Btf, object: &Btf) -> Result<Ops> {
    let (_, head) = kernel.find_struct(VALUE).context(VALUE)?;
    let data = head.members.iter().find(|member| member.name == "data");
    let start = data.context("no member data")?.offset_bits / 8;
    let (_, ops) = kernel.find_struct(OPS).context(OPS)?;
    let (_, declared) = object.find_struct(OPS).context(OPS)?;
    let mut found = Ops {
        members: BTreeMap::new(),
        cleared: BTreeSet::new(),
    };
    for member in &declared.members {
        let is_callback = matches!(object.kind(member.of), Kind::Pointer(_));
        let known = ops.members.iter().find(|one| one.name == member.name);
        let bytes = known.and_then(|known| {
            let at = (start + known.offset_bits / 8) as usize;
            value.get(at..at + kernel.size(known.of)? as usize)
        });
        match bytes {
            // The number of a program.
            Some(bytes) if is_callback && bytes.iter().any(|byte| *byte != 0) => {}
            _ if is_callback => _ = found.cleared.insert(member.name.clone()),
            Some(bytes) if member.name != HOTPLUG_SEQ => {
                let bytes = Bytes(bytes.to_vec());
                found.members.insert(member.name.clone(), bytes);
            }
            _ => {}
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedulers::Scheduler;

    #[test]
    fn callbacks_and_settings_are_found_by_the_types_alone() {
        let vtime = Scheduler::find("vtime").unwrap();
        let object = bpf::types(vtime.elf).unwrap();
        // The kernel's structure here is the object's own, behind a head of 64 bytes.
        let (of, ops) = object.find_struct(OPS).unwrap();
        let mut kernel: Vec<_> = object.iter().map(|(_, one)| one.clone()).collect();
        let mut value = bpf::btf::Type::clone(object.get(of));
        value.name = VALUE.to_owned();
        let Kind::Struct(composite) = &mut value.kind else {
            panic!("a struct")
        };
        composite.members.truncate(1);
        composite.members[0].name = "data".to_owned();
        composite.members[0].offset_bits = 64 * 8;
        kernel.push(value);
        let place = |name: &str| {
            let member = ops.members.iter().find(|member| member.name == name);
            64 + member.unwrap().offset_bits as usize / 8
        };
        let mut bytes = vec![0; 64 + object.size(of).unwrap() as usize];
        bytes[place("enqueue")] = 7;
        bytes[place("flags")] = 4;
        bytes[place("hotplug_seq")] = 9;
        let found = read_by(&bytes, &Btf::new(kernel), &object).unwrap();
        assert!(!found.cleared.contains("enqueue") && found.cleared.contains("tick"));
        assert_eq!(found.members["flags"].0, [4, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(found.members["name"].0.len(), 128);
        assert!(!found.members.contains_key("hotplug_seq") && !found.members.contains_key("tick"));
    }
}
