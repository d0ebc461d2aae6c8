// SPDX-License-Identifier: GPL-2.0-or-later
//! Shards on the running kernel, under the scheduler that it has.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use cell::{Cell, Digests};

const WORKLOAD: &str = r#"# SPDX-License-Identifier: GPL-2.0-or-later
name = "naps"
title = "naps"
source = "a test"
load = "tasks"
loads = [1]

[params]
tasks = { default = 1, min = 1, max = 9, about = "tasks" }

[[task]]
name = "nap"
count = "tasks"
program = [{ sleep_ms = 100 }]

[metrics]
promises = ["elapsed_s"]
"#;

fn shard(dir: &Path, cells: u64) -> PathBuf {
    std::fs::write(dir.join("naps.toml"), WORKLOAD).unwrap();
    let cells: Vec<serde_json::Value> = (1..=cells)
        .map(|seed| {
            let cell = Cell {
                api: None,
                built_in: false,
                digests: Digests::default(),
                exact_costs: false,
                kernel: None,
                load: 1,
                machine: "host".into(),
                modelled: false,
                params: std::collections::BTreeMap::new(),
                place: "host".into(),
                repetition: seed - 1,
                scheduler: "default".into(),
                seed,
                tunables: std::collections::BTreeMap::new(),
                workload: "naps".into(),
            };
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
