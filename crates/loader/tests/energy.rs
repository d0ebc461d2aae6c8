// SPDX-License-Identifier: GPL-2.0-or-later
//! Joules of a cell, as its record has them, by counters in a folder of the test's own.

mod naps;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use cell::{Record, Status};
use executor::tasks::Calibration;
use loader::cells::{self, Counters, Job, Under};
use loader::kernel::Kernel;
use workload::Workload;

/// One run at a time: two would disturb each other.
static ONE: Mutex<()> = Mutex::new(());

fn job() -> Job {
    let workload = Workload::from_toml(&naps::workload(200), "naps.toml").unwrap();
    let cell = naps::cell(1);
    Job {
        id: cell.id(),
        cell,
        under: Under::Default,
        plan: workload.plan(1, &BTreeMap::new(), 1, 1).unwrap(),
        command: None,
        again: "the same test".into(),
        frozen_after: None,
    }
}

fn put(powercap: &Path, package: u32, uj: u64) {
    let zone = powercap.join(format!("intel-rapl:{package}"));
    std::fs::create_dir_all(&zone).unwrap();
    std::fs::write(zone.join("name"), format!("package-{package}\n")).unwrap();
    std::fs::write(zone.join("max_energy_range_uj"), "262143328850\n").unwrap();
    // In one piece, as a counter of the kernel's is read.
    std::fs::write(zone.join("next"), format!("{uj}\n")).unwrap();
    std::fs::rename(zone.join("next"), zone.join("energy_uj")).unwrap();
}

/// A cell's record; meanwhile, once its tasks sleep, this is done.
fn record(counters: &Counters, meanwhile: impl FnOnce() + Send) -> Record {
    let _one = ONE
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    let calibration = Calibration::measure();
    let job = job();
    let (over, is_over) = channel::<()>();
    let measured = std::thread::scope(|scope| {
        scope.spawn(move || {
            let soon = Duration::from_millis(100);
            if is_over.recv_timeout(soon) == Err(RecvTimeoutError::Timeout) {
                meanwhile();
            }
        });
        let measured = cells::measure(&job, calibration, &counters.packages).unwrap();
        drop(over);
        measured
    });
    let record = cells::record(&job, measured, &Kernel::read(), counters);
    assert_eq!(record.status, Status::Ok, "{}", record.reason);
    record
}

#[test]
fn joules_are_a_metric_and_their_quality_is_told() {
    let powercap = tempfile::tempdir().unwrap();
    put(powercap.path(), 0, 5_000_000);
    put(powercap.path(), 1, 262_143_000_000);
    let counters = Counters::look(powercap.path());
    let record = record(&counters, || {
        put(powercap.path(), 0, 6_500_000);
        // It begins anew.
        put(powercap.path(), 1, 171_150);
    });
    assert!(
        (record.metrics["energy_j"] - 2.0).abs() < 1e-9,
        "{record:?}"
    );
    let origin = &record.provenance;
    assert_eq!(origin.energy, "package-0, package-1");
    // Neither moved while they were watched.
    let quality = [
        origin.energy_step_uj,
        origin.energy_idle_mw,
        origin.energy_idle_range_mw,
    ];
    assert_eq!(quality, [Some(0); 3]);
}

#[test]
fn without_a_counter_there_is_no_metric_and_no_failure() {
    let counters = Counters::look(Path::new("/nonexistent"));
    let record = record(&counters, || ());
    assert!(!record.metrics.contains_key("energy_j"));
    assert_eq!(
        record.provenance.energy,
        "no energy: /nonexistent has no package domain"
    );
    assert_eq!(record.provenance.energy_step_uj, None);
}

#[test]
fn a_counter_that_goes_takes_the_metric_of_its_cell_and_no_more() {
    let powercap = tempfile::tempdir().unwrap();
    put(powercap.path(), 0, 5_000_000);
    let counters = Counters::look(powercap.path());
    let zone = powercap.path().join("intel-rapl:0");
    let lost = record(&counters, || std::fs::remove_dir_all(&zone).unwrap());
    assert!(!lost.metrics.contains_key("energy_j"));
    assert!(lost.metrics.contains_key("elapsed_s"));
    let said = format!(
        "no energy: the counter of package-0 is gone ({}/energy_uj)",
        zone.display()
    );
    assert_eq!(lost.provenance.energy, said);
    assert_eq!(lost.provenance.energy_step_uj, None);
    put(powercap.path(), 0, 5_000_000);
    let next = record(&counters, || put(powercap.path(), 0, 5_250_000));
    assert!((next.metrics["energy_j"] - 0.25).abs() < 1e-9, "{next:?}");
}
