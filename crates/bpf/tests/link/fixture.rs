// SPDX-License-Identifier: GPL-2.0-or-later
//! Objects and kernels out of C, and what tests ask of images.

use std::path::Path;

use bpf::image::{Function, Image};
use bpf::op::{Alu, Op, Operand, Value};
use bpf::{Clang, Environment, link};

/// An object of a file, for a version of the instruction set.
pub fn compile(source: &Path, cpu: &str, arguments: &[&str]) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let object = folder.path().join("object.bpf.o");
    let output = Clang::find()
        .expect("a clang that knows all of the instruction set")
        .command()
        .args([
            "-g",
            "-O2",
            "-Wall",
            "-target",
            "bpf",
            "-D__TARGET_ARCH_x86",
        ])
        .arg(format!("-mcpu={cpu}"))
        .args(arguments)
        .arg("-c")
        .arg(source)
        .arg("-o")
        .arg(&object)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    std::fs::read(object).unwrap()
}

/// What every source begins with. Lines of a test's own source count from 1 behind it.
const PRELUDE: &str = r#"
typedef unsigned char u8, __u8;
typedef unsigned short u16, __u16, __be16;
typedef unsigned int u32, __u32, __be32, __wsum;
typedef unsigned long long u64, __u64, __be64;
typedef signed char s8, __s8;
typedef short s16, __s16;
typedef int s32, __s32;
typedef long long s64, __s64;
typedef _Bool bool;
enum bpf_map_type { BPF_MAP_TYPE_UNSPEC };
enum { BPF_F_NO_PREALLOC = 1, BPF_F_MMAPABLE = 1024 };
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#define __core __attribute__((preserve_access_index))
#ifndef __ksym
#define __ksym __attribute__((section(".ksyms")))
#endif
#define __keep __attribute__((used))
#line 1 "fixture.c"
"#;

/// An object of a source, with the newest instructions.
pub fn object(source: &str) -> Vec<u8> {
    object_for("v4", source)
}

pub fn object_for(cpu: &str, source: &str) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("fixture.bpf.c");
    std::fs::write(&file, format!("{PRELUDE}{source}")).unwrap();
    compile(&file, cpu, &["-Wno-unused", "-fdebug-compilation-dir=."])
}

/// A kernel whose types are those of a source: its functions are kfuncs, its variables variables. It has the first
/// helpers and kinds of maps up to arenas.
pub fn kernel(source: &str) -> Environment {
    Environment {
        btf: bpf::types(&object(source)).unwrap(),
        helpers: (1..212).collect(),
        map_kinds: (1..34).collect(),
        version: 6 << 16 | 12 << 8,
        ..Environment::default()
    }
}

pub fn linked(source: &str, kernel: &Environment) -> Image {
    link(&object(source), kernel).unwrap_or_else(|error| panic!("{error}"))
}

/// What the kernel lacks, as people read it.
pub fn refusal(source: &str, kernel: &Environment) -> String {
    match link(&object(source), kernel) {
        Err(error) => error.to_string(),
        Ok(_) => panic!("nothing is refused"),
    }
}

pub fn function<'a>(image: &'a Image, name: &str) -> &'a Function {
    let mut functions = image.functions.iter();
    let found = functions.find(|function| function.name == name);
    found.unwrap_or_else(|| panic!("no function {name}"))
}

/// The number that a function consists of returning.
pub fn returned(image: &Image, name: &str) -> u64 {
    match function(image, name).ops[..] {
        [
            Op::Alu {
                wide,
                op: Alu::Mov,
                dst: 0,
                src: Operand::Imm(imm),
            },
            Op::Exit,
        ] => {
            if wide {
                i64::from(imm).cast_unsigned()
            } else {
                u64::from(imm.cast_unsigned())
            }
        }
        [
            Op::Immediate {
                dst: 0,
                value: Value::Const(number),
            },
            Op::Exit,
        ] => number,
        ref ops => panic!("{name} is no number: {ops:?}"),
    }
}
