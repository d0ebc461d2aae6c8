// SPDX-License-Identifier: GPL-2.0-or-later
//! Operations that are broken off: what a seed draws happens again, and so does what a list names.

use kernel::{Change, Hotplug, Interleave, NOT_POSSIBLE, Options, Outcome, Switch};

use crate::common::{MS, costly, for_ms, hogs, plan, simulate, sleepers};

fn run_under(policy: &str, hotplug: &[Hotplug], interleave: Interleave) -> Outcome {
    let groups = vec![hogs(3), sleepers(5, MS / 4, MS / 2)];
    let options = Options {
        interleave: Some(interleave),
        hotplug: hotplug.to_vec(),
        ..Options::default()
    };
    let machine = costly(4);
    simulate(&machine, plan(groups, for_ms(200)), policy, options)
}

fn run(interleave: Interleave) -> Outcome {
    run_under("vtime", &[], interleave)
}

/// As `check` does it: without the switches that turn out not to be possible. How many these were.
fn drawn_under(policy: &str, hotplug: &[Hotplug], seed: u64) -> (Outcome, usize) {
    let mut never: Vec<Switch> = Vec::new();
    loop {
        let interleave = Interleave::Drawn {
            seed,
            most: u32::MAX,
            never: never.clone(),
        };
        let outcome = run_under(policy, hotplug, interleave);
        if outcome.by != NOT_POSSIBLE {
            return (outcome, never.len());
        }
        never.push(outcome.interleaved.last().unwrap().switch);
    }
}

fn drawn(seed: u64) -> (Outcome, usize) {
    drawn_under("vtime", &[], seed)
}

#[test]
fn a_list_of_the_switches_that_a_seed_made_is_the_same_run() {
    let (mut made, mut impossible) = (0, 0);
    for seed in 0..40 {
        let (outcome, left_out) = drawn(seed);
        assert_eq!(outcome.by, "", "{}", outcome.reason);
        let again = drawn(seed).0;
        assert_eq!(again.interleaved, outcome.interleaved);
        assert_eq!(again.trace_hash, outcome.trace_hash);
        let switches = outcome.interleaved.iter().map(|taken| taken.switch);
        let listed = run(Interleave::Listed(switches.collect()));
        assert_eq!(listed.interleaved, outcome.interleaved);
        assert_eq!(listed.trace_hash, outcome.trace_hash);
        made += outcome.interleaved.len();
        impossible += left_out;
    }
    assert!(made > 40 && impossible > 0, "{made}, {impossible}");
}

#[test]
fn an_empty_list_changes_nothing() {
    let listed = run(Interleave::Listed(Vec::new()));
    let machine = costly(4);
    let groups = vec![hogs(3), sleepers(5, MS / 4, MS / 2)];
    let whole = simulate(
        &machine,
        plan(groups, for_ms(200)),
        "vtime",
        Options::default(),
    );
    assert_eq!(listed.trace_hash, whole.trace_hash);
    assert_eq!(listed.events, whole.events);
}

#[test]
fn at_most_so_many_switches_are_made() {
    for most in 0..3 {
        let never = Vec::new();
        let outcome = run(Interleave::Drawn {
            seed: 7,
            most,
            never,
        });
        assert!(outcome.interleaved.len() <= most as usize);
    }
}

#[test]
fn a_cpu_goes_and_comes_in_between_only_where_the_policy_hears_of_it() {
    let changes = [Change::Offline, Change::Online];
    let hotplug: Vec<Hotplug> = (1..21)
        .map(|step| Hotplug {
            at_ns: step * 9_000_000,
            cpu: 1,
            change: changes[(step as usize - 1) % 2],
        })
        .collect();
    let steps = |policy| -> usize {
        let steps_of = |seed| {
            let (outcome, _) = drawn_under(policy, &hotplug, seed);
            assert_eq!(outcome.by, "", "{}", outcome.reason);
            let switches = outcome.interleaved.iter();
            let names = switches.map(|taken| taken.switch.to_string());
            names.filter(|name| name.contains("hotplug")).count()
        };
        (0..10).map(steps_of).sum()
    };
    assert!(steps("every") > 0);
    // This one is loaded anew.
    assert_eq!(steps("vtime"), 0);
}
