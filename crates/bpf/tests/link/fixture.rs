// SPDX-License-Identifier: GPL-2.0-or-later
//! Objects out of C.

use std::path::Path;
use std::process::Command;

/// The newest clang that knows all of the instruction set.
fn clang() -> String {
    if let Ok(program) = std::env::var("SCHEDLAB_CLANG") {
        return program;
    }
    let is_there = |program: &String| {
        let output = Command::new(program).arg("--version").output();
        output.is_ok_and(|output| output.status.success())
    };
    let numbered = (19..30).rev().map(|version| format!("clang-{version}"));
    let mut all = numbered.chain(["clang".to_owned()]);
    all.find(is_there).expect("a clang of version 19 or newer")
}

/// An object of a file, for a version of the instruction set.
pub fn compile(source: &Path, cpu: &str, arguments: &[&str]) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let object = folder.path().join("object.bpf.o");
    let output = Command::new(clang())
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
