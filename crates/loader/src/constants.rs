// SPDX-License-Identifier: GPL-2.0-or-later
//! The running kernel's constants of sched_ext, which differ between releases: scx's headers leave them to the loader.

use std::collections::BTreeMap;

use anyhow::Result;
use libbpf_rs::Btf;
use libbpf_rs::btf::BtfType;
use libbpf_rs::btf::types::{Enum, Enum64};

/// The value of each `SCX_NAME` that the kernel's BTF has, as a policy built with scx's headers reads it from the
/// variable `__SCX_NAME`.
pub fn of_the_kernel() -> Result<BTreeMap<String, u64>> {
    let btf = Btf::from_vmlinux()?;
    let types = (1..btf.len() as u32).filter_map(|id| btf.type_by_id::<BtfType>(id.into()));
    let enumerations = types.filter(|found| {
        let name = found.name().and_then(|name| name.to_str());
        name.is_some_and(|name| name.starts_with("scx_"))
    });
    let mut constants = BTreeMap::new();
    for found in enumerations {
        let mut add = |name: Option<&std::ffi::OsStr>, value: i128| {
            let name = name.and_then(|name| name.to_str()).unwrap_or_default();
            if name.starts_with("SCX_") {
                constants.insert(name.to_owned(), value as u64);
            }
        };
        if let Ok(narrow) = Enum::try_from(found) {
            narrow
                .iter()
                .for_each(|member| add(member.name, member.value.into()));
        } else if let Ok(wide) = Enum64::try_from(found) {
            wide.iter()
                .for_each(|member| add(member.name, member.value));
        }
    }
    Ok(constants)
}
