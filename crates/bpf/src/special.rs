// SPDX-License-Identifier: GPL-2.0-or-later
//! Fields of a map's value that have a meaning for the kernel: those of certain types, and pointers with certain tags.

use crate::btf::{Btf, Kind, TypeId};
use crate::image::Special;

const TYPES: [&str; 10] = [
    "bpf_timer",
    "bpf_wq",
    "bpf_task_work",
    "bpf_spin_lock",
    "bpf_res_spin_lock",
    "bpf_list_head",
    "bpf_list_node",
    "bpf_rb_root",
    "bpf_rb_node",
    "bpf_refcount",
];
const TAGS: [&str; 4] = ["kptr", "kptr_untrusted", "percpu_kptr", "uptr"];

/// Structs within structs, and fields; the kernel takes fewer of both.
const DEPTH: u32 = 16;
const MOST: usize = 1024;

/// All of a type, by rising offset.
pub fn fields(btf: &Btf, id: TypeId) -> Vec<Special> {
    let mut found = Vec::new();
    collect(btf, id, 0, DEPTH, &mut found);
    found.sort_by_key(|special| special.offset);
    found
}

fn collect(btf: &Btf, id: TypeId, offset: u32, depth: u32, found: &mut Vec<Special>) {
    let Some(depth) = depth.checked_sub(1).filter(|_| found.len() < MOST) else {
        return;
    };
    let id = btf.skip(id);
    match &btf.get(id).kind {
        Kind::Struct(composite) | Kind::Union(composite) => {
            let name = &btf.get(id).name;
            if TYPES.contains(&name.as_str()) {
                found.push(Special {
                    offset,
                    bytes: composite.bytes,
                    kind: name.clone(),
                });
                return;
            }
            for member in &composite.members {
                let offset = offset.saturating_add(member.offset_bits / 8);
                collect(btf, member.of, offset, depth, found);
            }
        }
        Kind::Array { element, count } => {
            let mut first = Vec::new();
            collect(btf, *element, 0, depth, &mut first);
            let Some(bytes) = btf.size(*element).filter(|_| !first.is_empty()) else {
                return;
            };
            for index in (0..*count).take(MOST) {
                let start = offset.saturating_add(index.saturating_mul(bytes));
                found.extend(first.iter().map(|special| Special {
                    offset: start.saturating_add(special.offset),
                    ..special.clone()
                }));
            }
        }
        Kind::Pointer(to) => {
            let tag = btf.get(*to);
            if let Kind::TypeTag(of) = tag.kind
                && TAGS.contains(&tag.name.as_str())
            {
                let target = &btf.get(btf.skip(of)).name;
                found.push(Special {
                    offset,
                    bytes: 8,
                    kind: format!("{}:{target}", tag.name),
                });
            }
        }
        _ => {}
    }
}
