// SPDX-License-Identifier: GPL-2.0-or-later
//! A user's values for the globals of an object.

use policy::{Object, SetUp, Source, globals, values};

const POLICY: &str = r#"
#include <scx.h>
enum mode { SLOW, FAST = 7 };
struct limits { u32 least; s16 most[2]; bool strict; };
const volatile u64 slice_ns = 5;
const volatile s8 offset;
const volatile bool smt = true;
const volatile enum mode mode;
const volatile struct limits limits = { .least = 9 };
const volatile char label[8] = "old";
u16 table[2][3];
u64 started = 3;
struct task_struct *last;
void BPF_STRUCT_OPS(t_enqueue, struct task_struct *p, u64 enq_flags)
{
	last = p;
	started += slice_ns + offset + smt + mode + limits.least + limits.most[0] + limits.strict + label[0] + table[1][2];
	scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, started, enq_flags);
}
SCX_OPS_DEFINE(t_ops, .enqueue = (void *)t_enqueue, .name = "t");
"#;

fn object() -> Vec<u8> {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("scx_t.bpf.c");
    std::fs::write(&file, POLICY).unwrap();
    let out = dir.path().join("t.bpf.o");
    policy::build(&Source::find(&file).unwrap(), &[], &out).unwrap();
    Object::open("t", &out).unwrap().elf
}

fn bytes(elf: &[u8], set_up: &SetUp, name: &str) -> Vec<u8> {
    let global = &globals(elf).unwrap()[name];
    let section = &set_up.data[&global.section].0;
    section[global.offset..global.offset + global.bytes].to_vec()
}

#[test]
fn values_go_where_their_types_say() {
    let elf = object();
    let text = r#"
slice_ns = 1_000
offset = -3
smt = false
mode = "FAST"
label = "newer"
table = [[1], [2, 3, 65535]]
started = 4
[limits]
most = [-1]
strict = true
"#;
    let set_up = values::read(&elf, text, "mine.toml").unwrap();
    let found = |name: &str| bytes(&elf, &set_up, name);
    assert_eq!(found("slice_ns"), 1000_u64.to_le_bytes());
    assert_eq!(found("offset"), [253]);
    assert_eq!(found("smt"), [0]);
    assert_eq!(found("mode"), [7, 0, 0, 0]);
    assert_eq!(found("label"), *b"newer\0\0\0");
    assert_eq!(found("table"), [1, 0, 0, 0, 0, 0, 2, 0, 3, 0, 255, 255]);
    assert_eq!(found("started"), 4_u64.to_le_bytes());
    // What is not named stays as it is.
    assert_eq!(found("limits"), [9, 0, 0, 0, 255, 255, 0, 0, 1, 0, 0, 0]);
    let set_up = values::read(&elf, "offset = 1\n", "mine.toml").unwrap();
    assert_eq!(bytes(&elf, &set_up, "slice_ns"), 5_u64.to_le_bytes());
    assert_eq!(set_up.data.len(), 1);
}

#[test]
fn members_of_the_scheduler_s_structure_are_values_too() {
    let text = "t_ops = { timeout_ms = 7_000, flags = 2 }\n";
    let set_up = values::read(&object(), text, "mine.toml").unwrap();
    assert!(set_up.data.is_empty());
    assert_eq!(set_up.members["timeout_ms"].0, 7_000_u32.to_le_bytes());
    assert_eq!(set_up.members["flags"].0, 2_u64.to_le_bytes());
}

#[test]
fn mistakes_are_one_line_with_file_and_key() {
    let elf = object();
    let largest = i64::MAX;
    for (text, message) in [
        (
            "slice = 1",
            "1: slice: the object has no global constant or variable slice: did you mean slice_ns?"
                .to_owned(),
        ),
        (
            "t_enqueue = 1",
            "1: t_enqueue: the object has no global constant or variable t_enqueue".to_owned(),
        ),
        (
            "\nslice_ns = -1",
            format!("2: slice_ns: expected an integer from 0 to {largest}, found -1"),
        ),
        (
            "offset = 128",
            "1: offset: expected an integer from -128 to 127, found 128".to_owned(),
        ),
        (
            "smt = 1",
            "1: smt: expected true or false, found 1".to_owned(),
        ),
        (
            "mode = \"IDLE\"",
            "1: mode: expected one of SLOW, FAST, found \"IDLE\"".to_owned(),
        ),
        (
            "label = \"a longer one\"",
            "1: label: expected a text of less than 8 bytes, found \"a longer one\"".to_owned(),
        ),
        (
            "table = [[], [], []]",
            "1: table: expected a list of at most 2, found a list of 3".to_owned(),
        ),
        (
            "limits.lest = 1",
            "1: limits.lest: unknown key, did you mean least?".to_owned(),
        ),
        ("last = 1", "1: last: a pointer cannot be set".to_owned()),
        (
            "t_ops.timeout = 1",
            "1: t_ops.timeout: the structure has no member timeout: did you mean timeout_ms?"
                .to_owned(),
        ),
        (
            "t_ops.enqueue = 1",
            "1: t_ops.enqueue: a pointer cannot be set".to_owned(),
        ),
        (
            "t_ops.name = \"mine\"",
            "1: t_ops.name: name is set by whoever loads the object".to_owned(),
        ),
        (
            "t_ops = 1",
            "1: t_ops: expected a table, found 1".to_owned(),
        ),
    ] {
        let error = values::read(&elf, text, "mine.toml")
            .unwrap_err()
            .to_string();
        assert_eq!(error, format!("mine.toml:{message}"));
    }
}
