// SPDX-License-Identifier: GPL-2.0-or-later
//! Structures of callbacks, and programs of other sections.

use bpf::image::{Image, MemberValue};
use bpf::{Environment, Preset, link_preset};

use crate::fixture::{kernel, linked, object, refusal};

fn older() -> Environment {
    kernel(
        "struct table { u64 flags; int (*first)(int a); int (*second)(void); char name[8]; u32 limit; };
        struct table *keep;",
    )
}

const TYPES: &str = r#"
struct table {
	int (*first)(int a);
	int (*added)(int a);
	u32 added_number;
	int (*second)(void);
	u64 flags;
	char name[8];
	u32 limit;
};
SEC("struct_ops/first") int first(u64 *context) { return 1; }
SEC("struct_ops.s/second") int second(u64 *context) { return 2; }
SEC("struct_ops/added") int added(u64 *context) { return 3; }
SEC("struct_ops/unused") int unused(u64 *context) { return 4; }
"#;

fn with(table: &str) -> String {
    format!("{TYPES} SEC(\".struct_ops.link\") {table}")
}

/// A member in words: the name of its function, or its bytes.
fn member(image: &Image, name: &str) -> String {
    let mut members = image.struct_ops[0].members.iter();
    match &members.find(|member| member.name == name).unwrap().value {
        MemberValue::Function {
            function,
            sleepable,
        } => {
            let name = &image.functions[*function as usize].name;
            format!("{name}{}", if *sleepable { ", may sleep" } else { "" })
        }
        MemberValue::None => "none".to_owned(),
        MemberValue::Bytes(bytes) => format!("{bytes:?}"),
    }
}

#[test]
fn members_go_by_name() {
    let image = linked(
        &with(
            "struct table___mine { int (*second)(void); u64 flags; char name[8]; int (*first)(int a); } \
            ops = { .second = (void *)second, .flags = 5, .name = \"it\" };",
        ),
        &older(),
    );
    let ops = &image.struct_ops[0];
    assert_eq!((ops.variable.as_str(), ops.kind.as_str()), ("ops", "table"));
    let names: Vec<_> = ops
        .members
        .iter()
        .map(|member| member.name.as_str())
        .collect();
    assert_eq!(names, ["second", "flags", "name", "first"]);
    assert_eq!(member(&image, "first"), "none");
    assert_eq!(member(&image, "second"), "second, may sleep");
    assert_eq!(member(&image, "flags"), "[5, 0, 0, 0, 0, 0, 0, 0]");
    assert_eq!(member(&image, "name"), format!("{:?}", b"it\0\0\0\0\0\0"));
    // Callbacks that no structure holds are not loaded.
    assert_eq!(image.functions.len(), 1);
    assert!(image.programs.is_empty());
}

#[test]
fn a_member_that_the_kernel_lacks_must_be_zero() {
    let image = linked(
        &with("struct table ops = { .first = (void *)first, .limit = 7 };"),
        &older(),
    );
    assert_eq!(member(&image, "first"), "first");
    assert_eq!(member(&image, "limit"), "[7, 0, 0, 0]");
    assert_eq!(image.struct_ops[0].members.len(), 5);
    assert_eq!(
        refusal(
            &with("struct table ops = { .added = (void *)added, .added_number = 1 };"),
            &older()
        ),
        "the kernel has no member table.added\nthe kernel has no member table.added_number"
    );
}

#[test]
fn a_loader_may_set_what_is_no_callback() {
    let source = with("struct table ops = { .first = (void *)first, .flags = 5, .limit = 7 };");
    let set = |name: &str, bytes: &[u8]| {
        let preset = Preset {
            members: [(name.to_owned(), bytes.to_vec())].into(),
            ..Preset::default()
        };
        link_preset(&object(&source), &older(), &preset).map_err(|error| error.to_string())
    };
    let image = set("limit", &[9, 0, 0, 0]).unwrap();
    assert_eq!(member(&image, "limit"), "[9, 0, 0, 0]");
    assert_eq!(member(&image, "flags"), "[5, 0, 0, 0, 0, 0, 0, 0]");
    assert_eq!(member(&image, "first"), "first");
    assert_eq!(
        set("limit", &[9]).unwrap_err(),
        "ops: member limit: set to 1 bytes where the object has 4"
    );
    assert_eq!(
        set("added_number", &[1, 0, 0, 0]).unwrap_err(),
        "the kernel has no member table.added_number"
    );
}

#[test]
fn a_loader_may_clear_what_the_kernel_lacks() {
    let source = with("struct table ops = { .first = (void *)first, .added = (void *)added };");
    let preset = Preset {
        cleared: ["added".to_owned()].into(),
        ..Preset::default()
    };
    let image = link_preset(&object(&source), &older(), &preset).unwrap();
    assert_eq!(member(&image, "first"), "first");
    assert_eq!(image.functions.len(), 1);
}

#[test]
fn members_and_types_that_differ() {
    assert_eq!(
        refusal(
            &with("struct table___mine { u32 flags; int first; } ops = { .flags = 5 };"),
            &older()
        ),
        "member table.first: the kernel's is of another type\n\
         member table.flags: the kernel's is of another type"
    );
    assert_eq!(
        refusal(
            &with("struct other { int (*first)(int a); } ops = {};"),
            &older()
        ),
        "the kernel has no type other"
    );
}

#[test]
fn what_a_missing_type_calls_is_looked_at_all_the_same() {
    let source = r#"
int gone(void) __ksym __weak;
struct other { int (*first)(int a); };
#line 5
SEC("struct_ops/first") int first(u64 *context) { return gone(); }
SEC(".struct_ops") struct other ops = { .first = (void *)first };"#;
    assert_eq!(
        refusal(source, &older()),
        "the kernel has no type other\n./fixture.c:5: the kernel has no kfunc gone"
    );
}

#[test]
fn a_callback_is_in_a_section_of_callbacks() {
    let source = r#"
struct table { int (*first)(int a); };
SEC("test") int first(u64 *context) { return 1; }
SEC(".struct_ops") struct table ops = { .first = (void *)first };"#;
    let error = bpf::link(&object(source), &older())
        .unwrap_err()
        .to_string();
    assert_eq!(
        error,
        "table.first: first is in section test, which is not one of callbacks"
    );
}

#[test]
fn programs_of_other_sections() {
    let image = linked(
        r#"
        SEC("syscall") int one(void *context) { return 1; }
        SEC("tp_btf/sched_switch") int two(u64 *context) { return 2; }
        SEC("syscall") int three(void *context) { return 3; }"#,
        &older(),
    );
    let programs: Vec<_> = image
        .programs
        .iter()
        .map(|program| {
            let function = &image.functions[program.function as usize];
            assert_eq!(function.name, program.name);
            (program.name.as_str(), program.section.as_str())
        })
        .collect();
    assert_eq!(
        programs,
        [
            ("one", "syscall"),
            ("three", "syscall"),
            ("two", "tp_btf/sched_switch")
        ]
    );
}

#[test]
fn programs_that_are_not_loaded() {
    let source = r#"
        int gone(void) __ksym __weak;
        SEC("?syscall") int one(void *context) { return gone(); }
        SEC("syscall") int two(void *context) { return gone(); }
        SEC("syscall") int three(void *context) { return 3; }
        struct table { int (*first)(int a); };
        SEC("struct_ops") int first(u64 *context) { return gone(); }
        SEC("?.struct_ops") struct table ops = { .first = (void *)first };"#;
    let preset = Preset {
        left_out: ["two".to_owned()].into(),
        ..Preset::default()
    };
    let image = link_preset(&object(source), &older(), &preset).unwrap();
    assert_eq!((image.programs.len(), image.functions.len()), (1, 1));
    assert_eq!(image.programs[0].name, "three");
    assert!(image.struct_ops.is_empty());
    assert!(refusal(source, &older()).ends_with("the kernel has no kfunc gone"));
}
