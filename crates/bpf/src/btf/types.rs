// SPDX-License-Identifier: GPL-2.0-or-later
//! Types as BTF has them (`Documentation/bpf/btf.rst` of the kernel), and how one walks them.

use std::collections::HashMap;

/// Index of a type; 0 is `void`.
pub type TypeId = u32;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Type {
    /// Empty for what has no name.
    pub name: String,
    pub kind: Kind,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    Void,
    Int(Int),
    Pointer(TypeId),
    Array { element: TypeId, count: u32 },
    Struct(Composite),
    Union(Composite),
    Enum(Enumeration),
    Enum64(Enumeration),
    Forward { union: bool },
    Typedef(TypeId),
    Volatile(TypeId),
    Const(TypeId),
    Restrict(TypeId),
    Function { prototype: TypeId, linkage: Linkage },
    Prototype(Prototype),
    Variable { of: TypeId, linkage: Linkage },
    Section(Vec<SectionVariable>),
    Float { bytes: u32 },
    DeclTag { of: TypeId, component: i32 },
    TypeTag(TypeId),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Int {
    pub bytes: u32,
    /// Bits of [`SIGNED`], [`CHAR`] and [`BOOL`].
    pub encoding: u8,
    /// Of the old form of a bit field; 0 since members say that themselves.
    pub offset_bits: u8,
    pub bits: u8,
}

pub const SIGNED: u8 = 1;
pub const CHAR: u8 = 2;
pub const BOOL: u8 = 4;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Composite {
    pub bytes: u32,
    pub members: Vec<Member>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Member {
    pub name: String,
    pub of: TypeId,
    pub offset_bits: u32,
    /// Width of a bit field; 0 for any other member.
    pub bits: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Enumeration {
    pub bytes: u32,
    pub signed: bool,
    /// Values of 32 bits are sign-extended.
    pub values: Vec<(String, u64)>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Prototype {
    pub result: TypeId,
    pub parameters: Vec<(String, TypeId)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Linkage {
    Static,
    Global,
    Extern,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SectionVariable {
    pub variable: TypeId,
    pub offset: u32,
    pub bytes: u32,
}

impl Kind {
    /// Two kinds that CO-RE takes for the same: both kinds of enumerations are.
    pub fn is_like(&self, other: &Self) -> bool {
        let is_enum = |kind: &Self| matches!(kind, Self::Enum(_) | Self::Enum64(_));
        std::mem::discriminant(self) == std::mem::discriminant(other)
            || is_enum(self) && is_enum(other)
    }

    pub fn composite(&self) -> Option<&Composite> {
        match self {
            Self::Struct(composite) | Self::Union(composite) => Some(composite),
            _ => None,
        }
    }

    pub fn enumeration(&self) -> Option<&Enumeration> {
        match self {
            Self::Enum(enumeration) | Self::Enum64(enumeration) => Some(enumeration),
            _ => None,
        }
    }

    /// As C names it.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Void => "void",
            Self::Int(_) => "int",
            Self::Pointer(_) => "pointer",
            Self::Array { .. } => "array",
            Self::Struct(_) => "struct",
            Self::Union(_) => "union",
            Self::Enum(_) | Self::Enum64(_) => "enum",
            Self::Forward { .. } => "forward declaration",
            Self::Typedef(_) => "typedef",
            Self::Volatile(_) => "volatile",
            Self::Const(_) => "const",
            Self::Restrict(_) => "restrict",
            Self::Function { .. } => "function",
            Self::Prototype(_) => "function prototype",
            Self::Variable { .. } => "variable",
            Self::Section(_) => "section",
            Self::Float { .. } => "float",
            Self::DeclTag { .. } | Self::TypeTag(_) => "tag",
        }
    }
}

const POINTER_BYTES: u32 = 8;
/// A chain of types that is longer refers to itself.
const DEPTH: usize = 32;

static VOID: Type = Type {
    name: String::new(),
    kind: Kind::Void,
};

/// All types of an object or a kernel.
#[derive(Clone, Debug, Default)]
pub struct Btf {
    /// Type 1 is the first.
    types: Vec<Type>,
    by_name: HashMap<String, Vec<TypeId>>,
}

impl Btf {
    pub fn new(types: Vec<Type>) -> Self {
        let mut by_name: HashMap<String, Vec<TypeId>> = HashMap::new();
        for (id, found) in (1..).zip(&types) {
            if !found.name.is_empty() {
                by_name.entry(found.name.clone()).or_default().push(id);
            }
        }
        Self { types, by_name }
    }

    /// `void` where there is no such type.
    pub fn get(&self, id: TypeId) -> &Type {
        id.checked_sub(1)
            .and_then(|index| self.types.get(index as usize))
            .unwrap_or(&VOID)
    }

    /// Every type, in the order of ids.
    pub fn iter(&self) -> impl Iterator<Item = (TypeId, &Type)> {
        (1..).zip(&self.types)
    }

    /// The first type of this name whose kind is wanted.
    pub fn find(&self, name: &str, wanted: impl Fn(&Kind) -> bool) -> Option<TypeId> {
        let ids = self.by_name.get(name)?;
        ids.iter().copied().find(|id| wanted(&self.get(*id).kind))
    }

    pub fn find_struct(&self, name: &str) -> Option<(TypeId, &Composite)> {
        let id = self.find(name, |kind| matches!(kind, Kind::Struct(_)))?;
        Some((id, self.get(id).kind.composite()?))
    }

    /// A variable or function by name, where BTF says that a section has it; with what is said there.
    pub fn find_in_section(&self, section: &str, name: &str) -> Option<(TypeId, &Type)> {
        let id = self.find(section, |kind| matches!(kind, Kind::Section(_)))?;
        let Kind::Section(variables) = &self.get(id).kind else {
            return None;
        };
        let mut found = variables
            .iter()
            .map(|one| (one.variable, self.get(one.variable)));
        found.find(|(_, one)| one.name == name)
    }

    /// The type behind qualifiers, tags and typedefs.
    pub fn skip(&self, mut id: TypeId) -> TypeId {
        for _ in 0..DEPTH {
            match self.get(id).kind {
                Kind::Typedef(of)
                | Kind::Volatile(of)
                | Kind::Const(of)
                | Kind::Restrict(of)
                | Kind::TypeTag(of) => id = of,
                _ => break,
            }
        }
        id
    }

    /// The kind behind qualifiers, tags and typedefs.
    pub fn kind(&self, id: TypeId) -> &Kind {
        &self.get(self.skip(id)).kind
    }

    /// Size in bytes, where the type has one.
    pub fn size(&self, mut id: TypeId) -> Option<u32> {
        let mut count = 1u32;
        for _ in 0..DEPTH {
            let bytes = match &self.get(id).kind {
                Kind::Int(int) => int.bytes,
                Kind::Float { bytes } => *bytes,
                Kind::Pointer(_) => POINTER_BYTES,
                Kind::Struct(of) | Kind::Union(of) => of.bytes,
                Kind::Enum(of) | Kind::Enum64(of) => of.bytes,
                Kind::Array {
                    element,
                    count: more,
                } => {
                    count = count.checked_mul(*more)?;
                    id = *element;
                    continue;
                }
                Kind::Typedef(of)
                | Kind::Volatile(of)
                | Kind::Const(of)
                | Kind::Restrict(of)
                | Kind::Variable { of, .. }
                | Kind::DeclTag { of, .. }
                | Kind::TypeTag(of) => {
                    id = *of;
                    continue;
                }
                _ => return None,
            };
            return count.checked_mul(bytes);
        }
        None
    }

    /// Alignment in bytes, where the type has one.
    pub fn align(&self, id: TypeId) -> Option<u32> {
        self.align_within(id, DEPTH).filter(|align| *align > 0)
    }

    fn align_within(&self, id: TypeId, depth: usize) -> Option<u32> {
        let depth = depth.checked_sub(1)?;
        match self.kind(id) {
            Kind::Int(int) => Some(int.bytes.min(POINTER_BYTES)),
            Kind::Float { bytes } => Some((*bytes).min(POINTER_BYTES)),
            Kind::Enum(of) | Kind::Enum64(of) => Some(of.bytes.min(POINTER_BYTES)),
            Kind::Pointer(_) => Some(POINTER_BYTES),
            Kind::Array { element, .. } => self.align_within(*element, depth),
            Kind::Struct(of) | Kind::Union(of) => {
                let mut most = 1;
                for member in &of.members {
                    let align = self.align_within(member.of, depth)?;
                    // A member off its alignment: the structure is packed.
                    let aligned = member.offset_bits.checked_rem(align.checked_mul(8)?)? == 0;
                    if member.bits == 0 && !aligned {
                        return Some(1);
                    }
                    most = most.max(align);
                }
                Some(if of.bytes % most == 0 { most } else { 1 })
            }
            _ => None,
        }
    }
}
