// SPDX-License-Identifier: GPL-2.0-or-later
//! The interface of older releases.

use std::collections::BTreeMap;

use kernel::{Change, Execution, Hotplug, Options, Release};
use policy::Source;
use workload::plan::{End, Inst};

use crate::common::{
    MS, calls, for_ms, free, group, hogs, plan, policy_path, run_for, sleep_for, sleepers,
    switches, traced, tracing,
};

fn release(text: &str) -> Release {
    text.parse().unwrap()
}

fn said_under(text: &str) -> String {
    let path = policy_path("releases");
    let program = kernel::load(&path, Execution::default(), release(text)).unwrap();
    let plan = plan(vec![hogs(1)], for_ms(100));
    kernel::simulate(
        &free(1),
        plan,
        &program,
        "releases",
        &BTreeMap::new(),
        Options::default(),
    )
    .unwrap()
    .reason
}

#[test]
fn a_policy_sees_the_names_types_and_constants_of_the_release() {
    let said = |text: &str| format!("scx_bpf_error ({text})");
    assert_eq!(said_under("6.12"), said("6.12: 2 older, 0 newer"));
    assert_eq!(said_under("6.14"), said("6.14: 2 older, 1 newer"));
    assert_eq!(said_under("6.15"), said("6.15: 0 older, 4 newer"));
    assert_eq!(said_under("6.19"), said("6.19: 0 older, 6 newer"));
    assert_eq!(said_under("7.2"), said("7.2: 0 older, 6 newer"));
}

#[test]
fn flags_mean_the_same_whatever_bits_a_release_has_for_them() {
    let hash_under = |release: Release| {
        let program = kernel::load(&policy_path("heads"), Execution::default(), release).unwrap();
        let plan = plan(vec![sleepers(5, 3 * MS, MS)], for_ms(200));
        let options = Options::default();
        let ran = kernel::simulate(&free(2), plan, &program, "heads", &BTreeMap::new(), options);
        let outcome = ran.unwrap();
        assert_eq!(
            outcome.status,
            cell::Status::Ok,
            "{release}: {}",
            outcome.reason
        );
        outcome.trace_hash
    };
    for release in Release::ALL {
        assert_eq!(hash_under(release), hash_under(Release::LAST), "{release}");
    }
    let once = group("a", 4, vec![run_for(MS)]);
    let (_, text) = traced(
        &free(1),
        plan(vec![once], End::All),
        "heads",
        Options::default(),
    );
    let order: Vec<String> = switches(&text, 0).into_iter().map(|(_, who)| who).collect();
    assert_eq!(order, ["a-1000", "a-1003", "a-1002", "a-1001", "swapper-0"]);
}

#[test]
fn what_only_a_later_release_has_is_refused_with_that_release() {
    let path = policy_path("demands");
    let refused = kernel::load(&path, Execution::default(), release("6.14"));
    let said = refused.err().expect("refused").to_string();
    let lines: Vec<&str> = said
        .lines()
        .map(|line| line.split_once("kernel has no ").unwrap().1)
        .collect();
    assert_eq!(
        lines,
        [
            "kfunc scx_bpf_cpu_curr: this is 6.14, and 6.18 has it",
            "kfunc scx_bpf_dsq_peek: this is 6.14, and 6.19 has it",
            "enum value scx_enq_flags.SCX_ENQ_CPU_SELECTED: this is 6.14, and 6.15 has it",
        ]
    );
    kernel::load(&path, Execution::default(), release("6.19")).unwrap();
}

#[test]
fn a_flag_that_the_release_has_not_is_refused() {
    let path = policy_path("flags");
    let refused = kernel::load(&path, Execution::default(), release("6.14"));
    assert_eq!(
        refused.err().expect("refused").to_string(),
        "flags: flags of struct sched_ext_ops: 0x20, which the model of 6.14 has not"
    );
    kernel::load(&path, Execution::default(), release("6.15")).unwrap();
}

#[test]
fn a_release_that_the_model_does_not_know_is_refused() {
    let said = "5.4".parse::<Release>().unwrap_err();
    assert!(said.starts_with("expected one of 6.12, 6.13, "), "{said}");
    assert!(said.ends_with(", 7.2, found 5.4"), "{said}");
    assert!("6.120".parse::<Release>().is_err());
}

#[test]
fn every_policy_of_the_tree_runs_on_the_first_release() {
    for source in Source::all(&policy_path("vtime").join("..")).unwrap() {
        let program = kernel::load(&source.dir, Execution::default(), release("6.12")).unwrap();
        let plan = plan(vec![hogs(3)], for_ms(50));
        let name = &program.name;
        let outcome = kernel::simulate(
            &free(2),
            plan,
            &program,
            name,
            &BTreeMap::new(),
            Options::default(),
        )
        .unwrap();
        assert_eq!(
            outcome.status,
            cell::Status::Ok,
            "{name}: {}",
            outcome.reason
        );
    }
}

/// How often the policy is asked where a task goes that wakes up with migration disabled.
fn asked_in_a_section(policy: &str, release: Release) -> usize {
    let program = kernel::load(&policy_path(policy), Execution::default(), release).unwrap();
    let section = vec![
        Inst::MigrateDisable,
        sleep_for(MS),
        Inst::MigrateEnable,
        run_for(MS),
    ];
    let plan = plan(vec![group("a", 1, section)], End::All);
    let (options, text) = tracing(Options::default());
    let ran = kernel::simulate(&free(1), plan, &program, policy, &BTreeMap::new(), options);
    assert_eq!(ran.unwrap().status, cell::Status::Ok);
    let text = text();
    // Its first wake-up is before the section.
    let asked = calls(&text).into_iter().filter(|op| *op == "enqueue");
    asked.count() - 1
}

#[test]
fn a_task_with_migration_disabled_goes_past_policies_that_do_not_ask_for_it() {
    // The flag is of 6.14. Before it, there was no way past the policy.
    assert_eq!(asked_in_a_section("last", release("6.12")), 1);
    assert_eq!(asked_in_a_section("last", release("6.14")), 0);
    assert_eq!(asked_in_a_section("last", release("7.2")), 0);
    assert_eq!(asked_in_a_section("sections", release("6.14")), 1);
    assert_eq!(asked_in_a_section("sections", release("7.2")), 1);
}

#[test]
fn a_cpu_that_goes_is_no_trap_for_a_section_that_waits_in_a_shared_queue() {
    // The CPU is inactive until its sections are through, and dispatches nothing meanwhile.
    let longest_ms = |release: Release| {
        let policy = "every";
        let program = kernel::load(&policy_path(policy), Execution::default(), release).unwrap();
        let section = vec![
            Inst::MigrateDisable,
            run_for(MS),
            sleep_for(MS),
            run_for(MS),
            Inst::MigrateEnable,
            sleep_for(3 * MS),
            Inst::Jump { to: 0 },
        ];
        let waits_ms = |at_us: u64| {
            let options = Options {
                hotplug: vec![Hotplug {
                    at_ns: at_us * 1_000,
                    cpu: 0,
                    change: Change::Offline,
                }],
                ..Options::default()
            };
            let plan = plan(vec![group("a", 5, section.clone())], for_ms(1_000));
            let ran = kernel::simulate(&free(2), plan, &program, policy, &BTreeMap::new(), options);
            let outcome = ran.unwrap();
            assert_eq!(outcome.status, cell::Status::Ok, "{}", outcome.reason);
            (outcome.metrics["starvation_max_us"] / 1_000.0) as u64
        };
        let goes_us = (100_000..110_000).step_by(500);
        goes_us.map(waits_ms).max().unwrap()
    };
    let told = longest_ms(release("6.12"));
    assert!(told > 800, "{told}");
    let past = longest_ms(release("7.2"));
    assert!(past < 100, "{past}");
}
