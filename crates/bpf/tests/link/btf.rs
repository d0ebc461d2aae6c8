// SPDX-License-Identifier: GPL-2.0-or-later
//! Types that are written down, beside the same in C.

use bpf::btf::{Btf, Builder, Kind, Linkage, TypeId};

use crate::fixture::kernel;

const SOURCE: &str = r"
typedef const volatile struct part part_type;
struct part { struct part *next; };
struct whole {
	u32 number;
	union { u64 left; struct { s32 right; char name[12]; }; };
	u32 bits : 3, more : 20;
	enum color { RED = -1, BLUE = 2 } color;
	enum wide { WIDE = 0x100000000ULL } wide;
	part_type *part;
	bool is_it;
	struct nowhere *nowhere;
	u64 (*call)(struct part *part, bool flag);
} the_whole;
u64 count(struct part *part, bool flag) { return 0; }
";

fn built() -> Btf {
    let mut builder = Builder::new();
    let [u32_, u64_] =
        [("__u32", 4), ("__u64", 8)].map(|(name, bytes)| builder.int(name, bytes, false));
    let s32_ = builder.int("int", 4, true);
    let (letter, truth) = (builder.char(), builder.bool());
    let part = builder.structure("part", 8);
    let next = builder.pointer(part);
    builder.member(part, "next", next, 0);
    let volatile = builder.volatile(part);
    let constant = builder.constant(volatile);
    let alias = builder.typedef("part_type", constant);
    let name = builder.array(letter, 12);
    let inner = builder.structure("", 16);
    builder.member(inner, "right", s32_, 0);
    builder.member(inner, "name", name, 32);
    let union = builder.union("", 16);
    builder.member(union, "left", u64_, 0);
    builder.member(union, "", inner, 0);
    let color = builder.enumeration("color", &[("RED", -1), ("BLUE", 2)]);
    let wide = builder.enumeration64("wide", &[("WIDE", 1 << 32)]);
    let nowhere = builder.forward("nowhere");
    let prototype = builder.prototype(u64_, &[("part", next), ("flag", truth)]);
    let whole = builder.structure("whole", 72);
    for (name, of, bytes) in [
        ("number", u32_, 0),
        ("", union, 8),
        ("color", color, 28),
        ("wide", wide, 32),
        ("is_it", truth, 48),
    ] {
        builder.member(whole, name, of, bytes * 8);
    }
    builder.bitfield(whole, "bits", u32_, 24 * 8, 3);
    builder.bitfield(whole, "more", u32_, 24 * 8 + 3, 20);
    for (name, to, bytes) in [
        ("part", alias, 40),
        ("nowhere", nowhere, 56),
        ("call", prototype, 64),
    ] {
        let pointer = builder.pointer(to);
        builder.member(whole, name, pointer, bytes * 8);
    }
    builder.variable("the_whole", whole);
    let count = builder.function("count", prototype);
    builder.decl_tag("bpf_kfunc", count, None);
    builder.decl_tag("nullable", count, Some(1));
    builder.build()
}

/// A type in words, as far as it goes without a name.
fn words(btf: &Btf, id: TypeId, depth: u32) -> String {
    let found = btf.get(id);
    let inside = |id| words(btf, id, depth + 1);
    let text = match &found.kind {
        Kind::Struct(of) | Kind::Union(of) if depth < 2 || found.name.is_empty() => {
            let mut members: Vec<_> = of.members.iter().collect();
            members.sort_by_key(|member| (member.offset_bits, member.bits));
            let members: Vec<_> = members
                .iter()
                .map(|one| {
                    format!(
                        "{}@{}:{} {}",
                        one.name,
                        one.offset_bits,
                        one.bits,
                        inside(one.of)
                    )
                })
                .collect();
            format!("{} {{ {} }}", of.bytes, members.join("; "))
        }
        Kind::Pointer(to) => format!("*{}", inside(*to)),
        Kind::Array { element, count } => format!("{count} {}", inside(*element)),
        Kind::Const(of)
        | Kind::Volatile(of)
        | Kind::Typedef(of)
        | Kind::Variable {
            of,
            linkage: Linkage::Global,
        } => inside(*of),
        Kind::Enum(of) | Kind::Enum64(of) => format!("{of:?}"),
        // Names of C's own integers are many.
        Kind::Int(int) => return format!("{int:?}"),
        Kind::Prototype(of) => {
            let parameters: Vec<_> = of.parameters.iter().map(|(_, of)| inside(*of)).collect();
            format!("{} ({})", inside(of.result), parameters.join(", "))
        }
        Kind::Function { prototype, .. } => inside(*prototype),
        other => other.word().to_owned(),
    };
    format!("{} {} {text}", found.kind.word(), found.name)
}

/// Typedefs of C's integers are not written down.
fn plain(btf: &Btf, id: TypeId) -> String {
    ["u32", "__u32", "u64", "__u64", "s32", "__s32", "bool"]
        .iter()
        .fold(words(btf, id, 0), |text, name| {
            text.replace(&format!("typedef {name} "), "")
        })
}

#[test]
fn a_builder_writes_what_a_compiler_does() {
    let (ours, clangs) = (built(), kernel(SOURCE).btf);
    for name in ["whole", "part", "part_type", "the_whole", "color", "count"] {
        let find = |btf: &Btf| {
            btf.find(name, |_| true)
                .unwrap_or_else(|| panic!("no {name}"))
        };
        let (one, other) = (find(&ours), find(&clangs));
        assert_eq!(plain(&ours, one), plain(&clangs, other), "{name}");
        assert_eq!(ours.size(one), clangs.size(other), "{name}");
        assert_eq!(ours.align(one), clangs.align(other), "{name}");
    }
}

#[test]
fn what_is_asked_for_twice_is_there_once() {
    let mut builder = Builder::new();
    let first = builder.int("int", 4, true);
    let pointer = builder.pointer(first);
    assert_eq!(builder.int("int", 4, true), first);
    assert_eq!(builder.pointer(first), pointer);
    assert_ne!(builder.structure("one", 4), builder.structure("one", 4));
    assert_eq!(builder.build().iter().count(), 4);
}
