// SPDX-License-Identifier: GPL-2.0-or-later
//! The table with policies of our own, each under the name of the kernel's test whose expectations it meets, and with
//! some that miss them.

use std::path::{Path, PathBuf};

use conformance::{Report, Tested, Verdict, run};

fn own() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/policies")
}

/// A folder with these of our policies, each with the text of a source changed.
fn folder(names: &[(&str, &str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("scx_test.h"), "").unwrap();
    for (name, old, new) in names {
        let file = format!("{name}.bpf.c");
        let text = std::fs::read_to_string(own().join(&file)).unwrap();
        assert!(text.contains(old), "{file}: {old}");
        std::fs::write(folder.path().join(&file), text.replace(old, new)).unwrap();
    }
    folder
}

fn of(folder: &Path) -> Report {
    run(folder, |_| ()).unwrap()
}

fn one<'a>(report: &'a Report, name: &str) -> &'a Tested {
    let found = report.tests.iter().find(|test| test.name == name);
    found.unwrap_or_else(|| panic!("{name} is not in {report:?}"))
}

#[test]
fn our_own_meet_what_is_expected() {
    let report = of(&own());
    let failed: Vec<&Tested> = (report.tests.iter())
        .filter(|test| test.verdict != Verdict::Pass)
        .collect();
    assert!(failed.is_empty(), "{failed:#?}");
    assert_eq!(report.tests.len(), 14);
}

#[test]
fn what_differs_is_said() {
    let cases = [
        (
            "enq_last_no_enq_fails",
            "SCX_OPS_ENQ_LAST",
            "0",
            "expected an end with the policy's exit, found: with its workload; \
             expected exit_kind == SCX_EXIT_ERROR, found 64 and 1024",
        ),
        (
            "ddsp_bogus_dsq_fail",
            "4711",
            "SCX_DSQ_GLOBAL",
            "expected an end with the policy's exit, found: with its workload; \
             expected uei.kind == SCX_EXIT_ERROR, found 64 and 1024",
        ),
        (
            "init_enable_count",
            "exit_task_cnt++",
            "exit_task_cnt += 2",
            "all tasks: expected exit_task_cnt == init_task_cnt, found 2070 and 1035; tasks of SCHED_EXT only: not \
             applicable: every ordinary task is the policy's here, also with SCX_OPS_SWITCH_PARTIAL",
        ),
        (
            "dsq_reenq",
            "scx_bpf_dsq_reenq(QUEUE, 0)",
            "(void)p",
            "expected nr_reenq_kfunc > 0, found 0 and 0",
        ),
        (
            "maybe_null_fail_dsp",
            "last_pid = prev->pid",
            "last_pid = prev ? prev->pid : 0",
            "expected that it is refused, because: argument 2 of sched_ext_ops.dispatch may be NULL; found: it is loaded",
        ),
        (
            "nohz_tick",
            "finite_phase ? 1000000 : SCX_SLICE_INF",
            "SCX_SLICE_INF",
            "expected nr_finite_running > 1, found 0 and 1; expected nr_finite_ticks > 15, found 0 and 15",
        ),
        (
            "prog_run",
            "0xdeadbeef",
            "7",
            "expected uei.exit_code == 0xdeadbeef, found 7 and 3735928559",
        ),
    ];
    let folder = folder(&cases.map(|(name, old, new, _)| (name, old, new)));
    let report = of(folder.path());
    for (name, .., why) in cases {
        let test = one(&report, name);
        assert_eq!(test.verdict, Verdict::Fail, "{name}");
        assert_eq!(test.why.join("; "), why, "{name}");
    }
}

#[test]
fn every_case_of_a_test_counts() {
    let folder = folder(&[("exit", "here(3)", "(void)p")]);
    let report = of(folder.path());
    let why = one(&report, "exit").why.join("; ");
    assert!(
        why.starts_with("enable: expected an end with the policy's exit"),
        "{why}"
    );
    assert!(!why.contains("init: "), "{why}");
}

#[test]
fn a_source_that_does_not_compile_is_one_line() {
    let folder = folder(&[("minimal", ".name", ".nmae")]);
    let report = of(folder.path());
    let test = one(&report, "minimal");
    assert_eq!(test.verdict, Verdict::Fail);
    let [line] = &test.why[..] else {
        panic!("{test:?}")
    };
    assert!(
        line.contains("minimal.bpf.c:9:") && line.contains("nmae"),
        "{line}"
    );
}

#[test]
fn a_test_that_nobody_knows_is_told_apart() {
    let folder = folder(&[("minimal", "minimal", "other")]);
    let path = folder.path();
    std::fs::rename(path.join("minimal.bpf.c"), path.join("of_next_year.bpf.c")).unwrap();
    std::fs::write(path.join("total_bw.c"), "").unwrap();
    std::fs::write(path.join("runner.c"), "").unwrap();
    let report = of(path);
    let verdicts: Vec<_> = report
        .tests
        .iter()
        .map(|test| (&*test.name, test.verdict))
        .collect();
    assert_eq!(
        verdicts,
        [
            ("of_next_year", Verdict::NotKnown),
            ("total_bw", Verdict::NotApplicable)
        ]
    );
    assert!(report.absent.contains(&"minimal".to_owned()));
}

#[test]
fn what_has_no_tests_is_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let error = run(path, |_| ()).unwrap_err().to_string();
    assert_eq!(
        error,
        format!(
            "{}: expected a kernel tree, which has tools/testing/selftests/sched_ext, or that folder",
            path.display()
        )
    );
    let inner = path.join("tools/testing/selftests/sched_ext");
    std::fs::create_dir_all(&inner).unwrap();
    let error = run(path, |_| ()).unwrap_err().to_string();
    assert_eq!(
        error,
        format!(
            "{}: expected tests of sched_ext there (NAME.bpf.c or NAME.c), found none",
            inner.display()
        )
    );
}
