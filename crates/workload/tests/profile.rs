// SPDX-License-Identifier: GPL-2.0-or-later
//! Draws from a profile.

use std::collections::BTreeMap;

use workload::Workload;
use workload::plan::{Draw, Inst, Plan};

const WORKLOAD: &str = r#"name = "w"
title = "t"
source = "s"
profile = "p.toml"
load = "n"
loads = [1, 2]
[params]
n = { default = 1, min = 1, max = 8, about = "a" }
permille = { default = 1000, min = 1, max = 9_000, about = "a" }
[[task]]
name = "a"
models = ["cc1"]
program = [
    { run_us = { profile = "cc1.cpu", permille = "permille * 2", of = "4 * n", less_us = 1 } },
    { draw_us = "drawn", from = { profile = ["cc1.cpu", "l/*.run"], permille = "permille" } },
    { run_us = "drawn" },
]
[metrics]
promises = ["elapsed_s"]
"#;
const PROFILE: &str = r#"[made]
[task."cc1"]
tasks = 4
[task."cc1".cpu]
ns = { table = [
    [1000, 3], [80_000_000, 1],
] }
[task."l/*".run]
ns = { table = [[5_499, 2]] }
"#;

fn plan(workload: &str, profile: Option<&str>, params: &[(&str, &str)]) -> Result<Plan, String> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("w.toml");
    if let Some(profile) = profile {
        std::fs::write(folder.path().join("p.toml"), profile).unwrap();
    }
    let short = |error: anyhow::Error| {
        let folder = format!("{}/", folder.path().display());
        format!("{error:#}").replace(&folder, "")
    };
    let read = Workload::from_toml(workload, &file.display().to_string()).map_err(short)?;
    let params: BTreeMap<String, String> = params
        .iter()
        .map(|(k, v)| ((*k).into(), (*v).into()))
        .collect();
    read.plan(1, &params, 4, 1).map_err(short)
}

fn tables(plan: &Plan) -> Vec<Vec<(i64, u32)>> {
    let drawn = |inst: &Inst| match inst {
        Inst::Run {
            ns: Draw::Table(rows),
        }
        | Inst::Draw {
            value: Draw::Table(rows),
            ..
        } => Some(rows.clone()),
        _ => None,
    };
    plan.groups[0].program.iter().filter_map(drawn).collect()
}

#[test]
fn values_are_scaled_divided_and_rid_of_what_is_charged_besides() {
    let found = tables(&plan(WORKLOAD, Some(PROFILE), &[("permille", "3000")]).unwrap());
    assert_eq!(
        found,
        [
            // 6/4 of it, less a microsecond, and never below nothing
            vec![(500, 3), (119_999_000, 1)],
            // in whole microseconds; two kinds as one
            vec![(3, 3), (240_000, 1), (16, 2)],
        ]
    );
}

#[test]
fn another_profile_is_another_workload() {
    let digest = |profile: &str| {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("w.toml");
        std::fs::write(&file, WORKLOAD).unwrap();
        std::fs::write(folder.path().join("p.toml"), profile).unwrap();
        Workload::read(&file).unwrap().digest
    };
    assert_eq!(digest(PROFILE), digest(PROFILE));
    assert_ne!(digest(PROFILE), digest(&PROFILE.replace("5_499", "5_498")));
    // hashlib.sha256(workload + b"\0" + profile).hexdigest()[:16], as the lab has it.
    let whole = [WORKLOAD, PROFILE].join("\0");
    assert_eq!(digest(PROFILE), cell::hex_digest(whole.as_bytes(), 16));
}

#[test]
fn another_file_that_its_input_is_made_with_is_another_workload() {
    let text = format!(
        "{WORKLOAD}\n[command]\ntools = {{}}\nrun = ''\n[command.input]\ntools = {{}}\nmake = ''\n\
         files = [\"b/y.config\", \"x.config\"]\n"
    );
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    std::fs::create_dir(folder.path().join("b")).unwrap();
    for (name, text) in [
        ("w.toml", text.as_str()),
        ("p.toml", PROFILE),
        ("b/y.config", "Y=y"),
        ("x.config", "X=x"),
    ] {
        write(name, text);
    }
    let digest = || Workload::read(&folder.path().join("w.toml")).map(|workload| workload.digest);
    let whole = [&text, PROFILE, "Y=y", "X=x"].join("\0");
    let expected = cell::hex_digest(whole.as_bytes(), 16);
    assert_eq!(digest().unwrap(), expected);
    write("b/y.config", "Y=n");
    assert_ne!(digest().unwrap(), expected);
    // Both would lie in one folder.
    write("w.toml", &text.replace("x.config", "y.config"));
    let error = digest().unwrap_err().to_string();
    let message =
        "command.input.files[1]: expected a file of a name of its own, found \"y.config\"";
    assert!(error.ends_with(message), "{error}");
}

#[test]
fn what_is_missing_is_named_with_its_place() {
    let changes: &[(&str, &str, Option<&str>, &str)] = &[
        (
            "",
            "",
            None,
            "w.toml:4: profile: expected a profile's file: p.toml: expected a profile: No such file or directory (os error 2)",
        ),
        (
            "profile = \"p.toml\"\n",
            "",
            Some(PROFILE),
            "w.toml:11: task[0].models: expected a profile = \"FILE\" of the whole file, found none",
        ),
        (
            "profile = \"p.toml\"\n",
            "profile = \"p.toml\"\nleaves_out = [\"l/*\", \"cc\"]\n",
            Some(PROFILE),
            "w.toml:5: leaves_out[1]: p.toml has no task cc, did you mean cc1?",
        ),
        (
            "[\"cc1\"]",
            "[\"cc2\"]",
            Some(PROFILE),
            "w.toml:12: task[0].models[0]: p.toml has no task cc2, did you mean cc1?",
        ),
        (
            "\"cc1.cpu\", permille",
            "\"cc1.cup\", permille",
            Some(PROFILE),
            "w.toml:14: task[0].program[0].run_us.profile: p.toml has no cup of cc1, did you mean cpu?",
        ),
        (
            "\"cc1.cpu\", permille",
            "\"cc1\", permille",
            Some(PROFILE),
            "w.toml:14: task[0].program[0].run_us.profile: expected TASK.DISTRIBUTION, found \"cc1\"",
        ),
        (
            "less_us",
            "fewer_us",
            Some(PROFILE),
            "w.toml:14: task[0].program[0].run_us.fewer_us: unknown key, expected one of profile, permille, of, less_us",
        ),
        (
            "",
            "",
            Some("[task.cc1.cpu]\nns = { table = [[1, -1]] }\n"),
            "p.toml:2: task.cc1.cpu.ns.table[0][1]: expected an integer from 0 to 1000000000, found -1",
        ),
    ];
    for (from, to, profile, message) in changes {
        let text = WORKLOAD.replacen(from, to, usize::from(!from.is_empty()));
        assert_eq!(plan(&text, *profile, &[]).unwrap_err(), *message);
    }
}
