// SPDX-License-Identifier: GPL-2.0-or-later
//! Random cases. Case k of seed s is the same everywhere: it depends on nothing else but the policy's tunables.

use std::collections::BTreeMap;

use kernel::{Change, Hotplug, RtGuard};
use policy::{Manifest, Tunable};
use workload::draw::Stream;

use crate::case::{Action, Case, Group, Kind, Shape, Warden};
use crate::cgroups;
use crate::dice::{Dice, Pace, some_cpus};
use crate::interleaving::Interleaving;

/// Longer slices than this are longer waits by declaration: no finding.
const LONGEST_US: i128 = 20_000;

/// What the user asks for.
#[derive(Clone, Copy, Debug)]
pub struct Draws {
    /// What a task sleeps after it has changed its own nice, policy or affinity, or was in a section.
    pub pause_us: u64,
    /// There are real-time tasks that hold a CPU.
    pub real_time: bool,
    /// There are control groups.
    pub cgroups: bool,
}

impl Default for Draws {
    fn default() -> Self {
        Self {
            pause_us: 1_000,
            real_time: true,
            cgroups: true,
        }
    }
}

pub fn case(
    seed: u64,
    run: u64,
    draws: Draws,
    manifest: &Manifest,
    fixed: &BTreeMap<String, String>,
) -> Case {
    let stream = Stream::new(seed, (run >> 32) as u32, run as u32);
    let mut dice = Dice(stream);
    let pace = match dice.between(1, 100) {
        1..=55 => Pace::Short,
        56..=85 => Pace::Medium,
        _ => Pace::Long,
    };
    let duration_ms = match pace {
        Pace::Short => dice.between(100, 800),
        Pace::Medium => dice.between(1_500, 4_000),
        Pace::Long => dice.between(8_000, 30_000),
    } as u64;
    let mut machine = machine(&mut dice, pace);
    let cpus = machine.cpus();
    let most = if pace == Pace::Long {
        cpus + 4
    } else {
        3 * cpus + 4
    };
    let mut groups = Vec::new();
    let mut left = most.min(60);
    // Only a long run under constant load shows who is left out for ever.
    if pace == Pace::Long && dice.chance(60) {
        let strong = hogs(&mut dice, cpus, &[0, 0, 5, 10, -5]);
        let weak = hogs(&mut dice, 2, &[19, 19, 10, 0]);
        left = left.saturating_sub(strong.count + weak.count);
        groups.extend([strong, weak]);
    }
    let least = i64::from(groups.is_empty());
    for _ in 0..dice.between(least, 5) {
        if left < 2 {
            break;
        }
        let group = group(&mut dice, cpus, left, pace);
        left = left.saturating_sub(2 * group.count + 1);
        groups.push(group);
    }
    let hotplug = if cpus > 1 && dice.chance(25) {
        hotplug(&mut dice, cpus, duration_ms)
    } else {
        Vec::new()
    };
    let mut tunables = BTreeMap::new();
    if dice.chance(60) {
        for tunable in &manifest.tunables {
            if dice.chance(40) && !fixed.contains_key(&tunable.name) {
                tunables.insert(tunable.name.clone(), value(&mut dice, tunable));
            }
        }
    }
    // From a stream of their own, so that every other part of a case stays what it is.
    let mut kernel = Dice(Stream::new(seed, !((run >> 32) as u32), run as u32));
    disable_migration(&mut kernel, &mut groups, pace);
    let hotplug = with_grace_periods(&mut kernel, hotplug);
    let mut outside = Dice(Stream::new(seed, !((run >> 32) as u32), !(run as u32)));
    if cpus <= MOST_THREADS && outside.chance(15) {
        groups.push(threads(&mut outside, cpus, pace));
    }
    if outside.chance(12) {
        groups.push(storm(&mut outside, cpus, pace));
    }
    watch(&mut outside, &mut groups, cpus, pace);
    let mut above = Dice(Stream::new(seed, (run >> 32) as u32, !(run as u32)));
    if draws.real_time && above.chance(15) {
        machine.rt_guard = *above.pick(&RT_GUARDS);
        groups.push(real_time(&mut above, cpus, pace));
    }
    let mut inside = Dice(Stream::new(!seed, (run >> 32) as u32, run as u32));
    let cgroups = if draws.cgroups && inside.chance(20) {
        // The model's cpusets do not lose the CPUs that go.
        cgroups::draw(&mut inside, &mut groups, cpus, pace, hotplug.is_empty())
    } else {
        Vec::new()
    };
    let mut beside = Dice(Stream::new(!seed, !((run >> 32) as u32), run as u32));
    if cpus > 1 && beside.chance(8) {
        groups.push(hoppers(&mut beside, cpus, pace));
    }
    Case {
        interleaving: Interleaving::Off,
        machine,
        groups,
        cgroups,
        hotplug,
        tunables,
        duration_ms,
        pause_us: draws.pause_us,
        seed: dice.between(1, 1_000_000) as u64,
    }
}

fn machine(dice: &mut Dice, pace: Pace) -> Shape {
    let large = pace == Pace::Short && dice.chance(4);
    let small = pace == Pace::Long;
    Shape {
        sockets: if large || dice.chance(20) { 2 } else { 1 },
        llcs: if small {
            1 + dice.up_to(1)
        } else {
            1 + dice.up_to(2)
        },
        cores: if large {
            8
        } else if small {
            1 + dice.up_to(1)
        } else {
            1 + dice.up_to(3)
        },
        threads: if dice.chance(30) { 2 } else { 1 },
        split: dice.chance(50),
        hz: *dice.pick(&[250, 250, 100, 300, 1_000]),
        rt_guard: RtGuard::default(),
        free: dice.chance(25),
    }
}

fn group(dice: &mut Dice, cpus: u32, left: u32, pace: Pace) -> Group {
    let kind = match dice.between(1, 100) {
        1..=60 => Kind::Plain,
        61..=78 => Kind::Pair,
        79..=90 => Kind::Herd,
        _ => Kind::Family,
    };
    let most = (left / 2).clamp(1, 12);
    let mut actions = Vec::new();
    // One group in three only computes.
    if kind == Kind::Plain && dice.chance(35) {
        actions.push(Action::Run(1_000, 50_000));
    } else {
        for _ in 0..dice.between(1, 5) {
            action(dice, cpus, pace, &mut actions);
        }
    }
    Group {
        kind,
        count: 1 + dice.up_to(most - 1),
        nice: nice(dice),
        policy: match dice.between(1, 20) {
            1 => "batch",
            2 => "idle",
            _ => "other",
        },
        cpus: perhaps_some_cpus(dice, cpus, 25),
        warden: None,
        cgroup: None,
        mover: None,
        footprint_kib: *dice.pick(&[0, 0, 64, 512]),
        pauses: true,
        times: dice.chance(20).then(|| 1 + dice.up_to(30)),
        actions,
    }
}

/// One task of which nothing special is said.
fn plain(kind: Kind, actions: Vec<Action>) -> Group {
    Group {
        kind,
        count: 1,
        nice: 0,
        policy: "other",
        cpus: Vec::new(),
        warden: None,
        cgroup: None,
        mover: None,
        footprint_kib: 0,
        pauses: true,
        times: None,
        actions,
    }
}

/// Tasks that only compute.
fn hogs(dice: &mut Dice, least: u32, nices: &[i32]) -> Group {
    Group {
        count: least + dice.up_to(least),
        nice: *dice.pick(nices),
        ..plain(Kind::Plain, vec![Action::Run(1_000, 50_000)])
    }
}

fn nice(dice: &mut Dice) -> i32 {
    match dice.between(1, 10) {
        1..=5 => 0,
        6 => 19,
        7 => -20,
        _ => dice.between(-20, 19) as i32,
    }
}

fn perhaps_some_cpus(dice: &mut Dice, cpus: u32, pct: i64) -> Vec<u32> {
    if dice.chance(pct) {
        some_cpus(dice, cpus)
    } else {
        Vec::new()
    }
}

fn action(dice: &mut Dice, cpus: u32, pace: Pace, actions: &mut Vec<Action>) {
    // A long run of short bursts would take a long time here too.
    let shortest = match pace {
        Pace::Short => 1,
        Pace::Medium => 100,
        Pace::Long => 2_000,
    };
    let span = |dice: &mut Dice, high: u64| {
        let low = dice.scale(shortest, high.max(2 * shortest));
        (low, low * dice.between(1, 4) as u64)
    };
    match dice.between(1, 100) {
        1..=30 => {
            let (low, high) = span(dice, 20_000);
            actions.push(Action::Run(low, high));
        }
        31..=55 => {
            let (low, high) = span(dice, 5_000);
            actions.push(Action::Sleep(low, high));
        }
        56..=60 => actions.push(Action::Timer(dice.scale(shortest.max(500), 20_000))),
        61..=67 => actions.extend([
            Action::Yield,
            Action::Run(shortest.max(20), 4 * shortest.max(20)),
        ]),
        68..=75 => actions.push(Action::Nice(nice(dice))),
        76..=85 => {
            actions.push(Action::Affinity(some_cpus(dice, cpus)));
            let (low, high) = span(dice, 5_000);
            actions.push(Action::Run(low, high));
            if dice.chance(60) {
                actions.push(Action::Affinity(Vec::new()));
            }
        }
        86..=92 => actions.push(Action::Critical(
            dice.scale(shortest, 5_000.max(2 * shortest)),
        )),
        93..=95 => actions.push(Action::Disk),
        96..=97 => {
            let policy: &&str = dice.pick(&["batch", "idle", "other"]);
            actions.push(Action::Policy(policy));
        }
        _ => {
            let policy = *dice.pick(&["rr:5", "fifo:10"]);
            actions.push(Action::RealTime(policy, shortest.max(90)));
        }
    }
}

/// Some tasks enter sections of the kernel's in which they may not leave their CPU.
fn disable_migration(dice: &mut Dice, groups: &mut [Group], pace: Pace) {
    let shortest = if pace == Pace::Long { 2_000 } else { 50 };
    for group in groups {
        if dice.chance(20) {
            let us = dice.scale(shortest, 5_000);
            group.actions.push(Action::Kept(us));
        }
    }
}

/// More CPUs than this would be more threads than other tasks.
const MOST_THREADS: u32 = 8;

/// Threads of the kernel's own, which may run on one CPU alone.
fn threads(dice: &mut Dice, cpus: u32, pace: Pace) -> Group {
    let shortest = if pace == Pace::Long { 2_000 } else { 50 };
    let us = dice.scale(shortest, 10 * shortest);
    Group {
        count: cpus,
        nice: *dice.pick(&[0, 0, -20, 19]),
        ..plain(
            Kind::Threads,
            vec![Action::Sleep(4 * us, 40 * us), Action::Run(us / 2, us)],
        )
    }
}

/// Short lives: forks, execs and exits all the time.
fn storm(dice: &mut Dice, cpus: u32, pace: Pace) -> Group {
    let shortest = if pace == Pace::Long { 4_000 } else { 100 };
    Group {
        count: 1 + dice.up_to(2 * cpus.min(8)),
        nice: nice(dice),
        cpus: perhaps_some_cpus(dice, cpus, 20),
        ..plain(Kind::Storm, vec![Action::Run(shortest, 8 * shortest)])
    }
}

/// Tasks that go from CPU to CPU by themselves, and never sleep.
fn hoppers(dice: &mut Dice, cpus: u32, pace: Pace) -> Group {
    let shortest = if pace == Pace::Long { 5_000 } else { 200 };
    let us = dice.scale(shortest, 20 * shortest);
    let first = dice.up_to(cpus - 1);
    let stops = 1 + dice.up_to(cpus.min(4) - 1).max(1);
    let mut actions = Vec::new();
    for stop in 0..stops {
        let cpu = (first + stop) % cpus;
        actions.extend([Action::Affinity(vec![cpu]), Action::Run(us, 2 * us)]);
    }
    Group {
        count: stops + 1 + dice.up_to(2 * stops),
        nice: nice(dice),
        pauses: false,
        ..plain(Kind::Plain, actions)
    }
}

/// Current kernels have a server; older ones throttle. Without either, ordinary tasks starve, whatever the policy does.
const RT_GUARDS: [RtGuard; 4] = [
    RtGuard::ExtServer,
    RtGuard::ExtServer,
    RtGuard::Throttle,
    RtGuard::Share,
];

/// Real-time tasks: some hold a CPU until the kernel takes it from them, some come and go, some have ordinary children.
fn real_time(dice: &mut Dice, cpus: u32, pace: Pace) -> Group {
    let policy = *dice.pick(&["fifo:10", "fifo:50", "rr:5"]);
    let (shortest, longest) = match pace {
        Pace::Short => (100, 100_000),
        Pace::Medium => (1_000, 1_500_000),
        Pace::Long => (5_000, 3_000_000),
    };
    let us = dice.scale(shortest, longest);
    let pause_us = dice.scale(shortest, 200_000);
    let (kind, born, actions) = match dice.between(1, 4) {
        1 => {
            let actions = [
                Action::RealTime(policy, us),
                Action::Sleep(pause_us, 2 * pause_us),
            ];
            (Kind::Plain, "other", actions)
        }
        2 => {
            let child = [Action::Policy("other"), Action::Run(us / 10, us)];
            (Kind::Family, policy, child)
        }
        _ => {
            let actions = [
                Action::Run(us / 2, us),
                Action::Sleep(pause_us, 2 * pause_us),
            ];
            (Kind::Plain, policy, actions)
        }
    };
    Group {
        count: 1 + dice.up_to(cpus.min(4) - 1),
        policy: born,
        cpus: perhaps_some_cpus(dice, cpus, 50),
        ..plain(kind, actions.into())
    }
}

/// Sets of CPUs that shrink and grow again. A changed task goes behind all others that wait in their order: where a run
/// is long enough to starve it, each of them has its turn of some milliseconds before the next change.
fn watch(dice: &mut Dice, groups: &mut [Group], cpus: u32, pace: Pace) {
    let shortest = if pace == Pace::Short { 500 } else { 100_000 };
    for group in groups {
        if dice.chance(12) {
            group.warden = Some(Warden {
                cpus: some_cpus(dice, cpus),
                every_us: dice.scale(shortest, 40 * shortest),
            });
        }
    }
}

/// Some CPUs are inactive for a while before they go offline.
fn with_grace_periods(dice: &mut Dice, events: Vec<Hotplug>) -> Vec<Hotplug> {
    let mut all: Vec<Hotplug> = Vec::new();
    for event in events {
        let before_ns = dice.between(1, 30) as u64 * 1_000_000;
        let earliest_ns = all.last().map_or(0, |last| last.at_ns);
        let at_ns = event.at_ns.saturating_sub(before_ns);
        if event.change == Change::Offline && at_ns > earliest_ns && dice.chance(50) {
            let change = Change::Inactive;
            all.push(Hotplug {
                at_ns,
                change,
                ..event
            });
        }
        all.push(event);
    }
    all
}

/// CPUs go and come back; one at least stays.
fn hotplug(dice: &mut Dice, cpus: u32, duration_ms: u64) -> Vec<Hotplug> {
    let mut events = Vec::new();
    let mut at_ms = 0;
    for _ in 0..dice.between(1, 3) {
        let cpu = dice.up_to(cpus - 1);
        at_ms += 1 + dice.between(0, duration_ms as i64 / 3) as u64;
        let back_ms = at_ms + 1 + dice.between(0, duration_ms as i64 / 4) as u64;
        events.extend(
            [(at_ms, Change::Offline), (back_ms, Change::Online)].map(|(ms, change)| Hotplug {
                at_ns: ms * 1_000_000,
                cpu,
                change,
            }),
        );
        at_ms = back_ms;
    }
    events
}

/// A choice at random; a number near its default, at its least, or at the most that is no wait by declaration.
fn value(dice: &mut Dice, tunable: &Tunable) -> String {
    if !tunable.choices.is_empty() {
        return dice.pick(&tunable.choices).clone();
    }
    let longest = match tunable.unit.as_str() {
        "ns" => LONGEST_US * 1_000,
        "us" => LONGEST_US,
        "ms" => LONGEST_US / 1_000,
        _ => i128::MAX,
    };
    let top = tunable
        .max
        .min(longest.max(tunable.default))
        .max(tunable.min);
    let value = match dice.between(1, 4) {
        1 => tunable.min,
        2 => top,
        _ => {
            let low = (tunable.default / 8).clamp(tunable.min, top);
            let high = tunable.default.saturating_mul(8).clamp(low, top);
            i128::from(dice.between(clip(low), clip(high)))
        }
    };
    value.to_string()
}

fn clip(value: i128) -> i64 {
    value.clamp(i64::MIN.into(), (i64::MAX / 2).into()) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cases(seed: u64) -> Vec<Case> {
        let manifest = Manifest {
            tunables: vec![Tunable {
                name: "slice_us".into(),
                kind: "u32".into(),
                default: 3_000,
                min: 100,
                max: 5_000_000,
                unit: "us".into(),
                about: String::new(),
                choices: Vec::new(),
            }],
            ..Manifest::default()
        };
        (0..400)
            .map(|run| case(seed, run, Draws::default(), &manifest, &BTreeMap::new()))
            .collect()
    }

    #[test]
    fn a_case_depends_on_seed_and_run_alone() {
        assert_eq!(cases(7), cases(7));
        assert_ne!(cases(7), cases(8));
    }

    #[test]
    fn everything_happens_and_stays_within_bounds() {
        let cases = cases(1);
        for case in &cases {
            let cpus = case.machine.cpus();
            assert!((1..=128).contains(&cpus) && !case.groups.is_empty());
            assert!(
                case.groups
                    .iter()
                    .flat_map(|group| &group.cpus)
                    .all(|cpu| *cpu < cpus)
            );
            if let Some(value) = case.tunables.get("slice_us") {
                assert!((100..=20_000).contains(&value.parse::<u32>().unwrap()));
            }
            let mut offline = 0;
            for event in &case.hotplug {
                assert!(event.cpu < cpus);
                offline += match event.change {
                    Change::Online => -1,
                    Change::Offline => 1,
                    Change::Inactive => 0,
                };
                assert!((0..cpus as i32).contains(&offline));
            }
        }
        let some = |what: &dyn Fn(&Case) -> bool| assert!(cases.iter().any(what));
        some(&|case| case.machine.cpus() == 1);
        some(&|case| case.machine.cpus() >= 32);
        some(&|case| case.machine.threads == 2);
        some(&|case| case.machine.llcs > 1);
        some(&|case| case.duration_ms > 10_000);
        some(&|case| !case.hotplug.is_empty());
        some(&|case| {
            let mut changes = case.hotplug.iter().map(|event| event.change);
            changes.any(|change| change == Change::Inactive)
        });
        some(&|case| {
            let mut actions = case.groups.iter().flat_map(|group| &group.actions);
            actions.any(|action| matches!(action, Action::Kept(_)))
        });
        some(&|case| !case.tunables.is_empty());
        some(&|case| case.groups.iter().any(|group| group.warden.is_some()));
        for kind in [
            Kind::Plain,
            Kind::Pair,
            Kind::Herd,
            Kind::Family,
            Kind::Storm,
            Kind::Threads,
        ] {
            some(&|case| case.groups.iter().any(|group| group.kind == kind));
        }
        for policy in ["fifo:50", "rr:5"] {
            some(&|case| case.groups.iter().any(|group| group.policy == policy));
        }
        some(&|case| case.machine.rt_guard == RtGuard::Share);
        some(&|case| case.groups.iter().any(|group| !group.pauses));
        some(&|case| case.groups.iter().any(|group| group.nice == 19));
        some(&|case| case.groups.iter().any(|group| group.cpus.len() == 1));
    }
}
