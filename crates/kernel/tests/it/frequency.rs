// SPDX-License-Identifier: GPL-2.0-or-later
//! Clocks that change: how fast work goes, what the governor makes of what a policy asks for, and what it takes. All times
//! follow from the rules of `sched/frequency.rs`.

use std::collections::BTreeMap;

use cell::Status;
use kernel::{Execution, Options, Outcome, Release};
use machine::{Clocked, Frequency, Governor, Machine, Power};
use workload::plan::{End, Group, Inst, Plan, Policy};

use crate::common::{
    MS, free, group, machine_of, no_costs, plan, policy_path, run, run_for, shape, simulate,
    sleep_for, traced,
};

fn schedutil() -> Frequency {
    Frequency {
        governor: Governor::Schedutil,
        clocked: Clocked::Core,
        min_khz: 500_000,
        max_khz: 2_000_000,
        steps_khz: Vec::new(),
        rate_limit_ns: 0,
        latency_ns: 0,
    }
}

fn clocked(cpus: u32, frequency: Frequency) -> Machine {
    Machine {
        frequency: Some(frequency),
        ..free(cpus)
    }
}

/// The tasks of these names, each of which runs for so long.
fn tasks(tasks: &[(&str, i64)]) -> Plan {
    let one = |(name, ns): &(&str, i64)| group(name, 1, vec![run_for(*ns)]);
    plan(tasks.iter().map(one).collect(), End::All)
}

fn elapsed_ns(machine: &Machine, plan: Plan) -> u64 {
    let outcome = run(machine, plan, "speeds");
    assert_eq!(outcome.status, Status::Ok, "{}", outcome.reason);
    (outcome.metrics["elapsed_s"] * 1e9).round() as u64
}

/// What the trace says of clocks: CPU and frequency.
fn changes(machine: &Machine, plan: Plan) -> Vec<String> {
    let (outcome, text) = traced(machine, plan, "speeds", Options::default());
    assert_eq!(outcome.status, Status::Ok, "{}", outcome.reason);
    let lines = text
        .lines()
        .filter_map(|line| line.split_once(" cpu_frequency: "));
    lines.map(|(_, change)| change.to_owned()).collect()
}

#[test]
fn half_the_frequency_takes_twice_the_time() {
    let machine = clocked(1, schedutil());
    // 410 and a quarter of it are 512.
    assert_eq!(elapsed_ns(&machine, tasks(&[("p410", 12_345)])), 24_690);
    assert_eq!(elapsed_ns(&machine, tasks(&[("other", 12_345)])), 12_345);
    assert_eq!(
        changes(&machine, tasks(&[("p410", 12_345)])),
        ["state=1000000 cpu_id=0"]
    );
}

#[test]
fn where_every_cpu_goes_as_fast_as_it_can_nothing_changes() {
    let performance = Frequency {
        governor: Governor::Performance,
        ..schedutil()
    };
    let machine = clocked(1, performance);
    assert_eq!(elapsed_ns(&machine, tasks(&[("p410", 12_345)])), 12_345);
    assert_eq!(changes(&machine, tasks(&[("p410", 12_345)])), [""; 0]);
    let hashes = [&machine, &free(1)]
        .map(|machine| run(machine, tasks(&[("p410", 99)]), "speeds").trace_hash);
    assert_eq!(hashes[0], hashes[1]);
}

#[test]
fn a_clock_follows_later() {
    let late = Frequency {
        latency_ns: 400,
        ..schedutil()
    };
    // 400 at full speed, and 600 at half of it.
    assert_eq!(
        elapsed_ns(&clocked(1, late.clone()), tasks(&[("p410", 1_000)])),
        1_600
    );
    // The second asks while the clock is about to change, and what was chosen last is set.
    let both = tasks(&[("p410", 100), ("p0", 1_000)]);
    assert_eq!(elapsed_ns(&clocked(1, late), both), 400 + 700 * 4);
}

#[test]
fn after_a_change_comes_none_for_a_while() {
    let limited = |rate_limit_ns| {
        let frequency = Frequency {
            rate_limit_ns,
            ..schedutil()
        };
        let both = tasks(&[("p410", 1_000), ("p1024", 1_000)]);
        elapsed_ns(&clocked(1, frequency), both)
    };
    // The second begins after 2,000 and is as fast as it asks for, or as slow as the first.
    assert_eq!(limited(2_000), 3_000);
    assert_eq!(limited(2_001), 4_000);
    // Nobody looks when the time is over, but when somebody asks again.
    let frequency = Frequency {
        rate_limit_ns: 3_000,
        ..schedutil()
    };
    let three = tasks(&[("p410", 1_000), ("p1024", 1_000), ("p1024", 1_000)]);
    assert_eq!(elapsed_ns(&clocked(1, frequency.clone()), three), 5_000);
    let three = tasks(&[("p410", 1_000), ("p1024", 1_000), ("other", 1_000)]);
    assert_eq!(elapsed_ns(&clocked(1, frequency), three), 6_000);
}

#[test]
fn of_the_steps_the_next_above_is_taken() {
    let steps = Frequency {
        steps_khz: vec![500_000, 1_200_000, 2_000_000],
        ..schedutil()
    };
    let machine = clocked(1, steps);
    for (name, change) in [
        ("p0", "state=500000 cpu_id=0"),
        ("p204", "state=500000 cpu_id=0"),
        ("p206", "state=1200000 cpu_id=0"),
        ("p410", "state=1200000 cpu_id=0"),
        ("p491", "state=1200000 cpu_id=0"),
    ] {
        assert_eq!(
            changes(&machine, tasks(&[(name, 1_000)])),
            [change],
            "{name}"
        );
    }
    for name in ["p492", "p819", "p820", "p1024"] {
        assert_eq!(
            changes(&machine, tasks(&[(name, 1_000)])),
            [""; 0],
            "{name}"
        );
    }
    // 1,000 at six tenths of the speed.
    assert_eq!(elapsed_ns(&machine, tasks(&[("p410", 1_000)])), 1_667);
    assert_eq!(elapsed_ns(&machine, tasks(&[("p0", 1_000)])), 4_000);
}

#[test]
fn what_cannot_be_asked_for_is_an_error() {
    let reason = |machine: &Machine, name, api: &str| {
        let release: Release = api.parse().unwrap();
        let program = kernel::load(&policy_path("speeds"), Execution::default(), release).unwrap();
        let tunables = BTreeMap::new();
        let outcome = kernel::simulate(
            machine,
            tasks(&[(name, 1_000)]),
            &program,
            "speeds",
            &tunables,
            Options::default(),
        );
        outcome.unwrap().reason
    };
    let with = |machine: &Machine, name, api, what: &str| {
        let found = reason(machine, name, api);
        assert!(found.contains(what), "{name} {api}: {found}");
    };
    // With and without clocks that change.
    for machine in [clocked(2, schedutil()), free(2)] {
        with(
            &machine,
            "p1025",
            "7.2",
            "Invalid cpuperf target 1025 for CPU 0",
        );
        with(&machine, "r1024", "7.2", "Invalid target CPU 1");
        with(&machine, "r1024", "6.16", "Invalid target CPU 1");
        assert_eq!(reason(&machine, "r1024", "6.15"), "");
    }
    with(&free(1), "r1", "7.2", "invalid CPU 1");
}

#[test]
fn of_cpus_with_one_clock_the_highest_counts() {
    let of = |clocked, shape| Machine {
        frequency: Some(Frequency {
            clocked,
            ..schedutil()
        }),
        ..machine_of(shape, no_costs())
    };
    // Both run at once; alone with its clock, the first would take 2,000.
    let both = || tasks(&[("p410", 1_000), ("p1024", 9_000)]);
    let slow_ends = |machine: &Machine| {
        let (outcome, text) = traced(machine, both(), "speeds", Options::default());
        assert_eq!(outcome.status, Status::Ok, "{}", outcome.reason);
        let end = text
            .lines()
            .find(|line| line.contains("sched_process_exit: comm=p410"));
        crate::common::time_ns(end.unwrap())
    };
    assert_eq!(slow_ends(&of(Clocked::Core, shape(1, 1, 2, 1))), 2_000);
    assert_eq!(slow_ends(&of(Clocked::Llc, shape(1, 1, 2, 1))), 1_000);
    assert_eq!(slow_ends(&of(Clocked::Core, shape(1, 1, 1, 2))), 1_000);
    assert_eq!(slow_ends(&of(Clocked::Llc, shape(1, 2, 1, 1))), 2_000);
    assert_eq!(slow_ends(&of(Clocked::Socket, shape(1, 2, 1, 1))), 1_000);
    assert_eq!(slow_ends(&of(Clocked::Socket, shape(2, 1, 1, 1))), 2_000);
}

#[test]
fn a_real_time_task_has_all_there_is() {
    let real_time = Group {
        policy: Policy::Fifo(50),
        ..group("rt", 1, vec![sleep_for(1_000), run_for(1_000)])
    };
    let slow = group("p410", 1, vec![run_for(10_000)]);
    // At half speed until 1,000, then the real-time task at full speed, then 9,500 at half speed.
    let both = || plan(vec![slow.clone(), real_time.clone()], End::All);
    let machine = clocked(1, schedutil());
    assert_eq!(elapsed_ns(&machine, both()), 21_000);
    let expected = [1_000_000, 2_000_000, 1_000_000].map(|khz| format!("state={khz} cpu_id=0"));
    assert_eq!(changes(&machine, both()), expected);
    // A task that becomes one, and goes back.
    let turns = |policy| Inst::SetPolicy { policy };
    let both = vec![
        run_for(1_000),
        turns(Policy::Fifo(50)),
        run_for(1_000),
        turns(Policy::Other),
        run_for(1_000),
    ];
    let both = plan(vec![group("p410", 1, both)], End::All);
    assert_eq!(elapsed_ns(&machine, both), 2_000 + 1_000 + 2_000);
}

#[test]
fn what_is_asked_for_is_of_the_fastest_cpu() {
    let mut machine = clocked(1, schedutil());
    machine.topology.cpus[0].capacity = 512;
    // All that this CPU can, and half of it.
    assert_eq!(elapsed_ns(&machine, tasks(&[("p410", 1_000)])), 2_000);
    assert_eq!(elapsed_ns(&machine, tasks(&[("p205", 1_000)])), 4_000);
    let told = |machine: &Machine, name| run(machine, tasks(&[(name, 1_000)]), "speeds").reason;
    assert!(told(&machine, "c205").contains("cap 512 cur 512"));
    assert!(told(&machine, "c410").contains("cap 512 cur 1024"));
    machine.frequency = None;
    assert!(told(&machine, "c205").contains("cap 512 cur 1024"));
    assert!(told(&free(1), "c0").contains("cap 1024 cur 1024"));
}

#[test]
fn what_follows_the_load_of_tasks_is_refused() {
    let simulated = |frequency| {
        let machine = clocked(1, frequency);
        let program = kernel::load(
            &policy_path("fifo"),
            Execution::default(),
            Release::default(),
        )
        .unwrap();
        let options = Options {
            built_in: true,
            ..Options::default()
        };
        let work = tasks(&[("other", 1_000)]);
        let run = kernel::simulate(&machine, work, &program, "fifo", &BTreeMap::new(), options);
        run.map(|outcome| outcome.status)
    };
    let refused = simulated(schedutil()).unwrap_err().to_string();
    assert_eq!(refused, format!("test: {}", kernel::NOT_BUILT_IN));
    assert_eq!(refused.lines().count(), 1);
    let performance = Frequency {
        governor: Governor::Performance,
        ..schedutil()
    };
    assert_eq!(simulated(performance).unwrap(), Status::Ok);
}

fn joules(outcome: &Outcome) -> f64 {
    assert_eq!(outcome.status, Status::Ok, "{}", outcome.reason);
    outcome.metrics["energy_j"]
}

#[test]
fn energy_is_time_by_power() {
    let power = |busy_mw: &[u64]| {
        Some(Power {
            base_mw: 100,
            idle_mw: 50,
            busy_mw: busy_mw.to_vec(),
        })
    };
    let steps = Frequency {
        steps_khz: vec![500_000, 1_000_000, 2_000_000],
        ..schedutil()
    };
    let machine = Machine {
        power: power(&[400, 1_000, 4_000]),
        ..clocked(2, steps)
    };
    let close = |outcome: &Outcome, expected_j: f64| {
        let found_j = joules(outcome);
        assert!(
            (found_j - expected_j).abs() < 1e-12,
            "{found_j} {expected_j}"
        );
    };
    // 2 ms: the machine, a CPU that idles, and one at the middle step.
    let slow = run(&machine, tasks(&[("p410", MS)]), "speeds");
    close(&slow, (100.0 + 50.0 + 1_000.0) * 2e-6);
    // 1 ms, as fast as it can.
    let fast = run(&machine, tasks(&[("p1024", MS)]), "speeds");
    close(&fast, (100.0 + 50.0 + 4_000.0) * 1e-6);
    // 1 ms of rest in between, at the lower frequency.
    let rests = group("p410", 1, vec![run_for(MS), sleep_for(MS), run_for(MS)]);
    let rests = run(&machine, plan(vec![rests], End::All), "speeds");
    close(&rests, (100.0 + 50.0) * 5e-6 + 1_000.0 * 4e-6 + 50.0 * 1e-6);
    // One speed.
    let one = Machine {
        power: power(&[3_000]),
        ..free(2)
    };
    let both = run(&one, tasks(&[("p410", MS), ("other", 3 * MS)]), "speeds");
    close(&both, 100.0 * 3e-6 + 3_000.0 * 4e-6 + 50.0 * 2e-6);
    let unknown = run(&free(2), tasks(&[("p410", MS)]), "speeds");
    assert!(!unknown.metrics.contains_key("energy_j"));
    // It changes nothing else.
    let hashes = [&one, &free(2)].map(|machine| {
        simulate(
            machine,
            tasks(&[("p410", MS)]),
            "speeds",
            Options::default(),
        )
        .trace_hash
    });
    assert_eq!(hashes[0], hashes[1]);
}
