// SPDX-License-Identifier: GPL-2.0-or-later
//! The workload files of the project become the plans their definitions ask for.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use workload::Workload;
use workload::plan::{Plan, QueueKind};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../workloads")
}

fn files() -> impl Iterator<Item = PathBuf> {
    let entries = folder().read_dir().unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.filter(|path| path.extension().is_some_and(|end| end == "toml"))
}

fn load(name: &str) -> Workload {
    Workload::read(&folder().join(format!("{name}.toml"))).unwrap()
}

fn plan(name: &str, load_value: i64, params: &[(&str, &str)]) -> Plan {
    let params = params
        .iter()
        .map(|(k, v)| ((*k).to_string(), (*v).to_string()))
        .collect();
    load(name).plan(load_value, &params, 4, 1).unwrap()
}

#[test]
fn every_file_loads_under_its_own_name() {
    for path in files() {
        let workload = Workload::read(&path).unwrap();
        assert_eq!(
            Some(workload.name.as_str()),
            path.file_stem().unwrap().to_str()
        );
        for cpus in [1, 16, 1024] {
            for load in workload.loads(4).unwrap() {
                let plan = || workload.plan(load, &BTreeMap::new(), cpus, 7).unwrap();
                assert_eq!(plan(), plan());
            }
        }
    }
}

/// One line per instruction.
fn listing(plan: &Plan) -> String {
    let mut text = "# SPDX-License-Identifier: GPL-2.0-or-later\n".to_string();
    for group in &plan.groups {
        let name = (
            &group.name,
            group.count,
            group.start,
            group.threads,
            group.footprint_kib,
        );
        writeln!(text, "task {name:?}").unwrap();
        for (index, inst) in group.program.iter().enumerate() {
            writeln!(text, "  {index:2} {inst:?}").unwrap();
        }
    }
    for queue in &plan.queues {
        writeln!(text, "{queue:?}").unwrap();
    }
    writeln!(text, "end {:?}", plan.end).unwrap();
    writeln!(text, "distributions {:?}", plan.distributions).unwrap();
    writeln!(
        text,
        "counters {:?}, throughput {:?}",
        plan.counters, plan.throughput
    )
    .unwrap();
    writeln!(text, "promises {:?}", plan.promises).unwrap();
    text
}

/// Compares with `tests/golden/NAME.txt`; `UPDATE_GOLDEN=1` writes it.
fn golden(name: &str, load_value: i64) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/{name}.txt"));
    let found = listing(&plan(name, load_value, &[]));
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &found).unwrap();
    }
    assert_eq!(
        found,
        std::fs::read_to_string(&path).unwrap(),
        "{}",
        path.display()
    );
}

/// Those whose definition is fixed; an application's model follows what is measured of it.
const DEFINED: [&str; 12] = [
    "counter",
    "cyclictest",
    "hackbench",
    "latt",
    "mixed",
    "pi",
    "pipe",
    "playback",
    "rt-pipe",
    "rt-tcp",
    "rw",
    "schbench",
];

#[test]
fn every_defined_file_is_its_listing() {
    for name in DEFINED {
        golden(name, if name == "counter" { 3 } else { 2 });
    }
}

#[test]
fn every_file_says_what_its_model_leaves_out() {
    for path in files() {
        let text = std::fs::read_to_string(&path).unwrap();
        let says = text.lines().any(|line| line.starts_with("# Leaves out: "));
        assert!(says, "{}", path.display());
    }
}

#[test]
fn hackbench_is_as_published() {
    // 10 groups: 400 processes and 400,000 messages of 100 bytes over stream sockets.
    let plan = plan("hackbench", 10, &[]);
    let tasks: u32 = plan.groups.iter().map(|group| group.count).sum();
    assert_eq!(
        (tasks, plan.queues[0].count, plan.queues[0].message_bytes),
        (400, 200, 100)
    );
    assert_eq!(plan.queues[0].kind, QueueKind::Socket);
}

#[test]
fn parameters_change_the_plan() {
    let pipes = plan(
        "hackbench",
        1,
        &[("kind", "pipe"), ("fds", "3"), ("bytes", "1000")],
    );
    assert_eq!(pipes.queues[0].kind, QueueKind::Pipe);
    assert_eq!(
        (pipes.queues[0].count, pipes.queues[0].capacity_bytes),
        (3, 64_000)
    );
    let short = plan("latt", 1, &[("duration_s", "2")]);
    assert_eq!(short.end, workload::plan::End::After { ns: 2_000_000_000 });
}

#[test]
fn arguments_are_checked() {
    let latt = load("latt");
    let error = |load_value, params: &[(&str, &str)], cpus| {
        let params = params
            .iter()
            .map(|(k, v)| ((*k).to_string(), (*v).to_string()))
            .collect();
        latt.plan(load_value, &params, cpus, 1)
            .unwrap_err()
            .to_string()
    };
    let range = "expected an integer from 1 to 512";
    assert_eq!(error(0, &[], 4), format!("latt: load: {range}, found 0"));
    assert_eq!(error(-1, &[], 4), format!("latt: load: {range}, found -1"));
    assert_eq!(
        error(513, &[], 4),
        format!("latt: load: {range}, found 513")
    );
    assert_eq!(error(1, &[], 0), "latt: cpus: expected at least 1, found 0");
    assert_eq!(
        error(1, &[("duration_s", "ten\n")], 4),
        "latt: params.duration_s: expected an integer from 1 to 3600, found ten\\n"
    );
    assert_eq!(
        error(1, &[("duration", "1")], 4),
        "latt: params.duration: unknown parameter, did you mean duration_s?"
    );
    assert_eq!(
        error(1, &[("clients", "1")], 4),
        "latt: params.clients: expected as the load, found as a parameter"
    );
    let error = error(1, &[("sleep_min_us", "600001")], 4);
    let expected = "expected the least first and the greatest second, found 600001000 ns and \
                    600000000 ns";
    assert!(
        error.contains("latt.toml:") && error.ends_with(expected),
        "{error}"
    );
    let params = BTreeMap::from([("kind".to_string(), "tpc".to_string())]);
    assert_eq!(
        load("hackbench")
            .plan(1, &params, 4, 1)
            .unwrap_err()
            .to_string(),
        "hackbench: params.kind: expected one of socket, pipe, tcp, found tpc"
    );
}

#[test]
fn loads_count_in_cpus() {
    let oltp = load("oltp");
    for (cpus, loads) in [
        (1, vec![1, 32]),
        (2, vec![1, 2, 64]),
        (16, vec![1, 8, 16, 512]),
        (1024, vec![1, 512, 1024, 32_768]),
    ] {
        assert_eq!(oltp.loads(cpus).unwrap(), loads);
        assert_eq!(oltp.least_load(cpus).unwrap(), 1);
    }
    let error = oltp.loads(1025).unwrap_err().to_string();
    let expected = "expected 1 to 32768, found \"32 * cpus\" = 32800 on 1025 CPUs";
    assert!(error.ends_with(expected), "{error}");
}

#[test]
fn the_documented_example_is_a_workload() {
    let guide = include_str!("../../../docs/workloads.md");
    let example = guide
        .split("```toml\n")
        .nth(1)
        .and_then(|rest| rest.split("```").next())
        .unwrap();
    let workload = Workload::from_toml(example, "docs/workloads.md").unwrap();
    assert_eq!(
        (workload.name.as_str(), workload.loads(4).unwrap()),
        ("ask", vec![1, 2, 16])
    );
}

#[test]
fn every_action_is_documented() {
    let guide = include_str!("../../../docs/workloads.md");
    for action in workload::actions() {
        let units = ["_ns", "_us", "_ms", "_s"];
        let timed = units.iter().find_map(|unit| action.strip_suffix(unit));
        let name = timed.unwrap_or(action);
        let forms = [
            format!("`{name} ="),
            format!("`{name}_us ="),
            format!(", `{name} ="),
        ];
        assert!(forms.iter().any(|form| guide.contains(form)), "{action}");
    }
}
