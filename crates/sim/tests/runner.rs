// SPDX-License-Identifier: GPL-2.0-or-later
//! The binary: shards, records, exit codes, and lines that reproduce.

mod mount;

use std::io::BufReader;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output};

use cell::{Cell, Digests, Record, Status};
use mount::with_mount;

const WORKLOAD: &str = r#"# SPDX-License-Identifier: GPL-2.0-or-later
name = "turns"
title = "turns"
source = "a test"
load = "tasks"
loads = [2]

[params]
tasks = { default = 2, min = 1, max = 64, about = "tasks" }

[end]
after_s = 8

[[task]]
name = "turn"
count = "tasks"
program = [{ loop = [{ run_us = 1000 }, { sleep_us = 1000 }, { count = "rounds" }] }]

[metrics]
promises = []
throughput = "rounds"
"#;

fn sim() -> Command {
    Command::new(env!("CARGO_BIN_EXE_schedlab-sim"))
}

/// A policy beside the kernel model's tests, or one of the tree.
fn policy_path(name: &str) -> PathBuf {
    let beside = root().join(format!("crates/kernel/tests/policies/{name}.bpf.c"));
    if beside.exists() {
        beside
    } else {
        root().join("schedulers").join(name)
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn machine() -> PathBuf {
    root().join("machines/desktop-4.toml")
}

fn shard(dir: &Path, cells: &[(&str, i64, u64)]) -> PathBuf {
    std::fs::write(dir.join("turns.toml"), WORKLOAD).unwrap();
    let cells: Vec<serde_json::Value> = cells
        .iter()
        .map(|(scheduler, load, seed)| {
            let cell = Cell {
                api: None,
                built_in: false,
                digests: Digests::default(),
                exact_costs: false,
                kernel: None,
                load: *load,
                machine: "desktop-4".into(),
                modelled: false,
                params: std::collections::BTreeMap::new(),
                place: "sim".into(),
                repetition: seed - 1,
                scheduler: (*scheduler).into(),
                seed: *seed,
                tunables: std::collections::BTreeMap::new(),
                workload: "turns".into(),
            };
            let mut json = serde_json::to_value(&cell).unwrap();
            json["id"] = cell.id().into();
            json
        })
        .collect();
    let shard = serde_json::json!({
        "files": {
            "schedulers": {"vtime": policy_path("vtime"), "loses": policy_path("loses"), "fifo": policy_path("fifo")},
            "workloads": {"turns": dir.join("turns.toml")},
            "machines": {"desktop-4": machine()},
        },
        "cells": cells,
    });
    let path = dir.join("shard.json");
    std::fs::write(&path, shard.to_string()).unwrap();
    path
}

fn records(dir: &Path) -> Vec<Record> {
    let mut records: Vec<Record> = dir
        .read_dir()
        .unwrap()
        .map(|entry| {
            serde_json::from_slice(&std::fs::read(entry.unwrap().path()).unwrap()).unwrap()
        })
        .collect();
    records.sort_by(|a, b| a.id.cmp(&b.id));
    records
}

fn run(shard: &Path, out: &Path, jobs: &str) -> Output {
    sim()
        .args(["run"])
        .arg(shard)
        .arg("--out")
        .arg(out)
        .args(["--jobs", jobs])
        .output()
        .unwrap()
}

#[test]
fn shards_are_idempotent_and_do_not_depend_on_jobs() {
    let dir = tempfile::tempdir().unwrap();
    let cells = [
        ("vtime", 2, 1),
        ("vtime", 9, 1),
        ("vtime", 9, 2),
        ("fifo", 9, 1),
        ("loses", 9, 1),
    ];
    let shard = shard(dir.path(), &cells);
    let (one, two) = (dir.path().join("one"), dir.path().join("two"));
    let first = run(&shard, &one, "1");
    assert!(
        first.status.success(),
        "{}",
        String::from_utf8_lossy(&first.stderr)
    );
    assert!(run(&shard, &two, "2").status.success());
    let strip = |dir: &Path| {
        let mut records = records(dir);
        for record in &mut records {
            record.cost = cell::Cost::default();
        }
        records
    };
    let all = strip(&one);
    assert_eq!(all, strip(&two));
    assert_eq!(all.len(), 5);
    for record in &all {
        let expected = if record.cell.scheduler == "loses" {
            Status::Ejected
        } else {
            Status::Ok
        };
        assert_eq!(record.status, expected, "{}", record.reason);
        assert_eq!(record.trace_hash.len(), 16);
    }
    let again = String::from_utf8(run(&shard, &one, "2").stdout).unwrap();
    assert_eq!(
        again.matches("\"status\":\"skipped\"").count(),
        5,
        "{again}"
    );
}

#[test]
fn bad_input_is_one_line_and_2() {
    let dir = tempfile::tempdir().unwrap();
    let cases: [(&[&str], &str); 9] = [
        (
            &["cell", "--workload", "nosuch"],
            "nosuch: not found in workloads/ here or above; a path may be given",
        ),
        (
            &["cell", "--workload", "latt", "--scheduler", "vtime:x=1"],
            "vtime: unknown tunable 'x'; it has none",
        ),
        (
            &["cell", "--workload", "latt", "--scheduler", "bfs:a=1+a=2"],
            "scheduler 'bfs:a=1+a=2': tunable 'a' is given twice",
        ),
        (
            &["check", "schedulers/bfs", "-o", "a=1", "-o", "a=2"],
            "-o: a is given twice",
        ),
        (
            &["cell", "--workload", "latt", "--param", "x"],
            "--param: expected KEY=VALUE, found \"x\"",
        ),
        (
            &["cell", "--workload", "latt", "--hotplug", "x"],
            "--hotplug: \"x\": expected TIMEms:-CPU, TIMEms:+CPU or TIMEms:~CPU",
        ),
        (
            &["cell", "--workload", "latt", "--offline", "1,4"],
            "--offline: expected a CPU from 1 to 3, found 4",
        ),
        (
            &["object", "schedulers/bfs", "bfs.bpf.o", "-I", "nowhere"],
            "-I nowhere: no such folder",
        ),
        (&["frob"], "unrecognized subcommand 'frob'"),
    ];
    for (args, message) in cases {
        let output = sim().args(args).current_dir(root()).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(stderr, format!("schedlab-sim: {message}\n"));
        assert_eq!(output.status.code(), Some(2));
    }
    let broken = dir.path().join("broken.bpf.c");
    let refused = || {
        sim()
            .args(["cell", "--workload", "latt", "--scheduler"])
            .arg(&broken)
            .current_dir(root())
            .output()
            .unwrap()
    };
    std::fs::write(
        &broken,
        "#include <scx.h>\nint f(void) { return scx_bpf_frobnicate(); }\nSCX_OPS_DEFINE(x);\n",
    )
    .unwrap();
    let output = refused();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(
        stderr.contains("scx_bpf_frobnicate is not in the frozen sched_ext subset"),
        "{stderr}"
    );
    assert_eq!((stderr.lines().count(), output.status.code()), (1, Some(2)));
    std::fs::write(
        &broken,
        "#include <scx.h>\nint f(void) { return x; }\nSCX_OPS_DEFINE(y);\n",
    )
    .unwrap();
    let output = refused();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.contains("broken.bpf.c:2:"), "{stderr}");
}

/// The shard's first cell with another interface, and its own identity.
fn with_api(shard: &Path, api: &str) {
    let mut json: serde_json::Value =
        serde_json::from_slice(&std::fs::read(shard).unwrap()).unwrap();
    let mut cell = json["cells"][0].clone();
    cell.as_object_mut().unwrap().remove("id");
    let mut cell: Cell = serde_json::from_value(cell).unwrap();
    cell.api = Some(api.to_string());
    let id = cell.id();
    json["cells"][0] = serde_json::to_value(&cell).unwrap();
    json["cells"][0]["id"] = id.into();
    std::fs::write(shard, json.to_string()).unwrap();
}

#[test]
fn a_cell_says_which_interface_its_policy_sees() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    let shard = shard(dir.path(), &[("vtime", 4, 1)]);
    with_api(&shard, "5.4");
    let refused = run(&shard, &out, "1");
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(
        said.contains("shard.json: cells[0].api: expected one of 6.12, ")
            && said.lines().count() == 1,
        "{said}"
    );
    assert_eq!(refused.status.code(), Some(2));
    with_api(&shard, "6.12");
    assert_eq!(run(&shard, &out, "1").status.code(), Some(0));
    let records = records(&out);
    assert_eq!(records[0].cell.api.as_deref(), Some("6.12"));
    assert_eq!(records[0].status, Status::Ok);
}

#[test]
fn the_help_names_every_guard() {
    let output = sim().args(["cell", "--help"]).output().unwrap();
    let help = String::from_utf8(output.stdout).unwrap();
    assert!(help.contains("none, throttle, share or server"), "{help}");
}

/// A policy that writes where nothing is, and divides by nothing, which BPF allows.
const WILD: &str = r#"#include <scx.h>
u64 nothing;
void BPF_STRUCT_OPS(wild_enqueue, struct task_struct *p, u64 enq_flags)
{
	u64 *stray = (u64 *)((u64)p + (1ULL << 45));

	nothing = p->pid / nothing;
	*stray = 1;
	scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, SCX_SLICE_DFL, enq_flags);
}
SCX_OPS_DEFINE(wild_ops, .enqueue = (void *)wild_enqueue, .name = "wild");
"#;

#[test]
fn the_kernels_own_scheduler_takes_groups_with_weights_limits_and_cpus() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("turns.toml");
    let run = |group: &str, words: &[&str]| {
        let task = "[[task]]\nname = \"turn\"\n";
        let grouped = format!("[[cgroup]]\nname = \"g\"\n{group}\n{task}cgroup = \"g\"\n");
        std::fs::write(&file, WORKLOAD.replacen(task, &grouped, 1)).unwrap();
        let mut command = sim();
        command
            .current_dir(root())
            .args(["cell", "--scheduler"])
            .args(words);
        let output = command.arg("--workload").arg(&file).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        (output.status.code(), said)
    };
    for words in [&["default"][..], &["eevdf", "--built-in"], &["eevdf"]] {
        for group in ["weight = 200", "max_us = 50_000", "cpus = [1]", ""] {
            assert_eq!(run(group, words), (Some(0), String::new()), "{group}");
        }
    }
    let mut hotplug = vec!["eevdf", "--hotplug", "10ms:-1"];
    let (status, said) = run("cpus = [1]", &hotplug);
    let line = "the CPUs of the workload's control groups are not modelled together with CPUs that go or come";
    assert_eq!((status, said.contains(line)), (Some(2), true), "{said}");
    hotplug[2] = "10ms:-1,20ms:+1";
    assert_eq!(run("weight = 200", &hotplug).0, Some(0));
}

#[test]
fn a_crash_names_the_scheduler_and_the_command_that_finds_the_line() {
    let dir = tempfile::tempdir().unwrap();
    let policy = dir.path().join("wild.bpf.c");
    std::fs::write(&policy, WILD).unwrap();
    std::fs::write(dir.path().join("turns.toml"), WORKLOAD).unwrap();
    let output = sim()
        .args(["cell", "--load", "9", "--scheduler"])
        .arg(&policy)
        .arg("--workload")
        .arg(dir.path().join("turns.toml"))
        .arg("--machine")
        .arg(machine())
        .output()
        .unwrap();
    assert_eq!(output.status.signal(), Some(libc::SIGSEGV));
    let said = String::from_utf8(output.stderr).unwrap();
    let (what, line) = said.split_once("where: schedlab-sim ").unwrap();
    assert!(
        what.starts_with("schedlab-sim: wild: its code touched memory that is not its own"),
        "{what}"
    );
    let found = sim().args(line.trim().split(' ')).output().unwrap();
    let found = String::from_utf8(found.stdout).unwrap();
    let place = format!(
        "wild: wild_enqueue ({}:8): an access of 8 bytes",
        policy.display()
    );
    assert!(found.contains(&place), "{found}");
}

#[test]
fn a_failure_prints_the_line_that_reproduces_it() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("turns.toml"), WORKLOAD).unwrap();
    let output = sim()
        .args(["cell", "--strict", "--load", "9", "--json", "--scheduler"])
        .arg(policy_path("loses"))
        .arg("--workload")
        .arg(dir.path().join("turns.toml"))
        .arg("--machine")
        .arg(machine())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let record: Record = serde_json::from_slice(&output.stdout).unwrap();
    let (what, line) = record
        .reason
        .split_once("; reproduce: schedlab-sim ")
        .unwrap();
    assert!(what.starts_with("check failed: lost task: "), "{what}");
    let again = sim().args(line.split(' ')).arg("--json").output().unwrap();
    let second: Record = serde_json::from_slice(&again.stdout).unwrap();
    assert_eq!(
        (second.reason, second.trace_hash),
        (record.reason, record.trace_hash)
    );
}

/// What `describe` tells of these files, with its status.
fn describe(words: &[&str]) -> (Option<i32>, serde_json::Value) {
    let mut command = sim();
    command.arg("describe").args(words).current_dir(root());
    let output = command.output().unwrap();
    let told = serde_json::from_slice(&output.stdout).unwrap();
    (output.status.code(), told)
}

#[test]
fn workloads_and_machines_are_described() {
    let dir = tempfile::tempdir().unwrap();
    let text = WORKLOAD.replace("[2]", "[1, \"2 * cpus\"]");
    let workload = dir.path().join("turns.toml");
    std::fs::write(&workload, &text).unwrap();
    let workload = workload.to_str().unwrap();
    let words = [
        "--workload",
        workload,
        "--cpus",
        "1,16",
        "--machine",
        "server-2x8-smt",
    ];
    let (status, told) = describe(&words);
    assert_eq!(status, Some(0));
    assert_eq!(
        told,
        serde_json::json!({
            "workloads": [{
                "name": "turns", "title": "turns", "source": "a test", "path": workload,
                "digest": cell::hex_digest(text.as_bytes(), 16),
                "load": "tasks", "loads": [1, "2 * cpus"], "loads_on": {"1": [1, 2], "16": [1, 32]},
                "params": [{"name": "tasks", "about": "tasks", "default": "2", "min": 1, "max": 64}],
                "promises": [], "logs": [], "beside": [], "leaves_out": [], "remarks": [],
            }],
            "machines": [{
                "name": "server-2x8-smt", "title": told["machines"][0]["title"],
                "path": told["machines"][0]["path"], "cpus": 32, "hz": 250,
            }],
            "schedulers": [],
        })
    );
}

#[test]
fn a_broken_file_hides_no_other_and_levels_may_be_given() {
    let dir = tempfile::tempdir().unwrap();
    let paths = ["broken.toml", "turns.toml"].map(|name| dir.path().join(name));
    std::fs::write(&paths[0], "name = 1\n").unwrap();
    std::fs::write(&paths[1], WORKLOAD).unwrap();
    let [broken, workload] = paths.each_ref().map(|path| path.to_str().unwrap());
    let words = [
        "--workload",
        broken,
        "--workload",
        workload,
        "--level",
        "cpus / 2",
        "--level=7",
        "--cpus=8",
    ];
    let (status, told) = describe(&words);
    assert_eq!(status, Some(2));
    let error = told["workloads"][0]["error"].as_str().unwrap();
    assert!(error.starts_with(&format!("{broken}:1: name: ")), "{error}");
    assert_eq!(
        told["workloads"][1]["loads"],
        serde_json::json!(["cpus / 2", 7])
    );
    assert_eq!(
        told["workloads"][1]["loads_on"],
        serde_json::json!({"8": [4, 7]})
    );
}

#[test]
fn schedulers_are_described_as_they_are_written() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("mine");
    std::fs::create_dir(&folder).unwrap();
    let policy = folder.join("scx_mine.bpf.c");
    let text = "#include <scx.h>\nTUNABLE(u64, slice_us, 6000, 1000, 9000, \"us\", \"a slice\");\n\
                STAT(kicks, \"CPUs kicked\");\nSCX_OPS_DEFINE(mine_ops, .name = \"mine\");\n";
    std::fs::write(&policy, text).unwrap();
    std::fs::write(
        folder.join("README.md"),
        "# mine\n\nOne of\nmine.\n\nMore.\n",
    )
    .unwrap();
    let mine = format!("{}:slice_us=2000+a=1", policy.display());
    let words = [
        "--scheduler",
        &mine,
        "--scheduler",
        "default",
        "--scheduler",
        "bfs:a=1+a=2",
        "--build",
    ];
    let (status, told) = describe(&words);
    assert_eq!(status, Some(2));
    let told = &told["schedulers"];
    assert_eq!(
        told[0],
        serde_json::json!({
            "scheduler": policy, "set": {"a": "1", "slice_us": "2000"},
            "name": "mine", "about": "One of mine.", "digest": told[0]["digest"],
            "file": policy, "folder": policy.parent().unwrap(),
            "tunables": [{
                "name": "slice_us", "type": "u64", "default": "6000", "min": 1000, "max": 9000,
                "unit": "us", "choices": [], "about": "a slice",
            }],
            "stats": [{"name": "kicks", "about": "CPUs kicked"}],
        })
    );
    assert_eq!(told[0]["digest"].as_str().unwrap().len(), 16);
    assert_eq!(
        (&told[1]["name"], &told[1]["means"]),
        (&"default".into(), &"eevdf".into())
    );
    let error = "scheduler 'bfs:a=1+a=2': tunable 'a' is given twice";
    assert_eq!(told[2], serde_json::json!({"error": error}));
}

#[test]
fn metrics_are_described_in_the_order_of_their_table() {
    let (status, told) = describe(&["--metrics"]);
    assert_eq!(status, Some(0));
    let told = told["metrics"].as_array().unwrap();
    assert_eq!(told.len(), cell::METRICS.len());
    assert_eq!(
        told[0],
        serde_json::json!({
            "name": "elapsed_s", "title": "elapsed time", "unit": "s", "distribution": false,
            "better": "lower", "meaning": cell::METRICS[0].meaning,
        })
    );
    let neither = told.iter().find(|metric| metric["name"] == "migrations");
    assert_eq!(neither.unwrap()["better"], "");
}

/// A runner that has told of its first cell: what it told, and where it goes on to tell.
fn begun(shard: &Path, out: &Path) -> (Child, String, BufReader<ChildStdout>) {
    let mut child = sim()
        .arg("run")
        .arg(shard)
        .arg("--out")
        .arg(out)
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    std::io::BufRead::read_line(&mut stdout, &mut line).unwrap();
    (child, line, stdout)
}

#[test]
fn an_interrupt_leaves_finished_records_and_130() {
    let dir = tempfile::tempdir().unwrap();
    let cells: Vec<(&str, i64, u64)> = (1..400).map(|seed| ("vtime", 64, seed)).collect();
    let shard = shard(dir.path(), &cells);
    let out = dir.path().join("out");
    let (mut child, line, _stdout) = begun(&shard, &out);
    assert!(line.contains("\"status\":\"ok\""), "{line}");
    // SAFETY: our own child, not yet waited for.
    unsafe { libc::kill(child.id() as i32, libc::SIGINT) };
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let kept = records(&out);
    assert!(
        !kept.is_empty() && kept.len() < cells.len(),
        "{}",
        kept.len()
    );
    assert!(kept.iter().all(|record| record.status == Status::Ok));
}

/// `kill -9` of whoever started a shard leaves nobody to stop it but itself.
#[test]
fn a_shard_ends_with_its_parent() {
    let dir = tempfile::tempdir().unwrap();
    let cells: Vec<(&str, i64, u64)> = (1..400).map(|seed| ("vtime", 64, seed)).collect();
    let shard = shard(dir.path(), &cells);
    let out = dir.path().join("out");
    let mut parent = Command::new("sh")
        .args(["-c", r#""$0" run "$1" --out "$2" --parent $$; true"#])
        .arg(env!("CARGO_BIN_EXE_schedlab-sim"))
        .args([&shard, &out])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdout = std::io::BufReader::new(parent.stdout.take().unwrap());
    let mut line = String::new();
    std::io::BufRead::read_line(&mut stdout, &mut line).unwrap();
    assert!(line.contains("\"status\":\"ok\""), "{line}");
    parent.kill().unwrap();
    parent.wait().unwrap();
    // The pipe ends when the last one who could write to it has left.
    std::io::Read::read_to_string(&mut stdout, &mut line).unwrap();
    let kept = records(&out).len();
    assert!((1..cells.len()).contains(&kept), "{kept}");
}

#[test]
fn a_shard_whose_parent_is_gone_already_runs_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let shard = shard(dir.path(), &[("vtime", 2, 1)]);
    let out = dir.path().join("out");
    // Process 1 did not start us.
    let mut run = sim();
    run.arg("run").arg(&shard).arg("--out").arg(&out);
    let status = run.args(["--parent", "1"]).status().unwrap();
    assert_eq!((status.code(), records(&out).len()), (Some(130), 0));
}

#[test]
fn the_version_names_the_program() {
    let output = sim().arg("--version").output().unwrap();
    let version = concat!("schedlab-sim ", env!("CARGO_PKG_VERSION"), "\n");
    assert_eq!(String::from_utf8(output.stdout).unwrap(), version);
}

#[test]
fn a_reader_that_goes_is_no_panic() {
    use std::os::unix::process::ExitStatusExt;

    // The reader is gone before the program starts: what it says would fit into the pipe.
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = sim()
        .args(["describe", "--metrics"])
        .stdout(writer)
        .output()
        .unwrap();
    assert_eq!(output.status.signal(), Some(libc::SIGPIPE));
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
}

#[test]
fn a_full_disk_is_a_line_and_leaves_whole_records_alone() {
    let dir = tempfile::tempdir().unwrap();
    let cells: Vec<(&str, i64, u64)> = (1..40).map(|seed| ("vtime", 8, seed)).collect();
    let shard = shard(dir.path(), &cells);
    let out = dir.path().join("out");
    // A record takes a page.
    let every = "for f in $(ls -A); do tail -c 1 $f | od -An -c; echo $f; done";
    let Some(output) = with_mount(
        sim()
            .arg("run")
            .arg(&shard)
            .arg("--out")
            .arg(&out)
            .args(["--jobs", "1"]),
        &out,
        "size=40k",
        every,
    ) else {
        return;
    };
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(
        stderr.starts_with(&format!("schedlab-sim: cannot write {}/", out.display()))
            && stderr.ends_with(
                ".json: No space left on device (os error 28); free some space and run the same command again \
                 (finished records are kept)\n"
            )
            && stderr.lines().count() == 1,
        "{stderr}"
    );
    let said = String::from_utf8(output.stdout).unwrap();
    let finished = said.matches("\"status\":\"ok\"").count();
    assert!((1..cells.len()).contains(&finished), "{said}");
    // Each ends with its line, and what was half written is gone.
    assert_eq!(said.matches(".json\n").count(), finished, "{said}");
    assert_eq!(said.matches("\\n\n").count(), finished, "{said}");
}

#[test]
fn a_folder_that_cannot_be_written_is_a_line() {
    let dir = tempfile::tempdir().unwrap();
    let shard = shard(dir.path(), &[("vtime", 2, 1)]);
    let out = dir.path().join("out");
    let Some(output) = with_mount(
        sim()
            .arg("run")
            .arg(&shard)
            .arg("--out")
            .arg(&out)
            .args(["--jobs", "1"]),
        &out,
        "ro",
        "ls -A",
    ) else {
        return;
    };
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(
        stderr.contains("cannot write ")
            && stderr.ends_with(
                ".json: Read-only file system (os error 30); make the folder writable or choose another\n"
            ),
        "{stderr}"
    );
    assert_eq!((output.status.code(), stderr.lines().count()), (Some(2), 1));
    // A file where the folder should be.
    let file = dir.path().join("file");
    std::fs::write(&file, "mine").unwrap();
    let output = run(&shard, &file, "1");
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(
        stderr,
        format!(
            "schedlab-sim: {}: File exists (os error 17)\n",
            file.display()
        )
    );
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine");
}

#[test]
fn a_runner_that_is_killed_leaves_whole_records_and_the_next_one_runs_the_rest() {
    let dir = tempfile::tempdir().unwrap();
    let cells: Vec<(&str, i64, u64)> = (1..60).map(|seed| ("vtime", 64, seed)).collect();
    let shard = shard(dir.path(), &cells);
    let out = dir.path().join("out");
    let (mut child, _, _stdout) = begun(&shard, &out);
    child.kill().unwrap();
    assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGKILL));
    let whole = |path: &Path| path.extension().is_some_and(|end| end == "json");
    let kept: Vec<(PathBuf, Vec<u8>)> = out
        .read_dir()
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| whole(path))
        .map(|path| (path.clone(), std::fs::read(&path).unwrap()))
        .collect();
    assert!((1..cells.len()).contains(&kept.len()), "{}", kept.len());
    let again = run(&shard, &out, "2");
    assert_eq!(again.status.code(), Some(0));
    let said = String::from_utf8(again.stdout).unwrap();
    assert_eq!(said.matches("\"status\":\"skipped\"").count(), kept.len());
    for (path, bytes) in kept {
        assert_eq!(std::fs::read(&path).unwrap(), bytes);
        serde_json::from_slice::<Record>(&bytes).unwrap();
    }
    let there = out.read_dir().unwrap().map(|entry| entry.unwrap().path());
    assert_eq!(there.filter(|path| whole(path)).count(), cells.len());
}

#[test]
fn two_runners_in_one_folder_leave_each_record_once_and_whole() {
    let dir = tempfile::tempdir().unwrap();
    let cells: Vec<(&str, i64, u64)> = (1..30).map(|seed| ("vtime", 16, seed)).collect();
    let shard = shard(dir.path(), &cells);
    let out = dir.path().join("out");
    let both: Vec<Output> = std::thread::scope(|scope| {
        let begun = [(); 2].map(|()| scope.spawn(|| run(&shard, &out, "1")));
        begun.map(|one| one.join().unwrap()).into()
    });
    for output in both {
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), stderr.as_str()), (Some(0), ""));
    }
    let found = records(&out);
    assert_eq!(found.len(), cells.len());
    assert!(found.iter().all(|record| record.status == Status::Ok));
}

/// What is in a record, the lab looks at: it sets a damaged one aside, and leaves one of a format to come as it is.
#[test]
fn a_record_that_is_there_is_never_written_over() {
    let dir = tempfile::tempdir().unwrap();
    let shard = shard(dir.path(), &[("vtime", 2, 1), ("vtime", 2, 2)]);
    let out = dir.path().join("out");
    assert!(run(&shard, &out, "1").status.success());
    let path = Record::path(&out, &records(&out)[0].id);
    for text in ["{", "{\"format\": 2, \"more\": []}"] {
        std::fs::write(&path, text).unwrap();
        let again = run(&shard, &out, "1");
        let said = String::from_utf8(again.stdout).unwrap();
        assert_eq!(said.matches("skipped").count(), 2, "{said}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    }
}
