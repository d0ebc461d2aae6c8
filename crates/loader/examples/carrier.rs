// SPDX-License-Identifier: GPL-2.0-or-later
//! A program of its own for the scheduler that lies behind its last byte, to test how schedlab treats such programs:
//! `cat carrier carried.bpf.o >scx_carried`. It sets up what `tests/programs/carried.bpf.c` wants, and runs until Ctrl-C.

use std::time::Duration;

use anyhow::{Context, Result, bail};
use libbpf_rs::btf::types::{MemberAttr, Struct};
use libbpf_rs::{
    AsRawLibbpf, Btf, MapCore, MapFlags, MapType, Object, ObjectBuilder, OpenObject, ProgramInput,
};
use object::{Object as _, ObjectSymbol};

const MAGIC: u64 = 4711;

struct Options {
    slice_us: u64,
    timeout_ms: u32,
    /// Before the scheduler is attached.
    idle_s: u64,
    /// Ends at once.
    fails: bool,
    /// Does something after the scheduler was attached, too.
    goes_on: bool,
}

fn main() -> Result<()> {
    signals::catch();
    let options = options()?;
    if options.fails {
        bail!("this program was told to fail");
    }
    let program = std::fs::read("/proc/self/exe")?;
    let found = policy::embedded::schedulers(&program);
    let [elf] = found.as_slice() else {
        bail!(
            "expected one object behind this program, found {}",
            found.len()
        );
    };
    let elf = elf.to_vec();
    let mut open = ObjectBuilder::default()
        .name("carried")?
        .open_memory(&elf)?;
    let slice_us = options.slice_us.to_le_bytes();
    set(&mut open, &elf, (".rodata", "slice_us", 0), &slice_us)?;
    let weight = (MAGIC as u32).to_le_bytes();
    set(&mut open, &elf, (".rodata", "weights", 12), &weight)?;
    set(
        &mut open,
        &elf,
        (".data", "variable", 0),
        &MAGIC.to_le_bytes(),
    )?;
    set_ops(&mut open, "timeout_ms", &options.timeout_ms.to_le_bytes())?;
    set_ops(&mut open, "tick", &[0; 8])?;
    for mut program in open.progs_mut() {
        if program.name() == "left_out" {
            program.set_autoload(false);
        }
    }
    let mut object = open.load()?;
    fill(&object)?;
    add_primary_cpu(&mut object, 0)?;
    signals::wait(Duration::from_secs(options.idle_s));
    let mut ops = object
        .maps_mut()
        .find(|map| map.map_type() == MapType::StructOps)
        .context("no scheduler")?;
    let _link = ops.attach_struct_ops()?;
    println!("carried is attached");
    if options.goes_on {
        add_primary_cpu(&mut object, 1)?;
    }
    while !signals::caught() {
        signals::wait(Duration::from_secs(1));
    }
    println!("carried is detached");
    Ok(())
}

fn options() -> Result<Options> {
    let mut options = Options {
        slice_us: 5000,
        timeout_ms: 5000,
        idle_s: 0,
        fails: false,
        goes_on: false,
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut number = || -> Result<u64> {
            let value = words.next().unwrap_or_default();
            (value.parse()).with_context(|| format!("{word} '{value}': expected a number"))
        };
        match word.as_str() {
            "--slice-us" => options.slice_us = number()?,
            "--timeout-ms" => options.timeout_ms = number()? as u32,
            "--idle-s" => options.idle_s = number()?,
            "--fail" => options.fails = true,
            "--go-on" => options.goes_on = true,
            _ => bail!("unexpected argument '{word}'"),
        }
    }
    Ok(options)
}

/// The third element, the value of key 2, and the second element of every CPU.
fn fill(object: &Object) -> Result<()> {
    let magic = MAGIC.to_le_bytes();
    for map in object.maps() {
        match map.name().to_string_lossy().as_ref() {
            "elements" | "a_hash_with_a_long_name" => {
                map.update(&2_u32.to_le_bytes(), &magic, MapFlags::ANY)?;
            }
            "per_cpu" => {
                let all = vec![magic.to_vec(); libbpf_rs::num_possible_cpus()?];
                map.update_percpu(&1_u32.to_le_bytes(), &all, MapFlags::ANY)?;
            }
            _ => {}
        }
    }
    Ok(())
}

fn add_primary_cpu(object: &mut Object, cpu: i32) -> Result<()> {
    let mut context = cpu.to_le_bytes();
    let mut programs = object.progs_mut();
    let program = programs.find(|program| program.name() == "add_primary_cpu");
    let output = program
        .context("no add_primary_cpu")?
        .test_run(ProgramInput {
            context_in: Some(&mut context),
            ..ProgramInput::default()
        })?;
    if output.return_value != 0 {
        let error = output.return_value.cast_signed();
        bail!("add_primary_cpu({cpu}): {error}");
    }
    Ok(())
}

/// A global, by section, name and offset within it, of an object that is not loaded yet.
fn set(open: &mut OpenObject, elf: &[u8], place: (&str, &str, usize), bytes: &[u8]) -> Result<()> {
    let (section, name, offset) = place;
    let file = object::File::parse(elf)?;
    let symbol = file.symbols().find(|symbol| symbol.name() == Ok(name));
    let symbol = symbol.with_context(|| format!("no global {name}"))?;
    let start = symbol.address() as usize + offset;
    let mut map = open
        .maps_mut()
        .find(|map| map.name().to_string_lossy().ends_with(section))
        .with_context(|| format!("no section {section}"))?;
    let data = map.initial_value_mut().context("not to be set")?;
    data[start..start + bytes.len()].copy_from_slice(bytes);
    Ok(())
}

/// A member of `struct sched_ext_ops`.
fn set_ops(open: &mut OpenObject, member: &str, bytes: &[u8]) -> Result<()> {
    let raw = open.as_libbpf_object();
    // SAFETY: the object outlives the borrow.
    let btf = Btf::from_bpf_object(unsafe { raw.as_ref() })?.context("no BTF")?;
    let ops: Struct = btf.type_by_name("sched_ext_ops").context("no ops")?;
    let found = ops
        .iter()
        .find(|one| one.name.is_some_and(|name| name == member));
    let Some(MemberAttr::Normal { offset }) = found.map(|one| one.attr) else {
        bail!("no member {member}");
    };
    let start = offset as usize / 8;
    let mut map = open
        .maps_mut()
        .find(|map| map.map_type() == MapType::StructOps)
        .context("no scheduler")?;
    let data = map.initial_value_mut().context("not to be set")?;
    data[start..start + bytes.len()].copy_from_slice(bytes);
    Ok(())
}
