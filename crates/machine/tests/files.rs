// SPDX-License-Identifier: GPL-2.0-or-later
//! The machine files of the project, and every message about a bad one.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use machine::{Clocked, Costs, Distance, Frequency, Governor, Machine, Power, RtGuard, RtKernel};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../machines")
}

fn load(name: &str) -> Machine {
    Machine::read(&folder().join(format!("{name}.toml"))).unwrap()
}

#[test]
fn every_file_loads_under_its_own_name() {
    let mut names = Vec::new();
    for entry in folder().read_dir().unwrap() {
        let path = entry.unwrap().path();
        // The probes of machines.
        if path.is_dir() {
            continue;
        }
        let machine = Machine::read(&path).unwrap();
        assert_eq!(
            Some(machine.name.as_str()),
            path.file_stem().unwrap().to_str()
        );
        names.push(machine.name);
    }
    names.sort();
    let expected = [
        "2xe5620",
        "athlonxp",
        "atom330",
        "desktop",
        "desktop-4",
        "desktop-8-smt",
        "e5200",
        "guest-exact-1",
        "guest-exact-2",
        "guest-exact-4",
        "i7-2620m",
        "i7-3770k",
        "laptop",
        "many-1024",
        "mbp13-vm",
        "mingo-testbox",
        "netbook",
        "server-2x8-smt",
        "t5600",
        "x3360",
    ];
    assert_eq!(names, expected);
}

#[test]
fn topologies_are_those_of_the_hardware() {
    // Logical CPUs and cores as printed in the studies, caches from the CPUs' public data.
    for (name, cpus, cores, llcs, nodes) in [
        ("athlonxp", 1, 1, 1, 1),
        ("e5200", 2, 2, 1, 1),
        ("atom330", 4, 2, 2, 1),
        ("i7-2620m", 4, 2, 1, 1),
        ("x3360", 4, 4, 2, 1),
        ("i7-3770k", 8, 4, 1, 1),
        ("2xe5620", 16, 8, 2, 2),
        ("mingo-testbox", 16, 8, 2, 2),
        ("t5600", 2, 2, 1, 1),
        ("mbp13-vm", 2, 2, 2, 1),
        ("many-1024", 1024, 512, 64, 8),
    ] {
        let topology = load(name).topology;
        let found = (
            topology.len(),
            topology.cores(),
            topology.llcs(),
            topology.nodes(),
        );
        assert_eq!(found, (cpus, cores, llcs, nodes), "{name}");
    }
    assert_eq!(load("mingo-testbox").hz, 1000);
    assert_eq!(load("x3360").topology.distance(1, 2), Distance::Node);
    assert_eq!(load("i7-3770k").topology.siblings(0), [0, 4]);
    assert_eq!(load("atom330").topology.siblings(2), [2, 3]);
}

#[test]
fn costs_are_the_defaults_but_for_what_the_file_says() {
    assert_eq!(load("desktop-4").costs, Costs::default());
    let vm = load("mbp13-vm").costs;
    let expected = Costs {
        private_cache_kib: 256,
        llc_kib: 3072,
        lock_transfer_ns: [0, 20, 60, 60, 60],
        refill_kib_ns: [60, 60, 100, 100, 100],
        lock_waiter_ns: 35,
        ipi_send_ns: 2000,
        ipi_ns: [500, 2500, 3000, 3000, 3000],
        idle_exit_ns: 5000,
        disk_kib_ns: 4633,
        disk_cache_kib: 262_144,
        disk_link_kib_ns: 1000,
        disk_cpu_kib_ns: 2734,
        ..Costs::default()
    };
    assert_eq!(vm, expected);
    let guards = ["mbp13-vm", "desktop-4"].map(|name| load(name).rt_guard);
    assert_eq!(guards, [RtGuard::Share, RtGuard::ExtServer]);
    let kernels = ["mbp13-vm", "desktop-4"].map(|name| load(name).rt_kernel);
    let old = RtKernel {
        highest_sought: 97,
        lockup_look_ms: 4_000,
    };
    assert_eq!(kernels, [old, RtKernel::default()]);
    let queues = ["mbp13-vm", "desktop-4"].map(|name| load(name).ttwu_queue);
    assert_eq!(queues, [false, true]);
}

const GOOD: &str = "\
name = \"m\"
title = \"t\"
source = \"s\"
hz = 250
[topology]
sockets = 1
llcs_per_socket = 1
cores_per_llc = 2
threads_per_core = 1
numbering = \"split\"
capacities = [1024, 512]
[costs]
tick_ns = 0
ipi_ns = [1, 2, 3, 4, 5]
smt_speed_pct = 62
";

fn error_of(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from), "{from}");
    let text = GOOD.replacen(from, to, 1);
    let error = Machine::from_toml(&text, "m.toml").unwrap_err().to_string();
    assert_eq!(error.lines().count(), 1, "{error}");
    error
}

/// What to change in the good file, into what, and the message.
const MESSAGES: &[(&str, &str, &str)] = &[
    (
        "hz = 250",
        "hz = 0",
        "4: hz: expected an integer from 1 to 10000, found 0",
    ),
    (
        "hz = 250",
        "hz = 10001",
        "4: hz: expected an integer from 1 to 10000, found 10001",
    ),
    (
        "hz = 250",
        "hz = \"x\"",
        "4: hz: expected an integer from 1 to 10000, found \"x\"",
    ),
    (
        "hz = 250",
        "hertz = 250",
        " hz: expected this key, found none",
    ),
    (
        "hz = 250",
        "hz = 250\nnumberin = 1",
        "5: numberin: unknown key, expected one of name, title, source, hz, one_clock, rt_guard, rt_highest_sought, rt_lockup_look_ms, ttwu_queue, topology, costs, spread_pct, nohz_full, frequency, power",
    ),
    (
        "hz = 250",
        "hz = 250\nnohz_full = [2]",
        "5: nohz_full[0]: expected an integer from 0 to 1, found 2",
    ),
    (
        "hz = 250",
        "hz = 250\nnohz_full = [1, 0]",
        "5: nohz_full: expected a list of CPUs, not of all, found a list of 2",
    ),
    (
        "hz = 250",
        "hz = 250\none_clock = 1",
        "5: one_clock: expected true or false, found 1",
    ),
    (
        "hz = 250",
        "hz = 250\nrt_guard = \"servr\"",
        "5: rt_guard: expected none, throttle, share or server, found \"servr\"",
    ),
    (
        "hz = 250",
        "hz = 250\nttwu_queue = \"idle\"",
        "5: ttwu_queue: expected true or false, found \"idle\"",
    ),
    (
        "\"m\"",
        "\"M 1\"",
        "1: name: expected a name of a-z, 0-9 and -, found \"M 1\"",
    ),
    ("\"t\"", "7", "2: title: expected a string, found 7"),
    (
        "sockets = 1",
        "sockets = 0",
        "6: topology.sockets: expected an integer from 1 to 1024, found 0",
    ),
    (
        "cores_per_llc = 2",
        "cores_per_llc = -2",
        "8: topology.cores_per_llc: expected an integer from 1 to 1024, found -2",
    ),
    (
        "cores_per_llc = 2\nthreads_per_core = 1",
        "cores_per_llc = 1024\nthreads_per_core = 1024",
        "11: topology.capacities: expected 1024 capacities, one a core, found a list of 2",
    ),
    (
        "cores_per_llc = 2\nthreads_per_core = 1\nnumbering = \"split\"\ncapacities = [1024, 512]",
        "cores_per_llc = 513\nthreads_per_core = 2",
        "5: topology: expected at most 1024 CPUs, found 1026",
    ),
    (
        "sockets = 1",
        "socket = 1",
        "5: topology.sockets: expected this key, found none",
    ),
    (
        "\"split\"",
        "\"spilt\"",
        "10: topology.numbering: expected \"adjacent\" or \"split\", found \"spilt\"",
    ),
    (
        "1024, 512",
        "1000, 512",
        "11: topology.capacities: expected the fastest core at 1024",
    ),
    (
        "1024, 512",
        "1024, 2048",
        "11: topology.capacities[1]: expected an integer from 1 to 1024, found 2048",
    ),
    (
        "tick_ns = 0",
        "tick_ns = -1",
        "13: costs.tick_ns: expected an integer from 0 to 10000000000, found -1",
    ),
    (
        "tick_ns",
        "tik_ns",
        "13: costs.tik_ns: unknown key, did you mean tick_ns?",
    ),
    (
        "[1, 2, 3, 4, 5]",
        "[1, 2]",
        "14: costs.ipi_ns: expected five costs: same CPU, SMT sibling, LLC, node, remote, \
             found a list of 2",
    ),
    (
        "tick_ns = 0",
        "idle_states_ns = [[2000, 5]]",
        "13: costs.idle_states_ns[0][0]: expected an integer from 2001 to 10000000000, found 2000",
    ),
    (
        "tick_ns = 0",
        "idle_states_ns = [[3000, 5], [4000, 5]]",
        "13: costs.idle_states_ns[1][1]: expected an integer from 6 to 10000000000, found 5",
    ),
    (
        "tick_ns = 0",
        "idle_states_ns = [[3000, 5, 7]]",
        "13: costs.idle_states_ns[0]: expected a list of two: to leave the state, and the idle time from which it pays, \
             found a list of 3",
    ),
    (
        "smt_speed_pct = 62",
        "smt_speed_pct = 0",
        "15: costs.smt_speed_pct: expected an integer from 1 to 100, found 0",
    ),
    (
        "smt_speed_pct = 62",
        "[spread_pct]\ntick_ns = 91",
        "16: spread_pct.tick_ns: expected an integer from 1 to 90, found 91",
    ),
    (
        "smt_speed_pct = 62",
        "[spread_pct]\ntik_ns = 5",
        "16: spread_pct.tik_ns: unknown key, did you mean tick_ns?",
    ),
    (
        "smt_speed_pct = 62",
        "[frequency]\nmin_khz = 800_000",
        "15: frequency.max_khz: expected this key, found none",
    ),
    (
        "smt_speed_pct = 62",
        "[frequency]\nmin_khz = 0\nmax_khz = 5",
        "16: frequency.min_khz: expected an integer from 1 to 100000000, found 0",
    ),
    (
        "smt_speed_pct = 62",
        "[frequency]\nmin_khz = 9\nmax_khz = 5",
        "17: frequency.max_khz: expected an integer from 9 to 100000000, found 5",
    ),
    (
        "smt_speed_pct = 62",
        "[frequency]\nmin_khz = 800_000\nmax_khz = 3_200_000\nsteps_khz = [800_000, 1_600_000]",
        "18: frequency.steps_khz: expected frequencies in ascending order, from min_khz to max_khz",
    ),
    (
        "smt_speed_pct = 62",
        "[frequency]\nmin_khz = 800_000\nmax_khz = 3_200_000\nsteps_khz = [800_000, 1_600_000, 1_600_000, 3_200_000]",
        "18: frequency.steps_khz: expected frequencies in ascending order, from min_khz to max_khz",
    ),
    (
        "smt_speed_pct = 62",
        "[frequency]\nmin_khz = 800_000\nmax_khz = 3_200_000\nsteps_khz = []",
        "18: frequency.steps_khz: expected frequencies in ascending order, from min_khz to max_khz",
    ),
    (
        "smt_speed_pct = 62",
        "[frequency]\nmin_khz = 800_000\nmax_khz = 3_200_000\ngovernor = \"ondemand\"",
        "18: frequency.governor: expected \"performance\" or \"schedutil\", found \"ondemand\"",
    ),
    (
        "smt_speed_pct = 62",
        "[frequency]\nmin_khz = 800_000\nmax_khz = 3_200_000\nclock_of = \"cpu\"",
        "18: frequency.clock_of: expected \"core\", \"llc\" or \"socket\", found \"cpu\"",
    ),
    (
        "smt_speed_pct = 62",
        "[frequency]\nmin_khz = 800_000\nmax_khz = 3_200_000\nrate_limit_us = -1",
        "18: frequency.rate_limit_us: expected an integer from 0 to 1000000, found -1",
    ),
    (
        "smt_speed_pct = 62",
        "[frequency]\nmin_khz = 800_000\nmax_khz = 3_200_000\nlatency_ms = 1",
        "18: frequency.latency_ms: unknown key, did you mean latency_us?",
    ),
    (
        "smt_speed_pct = 62",
        "[power]\nbusy_mw = [1]",
        "15: power.idle_mw: expected this key, found none",
    ),
    (
        "smt_speed_pct = 62",
        "[power]\nidle_mw = -1\nbusy_mw = [1]",
        "16: power.idle_mw: expected an integer from 0 to 1000000000, found -1",
    ),
    (
        "smt_speed_pct = 62",
        "[power]\nidle_mw = 1\nbusy_mw = [1, 2]",
        "17: power.busy_mw: expected a list of one, as there is one frequency, found a list of 2",
    ),
    (
        "smt_speed_pct = 62",
        "[power]\nidle_mw = 1\nbusy_mw = [1]\nidel_mw = 1",
        "18: power.idel_mw: unknown key, did you mean idle_mw?",
    ),
    (
        "smt_speed_pct = 62",
        "[frequency]\nmin_khz = 800_000\nmax_khz = 3_200_000\nsteps_khz = [800_000, 3_200_000]\n[power]\nidle_mw = 1\nbusy_mw = [1]",
        "21: power.busy_mw: expected 2 numbers, one a step of frequency.steps_khz, found a list of 1",
    ),
    (
        "smt_speed_pct = 62",
        "[frequency]\nmin_khz = 800_000\nmax_khz = 3_200_000\ngovernor = \"schedutil\"\n[power]\nidle_mw = 1\nbusy_mw = [1]",
        "19: power: expected frequency.steps_khz, at which CPUs take busy_mw",
    ),
    (
        "hz = 250\n",
        "hz = 250\none_clock = true\nfrequency = { min_khz = 1, max_khz = 2 }\n",
        "6: frequency: expected no frequency where one_clock is true: an instruction takes as long there as any other",
    ),
    (
        "[costs]",
        "[costs",
        "12: expected TOML: unclosed table, expected `]`",
    ),
];

#[test]
fn every_message() {
    Machine::from_toml(GOOD, "m.toml").unwrap();
    for (from, to, message) in MESSAGES {
        assert_eq!(error_of(from, to), format!("m.toml:{message}"));
    }
    let error = Machine::read(Path::new("/nonexistent/m.toml"))
        .unwrap_err()
        .to_string();
    assert_eq!(
        error,
        "/nonexistent/m.toml: expected a machine file: No such file or directory (os error 2)"
    );
}

#[test]
fn the_documented_example_is_a_machine() {
    let guide = include_str!("../../../docs/machines.md");
    let example = guide
        .split("```toml\n")
        .nth(1)
        .and_then(|rest| rest.split("```").next())
        .unwrap();
    assert_eq!(
        Machine::from_toml(example, "docs/machines.md")
            .unwrap()
            .cpus(),
        32
    );
}

#[test]
fn documented_defaults_are_the_defaults() {
    let guide = include_str!("../../../docs/machines.md");
    let rows: Vec<[String; 2]> = guide
        .lines()
        .filter_map(|line| line.strip_prefix("| `"))
        .map(|row| {
            let mut cells = row.split('|');
            [(); 2].map(|()| cells.next().unwrap().replace('`', "").trim().to_string())
        })
        .collect();
    // Every default is in the table, written as a file would write it; several keys may share a row.
    let mut text = String::new();
    for [keys, values] in &rows {
        let keys: Vec<&str> = keys.split(", ").collect();
        let values: Vec<&str> = values.split(", ").collect();
        if keys.len() == 1 && values.len() == 5 {
            writeln!(text, "{} = [{}]", keys[0], values.join(", ")).unwrap();
        } else {
            assert_eq!(keys.len(), values.len(), "{keys:?}");
            for (key, value) in keys.iter().zip(values) {
                writeln!(text, "{key} = {value}").unwrap();
            }
        }
    }
    let head = GOOD.split("[costs]").next().unwrap();
    let machine = Machine::from_toml(&format!("{head}[costs]\n{text}"), "table").unwrap();
    assert_eq!(machine.costs, Costs::default());
    assert_eq!(text.lines().count(), 46);
}

#[test]
fn frequency_and_power_are_read() {
    let with = |text: &str| Machine::from_toml(&format!("{GOOD}{text}"), "m.toml").unwrap();
    assert_eq!((with("").frequency, with("").power), (None, None));
    let least = with("[frequency]\nmin_khz = 800_000\nmax_khz = 3_200_000\n");
    let expected = Frequency {
        governor: Governor::Performance,
        clocked: Clocked::Core,
        min_khz: 800_000,
        max_khz: 3_200_000,
        steps_khz: Vec::new(),
        rate_limit_ns: 1_000_000,
        latency_ns: 10_000,
    };
    assert_eq!(least.frequency.as_ref(), Some(&expected));
    assert_eq!(expected.resolved(1), 800_000);
    assert_eq!(expected.resolved(900_001), 900_001);
    assert_eq!(expected.resolved(3_200_001), 3_200_000);
    let all = with(
        "[frequency]\ngovernor = \"schedutil\"\nclock_of = \"llc\"\nmin_khz = 800_000\nmax_khz = 3_200_000\n\
         steps_khz = [800_000, 1_600_000, 3_200_000]\nrate_limit_us = 2_000\nlatency_us = 0\n\
         [power]\nbase_mw = 5_000\nidle_mw = 200\nbusy_mw = [900, 2_500, 9_000]\n",
    );
    let expected = Frequency {
        governor: Governor::Schedutil,
        clocked: Clocked::Llc,
        steps_khz: vec![800_000, 1_600_000, 3_200_000],
        rate_limit_ns: 2_000_000,
        latency_ns: 0,
        ..expected
    };
    assert_eq!(all.frequency.as_ref(), Some(&expected));
    assert_eq!(expected.resolved(1_600_000), 1_600_000);
    assert_eq!(expected.resolved(1_600_001), 3_200_000);
    let power = Power {
        base_mw: 5_000,
        idle_mw: 200,
        busy_mw: vec![900, 2_500, 9_000],
    };
    assert_eq!(all.power, Some(power));
    let one = with("[power]\nidle_mw = 200\nbusy_mw = [9_000]\n");
    assert_eq!(one.power.map(|power| power.base_mw), Some(0));
}
