// SPDX-License-Identifier: GPL-2.0-or-later
//! CPUs that go and come.

use cell::Status;
use kernel::Change::{Inactive, Offline, Online};
use kernel::{Change, Hotplug, Options};
use workload::plan::{End, Group, Inst};

use crate::common::{
    MS, calls, for_ms, free, group, hogs, plan, run_for, simulate, sleep_for, sleepers, switches,
    time_ns, traced,
};

fn script(events: &[(u64, u32, Change)]) -> Options {
    Options {
        hotplug: events
            .iter()
            .map(|(ms, cpu, change)| Hotplug {
                at_ns: ms * 1_000_000,
                cpu: *cpu,
                change: *change,
            })
            .collect(),
        strict: true,
        ..Options::default()
    }
}

#[test]
fn work_goes_on_elsewhere() {
    let jobs = plan(vec![group("job", 2, vec![run_for(100 * MS)])], End::All);
    let outcome = simulate(&free(2), jobs, "every", script(&[(50, 1, Offline)]));
    assert_eq!(outcome.status, Status::Ok, "{}", outcome.reason);
    // 50 ms together, then 100 ms of work for one CPU.
    assert_eq!(outcome.metrics["elapsed_s"], 0.15);
}

#[test]
fn an_idle_cpu_that_gets_a_task_looks_for_it() {
    // The policy kicks nobody.
    let job = plan(vec![group("job", 1, vec![run_for(100 * MS)])], End::All);
    let outcome = simulate(&free(2), job, "every", script(&[(50, 0, Offline)]));
    assert_eq!(outcome.status, Status::Ok, "{}", outcome.reason);
    assert_eq!(outcome.metrics["elapsed_s"], 0.1);
}

#[test]
fn a_cpu_that_comes_back_is_used() {
    let jobs = plan(vec![group("job", 2, vec![run_for(100 * MS)])], End::All);
    let options = script(&[(50, 1, Offline), (70, 1, Online)]);
    let outcome = simulate(&free(2), jobs, "vtime", options);
    assert_eq!(outcome.status, Status::Ok, "{}", outcome.reason);
    assert!(
        outcome.metrics["elapsed_s"] <= 0.12,
        "{}",
        outcome.metrics["elapsed_s"]
    );
}

#[test]
fn a_policy_with_callbacks_hears_of_it_and_one_without_is_loaded_anew() {
    let load = || plan(vec![hogs(3), sleepers(3, MS, MS)], for_ms(300));
    let options = || script(&[(100, 0, Offline), (200, 0, Online)]);
    let (outcome, text) = traced(&free(3), load(), "every", options());
    assert_eq!(outcome.status, Status::Ok, "{}", outcome.reason);
    let calls_of = |text: &str, op: &str| calls(text).iter().filter(|call| **call == op).count();
    assert_eq!(
        (
            calls_of(&text, "cpu_offline"),
            calls_of(&text, "cpu_online")
        ),
        (1, 1)
    );
    assert_eq!(calls_of(&text, "init"), 1);
    // The trace says each change once, also that of a CPU whose tasks leave later.
    let told: Vec<_> = text
        .lines()
        .filter_map(|l| l.split_once("cpuhp: "))
        .collect();
    let told: Vec<_> = told.into_iter().map(|(_, what)| what).collect();
    assert_eq!(told, ["cpu=0 offline", "cpu=0 online"]);
    let (outcome, text) = traced(&free(3), load(), "vtime", options());
    assert_eq!(outcome.status, Status::Ok, "{}", outcome.reason);
    assert_eq!(calls_of(&text, "init"), 3);
}

#[test]
fn an_inactive_cpu_asks_but_keeps_nothing() {
    let events = [(50, 1, Inactive), (100, 1, Offline), (150, 1, Online)];
    let (outcome, text) = traced(
        &free(2),
        plan(vec![hogs(3)], for_ms(200)),
        "every",
        script(&events),
    );
    assert_eq!(outcome.status, Status::Ok, "{}", outcome.reason);
    let asked = |from_ms: u64, to_ms: u64| {
        let within = from_ms * MS as u64..to_ms * MS as u64;
        let mut lines = text.lines().filter(|line| line.contains("[001]"));
        lines.any(|line| within.contains(&time_ns(line)) && line.contains("dispatch"))
    };
    assert!(asked(50, 100) && !asked(100, 150), "{text}");
    // Whoever is switched in is pushed off at once.
    let on_it: Vec<(u64, String)> = switches(&text, 1);
    for pair in on_it.windows(2) {
        let away = (50 * MS as u64..150 * MS as u64).contains(&pair[0].0);
        assert!(
            !away || pair[0].1.starts_with("swapper") || pair[0].0 == pair[1].0,
            "{on_it:?}"
        );
    }
    let heard = calls(&text)
        .iter()
        .filter(|call| **call == "cpu_offline")
        .count();
    assert_eq!(heard, 1);
}

#[test]
fn every_cpu_looks_when_a_policy_has_been_loaded_anew() {
    // The policy kicks nobody. The job of CPU 1 is counted on CPU 0, which is busy; CPU 2 is idle.
    let jobs = plan(vec![group("job", 2, vec![run_for(100 * MS)])], End::All);
    let outcome = simulate(&free(3), jobs, "fifo", script(&[(50, 1, Offline)]));
    assert_eq!(outcome.status, Status::Ok, "{}", outcome.reason);
    assert!(
        outcome.metrics["elapsed_s"] <= 0.102,
        "{}",
        outcome.metrics["elapsed_s"]
    );
}

#[test]
fn a_policy_that_is_loaded_while_a_cpu_goes_finds_it_gone() {
    // It sleeps on CPU 1, which it may not leave: the CPU goes when the section is over, at 220 ms.
    let section = vec![
        Inst::MigrateDisable,
        run_for(10 * MS),
        sleep_for(200 * MS),
        run_for(10 * MS),
        Inst::MigrateEnable,
    ];
    let stays = Group {
        cpus: vec![1],
        ..group("stays", 1, section)
    };
    let jobs = plan(
        vec![stays, group("job", 2, vec![run_for(60 * MS)])],
        End::All,
    );
    let (outcome, text) = traced(&free(2), jobs, "queues", script(&[(50, 1, Offline)]));
    assert_eq!(outcome.status, Status::Ok, "{}", outcome.reason);
    let on_it = |name: &str| {
        let runs = switches(&text, 1);
        runs.iter()
            .any(|(ns, who)| *ns > 50 * MS as u64 && who.starts_with(name))
    };
    assert!(on_it("stays") && !on_it("job"), "{text}");
    // The jobs go on, and nothing is put into its queue.
    let ends: Vec<u64> = text
        .lines()
        .filter(|line| line.contains("sched_process_exit: comm=job"))
        .map(|line| time_ns(line) / 1_000_000)
        .collect();
    assert!(ends.iter().all(|ms| *ms <= 130), "{ends:?}");
}
