// SPDX-License-Identifier: GPL-2.0-or-later
//! Maps as BTF defines them.

use bpf::image::{Map, Special};
use bpf::op::{Op, Value};

use crate::fixture::{function, kernel, linked, object, refusal};

const TYPES: &str = r"
struct bpf_timer { u64 __opaque[2]; } __attribute__((aligned(8)));
struct bpf_spin_lock { u32 val; };
struct bpf_list_head { u64 __opaque[2]; } __attribute__((aligned(8)));
struct bpf_list_node { u64 __opaque[3]; } __attribute__((aligned(8)));
struct bpf_rb_root { u64 __opaque[2]; } __attribute__((aligned(8)));
struct bpf_wq { u64 __opaque[2]; } __attribute__((aligned(8)));
struct bpf_refcount { u32 __opaque[1]; } __attribute__((aligned(4)));
struct mask;
#define __tag(tag) __attribute__((btf_type_tag(#tag)))
";

fn maps(source: &str) -> Vec<Map> {
    linked(&format!("{TYPES}{source}"), &kernel("int x;")).maps
}

#[test]
fn types_sizes_flags_and_extra() {
    let maps = maps(
        r#"
        struct key { u32 a; u16 b; };
        struct { __uint(type, 1); __type(key, struct key); __type(value, u64);
            __uint(max_entries, 10); __uint(map_flags, BPF_F_NO_PREALLOC); } hash SEC(".maps");
        struct { __uint(type, 6); __uint(key_size, 4); __uint(value_size, 24);
            __uint(max_entries, 1); __uint(pinning, 1); __uint(numa_node, 0); } array SEC(".maps");
        struct { __uint(type, 27); __uint(max_entries, 5000); } ring SEC(".maps");
        struct { __uint(type, 33); __uint(map_flags, BPF_F_MMAPABLE); __uint(max_entries, 100);
            enum { high = 0x1ull << 44 } map_extra; } arena SEC(".maps");
        "#,
    );
    let hash = Map {
        name: "hash".into(),
        kind: 1,
        key_bytes: 8,
        value_bytes: 8,
        max_entries: 10,
        flags: 1,
        ..Map::default()
    };
    let array = Map {
        name: "array".into(),
        kind: 6,
        key_bytes: 4,
        value_bytes: 24,
        max_entries: 1,
        ..Map::default()
    };
    let ring = Map {
        name: "ring".into(),
        kind: 27,
        max_entries: 8192,
        ..Map::default()
    };
    let arena = Map {
        name: "arena".into(),
        kind: 33,
        max_entries: 100,
        flags: 1024,
        extra: 1 << 44,
        ..Map::default()
    };
    assert_eq!(maps, [hash, array, ring, arena]);
}

#[test]
fn what_in_a_value_is_the_kernels() {
    let maps = maps(
        r#"
        struct part { int pad; struct bpf_refcount count; };
        struct value {
            struct bpf_spin_lock lock;
            struct part parts[2];
            struct { struct bpf_timer timer; };
            struct mask __tag(kptr) *mask;
            struct mask __tag(kptr_untrusted) *seen;
            struct mask __tag(percpu_kptr) *each;
            struct mask __tag(rcu) *other;
            struct mask *plain;
            struct bpf_list_head list;
            struct bpf_rb_root tree;
            struct bpf_wq work;
            struct mask __tag(kptr) *both[2];
        };
        struct { __uint(type, 2); __type(key, u32); __type(value, struct value);
            __uint(max_entries, 1); } array SEC(".maps");
        "#,
    );
    let special = |offset, bytes, kind: &str| Special {
        offset,
        bytes,
        kind: kind.to_owned(),
    };
    assert_eq!(
        maps[0].special,
        [
            special(0, 4, "bpf_spin_lock"),
            special(8, 4, "bpf_refcount"),
            special(16, 4, "bpf_refcount"),
            special(24, 16, "bpf_timer"),
            special(40, 8, "kptr:mask"),
            special(48, 8, "kptr_untrusted:mask"),
            special(56, 8, "percpu_kptr:mask"),
            special(80, 16, "bpf_list_head"),
            special(96, 16, "bpf_rb_root"),
            special(112, 16, "bpf_wq"),
            special(128, 8, "kptr:mask"),
            special(136, 8, "kptr:mask"),
        ]
    );
    assert_eq!(maps[0].value_bytes, 144);
}

#[test]
fn maps_of_maps_with_what_they_start_with() {
    let maps = maps(
        r#"
        struct inner { __uint(type, 2); __uint(max_entries, 4); __type(key, u32);
            __type(value, struct bpf_timer); };
        struct inner first SEC(".maps"), second SEC(".maps");
        struct { __uint(type, 12); __uint(max_entries, 3); __type(key, u32);
            __array(values, struct inner); } outer SEC(".maps") = {
                .values = { [2] = &first, [0] = &second },
        };
        "#,
    );
    let index = |name: &str| maps.iter().position(|map| map.name == name).unwrap() as u32;
    let outer = &maps[index("outer") as usize];
    assert_eq!(
        (outer.key_bytes, outer.value_bytes, outer.max_entries),
        (4, 4, 3)
    );
    let inner = outer.inner.as_ref().unwrap();
    let shape = (
        inner.kind,
        inner.max_entries,
        inner.value_bytes,
        inner.special.len(),
    );
    assert_eq!(shape, (2, 4, 16, 1));
    assert_eq!(
        outer.values,
        [Some(index("second")), None, Some(index("first"))]
    );
}

#[test]
fn code_refers_to_maps_by_index() {
    let image = linked(
        r#"
        struct { __uint(type, 2); __type(key, u32); __type(value, u32); __uint(max_entries, 1); }
            one SEC(".maps"), two SEC(".maps");
        SEC("test") int p(u32 *key) { return !bpf_map_lookup_elem(&two, key); }"#,
        &kernel("int x;"),
    );
    let Op::Immediate { value, .. } = function(&image, "p").ops[1] else {
        panic!("{:?}", function(&image, "p").ops);
    };
    let index = image.maps.iter().position(|map| map.name == "two").unwrap();
    assert_eq!(value, Value::Map(index as u32));
}

#[test]
fn kinds_that_the_kernel_lacks_also_inside() {
    let mut kernel = kernel("int x;");
    kernel.map_kinds = [12].into();
    let text = refusal(
        r#"
        struct inner { __uint(type, 2); __uint(max_entries, 4); __type(key, u32); __type(value, u32); };
        struct { __uint(type, 12); __uint(max_entries, 3); __type(key, u32);
            __array(values, struct inner); } outer SEC(".maps");
        struct { __uint(type, 27); __uint(max_entries, 4096); } ring SEC(".maps");"#,
        &kernel,
    );
    assert_eq!(
        text,
        "the kernel has no map kind BPF_MAP_TYPE_ARRAY of outer.inner\n\
         the kernel has no map kind BPF_MAP_TYPE_RINGBUF of ring"
    );
}

#[test]
fn definitions_that_are_wrong() {
    let error = |members: &str| {
        let source = format!("struct {{ {members} }} it SEC(\".maps\");");
        let error = bpf::link(&object(&source), &kernel("int x;")).unwrap_err();
        error.to_string()
    };
    assert_eq!(error("__uint(max_entries, 1);"), "map it: no type");
    assert_eq!(
        error("__uint(type, 2); int other;"),
        "map it: other, which is not known"
    );
    assert_eq!(error("int type;"), "map it: type is not set by __uint");
    assert_eq!(
        error("__uint(type, 2); __uint(value_size, 4); __type(value, u64);"),
        "map it: value says 8 bytes, another member 4"
    );
}
