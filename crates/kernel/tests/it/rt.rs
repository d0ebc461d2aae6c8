// SPDX-License-Identifier: GPL-2.0-or-later
//! The real-time class over random histories, against the rule itself: the highest that may run, run.
//!
//! The reference reads the trace: who wants a CPU, who has one. On a machine on which nothing costs anything every
//! decision has been carried out before time goes on, so the rule must hold whenever time goes on.

use std::collections::{BTreeMap, BTreeSet};

use cell::Status;
use kernel::{Options, RtGuard};
use proptest::prelude::*;
use workload::plan::{Draw, Group, Inst, Policy};

use crate::common::{MS, for_ms, free, group, hogs, plan, run_for, sleep_for, traced};

pub fn guarded(guard: RtGuard) -> Options {
    Options {
        rt_guard: Some(guard),
        ..Options::default()
    }
}

/// What a task is to the real-time class: its priority, and where it may run.
#[derive(Clone, Debug)]
struct Rank {
    prio: u8,
    cpus: Vec<u32>,
}

/// One event of the trace: time, CPU, and what it says.
fn events(text: &str) -> impl Iterator<Item = (u64, u32, &str)> {
    text.lines().filter_map(|line| {
        let (head, what) = line.split_once(": ")?;
        let (cpu, rest) = head.split_once('[')?.1.split_once(']')?;
        let (seconds, nanos) = rest.split_whitespace().last()?.split_once('.')?;
        let at_ns = seconds.parse::<u64>().ok()? * 1_000_000_000 + nanos.parse::<u64>().ok()?;
        Some((at_ns, cpu.parse().ok()?, what))
    })
}

fn pid(what: &str, field: &str) -> u32 {
    let rest = what.split_once(field).unwrap().1;
    rest.split_whitespace().next().unwrap().parse().unwrap()
}

/// Who runs where and who wants to, as the trace tells it.
#[derive(Default)]
struct Seen {
    wants: BTreeSet<u32>,
    runs: BTreeMap<u32, u32>,
}

impl Seen {
    fn take_in(&mut self, cpu: u32, what: &str) {
        if what.starts_with("sched_wakeup") {
            self.wants.insert(pid(what, " pid="));
        } else if what.starts_with("sched_switch") {
            let (prev, next) = (pid(what, "prev_pid="), pid(what, "next_pid="));
            if !what.contains("prev_state=R") {
                self.wants.remove(&prev);
            }
            self.runs.insert(cpu, next);
        }
    }

    /// Rule 6.1.5.1, CPU by CPU: nobody waits who may run where something lower runs.
    fn check(&self, at_ns: u64, cpus: u32, ranks: &BTreeMap<u32, Rank>) {
        let level = |pid: &u32| ranks.get(pid).map_or(0, |rank| rank.prio);
        for (waiting, rank) in ranks {
            if !self.wants.contains(waiting) || self.runs.values().any(|pid| pid == waiting) {
                continue;
            }
            for cpu in (0..cpus).filter(|cpu| rank.cpus.contains(cpu)) {
                let running = self.runs.get(&cpu).map_or(0, level);
                assert!(
                    running >= rank.prio,
                    "at {at_ns} ns task {waiting} ({}) waits, CPU {cpu} runs level {running}",
                    rank.prio
                );
            }
        }
    }

    /// Where everybody may run everywhere: exactly the highest n run.
    fn check_highest(&self, at_ns: u64, cpus: u32, ranks: &BTreeMap<u32, Rank>) {
        let sorted = |pids: &mut dyn Iterator<Item = &u32>| {
            let mut prios: Vec<u8> = pids.filter_map(|pid| Some(ranks.get(pid)?.prio)).collect();
            prios.sort_unstable_by(|a, b| b.cmp(a));
            prios
        };
        let mut highest = sorted(&mut self.wants.iter());
        highest.truncate(cpus as usize);
        assert_eq!(sorted(&mut self.runs.values()), highest, "at {at_ns} ns");
    }
}

/// Run groups and check the rule whenever time goes on; how often that was.
fn follow(cpus: u32, groups: Vec<Group>, ranks: &BTreeMap<u32, Rank>, anywhere: bool) -> usize {
    let mut plan = plan(groups, for_ms(400));
    plan.seed = 1 + plan.groups.len() as u64;
    let (outcome, text) = traced(&free(cpus), plan, "vtime", guarded(RtGuard::None));
    assert_eq!(outcome.status, Status::Ok, "{}", outcome.reason);
    let mut seen = Seen::default();
    let (mut last_ns, mut checks) = (0, 0);
    for (at_ns, cpu, what) in events(&text) {
        if at_ns > last_ns {
            seen.check(last_ns, cpus, ranks);
            if anywhere {
                seen.check_highest(last_ns, cpus, ranks);
            }
            last_ns = at_ns;
            checks += 1;
        }
        seen.take_in(cpu, what);
    }
    checks
}

/// Runs, sleeps and yields in random order and for random times.
fn life() -> impl Strategy<Value = Vec<Inst>> {
    let step = prop_oneof![
        3 => (1_000i64..9_000_000).prop_map(|ns| Inst::Run { ns: Draw::Uniform(1_000, ns + 1_000) }),
        3 => (1_000i64..9_000_000).prop_map(|ns| Inst::Sleep { ns: Draw::Uniform(1_000, ns + 1_000) }),
        1 => Just(Inst::Yield),
    ];
    prop::collection::vec(step, 2..8)
}

fn task(name: &str, rank: &Rank, round_robin: bool, mut program: Vec<Inst>) -> Group {
    program.push(run_for(MS));
    program.push(sleep_for(MS / 2));
    program.push(Inst::Jump { to: 0 });
    Group {
        policy: if round_robin {
            Policy::Rr(rank.prio)
        } else {
            Policy::Fifo(rank.prio)
        },
        cpus: rank.cpus.clone(),
        ..group(name, 1, program)
    }
}

fn cases() -> u32 {
    std::env::var("PROPTEST_CASES")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(32)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), ..ProptestConfig::default() })]

    #[test]
    fn the_highest_that_may_run_run(
        cpus in 1u32..6,
        lives in prop::collection::vec((1u8..12, any::<bool>(), any::<u8>(), life()), 1..14),
        anywhere: bool,
    ) {
        let mut groups = Vec::new();
        let mut ranks = BTreeMap::new();
        for (index, (prio, round_robin, mask, program)) in lives.into_iter().enumerate() {
            let allowed: Vec<u32> = (0..cpus).filter(|cpu| anywhere || mask >> cpu & 1 == 1).collect();
            let rank = Rank { prio, cpus: if allowed.is_empty() { (0..cpus).collect() } else { allowed } };
            groups.push(task(&format!("rt{index}"), &rank, round_robin, program));
            ranks.insert(1_000 + index as u32, rank);
        }
        groups.push(hogs(2));
        let checks = follow(cpus, groups, &ranks, anywhere);
        prop_assert!(checks > 50, "{} moments only", checks);
    }
}
