// SPDX-License-Identifier: GPL-2.0-or-later
//! CO-RE relocations of every kind, and what cannot be resolved.

use std::fmt::Write;

use bpf::op::{Op, Width};
use bpf::{Environment, LinkError, link};

use crate::fixture::{function, kernel, linked, object, refusal, returned};

/// A program for each expression, named `p0`, `p1`, …, with `t` as its only argument.
fn programs(types: &str, expressions: &[&str]) -> String {
    let mut source = types.to_owned();
    for (index, expression) in expressions.iter().enumerate() {
        write!(
            source,
            "\nSEC(\"test\") u64 p{index}(struct thing *t) {{ return {expression}; }}"
        )
        .unwrap();
    }
    source
}

/// Expressions with the numbers that they are on a kernel.
fn check(types: &str, kernel: &Environment, expected: &[(&str, u64)]) {
    let expressions: Vec<_> = expected.iter().map(|(expression, _)| *expression).collect();
    let image = linked(&programs(types, &expressions), kernel);
    for (index, (expression, number)) in expected.iter().enumerate() {
        assert_eq!(
            returned(&image, &format!("p{index}")),
            *number,
            "{expression}"
        );
    }
}

const KERNEL: &str = r"
enum color { RED = 7, GREEN = -2 };
enum wide { WIDE = 0x123456789abcULL };
struct inner { u32 before; u64 a; s16 b; };
struct thing {
	u64 first;
	u64 number;
	s64 signed_number;
	struct { u32 anonymous; union { u32 left; u64 right; }; };
	struct inner in;
	struct inner list[4];
	u32 one : 3, two : 7;
	s32 three : 5;
	u64 : 0;
	u64 far : 40;
	enum color color;
	char name[16];
	void *pointer;
	s8 small;
	struct inner open[];
};
struct thing *keep_thing;
enum color keep_color;
enum wide keep_wide;
";

const LOCAL: &str = r"
enum color { GREEN, RED, BLUE };
enum wide { WIDE = 1, WIDER = 0x100000000ULL };
struct inner { u64 a; s16 b; u32 nowhere; } __core;
struct thing {
	struct inner open_not_at_the_end[3];
	u32 anonymous;
	u64 right;
	struct inner in;
	struct inner list[2];
	u32 one : 1, two : 1;
	s32 three : 1;
	u64 far : 40;
	u32 number;
	s32 signed_number;
	enum color color;
	char name[16];
	void *pointer;
	s8 small;
	u32 nowhere;
	struct inner open[];
} __core;
struct thing___other { u64 first; u8 nowhere; } __core;
struct nothing { int a; } __core;
union inner___union { int a; } __core;
";

#[test]
fn offsets_sizes_and_existence_of_fields() {
    check(
        LOCAL,
        &kernel(KERNEL),
        &[
            ("bpf_core_field_offset(t->number)", 8),
            ("bpf_core_field_offset(t->anonymous)", 24),
            ("bpf_core_field_offset(t->right)", 32),
            ("bpf_core_field_offset(t->in.a)", 48),
            ("bpf_core_field_offset(t->list[1].b)", 64 + 24 + 16),
            ("bpf_core_field_offset(t->open[5].a)", 216 + 5 * 24 + 8),
            ("bpf_core_field_offset(t[2].in.b)", 2 * 216 + 56),
            ("bpf_core_field_size(t->in)", 24),
            ("bpf_core_field_size(t->list)", 96),
            ("bpf_core_field_size(t->list[0])", 24),
            ("bpf_core_field_size(t->number)", 8),
            ("bpf_core_field_exists(t->in.b)", 1),
            ("bpf_core_field_exists(t->nowhere)", 0),
            ("bpf_core_field_exists(t->in.nowhere)", 0),
            ("bpf_core_field_exists(((struct nothing *)t)->a)", 0),
            (
                "bpf_core_field_exists(((struct thing___other *)t)->first)",
                1,
            ),
            (
                "bpf_core_field_exists(((struct thing___other *)t)->nowhere)",
                0,
            ),
            (
                "bpf_core_field_exists(struct thing, open_not_at_the_end)",
                0,
            ),
        ],
    );
}

#[test]
fn bit_fields() {
    let info =
        |field: &str, kind: u32| format!("__builtin_preserve_field_info(t->{field}, {kind})");
    let expected = [
        // Offset, size, sign, shifts to the left and to the right.
        ("one", [160, 4, 0, 61, 61]),
        ("two", [160, 4, 0, 54, 57]),
        ("three", [160, 4, 1, 49, 59]),
        ("far", [168, 8, 0, 24, 24]),
        ("small", [208, 1, 1, 56, 56]),
        ("number", [8, 8, 0, 0, 0]),
    ];
    let mut all = Vec::new();
    for (field, numbers) in expected {
        for (kind, number) in [0, 1, 3, 4, 5].into_iter().zip(numbers) {
            all.push((info(field, kind), number));
        }
    }
    let all: Vec<_> = all
        .iter()
        .map(|(text, number)| (text.as_str(), *number))
        .collect();
    check(LOCAL, &kernel(KERNEL), &all);
}

#[test]
fn bit_fields_that_cross_the_size_of_their_type() {
    let kernel =
        kernel("struct thing { u8 first : 6; u8 number : 7; } __attribute__((packed)) *keep;");
    let info = |kind: u32| format!("__builtin_preserve_field_info(t->number, {kind})");
    let numbers = [(info(0), 0), (info(1), 2), (info(4), 51), (info(5), 57)];
    let numbers = numbers
        .each_ref()
        .map(|(text, number)| (text.as_str(), *number));
    check(LOCAL, &kernel, &numbers);
}

#[test]
fn types_and_enumerators() {
    let kernel = kernel(KERNEL);
    let id = kernel.btf.find_struct("thing").unwrap().0;
    check(
        LOCAL,
        &kernel,
        &[
            ("bpf_core_type_exists(struct thing)", 1),
            ("bpf_core_type_exists(struct thing___other)", 1),
            ("bpf_core_type_exists(union inner___union)", 0),
            ("bpf_core_type_exists(struct nothing)", 0),
            ("bpf_core_type_size(struct thing)", 216),
            ("bpf_core_type_size(struct nothing)", 0),
            ("bpf_core_type_id_kernel(struct thing)", u64::from(id)),
            ("bpf_core_type_id_kernel(struct nothing)", 0),
            ("bpf_core_enum_value(enum color, RED)", 7),
            (
                "bpf_core_enum_value(enum color, GREEN)",
                (-2i64).cast_unsigned(),
            ),
            ("bpf_core_enum_value(enum wide, WIDE)", 0x1234_5678_9abc),
            ("bpf_core_enum_value_exists(enum color, RED)", 1),
            ("bpf_core_enum_value_exists(enum color, BLUE)", 0),
            ("bpf_core_enum_value_exists(enum wide, WIDER)", 0),
        ],
    );
}

#[test]
fn a_local_id_is_the_objects_own() {
    let source = programs(LOCAL, &["bpf_core_type_id_local(struct inner)"]);
    let own = bpf::types(&object(&source)).unwrap();
    let image = linked(&source, &kernel(KERNEL));
    let id = own.find_struct("inner").unwrap().0;
    assert_eq!(returned(&image, "p0"), u64::from(id));
}

#[test]
fn types_match_by_the_names_of_their_parts() {
    let kernel = kernel(
        r"
        struct part;
        struct known { int x; } whole;
        struct thing { int a; struct part *part; struct known *known; struct { int x; } in; u32 u; int array[4]; };
        struct thing *keep;
        ",
    );
    let matches = |definition: &str, number: u64| {
        let types = format!(
            "struct part {{ int z; }}; struct known {{ int z; }} whole; {definition} struct thing *keep;"
        );
        check(
            &types,
            &kernel,
            &[("bpf_core_type_matches(struct thing)", number)],
        );
    };
    matches("struct thing { int a; };", 1);
    matches("struct thing { u32 u; int a; };", 1);
    matches("struct thing { struct part *part; };", 1);
    // Behind a pointer, names are enough.
    matches("struct thing { struct known *known; };", 1);
    matches("struct thing { struct part *known; };", 0);
    matches("struct thing { struct { int x; } in; };", 1);
    matches("struct thing { struct { int y; } in; };", 0);
    matches("struct thing { u32 a; };", 0);
    matches("struct thing { s64 a; };", 0);
    matches("struct thing { int array[3]; };", 0);
    matches("struct thing { int *a; };", 0);
    matches("struct thing { int b; };", 0);
}

#[test]
fn accesses_take_the_kernels_offset_and_size() {
    let source = format!(
        "{LOCAL}
        SEC(\"test\") u64 load(struct thing *t) {{ return t->number; }}
        SEC(\"test\") int store(struct thing *t) {{ t->in.b = 3; t->number = 4; return 0; }}
        SEC(\"test\") u64 far(struct thing *t) {{ return t->list[1].a; }}
        SEC(\"test\") u64 letter(struct thing *t) {{ return t->name[3]; }}"
    );
    let image = linked(&source, &kernel(KERNEL));
    let accesses = |name: &str| -> Vec<(Width, i16)> {
        let ops = &function(&image, name).ops;
        ops.iter()
            .filter_map(|op| match *op {
                Op::Load { width, off, .. } | Op::Store { width, off, .. } => Some((width, off)),
                _ => None,
            })
            .collect()
    };
    assert_eq!(accesses("load"), [(Width::Double, 8)]);
    assert_eq!(accesses("store"), [(Width::Half, 56), (Width::Double, 8)]);
    assert_eq!(accesses("far"), [(Width::Double, 96)]);
    assert_eq!(accesses("letter"), [(Width::Byte, 183)]);
}

#[test]
fn what_is_reached_and_not_there_is_refused_with_its_line() {
    let source = format!(
        "{LOCAL}
volatile u64 sink;
SEC(\"test\") int p(struct thing *t)
{{
#line 101
	sink = t->nowhere;
	sink = t->in.nowhere;
	sink = t->signed_number;
	sink = ((struct nothing *)t)->a;
	sink = t->nowhere;
	return 0;
}}
#line 201
SEC(\"test\") u64 q(void *context) {{ return bpf_core_enum_value(enum color, BLUE); }}"
    );
    assert_eq!(
        refusal(&source, &kernel(KERNEL)),
        "./fixture.c:101: the kernel has no field thing.nowhere\n\
         ./fixture.c:102: the kernel has no field thing.in.nowhere\n\
         ./fixture.c:103: field thing.signed_number: the kernel's is of another size\n\
         ./fixture.c:104: the kernel has no field nothing.a\n\
         ./fixture.c:201: the kernel has no enum value color.BLUE"
    );
}

#[test]
fn a_field_of_another_kind_is_no_field() {
    let kernel =
        kernel("struct inner { int a; }; struct thing { struct inner number; void *list; } *keep;");
    check(
        LOCAL,
        &kernel,
        &[
            ("bpf_core_field_exists(t->number)", 0),
            ("bpf_core_field_exists(t->list)", 0),
        ],
    );
}

#[test]
fn an_enumeration_goes_by_its_name() {
    for (kernels, number) in [
        ("enum hue", 0),
        ("enum color___old", 1),
        ("enum", 1),
        ("int", 0),
    ] {
        let values = if kernels == "int" { "" } else { "{ SOME }" };
        let kernel = kernel(&format!(
            "struct thing {{ {kernels} {values} color; }} *keep;"
        ));
        check(
            LOCAL,
            &kernel,
            &[("bpf_core_field_exists(t->color)", number)],
        );
    }
}

#[test]
fn a_union_is_no_struct() {
    check(
        LOCAL,
        &kernel("union thing { int number; } *keep;"),
        &[("bpf_core_field_exists(t->number)", 0)],
    );
}

#[test]
fn an_element_beyond_the_kernels_array_is_not_there() {
    check(
        LOCAL,
        &kernel(
            "struct thing { char name[4]; int list[2]; u32 open[]; } *keep; struct inner { u64 a; };",
        ),
        &[
            ("bpf_core_field_exists(t->name[3])", 1),
            ("bpf_core_field_exists(t->name[4])", 0),
        ],
    );
}

#[test]
fn what_differs_between_types_of_one_name_is_refused() {
    let two = "struct thing___a { int number; } *a; struct thing___b { int pad, number; } *b;";
    let source = programs(LOCAL, &["t->number"]);
    let error = link(&object(&source), &kernel(two)).unwrap_err();
    assert!(matches!(error, LinkError::Object(_)), "{error}");
    let text = error.to_string();
    assert!(text.starts_with("section test, offset 0x"), "{text}");
    assert!(
        text.ends_with("thing.number: the kernel has several types of this name, which differ"),
        "{text}"
    );

    let same = "struct thing___a { int number; } *a; struct thing___b { int number, pad; } *b;";
    check(
        LOCAL,
        &kernel(same),
        &[("bpf_core_field_offset(t->number)", 0)],
    );
}
