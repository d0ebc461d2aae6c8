// SPDX-License-Identifier: GPL-2.0-or-later
//! Control groups are drawn: what they are given, who is in them, who moves, and what comes and goes. They are left out again
//! where a case becomes smaller.

use crate::case::{Action, Case, Group, Kind};
use crate::cgroup::{Cgroup, Gives, Keeper, Max, Mover, WEIGHT, sets};
use crate::dice::{Dice, Pace, some_cpus};

const MOST: i64 = 4;

/// Puts tasks into groups. `cpusets`: groups may have CPUs of their own.
pub fn draw(
    dice: &mut Dice,
    groups: &mut [Group],
    cpus: u32,
    pace: Pace,
    cpusets: bool,
) -> Vec<Cgroup> {
    let cpusets = cpusets && cpus > 1;
    let mut all: Vec<Cgroup> = Vec::new();
    for place in 0..dice.between(1, MOST) as u32 {
        let parent =
            (place > 0 && dice.chance(35)).then(|| dice.up_to(place.saturating_sub(1)) as usize);
        let own_cpus = cpusets && dice.chance(40);
        all.push(Cgroup {
            parent,
            weight: weight(dice),
            max: dice.chance(30).then(|| max(dice)),
            cpus: if own_cpus {
                some_cpus(dice, cpus)
            } else {
                Vec::new()
            },
            keeper: dice.chance(40).then(|| keeper(dice, cpus, pace, cpusets)),
        });
    }
    let leaves = leaves(&all);
    for group in groups
        .iter_mut()
        .filter(|group| group.kind != Kind::Threads)
    {
        if dice.chance(20) {
            group.actions.push(Action::Enter(*dice.pick(&leaves)));
        }
        if !dice.chance(70) {
            continue;
        }
        let own = *dice.pick(&leaves);
        group.cgroup = Some(own);
        let to = *dice.pick(&leaves);
        if to != own && dice.chance(60) {
            group.mover = Some(Mover {
                to,
                every_us: every_us(dice, pace),
                anew: dice.chance(50),
            });
        }
    }
    if all.iter().any(has_cpus) {
        agree(dice, &mut all, groups, cpus);
    }
    all
}

/// Where tasks can be: the groups that are no other's parent.
fn leaves(all: &[Cgroup]) -> Vec<usize> {
    let is_leaf = |place: &usize| all.iter().all(|other| other.parent != Some(*place));
    (0..all.len()).filter(is_leaf).collect()
}

fn has_cpus(cgroup: &Cgroup) -> bool {
    let given = cgroup.keeper.as_ref().map(|keeper| &keeper.gives);
    !cgroup.cpus.is_empty() || matches!(given, Some(Gives::Cpus(_)))
}

fn weight(dice: &mut Dice) -> u32 {
    *dice.pick(&[WEIGHT, WEIGHT, 1, 20, 300, 10_000])
}

fn max(dice: &mut Dice) -> Max {
    let period_us = *dice.pick(&[100_000, 100_000, 10_000, 500_000]);
    Max {
        quota_us: dice.scale(period_us / 10, 2 * period_us),
        period_us,
    }
}

/// As often as CPUs of tasks change, and for the same reason.
fn every_us(dice: &mut Dice, pace: Pace) -> u64 {
    let shortest = if pace == Pace::Short { 500 } else { 100_000 };
    dice.scale(shortest, 40 * shortest)
}

fn keeper(dice: &mut Dice, cpus: u32, pace: Pace, cpusets: bool) -> Keeper {
    let gives = match dice.between(1, 3) {
        1 if cpusets => Gives::Cpus(some_cpus(dice, cpus)),
        2 => Gives::Max(max(dice)),
        _ => Gives::Weight(weight(dice)),
    };
    Keeper {
        gives,
        every_us: every_us(dice, pace),
    }
}

/// The kernel refuses a task CPUs of which its group has none. Either tasks ask for none, or all sets have one CPU in
/// common.
fn agree(dice: &mut Dice, all: &mut [Cgroup], groups: &mut [Group], cpus: u32) {
    let common = dice.chance(50).then(|| dice.up_to(cpus - 1));
    let Some(common) = common else {
        for group in groups.iter_mut().filter(|group| is_in_any(group)) {
            group.cpus.clear();
            group.warden = None;
            let asks = |action: &Action| matches!(action, Action::Affinity(_));
            group.actions.retain(|action| !asks(action));
        }
        return;
    };
    let add = |list: &mut Vec<u32>| {
        if !list.is_empty() && !list.contains(&common) {
            list.push(common);
            list.sort_unstable();
        }
    };
    for group in groups.iter_mut().filter(|group| is_in_any(group)) {
        add(&mut group.cpus);
        if let Some(warden) = &mut group.warden {
            add(&mut warden.cpus);
        }
        for action in &mut group.actions {
            if let Action::Affinity(list) = action {
                add(list);
            }
        }
    }
    sets(all).for_each(add);
}

/// Whether its tasks are ever in a control group.
fn is_in_any(group: &Group) -> bool {
    let enters = |action: &Action| matches!(action, Action::Enter(_));
    group.cgroup.is_some() || group.actions.iter().any(enters)
}

/// Leaves out a group: what was below it is below its parent, and tasks are in none instead.
pub fn leave_out(case: &mut Case, place: usize) {
    let gone = case.cgroups.remove(place);
    let renamed = |other: usize| match other.cmp(&place) {
        std::cmp::Ordering::Less => Some(other),
        std::cmp::Ordering::Equal => None,
        std::cmp::Ordering::Greater => Some(other - 1),
    };
    for cgroup in &mut case.cgroups {
        cgroup.parent = match cgroup.parent {
            Some(parent) if parent == place => gone.parent,
            parent => parent.and_then(renamed),
        };
    }
    for group in &mut case.groups {
        group.cgroup = group.cgroup.and_then(renamed);
        let mover = group.mover.filter(|_| group.cgroup.is_some());
        group.mover = mover.and_then(|mover| renamed(mover.to).map(|to| Mover { to, ..mover }));
        let enters = |action: Action| match action {
            Action::Enter(other) => renamed(other).map(Action::Enter),
            other => Some(other),
        };
        let actions = std::mem::take(&mut group.actions);
        group.actions = actions.into_iter().filter_map(enters).collect();
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::generate::{self, Draws};

    fn cases() -> Vec<Case> {
        let manifest = policy::Manifest::default();
        let all = (0..600)
            .map(|run| generate::case(9, run, Draws::default(), &manifest, &BTreeMap::new()));
        all.filter(|case| !case.cgroups.is_empty()).collect()
    }

    #[test]
    fn everything_happens() {
        let cases = cases();
        assert!((60..200).contains(&cases.len()), "{}", cases.len());
        let some = |what: &dyn Fn(&Case) -> bool| assert!(cases.iter().any(what));
        some(&|case| case.cgroups.iter().any(|group| group.parent.is_some()));
        some(&|case| case.cgroups.iter().any(|group| group.max.is_some()));
        some(&|case| case.cgroups.iter().any(|group| group.weight == 10_000));
        some(&|case| case.cgroups.iter().any(|group| !group.cpus.is_empty()));
        for anew in [true, false] {
            some(&|case| {
                let mut movers = case.groups.iter().filter_map(|group| group.mover);
                movers.any(|mover| mover.anew == anew)
            });
        }
        some(&|case| {
            let mut actions = case.groups.iter().flat_map(|group| &group.actions);
            actions.any(|action| matches!(action, Action::Enter(_)))
        });
        let gives: [fn(&Gives) -> bool; 3] = [
            |gives| matches!(gives, Gives::Weight(_)),
            |gives| matches!(gives, Gives::Max(_)),
            |gives| matches!(gives, Gives::Cpus(_)),
        ];
        for given in gives {
            some(&|case| {
                let mut keepers = case
                    .cgroups
                    .iter()
                    .filter_map(|group| group.keeper.as_ref());
                keepers.any(|keeper| given(&keeper.gives))
            });
        }
    }

    #[test]
    fn a_case_without_groups_is_the_same_as_before() {
        let manifest = policy::Manifest::default();
        let without = Draws {
            cgroups: false,
            ..Draws::default()
        };
        for run in 0..200 {
            let case = |draws| generate::case(9, run, draws, &manifest, &BTreeMap::new());
            let (with, without) = (case(Draws::default()), case(without));
            assert!(without.cgroups.is_empty());
            if with.cgroups.is_empty() {
                assert_eq!(with, without);
            }
            assert_eq!(with.machine, without.machine);
        }
    }

    #[test]
    fn whatever_is_left_out_the_rest_is_a_workload() {
        for case in cases() {
            for place in 0..case.cgroups.len() {
                let mut smaller = case.clone();
                leave_out(&mut smaller, place);
                let text = crate::files::workload(&smaller);
                let cpus = smaller.machine.cpus();
                let plan = workload::Workload::from_toml(&text, "workload.toml")
                    .and_then(|workload| workload.plan(1, &BTreeMap::new(), cpus, 1))
                    .unwrap_or_else(|error| panic!("{error:#}\n{text}"));
                assert_eq!(plan.cgroups.len(), case.cgroups.len() - 1);
            }
        }
    }
}
