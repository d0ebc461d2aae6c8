// SPDX-License-Identifier: GPL-2.0-or-later
//! What number a relocation stands for, in the object and in the kernel.

use std::collections::HashMap;

use anyhow::{Context, Result, bail};

use super::compatible::{Of, types_are_compatible};
use super::matching::types_match;
use super::name::essential;
use super::spec::Spec;
use crate::btf::{Btf, CoreRelo, Kind, SIGNED, TypeId};

/// Of `enum bpf_core_relo_kind`: the id of a type in the object's own BTF.
pub const TYPE_ID_LOCAL: u32 = 6;

/// `enum bpf_core_relo_kind`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    FieldOffset,
    FieldSize,
    FieldExists,
    FieldSigned,
    FieldShiftLeft,
    FieldShiftRight,
    TypeIdLocal,
    TypeIdKernel,
    TypeExists,
    TypeSize,
    EnumeratorExists,
    EnumeratorValue,
    TypeMatches,
}

impl What {
    fn of(kind: u32) -> Result<Self> {
        Ok(match kind {
            0 => Self::FieldOffset,
            1 => Self::FieldSize,
            2 => Self::FieldExists,
            3 => Self::FieldSigned,
            4 => Self::FieldShiftLeft,
            5 => Self::FieldShiftRight,
            TYPE_ID_LOCAL => Self::TypeIdLocal,
            7 => Self::TypeIdKernel,
            8 => Self::TypeExists,
            9 => Self::TypeSize,
            10 => Self::EnumeratorExists,
            11 => Self::EnumeratorValue,
            12 => Self::TypeMatches,
            _ => bail!("a relocation of kind {kind}, which is not known"),
        })
    }

    fn about(self) -> WantedKind {
        match self {
            Self::FieldOffset
            | Self::FieldSize
            | Self::FieldExists
            | Self::FieldSigned
            | Self::FieldShiftLeft
            | Self::FieldShiftRight => WantedKind::Field,
            Self::EnumeratorExists | Self::EnumeratorValue => WantedKind::Enumerator,
            _ => WantedKind::Type,
        }
    }
}

/// What a relocation is about, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    pub kind: WantedKind,
    pub name: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WantedKind {
    Field,
    Type,
    Enumerator,
}

/// The numbers of a relocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Relocated {
    /// In the object; what its instruction must hold.
    pub old: u64,
    pub new: u64,
    /// The instruction may hold another number than `old`.
    pub is_vague: bool,
    /// Bytes of the field, where its offset is meant; else 0.
    pub old_bytes: u32,
    pub new_bytes: u32,
    /// The kernel's field has another size, and is of a kind for which a wider or narrower access reads another value.
    pub is_resized: bool,
}

/// A number of one side, with what else is known there.
#[derive(Clone, Copy)]
struct Number {
    value: u64,
    is_vague: bool,
    bytes: u32,
    /// The field's type, where `bytes` is set.
    of: TypeId,
}

impl Number {
    fn exact(value: u64) -> Self {
        Self {
            value,
            is_vague: false,
            bytes: 0,
            of: 0,
        }
    }

    fn vague(value: u64) -> Self {
        Self {
            is_vague: true,
            ..Self::exact(value)
        }
    }
}

/// Relocates the places of one object against one kernel.
pub struct Relocator<'a> {
    local: &'a Btf,
    kernel: &'a Btf,
    /// The kernel's named types by essential name.
    candidates: HashMap<&'a str, Vec<TypeId>>,
}

impl<'a> Relocator<'a> {
    pub fn new(local: &'a Btf, kernel: &'a Btf) -> Self {
        let mut candidates: HashMap<&str, Vec<TypeId>> = HashMap::new();
        for (id, found) in kernel.iter() {
            if !found.name.is_empty() {
                candidates
                    .entry(essential(&found.name))
                    .or_default()
                    .push(id);
            }
        }
        Self {
            local,
            kernel,
            candidates,
        }
    }

    /// What the relocation is about, and its numbers, or none where the kernel has nothing to offer and the
    /// instruction must not be reached.
    pub fn relocate(&self, relo: &CoreRelo) -> Result<(Wanted, Option<Relocated>)> {
        let what = What::of(relo.kind)?;
        let spec = match what.about() {
            WantedKind::Field => Spec::of_field(self.local, relo.of, &relo.access),
            WantedKind::Enumerator => Spec::of_enumerator(self.local, relo.of, &relo.access),
            WantedKind::Type => Ok(Spec::of_type(relo.of)),
        }
        .with_context(|| format!("type {}, way {}", relo.of, relo.access))?;
        let wanted = Wanted {
            kind: what.about(),
            name: spec.words(self.local),
        };
        if what == What::TypeIdLocal {
            let id = u64::from(relo.of);
            return Ok((
                wanted,
                Some(relocated(Number::vague(id), Number::vague(id))),
            ));
        }
        let numbers = self.against_candidates(what, &spec, &wanted)?;
        Ok((wanted, numbers))
    }

    fn against_candidates(
        &self,
        what: What,
        spec: &Spec,
        wanted: &Wanted,
    ) -> Result<Option<Relocated>> {
        let local = self.local.get(spec.root);
        if local.name.is_empty() {
            bail!("a relocation of a type without a name");
        }
        let Some(old) = number(what, self.local, Some(spec))? else {
            bail!("{}: no number of its own", wanted.name);
        };
        let candidates = self.candidates.get(essential(&local.name));
        let mut found: Option<(u32, Relocated)> = None;
        for &id in candidates.into_iter().flatten() {
            if !self.kernel.get(id).kind.is_like(&local.kind) {
                continue;
            }
            let Some(target) = self.find(what, spec, id)? else {
                continue;
            };
            let Some(new) = number(what, self.kernel, Some(&target))? else {
                continue;
            };
            let numbers = self.sized(relocated(old, new), old.of, new.of);
            match found {
                None => found = Some((target.offset_bits, numbers)),
                Some((offset_bits, first)) => {
                    if offset_bits != target.offset_bits || first.new != numbers.new {
                        bail!(
                            "{}: the kernel has several types of this name, which differ",
                            wanted.name
                        );
                    }
                }
            }
        }
        if let Some((_, numbers)) = found {
            return Ok(Some(numbers));
        }
        Ok(number(what, self.kernel, None)?.map(|new| relocated(old, new)))
    }

    fn find(&self, what: What, spec: &Spec, id: TypeId) -> Result<Option<Spec>> {
        Ok(match what.about() {
            WantedKind::Field => spec.find_field(self.local, self.kernel, id)?,
            WantedKind::Enumerator => spec.find_enumerator(self.kernel, id),
            WantedKind::Type => {
                let is_it = if what == What::TypeMatches {
                    let local = Of {
                        btf: self.local,
                        id: spec.root,
                    };
                    let kernel = Of {
                        btf: self.kernel,
                        id,
                    };
                    types_match(local, kernel)
                } else {
                    types_are_compatible(self.local, spec.root, self.kernel, id)
                };
                is_it.then(|| Spec::of_type(id))
            }
        })
    }

    fn sized(&self, mut numbers: Relocated, old: TypeId, new: TypeId) -> Relocated {
        let zero_extends = |btf: &Btf, id| match &btf.get(id).kind {
            Kind::Int(int) => int.encoding != SIGNED,
            _ => false,
        };
        let is_pointer = |btf: &Btf, id| matches!(btf.get(id).kind, Kind::Pointer(_));
        numbers.is_resized = numbers.old_bytes != numbers.new_bytes
            && !(zero_extends(self.local, old) && zero_extends(self.kernel, new))
            && !(is_pointer(self.local, old) && is_pointer(self.kernel, new));
        numbers
    }
}

fn relocated(old: Number, new: Number) -> Relocated {
    Relocated {
        old: old.value,
        new: new.value,
        is_vague: old.is_vague,
        old_bytes: old.bytes,
        new_bytes: new.bytes,
        is_resized: false,
    }
}

/// The number that a relocation stands for on one side; none where `spec` is and there is no number for that.
fn number(what: What, btf: &Btf, spec: Option<&Spec>) -> Result<Option<Number>> {
    let Some(spec) = spec else {
        return Ok(match what.about() {
            WantedKind::Type => Some(Number::exact(0)),
            _ if matches!(what, What::FieldExists | What::EnumeratorExists) => {
                Some(Number::exact(0))
            }
            _ => None,
        });
    };
    match what {
        What::FieldExists | What::EnumeratorExists | What::TypeExists | What::TypeMatches => {
            Ok(Some(Number::exact(1)))
        }
        What::TypeIdLocal | What::TypeIdKernel => Ok(Some(Number::vague(u64::from(spec.root)))),
        What::TypeSize => {
            let bytes = btf.size(spec.root).context("a type without a size")?;
            Ok(Some(Number::exact(u64::from(bytes))))
        }
        What::EnumeratorValue => {
            let step = &spec.steps[0];
            let enumeration = btf.get(step.of).kind.enumeration();
            let value = enumeration.and_then(|of| of.values.get(step.index as usize));
            Ok(value.map(|(_, value)| Number::exact(*value)))
        }
        _ => field_number(what, btf, spec).map(Some),
    }
}

fn field_number(what: What, btf: &Btf, spec: &Spec) -> Result<Number> {
    let step = spec.steps.last().context("a way without steps")?;
    if step.name.is_none() {
        return match what {
            What::FieldOffset => Ok(Number {
                bytes: element_bytes(btf, step.of)?,
                of: step.of,
                ..Number::exact(u64::from(spec.offset_bits / 8))
            }),
            What::FieldSize => {
                let bytes = btf.size(step.of).context("an element without a size")?;
                Ok(Number::exact(u64::from(bytes)))
            }
            _ => bail!("of an element of an array, only offset and size are known"),
        };
    }
    let member = btf
        .get(step.of)
        .kind
        .composite()
        .and_then(|of| of.members.get(step.index as usize))
        .context("a member that is not there")?;
    let of = btf.skip(member.of);
    let kind = &btf.get(of).kind;
    let place = spec.offset_bits;
    let is_bitfield = member.bits > 0;
    let (bytes, offset, bits) = if is_bitfield {
        let mut bytes = btf
            .size(of)
            .filter(|bytes| (1..=8).contains(bytes))
            .context("a bit field")?;
        let mut offset = place / 8 / bytes * bytes;
        // The smallest access that holds all of it.
        while place.wrapping_add(member.bits).wrapping_sub(offset * 8) > bytes * 8 {
            if bytes >= 8 {
                bail!("a bit field that no access of 64 bits holds");
            }
            bytes *= 2;
            offset = place / 8 / bytes * bytes;
        }
        (bytes, offset, member.bits)
    } else {
        let bytes = btf.size(of).context("a field without a size")?;
        (bytes, place / 8, bytes.wrapping_mul(8))
    };
    let vague_if_bits = |value: u32| Number {
        is_vague: is_bitfield,
        ..Number::exact(u64::from(value))
    };
    Ok(match what {
        What::FieldOffset if is_bitfield => vague_if_bits(offset),
        What::FieldOffset => Number {
            bytes: element_bytes(btf, of)?,
            of,
            ..vague_if_bits(offset)
        },
        What::FieldSize => vague_if_bits(bytes),
        What::FieldSigned => {
            let is_signed = match kind {
                Kind::Enum(of) | Kind::Enum64(of) => of.signed,
                Kind::Int(int) => int.encoding & SIGNED != 0,
                _ => false,
            };
            Number::exact(u64::from(is_signed))
        }
        What::FieldShiftLeft => {
            let end = place.wrapping_add(bits);
            vague_if_bits(64u32.wrapping_sub(end.wrapping_sub(offset.wrapping_mul(8))))
        }
        What::FieldShiftRight => Number::exact(u64::from(64u32.wrapping_sub(bits))),
        _ => bail!("no number of a field"),
    })
}

/// Bytes that an access to the field takes: of one element, where it is an array.
fn element_bytes(btf: &Btf, id: TypeId) -> Result<u32> {
    // A size shows that the arrays end somewhere.
    let mut bytes = btf.size(id);
    let mut id = btf.skip(id);
    while let (Some(_), Kind::Array { element, .. }) = (bytes, &btf.get(id).kind) {
        id = btf.skip(*element);
        bytes = btf.size(id);
    }
    bytes.context("a field without a size")
}
