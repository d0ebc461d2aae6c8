// SPDX-License-Identifier: GPL-2.0-or-later
//! The model's BTF while it is made, and how Rust's types go into it.

use std::collections::BTreeMap;
use std::ffi::{c_char, c_void};

use bpf::btf::{Builder, TypeId};

use super::enumerations::Enumeration;
use super::release::Release;

/// A type that goes into the model's BTF.
pub trait Shown {
    fn describe(types: &mut Types) -> TypeId;
}

/// The model's BTF while it is made; every structure and enumeration is described once.
pub struct Types {
    pub btf: Builder,
    /// What came later is left out.
    pub release: Release,
    known: BTreeMap<&'static str, TypeId>,
}

pub type Describe = fn(&mut Types) -> TypeId;

/// Of a structure: name, the release that brought it, its place and its type.
pub type Member = (&'static str, Release, usize, Describe);

impl Types {
    pub fn of(release: Release) -> Self {
        Self {
            btf: Builder::default(),
            release,
            known: BTreeMap::new(),
        }
    }

    /// A structure, whose members may point back to it.
    pub fn structure<const N: usize>(
        &mut self,
        name: &'static str,
        bytes: usize,
        members: [Member; N],
    ) -> TypeId {
        if let Some(known) = self.known.get(name) {
            return *known;
        }
        let id = self.btf.structure(name, bytes as u32);
        self.known.insert(name, id);
        for (member, since, offset, describe) in members {
            if since > self.release {
                continue;
            }
            let of = describe(self);
            self.btf.member(id, member, of, offset as u32 * 8);
        }
        id
    }

    pub fn enumeration(&mut self, shown: &Enumeration) -> TypeId {
        *self.known.entry(shown.name).or_insert_with(|| {
            let values: Vec<(&str, u64)> = shown.values_in(self.release).collect();
            let narrow: Option<Vec<(&str, i32)>> = (values.iter())
                .map(|(name, value)| Some((*name, i32::try_from(*value).ok()?)))
                .collect();
            match narrow {
                Some(values) => self.btf.enumeration(shown.name, &values),
                None => self.btf.enumeration64(shown.name, &values),
            }
        })
    }
}

macro_rules! integers {
    ($($rust:ty = $name:literal, $signed:literal;)*) => {
        $(impl Shown for $rust {
            fn describe(types: &mut Types) -> TypeId {
                types.btf.int($name, size_of::<$rust>() as u32, $signed)
            }
        })*
    };
}

integers! {
    u8 = "unsigned char", false;
    u16 = "unsigned short", false;
    u32 = "unsigned int", false;
    u64 = "unsigned long long", false;
    i32 = "int", true;
    i64 = "long long", true;
}

impl Shown for bool {
    fn describe(types: &mut Types) -> TypeId {
        types.btf.bool()
    }
}

impl Shown for c_char {
    fn describe(types: &mut Types) -> TypeId {
        types.btf.char()
    }
}

impl Shown for () {
    fn describe(_types: &mut Types) -> TypeId {
        Builder::VOID
    }
}

impl Shown for c_void {
    fn describe(_types: &mut Types) -> TypeId {
        Builder::VOID
    }
}

impl<T: Shown> Shown for *mut T {
    fn describe(types: &mut Types) -> TypeId {
        let to = T::describe(types);
        types.btf.pointer(to)
    }
}

impl<T: Shown> Shown for *const T {
    fn describe(types: &mut Types) -> TypeId {
        let to = T::describe(types);
        let to = types.btf.constant(to);
        types.btf.pointer(to)
    }
}

impl<T: Shown, const N: usize> Shown for [T; N] {
    fn describe(types: &mut Types) -> TypeId {
        let element = T::describe(types);
        types.btf.array(element, N as u32)
    }
}
