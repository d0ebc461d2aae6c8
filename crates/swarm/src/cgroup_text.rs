// SPDX-License-Identifier: GPL-2.0-or-later
//! Control groups, and what is done to them, as a workload's file says it.

use std::fmt::Write;

use crate::cgroup::{Cgroup, Gives, Keeper, Max, Mover, WEIGHT};

pub fn name(place: usize) -> String {
    format!("g{place}")
}

/// The groups as a workload's file has them.
pub fn tables(text: &mut String, all: &[Cgroup]) {
    for (place, cgroup) in all.iter().enumerate() {
        let _ = write!(text, "\n[[cgroup]]\nname = \"{}\"\n", name(place));
        if let Some(parent) = cgroup.parent {
            let _ = writeln!(text, "parent = \"{}\"", name(parent));
        }
        if cgroup.weight != WEIGHT {
            let _ = writeln!(text, "weight = {}", cgroup.weight);
        }
        if let Some(max) = cgroup.max {
            let _ = writeln!(text, "max_us = {}", max.quota_us);
            let _ = writeln!(text, "period_us = {}", max.period_us);
            if max.burst_us() > 0 {
                let _ = writeln!(text, "burst_us = {}", max.burst_us());
            }
        }
        if !cgroup.cpus.is_empty() {
            let _ = writeln!(text, "cpus = {:?}", cgroup.cpus);
        }
    }
}

/// What a keeper does over and over.
pub fn kept(cgroup: &Cgroup, keeper: &Keeper, place: usize, cpus: u32) -> [String; 4] {
    let of = name(place);
    let max = |max: Option<Max>| match max {
        Some(max) => {
            let (quota_us, period_us, burst_us) = (max.quota_us, max.period_us, max.burst_us());
            format!(
                "{{ max_us = {quota_us}, period_us = {period_us}, burst_us = {burst_us}, of = \"{of}\" }}"
            )
        }
        None => format!("{{ max_us = \"max\", of = \"{of}\" }}"),
    };
    let weight = |weight: u32| format!("{{ weight = {weight}, of = \"{of}\" }}");
    let set = |cpus: &[u32]| format!("{{ cpuset = {cpus:?}, of = \"{of}\" }}");
    let (gives, gives_back) = match &keeper.gives {
        Gives::Weight(other) => (weight(*other), weight(cgroup.weight)),
        Gives::Max(other) => (max(Some(*other)), max(cgroup.max)),
        Gives::Cpus(other) if cgroup.cpus.is_empty() => {
            (set(other), set(&(0..cpus).collect::<Vec<u32>>()))
        }
        Gives::Cpus(other) => (set(other), set(&cgroup.cpus)),
    };
    let pause = format!("{{ sleep_us = {} }}", keeper.every_us);
    [pause.clone(), gives, pause, gives_back]
}

/// What a mover does over and over to so many tasks of a name, which begin in the group `own`.
pub fn moved(mover: Mover, own: usize, of: &str, count: u32) -> Vec<String> {
    let all_to = |place: usize| {
        let action = format!("{{ cgroup = \"{}\", of = \"{of}[i]\" }}", name(place));
        format!("{{ for = \"i\", to = {count}, do = [{action}, {{ run_us = 1 }}] }}")
    };
    let pause = format!("{{ sleep_us = {} }}", mover.every_us);
    let [does_make, does_remove] = ["make", "remove"].map(|does| {
        move |place: usize| {
            let action = format!("{{ {does}_cgroup = \"{}\" }}", name(place));
            mover.anew.then_some(action)
        }
    });
    let one_way = |from: usize, to: usize| {
        let steps = [
            Some(pause.clone()),
            does_make(to),
            Some(all_to(to)),
            does_remove(from),
        ];
        steps.into_iter().flatten()
    };
    one_way(own, mover.to)
        .chain(one_way(mover.to, own))
        .collect()
}
