// SPDX-License-Identifier: GPL-2.0-or-later
//! When one type matches another: the same shape as far as the object's type goes, by the names of its parts.

use super::compatible::{DEPTH, Of};
use super::name::essential;
use crate::btf::{Composite, Enumeration, Kind, SIGNED};

pub fn types_match(local: Of, target: Of) -> bool {
    matches(local, target, false, DEPTH)
}

fn names_match(local: &str, target: &str) -> bool {
    if target.is_empty() {
        local.is_empty()
    } else {
        essential(local) == essential(target)
    }
}

fn matches(mut local: Of, mut target: Of, mut behind_pointer: bool, level: u32) -> bool {
    if level == 0 {
        return false;
    }
    for _ in 0..DEPTH {
        (local, target) = (local.skip(), target.skip());
        if !names_match(local.name(), target.name()) {
            return false;
        }
        match (local.kind(), target.kind()) {
            (Kind::Void, other) => return *other == Kind::Void,
            (Kind::Forward { union: one }, Kind::Forward { union: other }) => return one == other,
            (Kind::Forward { union }, other) => {
                return behind_pointer
                    && match other {
                        Kind::Struct(_) => !union,
                        Kind::Union(_) => *union,
                        _ => false,
                    };
            }
            (Kind::Enum(one) | Kind::Enum64(one), Kind::Enum(other) | Kind::Enum64(other)) => {
                return enumerations_match(one, other);
            }
            (Kind::Struct(one), Kind::Struct(other)) | (Kind::Union(one), Kind::Union(other)) => {
                return behind_pointer
                    || members_match(local, one, target, other, behind_pointer, level);
            }
            (Kind::Struct(_), Kind::Forward { union }) => return behind_pointer && !union,
            (Kind::Union(_), Kind::Forward { union }) => return behind_pointer && *union,
            (Kind::Int(one), Kind::Int(other)) => {
                return one.bytes == other.bytes
                    && one.encoding & SIGNED == other.encoding & SIGNED;
            }
            (Kind::Pointer(one), Kind::Pointer(other)) => {
                behind_pointer = true;
                (local, target) = (local.with(*one), target.with(*other));
            }
            (
                Kind::Array {
                    element: one,
                    count,
                },
                Kind::Array {
                    element: other,
                    count: other_count,
                },
            ) if count == other_count => {
                (local, target) = (local.with(*one), target.with(*other));
            }
            (Kind::Prototype(one), Kind::Prototype(other))
                if one.parameters.len() == other.parameters.len() =>
            {
                for ((_, one), (_, other)) in one.parameters.iter().zip(&other.parameters) {
                    let (one, other) = (local.with(*one), target.with(*other));
                    if !matches(one, other, behind_pointer, level - 1) {
                        return false;
                    }
                }
                (local, target) = (local.with(one.result), target.with(other.result));
            }
            _ => return false,
        }
    }
    false
}

fn enumerations_match(local: &Enumeration, target: &Enumeration) -> bool {
    local.bytes == target.bytes
        && local.values.len() <= target.values.len()
        && local.values.iter().all(|(name, _)| {
            let mut others = target.values.iter();
            others.any(|(other, _)| names_match(name, other))
        })
}

fn members_match(
    local: Of,
    one: &Composite,
    target: Of,
    other: &Composite,
    behind_pointer: bool,
    level: u32,
) -> bool {
    one.members.len() <= other.members.len()
        && one.members.iter().all(|member| {
            other.members.iter().any(|candidate| {
                names_match(&member.name, &candidate.name)
                    && matches(
                        local.with(member.of),
                        target.with(candidate.of),
                        behind_pointer,
                        level - 1,
                    )
            })
        })
}
