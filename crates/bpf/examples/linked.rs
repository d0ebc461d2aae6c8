// SPDX-License-Identifier: GPL-2.0-or-later
//! What an object becomes, for people who work on this crate: `linked OBJECT [BTF]`, where BTF is a kernel's, such as
//! `/sys/kernel/btf/vmlinux`; without it, all that the object needs is missing.

use anyhow::{Context, Result};
use bpf::btf::Btf;
use bpf::{Environment, link};

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let object = arguments.next().context("linked OBJECT [BTF]")?;
    let object = std::fs::read(&object).context(object)?;
    let mut kernel = Environment::default();
    if let Some(btf) = arguments.next() {
        kernel.btf = Btf::parse(&std::fs::read(&btf).context(btf)?)?;
        kernel.helpers = (1..212).collect();
        kernel.map_kinds = (1..34).collect();
    }
    let image = link(&object, &kernel)?;
    for function in &image.functions {
        println!("\nfunction {}", function.name);
        let mut lines = function.lines.iter().peekable();
        for (at, op) in (0..).zip(&function.ops) {
            while let Some(line) = lines.next_if(|line| line.op == at) {
                println!("  {}:{}", image.files[line.file as usize], line.line);
            }
            println!("{at:6} {op:?}");
        }
    }
    println!(
        "\n{:#?}\n{:#?}\n{:#?}",
        image.programs, image.struct_ops, image.maps
    );
    for data in &image.data {
        println!(
            "{} at {}: {} bytes",
            data.name,
            data.offset,
            data.bytes.len()
        );
    }
    println!("{:#?}\n{:?}", image.outside, image.variables);
    Ok(())
}
