// SPDX-License-Identifier: GPL-2.0-or-later
//! rt-app's JSON as processes.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use executor::tasks::{Calibration, ExecOptions, run};
use workload::Workload;
use workload::plan::Plan;

fn plan(name: &str, copies: i64) -> Plan {
    let file =
        Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../workload/tests/rtapp/{name}.json"));
    let workload = Workload::read(&file).unwrap();
    workload.plan(copies, &BTreeMap::new(), 4, 1).unwrap()
}

#[test]
fn they_run_as_processes() {
    let options = ExecOptions {
        limit: Duration::from_secs(60),
        ..ExecOptions::new(Calibration::measure())
    };
    let loops = |name| {
        let outcome = run(&plan(name, 1), &options).unwrap();
        outcome.metrics["throughput_per_s"] * outcome.metrics["elapsed_s"]
    };
    let forks = loops("forks");
    assert!(
        (forks - (2.0 * 2.0 * 4.0 + 16.0 + 17.0 * 4.0)).abs() < 0.5,
        "{forks}"
    );
    // The tasks in turn; a resume that comes while nobody waits is made up for by later ones.
    let meeting = loops("meeting");
    let expected = 10.0 * 2.0 * 3.0 + 5.0 + 5.0 + 2.0;
    assert!((meeting - expected).abs() < 0.5, "{meeting}");
    // A resume that comes while the stage still works is lost, on a busy machine.
    let pipeline = loops("pipeline");
    assert!((90.0..=150.5).contains(&pipeline), "{pipeline}");
}
