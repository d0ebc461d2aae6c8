// SPDX-License-Identifier: GPL-2.0-or-later
//! When one type may stand for another of the same name: for a whole type, and for a field.

use super::name::essential;
use crate::btf::{Btf, Kind, TypeId};

/// Prototypes within prototypes, and pointers to pointers, no deeper than so.
pub const DEPTH: u32 = 32;

/// A type of an object or a kernel.
#[derive(Clone, Copy)]
pub struct Of<'a> {
    pub btf: &'a Btf,
    pub id: TypeId,
}

impl<'a> Of<'a> {
    pub fn with(self, id: TypeId) -> Self {
        Self { id, ..self }
    }

    pub fn skip(self) -> Self {
        self.with(self.btf.skip(self.id))
    }

    pub fn kind(self) -> &'a Kind {
        &self.btf.get(self.id).kind
    }

    pub fn name(self) -> &'a str {
        &self.btf.get(self.id).name
    }
}

/// Names are not looked at; kinds are, and what pointers, arrays and prototypes are made of.
pub fn types_are_compatible(local: &Btf, local_id: TypeId, kernel: &Btf, id: TypeId) -> bool {
    let local = Of {
        btf: local,
        id: local_id,
    };
    compatible(local, Of { btf: kernel, id }, DEPTH)
}

fn compatible(mut local: Of, mut target: Of, level: u32) -> bool {
    if !local.kind().is_like(target.kind()) {
        return false;
    }
    for _ in 0..DEPTH {
        (local, target) = (local.skip(), target.skip());
        if !local.kind().is_like(target.kind()) {
            return false;
        }
        match (local.kind(), target.kind()) {
            (Kind::Int(one), Kind::Int(other)) => {
                return one.offset_bits == 0 && other.offset_bits == 0;
            }
            (Kind::Pointer(one), Kind::Pointer(other))
            | (Kind::Array { element: one, .. }, Kind::Array { element: other, .. }) => {
                (local, target) = (local.with(*one), target.with(*other));
            }
            (Kind::Prototype(one), Kind::Prototype(other)) => {
                if one.parameters.len() != other.parameters.len() || level == 0 {
                    return false;
                }
                for ((_, one), (_, other)) in one.parameters.iter().zip(&other.parameters) {
                    let (one, other) = (local.with(*one).skip(), target.with(*other).skip());
                    if !compatible(one, other, level - 1) {
                        return false;
                    }
                }
                local = local.with(one.result).skip();
                target = target.with(other.result).skip();
            }
            (
                Kind::Void
                | Kind::Struct(_)
                | Kind::Union(_)
                | Kind::Enum(_)
                | Kind::Enum64(_)
                | Kind::Forward { .. },
                _,
            ) => return true,
            _ => return false,
        }
    }
    false
}

/// May a field of the one type be read as a field of the other? Sizes are another question.
pub fn fields_are_compatible(mut local: Of, mut target: Of) -> bool {
    for _ in 0..DEPTH {
        (local, target) = (local.skip(), target.skip());
        let (one, other) = (local.kind(), target.kind());
        if one.composite().is_some() && other.composite().is_some() {
            return true;
        }
        if !one.is_like(other) {
            return false;
        }
        match (one, other) {
            (Kind::Pointer(_) | Kind::Float { .. }, _) => return true,
            (Kind::Forward { .. } | Kind::Enum(_) | Kind::Enum64(_), _) => {
                let (one, other) = (essential(local.name()), essential(target.name()));
                return one.is_empty() || other.is_empty() || one == other;
            }
            (Kind::Int(one), Kind::Int(other)) => {
                return one.offset_bits == 0 && other.offset_bits == 0;
            }
            (Kind::Array { element: one, .. }, Kind::Array { element: other, .. }) => {
                (local, target) = (local.with(*one), target.with(*other));
            }
            _ => return false,
        }
    }
    false
}
