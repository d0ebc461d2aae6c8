// SPDX-License-Identifier: GPL-2.0-or-later
//! Making a case small that shows something, by leaving out what it does not need.
//!
//! Each pass offers simpler cases, the boldest first; the first that still shows the same is taken, and the pass begins
//! anew. When no pass finds a simpler case, or after so many attempts, it ends. Where many tasks are left, the passes
//! come in another order, and the smaller case is kept. No clock takes part: the same case shrinks to the same one
//! everywhere.

use kernel::{Change, RtGuard};

use crate::case::{Action, Case, Kind};
use crate::cgroup::{self, Gives, WEIGHT};
use crate::cgroups;
use crate::interleaving::Interleaving;

type Pass = fn(&Case) -> Vec<Case>;

const PASSES: usize = 11;

/// What comes early is made small at the cost of the rest: in a short run, only many CPUs are idle for long in sum.
const ORDERS: [[Pass; PASSES]; 2] = [
    [
        switches,
        duration,
        groups,
        control_groups,
        tunables,
        hotplug,
        counts,
        attributes,
        actions,
        machine,
        numbers,
    ],
    [
        switches,
        groups,
        control_groups,
        tunables,
        hotplug,
        machine,
        counts,
        attributes,
        actions,
        duration,
        numbers,
    ],
];

/// A person can follow so many.
const FEW_TASKS: u32 = 4;

/// `shows`: the case, if it still does; its switches may be others where the flag says so. Returns the smallest case,
/// and how many were tried.
pub fn shrink(
    case: Case,
    attempts: u32,
    mut shows: impl FnMut(&Case, bool) -> anyhow::Result<Option<Case>>,
) -> anyhow::Result<(Case, u32)> {
    let mut tried = 0;
    let [first, second] = ORDERS;
    let smaller = in_order(first, case.clone(), attempts, &mut tried, &mut shows)?;
    if smaller.tasks() <= FEW_TASKS || tried >= attempts {
        return Ok((smaller, tried));
    }
    let other = in_order(second, case, attempts, &mut tried, &mut shows)?;
    let smallest = if size(&other) < size(&smaller) {
        other
    } else {
        smaller
    };
    Ok((smallest, tried))
}

/// What a reader has to follow, first of all tasks.
fn size(case: &Case) -> impl Ord + use<> {
    (
        case.tasks(),
        case.actions(),
        case.machine.cpus(),
        case.cgroups.len(),
        case.interleaving.listed().len(),
    )
}

fn in_order(
    passes: [Pass; PASSES],
    mut case: Case,
    attempts: u32,
    tried: &mut u32,
    shows: &mut impl FnMut(&Case, bool) -> anyhow::Result<Option<Case>>,
) -> anyhow::Result<Case> {
    loop {
        let before = case.clone();
        for pass in passes {
            'again: loop {
                for simpler in pass(&case) {
                    // With the attempts at an end there is still to see which switches it takes.
                    if *tried >= attempts && simpler.interleaving == case.interleaving {
                        break;
                    }
                    *tried += 1;
                    // Another machine or workload has other operations, with other points.
                    let others = simpler.interleaving == case.interleaving;
                    if let Some(shown) = shows(&simpler, others)? {
                        case = shown;
                        continue 'again;
                    }
                }
                break;
            }
        }
        if case == before {
            return Ok(case);
        }
    }
}

fn changed(case: &Case, change: impl FnOnce(&mut Case)) -> Option<Case> {
    let mut other = case.clone();
    change(&mut other);
    (other != *case).then_some(other)
}

/// None at all, then fewer.
fn switches(case: &Case) -> Vec<Case> {
    let none = std::iter::once(Vec::new());
    none.chain(shorter(case.interleaving.listed(), 1))
        .filter_map(|fewer| {
            changed(case, |case| {
                if !case.interleaving.listed().is_empty() {
                    case.interleaving = Interleaving::Listed(fewer);
                }
            })
        })
        .collect()
}

fn duration(case: &Case) -> Vec<Case> {
    let ms = case.duration_ms;
    [ms / 8, ms / 2, ms * 4 / 5]
        .into_iter()
        .filter(|shorter| *shorter > 0)
        .filter_map(|shorter| changed(case, |case| case.duration_ms = shorter))
        .collect()
}

/// A list without its first half, its second half, and each of its members.
fn shorter<T: Clone>(list: &[T], least: usize) -> Vec<Vec<T>> {
    let mut lists = Vec::new();
    let half = list.len() / 2;
    if half > 1 {
        lists.push(list[half..].to_vec());
        lists.push(list[..half].to_vec());
    }
    for index in (0..list.len()).rev() {
        let mut rest = list.to_vec();
        rest.remove(index);
        lists.push(rest);
    }
    lists.retain(|rest| rest.len() >= least);
    lists
}

fn groups(case: &Case) -> Vec<Case> {
    shorter(&case.groups, 1)
        .into_iter()
        .filter_map(|groups| changed(case, |case| case.groups = groups))
        .collect()
}

/// None at all, then fewer, then simpler ones.
fn control_groups(case: &Case) -> Vec<Case> {
    let none = changed(case, |case| {
        while !case.cgroups.is_empty() {
            cgroups::leave_out(case, 0);
        }
    });
    let mut cases: Vec<Case> = none.into_iter().collect();
    for place in (0..case.cgroups.len()).rev() {
        cases.extend(changed(case, |case| cgroups::leave_out(case, place)));
    }
    let changes: [fn(&mut cgroup::Cgroup); 6] = [
        |cgroup| cgroup.keeper = None,
        |cgroup| cgroup.max = None,
        |cgroup| cgroup.weight = WEIGHT,
        |cgroup| cgroup.cpus.clear(),
        |cgroup| cgroup.parent = None,
        |cgroup| {
            if let Some(keeper) = &mut cgroup.keeper
                && !matches!(keeper.gives, Gives::Cpus(_))
            {
                keeper.gives = Gives::Weight(2 * WEIGHT);
            }
        },
    ];
    for change in changes {
        for place in 0..case.cgroups.len() {
            cases.extend(changed(case, |case| change(&mut case.cgroups[place])));
        }
    }
    cases.extend(each_group(case, |group| {
        group.cgroup = None;
        group.mover = None;
    }));
    cases.extend(each_group(case, |group| group.mover = None));
    cases.extend(each_group(case, |group| {
        if let Some(mover) = &mut group.mover {
            mover.anew = false;
        }
    }));
    cases
}

fn tunables(case: &Case) -> Vec<Case> {
    let mut cases: Vec<Case> = changed(case, |case| case.tunables.clear())
        .into_iter()
        .collect();
    for name in case.tunables.keys() {
        cases.extend(changed(case, |case| {
            case.tunables.remove(name);
        }));
    }
    cases
}

fn hotplug(case: &Case) -> Vec<Case> {
    let mut cases: Vec<Case> = changed(case, |case| case.hotplug.clear())
        .into_iter()
        .collect();
    // A CPU that goes and comes, then one change alone.
    for first in (0..case.hotplug.len()).step_by(2) {
        cases.extend(changed(case, |case| {
            let last = (first + 2).min(case.hotplug.len());
            case.hotplug.drain(first..last);
            nobody_stays_inactive(case);
        }));
    }
    for index in (0..case.hotplug.len()).rev() {
        cases.extend(changed(case, |case| {
            case.hotplug.remove(index);
            nobody_stays_inactive(case);
        }));
    }
    cases
}

/// A CPU is inactive on its way offline only, which takes milliseconds: a policy that forgets it as long has no bug.
fn nobody_stays_inactive(case: &mut Case) {
    let script = std::mem::take(&mut case.hotplug);
    let goes = |index: usize| {
        let mut later = script[index + 1..].iter();
        let next = later.find(|event| event.cpu == script[index].cpu);
        next.is_some_and(|event| event.change == Change::Offline)
    };
    case.hotplug = (0..script.len())
        .filter(|index| script[*index].change != Change::Inactive || goes(*index))
        .map(|index| script[index])
        .collect();
}

/// The same change to each group in turn.
fn each_group(case: &Case, change: impl Fn(&mut crate::case::Group)) -> Vec<Case> {
    (0..case.groups.len())
        .filter_map(|index| changed(case, |case| change(&mut case.groups[index])))
        .collect()
}

fn counts(case: &Case) -> Vec<Case> {
    let mut cases = each_group(case, |group| group.count = 1);
    cases.extend(each_group(case, |group| {
        group.count = group.count.div_ceil(2);
    }));
    cases.extend(each_group(case, |group| {
        group.count = (group.count - 1).max(1);
    }));
    cases
}

fn machine(case: &Case) -> Vec<Case> {
    let changes: [fn(&mut Case); 11] = [
        |case| case.machine.sockets = 1,
        |case| case.machine.llcs = 1,
        |case| case.machine.threads = 1,
        |case| case.machine.cores = 1,
        |case| case.machine.cores = case.machine.cores.div_ceil(2),
        |case| case.machine.cores = (case.machine.cores - 1).max(1),
        |case| case.machine.llcs = (case.machine.llcs - 1).max(1),
        |case| case.machine.split = false,
        |case| case.machine.hz = 250,
        |case| case.machine.rt_guard = RtGuard::default(),
        |case| case.machine.free = false,
    ];
    let mut cases = Vec::new();
    for change in changes {
        let smaller = changed(case, |case| {
            change(case);
            fit(case);
        });
        let Some(smaller) = smaller else {
            continue;
        };
        // As many tasks for each CPU as before, where it is their ratio that matters.
        let (cpus, before) = (smaller.machine.cpus(), case.machine.cpus());
        let scaled = changed(&smaller, |case| {
            for group in &mut case.groups {
                if group.kind != Kind::Threads {
                    group.count = (group.count * cpus).div_ceil(before);
                }
            }
        });
        // As much time of CPUs in sum as before, where it is what lies idle that matters.
        let shorter: Vec<Case> = std::iter::once(smaller).chain(scaled).collect();
        let longer = shorter.iter().filter_map(|case| {
            changed(case, |case| {
                case.duration_ms = (case.duration_ms * u64::from(before)).div_ceil(u64::from(cpus));
            })
        });
        let longer: Vec<Case> = longer.collect();
        cases.extend(shorter);
        cases.extend(longer);
    }
    cases
}

/// CPU numbers of a larger machine onto this one. A set keeps those that are there, so that a part of the machine does not
/// become all of it.
fn fit(case: &mut Case) {
    let cpus = case.machine.cpus();
    let wrap = |list: &mut Vec<u32>| {
        if list.iter().any(|cpu| *cpu < cpus) {
            list.retain(|cpu| *cpu < cpus);
        }
        for cpu in list.iter_mut() {
            *cpu %= cpus;
        }
        list.sort_unstable();
        list.dedup();
    };
    for group in &mut case.groups {
        wrap(&mut group.cpus);
        if let Some(warden) = &mut group.warden {
            wrap(&mut warden.cpus);
        }
        if group.kind == Kind::Threads {
            group.count = group.count.min(cpus);
        }
        for action in &mut group.actions {
            if let Action::Affinity(list) = action {
                wrap(list);
            }
        }
    }
    cgroup::sets(&mut case.cgroups).for_each(wrap);
    for event in &mut case.hotplug {
        event.cpu %= cpus;
    }
    case.hotplug.retain(|_| cpus > 1);
    nobody_stays_inactive(case);
}

fn attributes(case: &Case) -> Vec<Case> {
    let mut cases = Vec::new();
    let changes: [fn(&mut crate::case::Group); 8] = [
        |group| group.kind = Kind::Plain,
        |group| group.pauses = true,
        |group| group.warden = None,
        |group| group.times = None,
        |group| group.policy = "other",
        |group| group.nice = 0,
        |group| group.cpus.clear(),
        |group| group.footprint_kib = 0,
    ];
    for change in changes {
        cases.extend(each_group(case, change));
    }
    // Fewer allowed CPUs, for a group from its start and by its own action.
    for index in 0..case.groups.len() {
        for fewer in shorter(&case.groups[index].cpus, 1) {
            cases.extend(changed(case, |case| case.groups[index].cpus = fewer));
        }
        for (at, action) in case.groups[index].actions.iter().enumerate() {
            let Action::Affinity(cpus) = action else {
                continue;
            };
            for fewer in shorter(cpus, 1) {
                cases.extend(changed(case, |case| {
                    case.groups[index].actions[at] = Action::Affinity(fewer);
                }));
            }
        }
    }
    cases
}

fn actions(case: &Case) -> Vec<Case> {
    let mut cases = Vec::new();
    for index in 0..case.groups.len() {
        for rest in shorter(&case.groups[index].actions, 0) {
            cases.extend(changed(case, |case| case.groups[index].actions = rest));
        }
    }
    cases
}

/// Fixed times for random ones, and round ones; the first seed.
fn numbers(case: &Case) -> Vec<Case> {
    let mut cases: Vec<Case> = changed(case, |case| case.seed = 1).into_iter().collect();
    for (index, group) in case.groups.iter().enumerate() {
        for (at, action) in group.actions.iter().enumerate() {
            let simpler = match *action {
                Action::Run(low, high) => {
                    vec![
                        Action::Run(1_000, 1_000),
                        Action::Run(high, high),
                        Action::Run(low, low),
                    ]
                }
                Action::Sleep(low, high) => {
                    vec![
                        Action::Sleep(1_000, 1_000),
                        Action::Sleep(high, high),
                        Action::Sleep(low, low),
                    ]
                }
                Action::Kept(us) if us != 1_000 => vec![Action::Kept(1_000)],
                Action::RealTime(policy, us) => {
                    let shorter = [us / 10, us / 2].into_iter().filter(|us| *us > 0);
                    shorter.map(|us| Action::RealTime(policy, us)).collect()
                }
                _ => Vec::new(),
            };
            // What is fixed stays, unless it becomes round.
            let fixed =
                matches!(*action, Action::Run(low, high) | Action::Sleep(low, high) if low == high);
            for simpler in simpler.into_iter().take(if fixed { 1 } else { 3 }) {
                cases.extend(changed(case, |case| {
                    case.groups[index].actions[at] = simpler;
                }));
            }
        }
    }
    cases
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::generate;

    fn cases() -> impl Iterator<Item = Case> {
        (0..300).map(|run| {
            generate::case(
                5,
                run,
                generate::Draws::default(),
                &policy::Manifest::default(),
                &BTreeMap::new(),
            )
        })
    }

    #[test]
    fn only_what_matters_is_left() {
        // Two CPUs and a task of nice 19 are all it takes.
        let shows = |case: &Case| {
            case.machine.cpus() > 1 && case.groups.iter().any(|group| group.nice == 19)
        };
        let case = cases()
            .find(|case| shows(case) && case.groups.len() > 2)
            .unwrap();
        let (small, tried) =
            shrink(case, 2_000, |case, _| Ok(shows(case).then(|| case.clone()))).unwrap();
        assert!(tried < 2_000);
        assert_eq!((small.tasks(), small.actions()), (1, 0));
        assert_eq!(small.machine.cpus(), 2);
        assert_eq!((small.duration_ms, small.hotplug.len()), (1, 0));
    }

    #[test]
    fn only_the_switches_that_matter_are_left() {
        let mut case = cases().next().unwrap();
        let all: Vec<String> = (0..8).map(|point| format!("9.{point} cpu 1")).collect();
        case.interleaving = Interleaving::Listed(all.clone());
        let shows = |case: &Case| {
            [2, 5]
                .iter()
                .all(|at| case.interleaving.listed().contains(&all[*at]))
        };
        // Also where no attempts are left for anything else.
        for attempts in [0, 2_000] {
            let show = |case: &Case, _| Ok(shows(case).then(|| case.clone()));
            let (small, _) = shrink(case.clone(), attempts, show).unwrap();
            assert_eq!(
                small.interleaving.listed(),
                [all[2].clone(), all[5].clone()]
            );
        }
    }

    #[test]
    fn a_smaller_machine_has_only_its_own_cpus() {
        for case in cases() {
            for smaller in machine(&case) {
                let cpus = smaller.machine.cpus();
                let named = smaller.groups.iter().flat_map(|group| &group.cpus);
                assert!(
                    named
                        .chain(smaller.hotplug.iter().map(|event| &event.cpu))
                        .all(|cpu| *cpu < cpus)
                );
            }
        }
    }

    #[test]
    fn a_cpu_is_inactive_on_its_way_offline_only() {
        let mut ways = 0;
        for case in cases() {
            for smaller in hotplug(&case).into_iter().chain(machine(&case)) {
                let script = &smaller.hotplug;
                for (index, event) in script.iter().enumerate() {
                    if event.change == Change::Inactive {
                        let next = &script[index + 1];
                        assert_eq!((next.cpu, next.change), (event.cpu, Change::Offline));
                        ways += 1;
                    }
                }
            }
        }
        assert!(ways > 0);
    }

    #[test]
    fn attempts_are_bounded() {
        let case = cases().next().unwrap();
        let (same, tried) = shrink(case.clone(), 10, |_, _| Ok(None)).unwrap();
        assert_eq!((same, tried), (case, 10));
    }
}
