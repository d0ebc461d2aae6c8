// SPDX-License-Identifier: GPL-2.0-or-later
//! A policy begins with what its own program set up, and says itself what of it is missing.

use std::collections::BTreeMap;
use std::path::Path;

use cell::Status;
use kernel::{Change, Execution, Hotplug, Options, Outcome, Release};
use policy::set_up::{Bytes, Entry, Map, Run};
use policy::{Object, SetUp};

use crate::common::{MS, costly, for_ms, plan, policy_path, sleepers};

const CPUS: u32 = 2;
const MAGIC: u32 = 4711;

fn object() -> Object {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    Object::load(&here.join("../../tests/programs/carried.bpf.c")).unwrap()
}

/// What crates/loader/examples/carrier.rs does.
fn set_up(object: &Object) -> SetUp {
    let magic = u64::from(MAGIC).to_le_bytes();
    let globals = policy::globals(&object.elf).unwrap();
    let mut set_up = SetUp::default();
    for (name, offset, bytes) in [
        ("slice_us", 0, 3000_u64.to_le_bytes().as_slice()),
        ("weights", 12, MAGIC.to_le_bytes().as_slice()),
        ("variable", 0, magic.as_slice()),
    ] {
        let global = &globals[name];
        let all = || section(&object.elf, &global.section);
        let data = set_up.data.entry(global.section.clone());
        let data = &mut data.or_insert_with(|| Bytes(all())).0;
        let start = global.offset + offset;
        data[start..start + bytes.len()].copy_from_slice(bytes);
    }
    let entry = |key: u32, copies: u32| Entry {
        key: Bytes(key.to_le_bytes().to_vec()),
        values: (0..copies).map(|_| Bytes(magic.to_vec())).collect(),
    };
    for (name, max_entries, entry) in [
        ("elements", 4, entry(2, 1)),
        ("a_hash_with_a_long_name", 8, entry(2, 1)),
        ("per_cpu", 2, entry(1, CPUS)),
    ] {
        let entries = vec![entry];
        let map = Map {
            max_entries,
            entries,
        };
        set_up.maps.insert(name.to_owned(), map);
    }
    set_up.runs.push(Run {
        program: "add_primary_cpu".to_owned(),
        context: Bytes(0_i32.to_le_bytes().to_vec()),
    });
    set_up.left_out.insert("left_out".to_owned());
    set_up.cleared.insert("tick".to_owned());
    let name = b"set_up".iter().copied().chain([0; 122]).collect();
    set_up.members.insert("name".to_owned(), Bytes(name));
    set_up
}

fn section(elf: &[u8], name: &str) -> Vec<u8> {
    use object::{Object, ObjectSection};
    let file = object::File::parse(elf).unwrap();
    let section = file.section_by_name(name).unwrap();
    section.data().unwrap().to_vec()
}

/// How a run ends in which all CPUs go offline and come back, by which the policy is loaded anew.
fn run(set_up: SetUp, execution: Execution) -> Result<(Status, String, u64), String> {
    let mut object = object();
    object.set_up = Some((set_up, Some(CPUS)));
    let program = kernel::link(&object, execution, Release::default())
        .map_err(|error| format!("{error:#}"))?;
    let hotplug = [(30, Change::Offline), (60, Change::Online)].map(|(ms, change)| Hotplug {
        at_ns: ms * 1_000_000,
        cpu: 1,
        change,
    });
    let options = Options {
        hotplug: hotplug.to_vec(),
        ..Options::default()
    };
    let plan = plan(vec![sleepers(5, 2 * MS, MS)], for_ms(100));
    let machine = costly(CPUS);
    let done = kernel::simulate(
        &machine,
        plan,
        &program,
        "carried",
        &BTreeMap::new(),
        options,
    );
    let done = done.map_err(|error| format!("{error:#}"))?;
    Ok((done.status, done.reason, done.trace_hash))
}

/// One task for a moment, on so many CPUs.
fn once(object: &Object, cpus: u32) -> anyhow::Result<Outcome> {
    let program = kernel::link(object, Execution::Interpreted, Release::default()).unwrap();
    let plan = plan(vec![sleepers(1, MS, MS)], for_ms(1));
    let (machine, tunables) = (costly(cpus), BTreeMap::new());
    kernel::simulate(&machine, plan, &program, "x", &tunables, Options::default())
}

#[test]
fn all_of_it_is_there_at_every_load_in_every_execution() {
    let runs = Execution::ALL.map(|how| run(set_up(&object()), how).unwrap());
    for (status, reason, hash) in &runs {
        assert_eq!((*status, reason.as_str()), (Status::Ok, ""));
        assert_eq!(*hash, runs[0].2);
    }
}

#[test]
fn what_is_missing_is_missed() {
    type Change<'a> = &'a dyn Fn(&mut SetUp);
    let changes: [(Change, &str); 7] = [
        (
            &|set_up| _ = set_up.data.remove(".rodata"),
            "constants were not set",
        ),
        (
            &|set_up| _ = set_up.data.remove(".data"),
            "variables were not set",
        ),
        (
            &|set_up| _ = set_up.maps.remove("elements"),
            "maps were not filled",
        ),
        (
            &|set_up| set_up.maps.get_mut("per_cpu").unwrap().entries.clear(),
            "maps were not filled",
        ),
        (
            &|set_up| set_up.runs.clear(),
            "the syscall program did not run once before",
        ),
        (
            &|set_up| set_up.runs[0].context = Bytes(1_i32.to_le_bytes().to_vec()),
            "the syscall program did not run once before",
        ),
        (
            &|set_up| set_up.cleared.clear(),
            "a tick, which was taken out",
        ),
    ];
    for (change, message) in changes {
        let mut set_up = set_up(&object());
        change(&mut set_up);
        let (status, reason, _) = run(set_up, Execution::Interpreted).unwrap();
        assert_eq!(status, Status::Ejected, "{reason}");
        assert_eq!(reason, format!("scx_bpf_error ({message})"));
    }
}

#[test]
fn what_does_not_fit_is_said() {
    type Change<'a> = &'a dyn Fn(&mut SetUp);
    let changes: [(Change, &str); 4] = [
        (
            &|set_up| {
                let map = set_up.maps.remove("elements").unwrap();
                set_up.maps.insert("others".to_owned(), map);
            },
            "carried: map others: the object has none",
        ),
        (
            &|set_up| {
                set_up.maps.get_mut("elements").unwrap().entries[0]
                    .key
                    .0
                    .push(0);
            },
            "carried: map elements: expected keys of 4 and values of 8 bytes in a map with elements",
        ),
        (
            &|set_up| set_up.runs[0].program = "left_out".to_owned(),
            "carried: runs: the object has no left_out",
        ),
        (
            &|set_up| _ = set_up.members.insert("flags".to_owned(), Bytes(vec![1])),
            "carried_ops: member flags: set to 1 bytes where the object has 8",
        ),
    ];
    for (change, message) in changes {
        let mut set_up = set_up(&object());
        change(&mut set_up);
        let error = run(set_up, Execution::Interpreted).unwrap_err();
        assert!(error.ends_with(message), "{error}");
    }
    let mut object = object();
    object.set_up = Some((set_up(&object), Some(4)));
    assert_eq!(
        once(&object, 2).err().unwrap().to_string(),
        "carried: its program set it up for 4 CPUs, and the machine has 2: take a snapshot with --cpus 2"
    );
}

#[test]
fn values_of_a_user_s_own_are_enough_for_some() {
    let text = "slice_us = 3000\nweights = [0, 0, 0, 4711]\nvariable = 4711\nnr_cpus = 9\n";
    let mut object = object();
    let values = policy::values::read(&object.elf, text, "mine.toml").unwrap();
    object.set_up = Some((values, None));
    // Of constants and variables it does not complain.
    assert_eq!(
        once(&object, 1).unwrap().reason,
        "scx_bpf_error (maps were not filled)"
    );
}

#[test]
fn members_of_the_scheduler_s_structure_are_set_before_it_is_loaded() {
    let mut object = Object::load(&policy_path("fifo")).unwrap();
    let mut link = |text: &str, release: &str| {
        let values = policy::values::read(&object.elf, text, "mine.toml").unwrap();
        object.set_up = Some((values, None));
        let linked = kernel::link(&object, Execution::Interpreted, release.parse().unwrap());
        linked.map(|_| ()).map_err(|error| format!("{error:#}"))
    };
    assert_eq!(link("fifo_ops.timeout_ms = 5_000", "7.2"), Ok(()));
    let unknown = "flags of struct sched_ext_ops: 0x20, which the model of 6.14 has not";
    assert_eq!(
        link("fifo_ops.flags = 32", "6.14"),
        Err(format!("fifo: {unknown}"))
    );
    assert_eq!(link("fifo_ops.flags = 32", "6.15"), Ok(()));
}
