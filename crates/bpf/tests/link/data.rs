// SPDX-License-Identifier: GPL-2.0-or-later
//! Global data, functions, source lines and the licence.

use bpf::Environment;
use bpf::image::{DATA_ALIGN, Image};
use bpf::op::{Callee, Op, Value};

use proptest::prelude::*;

use crate::fixture::{function, kernel, linked, object};

fn empty() -> Environment {
    kernel("int x;")
}

/// The place and bytes of a variable: its section, its offset there, its bytes.
fn variable<'a>(image: &'a Image, name: &str) -> (&'a str, u32, &'a [u8]) {
    let mut globals = image.globals.iter();
    let global = globals.find(|global| global.name == name).unwrap();
    let data = &image.data[global.data as usize];
    let (start, end) = (
        global.offset as usize,
        (global.offset + global.bytes) as usize,
    );
    (
        &data.name,
        data.offset + global.offset,
        &data.bytes[start..end],
    )
}

/// The first 64-bit immediate of a function.
fn value(image: &Image, name: &str) -> Value {
    let mut ops = function(image, name).ops.iter();
    ops.find_map(|op| match op {
        Op::Immediate { value, .. } => Some(*value),
        _ => None,
    })
    .unwrap()
}

#[test]
fn sections_and_what_refers_to_them() {
    let image = linked(
        r#"
        int counted = 3;
        int zeroed[40];
        static int hidden[4];
        const volatile u16 option = 7;
        u64 apart SEC(".data.apart") = 9;
        int zero_apart SEC(".bss.apart");
        const int fixed SEC(".rodata.fixed") = 11;
        SEC("test") int a(void *context) { return __sync_fetch_and_add(&counted, 1); }
        SEC("test") int b(void *context) { return zeroed[3]; }
        SEC("test") int c(u32 *index) { return hidden[*index & 3]++; }
        SEC("test") int d(void *context) { return option; }
        SEC("test") u64 e(void *context) { return *(volatile u64 *)&apart; }
        SEC("test") int f(void *context) { return *(volatile int *)&zero_apart; }
        SEC("test") int g(void *context) { return *(volatile int *)&fixed; }
        SEC("test") long h(void *context) { return bpf_trace_printk("text", 5); }
        char _license[] SEC("license") = "Dual BSD/GPL";
        "#,
        &empty(),
    );
    assert_eq!(image.license, "Dual BSD/GPL");
    let place = |program| match value(&image, program) {
        Value::Data(place) => place,
        other => panic!("{program}: {other:?}"),
    };
    for (program, name, section, bytes) in [
        ("a", "counted", ".data", 3u32.to_le_bytes().to_vec()),
        ("b", "zeroed", ".bss", vec![0; 160]),
        ("c", "hidden", ".bss", vec![0; 16]),
        ("d", "option", ".rodata", vec![7, 0]),
        ("e", "apart", ".data.apart", 9u64.to_le_bytes().to_vec()),
        ("f", "zero_apart", ".bss.apart", vec![0; 4]),
        ("g", "fixed", ".rodata.fixed", 11u32.to_le_bytes().to_vec()),
    ] {
        let found = variable(&image, name);
        // A constant index is part of the immediate or of the access.
        let expected = (section, found.1, bytes.as_slice());
        assert_eq!(found, expected, "{name}");
        assert!(
            (found.1..found.1 + bytes.len() as u32).contains(&place(program)),
            "{name}"
        );
    }
    let text = image
        .data
        .iter()
        .find(|data| data.name.starts_with(".rodata.str"))
        .unwrap();
    assert_eq!(
        (place("h"), text.bytes.as_slice()),
        (text.offset, &b"text\0"[..])
    );
    let mut end = 0;
    for data in &image.data {
        assert!(data.offset >= end && data.offset % DATA_ALIGN == 0);
        assert_eq!(
            data.read_only,
            data.name.starts_with(".rodata"),
            "{}",
            data.name
        );
        end = data.offset + data.bytes.len() as u32;
    }
    assert!(image.data_bytes >= end);
}

#[test]
fn globals_of_an_arena_are_not_in_the_block() {
    let image = linked(
        r#"
        struct { __uint(type, 33); __uint(map_flags, BPF_F_MMAPABLE); __uint(max_entries, 1); }
            arena SEC(".maps");
        #define __arena __attribute__((address_space(1)))
        int __arena first = 4;
        int __arena second = 5;
        int outside = 6;
        SEC("test") int p(void *context) { return second; }"#,
        &empty(),
    );
    let data = image.data.iter().find(|data| data.arena).unwrap();
    assert_eq!(
        (data.name.as_str(), data.offset, data.bytes.len()),
        (".addr_space.1", 0, 8)
    );
    let (_, place, bytes) = variable(&image, "second");
    assert_eq!(bytes, 5u32.to_le_bytes());
    assert_eq!(value(&image, "p"), Value::Arena(place));
    assert_eq!(image.data_bytes, DATA_ALIGN);
    let casts = function(&image, "p").ops.iter();
    assert_eq!(
        casts
            .filter(|op| matches!(op, Op::ArenaCast { to_user: false, .. }))
            .count(),
        1
    );
}

#[test]
fn a_common_symbol_has_no_place() {
    let source = "int unplaced __attribute__((common));
        SEC(\"test\") int p(void *context) { return unplaced; }";
    let error = bpf::link(&object(source), &empty())
        .unwrap_err()
        .to_string();
    assert_eq!(
        error,
        "section test, offset 0x0: unplaced is a common symbol, which no loader takes; \
         it wants a value, or -fno-common"
    );
}

#[test]
fn subprograms_are_there_once() {
    let image = linked(
        r#"
        volatile int sink;
        static __noinline int inner(int x) { sink = x; return x * 3; }
        __noinline int global(int x) { return inner(x) + 1; }
        static int callback(u32 index, void *context) { sink = index; return 0; }
        SEC("test") int p(void *context) { return global(2) + inner(3) + bpf_loop(4, callback, 0, 0); }
        SEC("test") int q(void *context) { return inner(5); }"#,
        &empty(),
    );
    let mut names: Vec<_> = image
        .functions
        .iter()
        .map(|one| one.name.as_str())
        .collect();
    names.sort_unstable();
    assert_eq!(names, ["callback", "global", "inner", "p", "q"]);
    let called = |name: &str| -> Vec<&str> {
        let ops = &function(&image, name).ops;
        ops.iter()
            .filter_map(|op| match op {
                Op::Call(Callee::Function(index))
                | Op::Immediate {
                    value: Value::Function(index),
                    ..
                } => Some(image.functions[*index as usize].name.as_str()),
                _ => None,
            })
            .collect()
    };
    assert_eq!(called("p"), ["global", "inner", "callback"]);
    assert_eq!(called("q"), ["inner"]);
    assert_eq!(called("global"), ["inner"]);
}

#[test]
fn lines_say_where_operations_come_from() {
    let image = linked(
        r#"
volatile int sink;
#line 10 "other.h"
static __always_inline void put(int x) { sink = x; }
#line 20 "fixture.c"
SEC("test") int p(void *context)
{
	put(1);
	sink = 2;
	return 0;
}"#,
        &empty(),
    );
    let function = function(&image, "p");
    let line_of = |wanted: usize| {
        let lines = function
            .lines
            .iter()
            .take_while(|line| line.op as usize <= wanted);
        let line = lines.last().unwrap();
        format!("{}:{}", image.files[line.file as usize], line.line)
    };
    let stores: Vec<_> = (0..function.ops.len())
        .filter(|op| matches!(function.ops[*op], Op::Store { .. }))
        .map(line_of)
        .collect();
    assert_eq!(stores, ["./other.h:10", "./fixture.c:23"]);
    assert_eq!(line_of(function.ops.len() - 1), "./fixture.c:24");
    assert!(function.lines.is_sorted_by_key(|line| line.op));
}

#[test]
fn what_is_no_object() {
    let kernel = empty();
    let error = |bytes: &[u8]| bpf::link(bytes, &kernel).unwrap_err().to_string();
    assert!(error(b"text").starts_with("not an ELF file of 64 bits"));
    let native = std::fs::read(std::env::current_exe().unwrap()).unwrap();
    assert_eq!(error(&native), "an ELF file, but not of BPF");
}

const RICH: &str = r#"
struct thing { int a; u32 bits : 3; int list[3]; } __core;
struct inner { __uint(type, 2); __uint(max_entries, 4); __type(key, u32); __type(value, u64); } one SEC(".maps");
struct { __uint(type, 12); __uint(max_entries, 3); __type(key, u32); __array(values, struct inner); }
    outer SEC(".maps") = { .values = { &one } };
int add(int a) __ksym __weak;
extern bool CONFIG_IT __kconfig __weak;
struct table { int (*first)(int a); u64 flags; };
volatile int sink = 5;
static __noinline int inner(struct thing *t) { sink = t->list[2]; return sink; }
SEC("struct_ops/first") int first(u64 *context) { return inner((void *)context[0]); }
SEC(".struct_ops") struct table ops = { .first = (void *)first };
SEC("test") int p(struct thing *t)
{
    u32 key = 1;
    void *found = bpf_map_lookup_elem(&one, &key);

    return found && add && CONFIG_IT ? add(BPF_CORE_READ_BITFIELD(t, bits)) : inner(t);
}
"#;

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    /// A damaged object is refused, or means something else; nothing worse.
    #[test]
    fn damage_is_survived(
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        end in any::<Option<prop::sample::Index>>(),
    ) {
        static OBJECT: std::sync::LazyLock<(Vec<u8>, Environment)> = std::sync::LazyLock::new(|| {
            let types = "struct thing { int list[4]; u32 bits : 5; int a; } *keep;
                struct table { u64 flags; int (*first)(int a); } *keep_table;
                int add(int a) { return a; }";
            (object(RICH), kernel(types))
        });
        let (object, kernel) = &*OBJECT;
        let mut damaged = object.clone();
        for (place, byte) in damage {
            let at = place.index(damaged.len());
            damaged[at] = byte;
        }
        if let Some(end) = end {
            damaged.truncate(end.index(damaged.len()));
        }
        let _ = bpf::link(&damaged, kernel);
    }
}
