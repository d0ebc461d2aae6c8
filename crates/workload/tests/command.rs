// SPDX-License-Identifier: GPL-2.0-or-later
//! A command of the user: in the caller's surroundings, with a file of frame times.

use std::collections::BTreeMap;

use workload::Workload;
use workload::command::Command;

const WORKLOAD: &str = r#"name = "w"
title = "t"
source = "s"
load = "n"
loads = [1]
[params]
n = { default = 1, min = 1, max = 8, about = "a" }
[[task]]
name = "a"
program = [{ stamp = true }, { run_us = 1 }, { log = "frame_time_us", since = "stamp" }]
[metrics]
promises = ["frame_time_us", "elapsed_s"]
[command]
tools = {}
run = "true"
"#;

fn command(more: &str) -> Result<Command, String> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("w.toml");
    std::fs::write(&file, format!("{WORKLOAD}{more}")).unwrap();
    let read = Workload::read(&file)
        .and_then(|workload| workload.command(1, &BTreeMap::new(), 2, 1))
        .map_err(|error| format!("{error:#}"))?;
    Ok(read.expect("a command"))
}

#[test]
fn it_may_run_where_it_was_called_and_leave_frame_times() {
    let read = command("here = true\nframes = \"logs\"").unwrap();
    assert!(read.here);
    assert_eq!(read.frames.as_deref(), Some("logs"));
    assert!(!command("frames = \"logs\"").unwrap().here);
}

#[test]
fn frame_times_are_promised_only_by_who_leaves_them() {
    let error = command("").unwrap_err();
    let message = "expected a pattern for frame_time_us, which is promised";
    assert!(error.ends_with(message), "{error}");
    let error = command("frames = \"\"").unwrap_err();
    let message = "command.frames: expected the path of a file, found \"\"";
    assert!(error.ends_with(message), "{error}");
    let error = command("frames = \"x\"\nhere = 1").unwrap_err();
    assert!(error.contains("command.here: expected"), "{error}");
}
