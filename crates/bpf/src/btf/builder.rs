// SPDX-License-Identifier: GPL-2.0-or-later
//! Writing BTF down in memory, for a kernel that has none.

use std::collections::HashMap;

use super::types::{
    BOOL, Btf, Composite, Enumeration, Int, Kind, Linkage, Member, Prototype, SIGNED, Type, TypeId,
};

/// Types, one after the other. What has no members is there once, however often it is asked for.
#[derive(Clone, Debug, Default)]
pub struct Builder {
    types: Vec<Type>,
    known: HashMap<Type, TypeId>,
}

impl Builder {
    pub const VOID: TypeId = 0;

    pub fn new() -> Self {
        Self::default()
    }

    pub fn build(self) -> Btf {
        Btf::new(self.types)
    }

    fn push(&mut self, name: &str, kind: Kind) -> TypeId {
        self.types.push(Type {
            name: name.to_owned(),
            kind,
        });
        self.types.len() as TypeId
    }

    fn once(&mut self, name: &str, kind: Kind) -> TypeId {
        let wanted = Type {
            name: name.to_owned(),
            kind,
        };
        if let Some(id) = self.known.get(&wanted) {
            return *id;
        }
        self.types.push(wanted.clone());
        let id = self.types.len() as TypeId;
        self.known.insert(wanted, id);
        id
    }

    fn integer(&mut self, name: &str, bytes: u32, encoding: u8) -> TypeId {
        self.once(
            name,
            Kind::Int(Int {
                bytes,
                encoding,
                offset_bits: 0,
                bits: (bytes * 8) as u8,
            }),
        )
    }

    pub fn int(&mut self, name: &str, bytes: u32, signed: bool) -> TypeId {
        self.integer(name, bytes, if signed { SIGNED } else { 0 })
    }

    pub fn bool(&mut self) -> TypeId {
        self.integer("_Bool", 1, BOOL)
    }

    /// C's `char`, which clang has signed for BPF.
    pub fn char(&mut self) -> TypeId {
        self.integer("char", 1, SIGNED)
    }

    pub fn pointer(&mut self, to: TypeId) -> TypeId {
        self.once("", Kind::Pointer(to))
    }

    pub fn array(&mut self, element: TypeId, count: u32) -> TypeId {
        self.once("", Kind::Array { element, count })
    }

    pub fn constant(&mut self, of: TypeId) -> TypeId {
        self.once("", Kind::Const(of))
    }

    pub fn volatile(&mut self, of: TypeId) -> TypeId {
        self.once("", Kind::Volatile(of))
    }

    pub fn typedef(&mut self, name: &str, of: TypeId) -> TypeId {
        self.once(name, Kind::Typedef(of))
    }

    /// A struct that is named and nowhere defined.
    pub fn forward(&mut self, name: &str) -> TypeId {
        self.once(name, Kind::Forward { union: false })
    }

    /// Without members, which [`Self::member`] adds; so that it may refer to itself.
    pub fn structure(&mut self, name: &str, bytes: u32) -> TypeId {
        let members = Vec::new();
        self.push(name, Kind::Struct(Composite { bytes, members }))
    }

    /// Without members, as for a structure.
    pub fn union(&mut self, name: &str, bytes: u32) -> TypeId {
        let members = Vec::new();
        self.push(name, Kind::Union(Composite { bytes, members }))
    }

    /// A member of a structure or union of this builder; one without a name is an anonymous struct or union.
    pub fn member(&mut self, to: TypeId, name: &str, of: TypeId, offset_bits: u32) {
        self.bitfield(to, name, of, offset_bits, 0);
    }

    pub fn bitfield(&mut self, to: TypeId, name: &str, of: TypeId, offset_bits: u32, bits: u32) {
        let index = to.checked_sub(1).expect("void has no members") as usize;
        let (Kind::Struct(composite) | Kind::Union(composite)) = &mut self.types[index].kind else {
            panic!("{name}: a member of what is neither a struct nor a union");
        };
        composite.members.push(Member {
            name: name.to_owned(),
            of,
            offset_bits,
            bits,
        });
    }

    pub fn enumeration(&mut self, name: &str, values: &[(&str, i32)]) -> TypeId {
        let enumeration = Enumeration {
            bytes: 4,
            signed: values.iter().any(|(_, value)| *value < 0),
            values: values
                .iter()
                .map(|(name, value)| ((*name).to_owned(), i64::from(*value).cast_unsigned()))
                .collect(),
        };
        self.push(name, Kind::Enum(enumeration))
    }

    pub fn enumeration64(&mut self, name: &str, values: &[(&str, u64)]) -> TypeId {
        let enumeration = Enumeration {
            bytes: 8,
            signed: false,
            values: values
                .iter()
                .map(|(name, value)| ((*name).to_owned(), *value))
                .collect(),
        };
        self.push(name, Kind::Enum64(enumeration))
    }

    pub fn prototype(&mut self, result: TypeId, parameters: &[(&str, TypeId)]) -> TypeId {
        let parameters = parameters
            .iter()
            .map(|(name, of)| ((*name).to_owned(), *of))
            .collect();
        self.once("", Kind::Prototype(Prototype { result, parameters }))
    }

    pub fn function(&mut self, name: &str, prototype: TypeId) -> TypeId {
        let linkage = Linkage::Global;
        self.once(name, Kind::Function { prototype, linkage })
    }

    pub fn variable(&mut self, name: &str, of: TypeId) -> TypeId {
        let linkage = Linkage::Global;
        self.once(name, Kind::Variable { of, linkage })
    }

    /// A tag of a declaration, or of its parameter or member by index.
    pub fn decl_tag(&mut self, text: &str, of: TypeId, component: Option<u32>) -> TypeId {
        let component = component.map_or(-1, u32::cast_signed);
        self.once(text, Kind::DeclTag { of, component })
    }
}
