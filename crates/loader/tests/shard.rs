// SPDX-License-Identifier: GPL-2.0-or-later
//! Shards on the running kernel, under the scheduler that it has.

#[path = "../../sim/tests/mount/mod.rs"]
mod mount;
mod naps;

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use mount::with_mount;

fn shard(dir: &Path, cells: u64) -> PathBuf {
    std::fs::write(dir.join("naps.toml"), naps::workload(100)).unwrap();
    let cells: Vec<serde_json::Value> = (1..=cells)
        .map(|seed| {
            let cell = naps::cell(seed);
            let mut fields = serde_json::to_value(&cell).unwrap();
            fields["id"] = cell.id().into();
            fields
        })
        .collect();
    let files = serde_json::json!({"workloads": {"naps": dir.join("naps.toml")}});
    let path = dir.join("shard.json");
    let text = serde_json::json!({"files": files, "cells": cells}).to_string();
    std::fs::write(&path, text).unwrap();
    path
}

/// `kill -9` of whoever started a shard leaves nobody to stop it but itself.
#[test]
fn a_shard_ends_with_its_parent() {
    let dir = tempfile::tempdir().unwrap();
    let cells = 300;
    let shard = shard(dir.path(), cells);
    let out = dir.path().join("out");
    let mut parent = Command::new("sh")
        .args(["-c", r#""$0" run "$1" --out "$2" --parent $$; true"#])
        .arg(env!("CARGO_BIN_EXE_schedlab-host"))
        .args([&shard, &out])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdout = BufReader::new(parent.stdout.take().unwrap());
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    assert!(line.contains("\"status\":\"ok\""), "{line}");
    parent.kill().unwrap();
    parent.wait().unwrap();
    // The pipe ends when the last one who could write to it has left.
    stdout.read_to_string(&mut line).unwrap();
    let kept = out.read_dir().unwrap().count() as u64;
    assert!((1..cells).contains(&kept), "{kept}");
}

#[test]
fn a_shard_whose_parent_has_left_does_not_begin() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    let done = Command::new(env!("CARGO_BIN_EXE_schedlab-host"))
        .arg("run")
        .arg(shard(dir.path(), 1))
        .arg("--out")
        .arg(&out)
        .args(["--parent", "1"])
        .output()
        .unwrap();
    assert_eq!(done.status.code(), Some(130));
    assert_eq!(out.read_dir().unwrap().count(), 0);
}

fn run(shard: &Path, out: &Path) -> std::process::Output {
    runner(shard, out).output().unwrap()
}

fn runner(shard: &Path, out: &Path) -> Command {
    let mut run = Command::new(env!("CARGO_BIN_EXE_schedlab-host"));
    run.arg("run").arg(shard).arg("--out").arg(out);
    run
}

#[test]
fn a_full_disk_is_a_line_and_leaves_whole_records_alone() {
    let dir = tempfile::tempdir().unwrap();
    let shard = shard(dir.path(), 20);
    let out = dir.path().join("out");
    // A record takes a page.
    let Some(output) = with_mount(&runner(&shard, &out), &out, "size=16k", "ls -A") else {
        return;
    };
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(
        stderr.starts_with(&format!("schedlab-host: cannot write {}/", out.display()))
            && stderr.contains(
                "; free some space and run the same command again (finished records are kept)"
            )
            && stderr.lines().count() == 1,
        "{stderr}"
    );
    let said = String::from_utf8(output.stdout).unwrap();
    let finished = said.matches("\"status\":\"ok\"").count();
    assert!((1..20).contains(&finished), "{said}");
    let listed: Vec<&str> = said.lines().filter(|line| !line.starts_with('{')).collect();
    assert_eq!(
        listed.len(),
        finished,
        "what was half written is gone: {said}"
    );
    assert!(listed.iter().all(|name| name.len() == 25), "{said}");
}

#[test]
fn a_folder_that_cannot_be_written_is_a_line() {
    let dir = tempfile::tempdir().unwrap();
    let shard = shard(dir.path(), 1);
    let out = dir.path().join("out");
    let Some(output) = with_mount(&runner(&shard, &out), &out, "ro", "ls -A") else {
        return;
    };
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(
        stderr.starts_with("schedlab-host: cannot write ")
            && stderr.ends_with(
                "Read-only file system (os error 30); make the folder writable or choose another\n"
            ),
        "{stderr}"
    );
    assert_eq!((output.status.code(), stderr.lines().count()), (Some(1), 1));
}

#[test]
fn two_runners_in_one_folder_leave_each_record_once_and_whole() {
    let dir = tempfile::tempdir().unwrap();
    let shard = shard(dir.path(), 6);
    let out = dir.path().join("out");
    std::thread::scope(|scope| {
        let begun = [(); 2].map(|()| scope.spawn(|| run(&shard, &out)));
        for one in begun {
            let output = one.join().unwrap();
            let stderr = String::from_utf8(output.stderr).unwrap();
            assert_eq!((output.status.code(), stderr.as_str()), (Some(0), ""));
        }
    });
    let names: Vec<PathBuf> = out
        .read_dir()
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    assert_eq!(names.len(), 6);
    for path in names {
        let record: cell::Record = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        assert_eq!(record.status, cell::Status::Ok);
    }
}

/// What is in a record, the lab looks at: it sets a damaged one aside, and leaves one of a format to come as it is.
#[test]
fn a_record_that_is_there_is_never_written_over() {
    let dir = tempfile::tempdir().unwrap();
    let shard = shard(dir.path(), 1);
    let out = dir.path().join("out");
    assert_eq!(run(&shard, &out).status.code(), Some(0));
    let path = out.read_dir().unwrap().next().unwrap().unwrap().path();
    for text in ["{", "{\"format\": 2, \"more\": []}"] {
        std::fs::write(&path, text).unwrap();
        let said = String::from_utf8(run(&shard, &out).stdout).unwrap();
        assert_eq!(said.matches("skipped").count(), 1, "{said}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    }
}
