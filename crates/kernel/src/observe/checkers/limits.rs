// SPDX-License-Identifier: GPL-2.0-or-later
//! Limits: how much CPU time control groups get that have one (`cpu.max`), each with those below it.
//!
//! # What is allowed
//!
//! With a quota Q in each period P and a burst B a group has at most Q + B when a stretch of time begins, and gets Q with
//! each period that begins in it. When they begin is the policy's choice, but they are P apart: in a stretch of length L
//! at most L / P + 1 do. So over any stretch
//!
//! ```text
//!   use <= Q × L / P  +  2 × Q + B  +  overrun
//! ```
//!
//! A bucket that leaks Q in each P, never falls below empty, and is filled by what the group uses holds this of all
//! stretches at once: its level is the largest of use − Q × L / P over all that end now. It is kept in nanoseconds × P, so
//! that nothing is rounded.
//!
//! # What may be overrun
//!
//! A policy acts on a CPU when that CPU changes its task, and at its ticks. A *turn* is what lies between two of these:
//! no longer than a tick and whatever the kernel is doing there when the tick is due. When the time of a group is used up,
//! of each CPU that it uses
//!
//! - one turn may be under way, which nobody has counted yet and nobody can end;
//! - one more may be on its way: a task in that CPU's own queue, past the policy's last decision. The first tick finds it.
//!
//! So the overrun is two turns of each CPU, the longest that were seen there. It is allowed once in a stretch and not in
//! each period: what a group had too much it has to give back.
//!
//! # What is not counted
//!
//! What no policy can keep waiting: real-time tasks, tasks that exit or have migration disabled, and whoever is on a CPU
//! that goes offline, where the kernel asks no policy. A limit that is changed begins a fresh account, and a group that is
//! made again has one. Turns that are under way then are nobody's, since the policy is not told how much of them was
//! before.

use workload::plan::{CpuMax, Policy};

use crate::ids::{CpuId, IDLE, PerCpu, PerTask, TaskId};
use crate::mask::{self, CpuMask};
use crate::observe::Happened;

pub struct Limits {
    /// By their places in the plan.
    groups: Vec<Group>,
    tasks: PerTask<Task>,
    cpus: PerCpu<Cpu>,
}

struct Group {
    parent: Option<u32>,
    account: Option<Account>,
}

#[derive(Clone, Copy)]
struct Task {
    group: Option<u32>,
    real_time: bool,
    exits: bool,
    /// Its migration is disabled.
    stays: bool,
}

impl Task {
    fn may_wait(self) -> bool {
        !(self.real_time || self.exits || self.stays)
    }
}

#[derive(Clone)]
struct Cpu {
    running: TaskId,
    active: bool,
    turn_since_ns: u64,
    /// The groups that the turn counts for.
    counts_for: Vec<u32>,
    longest_turn_ns: u64,
}

struct Account {
    max: CpuMax,
    quota_ns: u64,
    period_ns: u64,
    burst_ns: u64,
    /// CPUs that run its tasks now, and all that did.
    running: u64,
    cpus: CpuMask,
    /// Above empty, in nanoseconds times the period.
    level: i128,
    at_ns: u64,
    /// When it was last empty.
    empty_ns: u64,
}

impl Account {
    fn new(max: CpuMax, quota_us: u64, at_ns: u64) -> Self {
        Self {
            max,
            quota_ns: quota_us * 1_000,
            period_ns: max.period_us * 1_000,
            burst_ns: max.burst_us * 1_000,
            running: 0,
            cpus: mask::EMPTY.clone(),
            level: 0,
            at_ns,
            empty_ns: at_ns,
        }
    }

    fn advance(&mut self, at_ns: u64) {
        let Some(passed_ns) = at_ns.checked_sub(self.at_ns) else {
            return;
        };
        let period_ns = i128::from(self.period_ns);
        let rate = i128::from(self.running) * period_ns - i128::from(self.quota_ns);
        self.level += rate * i128::from(passed_ns);
        self.at_ns = at_ns;
        if self.level <= 0 {
            self.level = 0;
            self.empty_ns = at_ns;
        }
    }

    /// A CPU of more or of fewer runs its tasks. CPUs tell of it in no strict order: what has been counted since is put
    /// right.
    fn turn(&mut self, begins: bool, at_ns: u64) {
        self.advance(at_ns);
        let since_ns = i128::from(self.at_ns - at_ns.min(self.at_ns)) * i128::from(self.period_ns);
        if begins {
            self.running += 1;
            self.level += since_ns;
        } else {
            self.running -= 1;
            self.level = (self.level - since_ns).max(0);
        }
    }

    /// What it used since its bucket was last empty, and how long that was.
    fn used_ns(&self) -> (u64, u64) {
        let passed_ns = self.at_ns - self.empty_ns;
        let leaked = i128::from(self.quota_ns) * i128::from(passed_ns);
        let used_ns = (self.level + leaked) / i128::from(self.period_ns);
        (used_ns as u64, passed_ns)
    }

    /// Beyond what leaks.
    fn allows_ns(&self) -> u64 {
        2 * self.quota_ns + self.burst_ns
    }

    fn is_above(&self, ns: u64) -> bool {
        self.level > i128::from(ns) * i128::from(self.period_ns)
    }
}

impl Limits {
    /// `parents`: of the plan's control groups.
    pub fn new(cpus: usize, tasks: usize, parents: &[Option<u32>]) -> Self {
        let group = |parent: &Option<u32>| Group {
            parent: *parent,
            account: None,
        };
        let task = Task {
            group: None,
            real_time: false,
            exits: false,
            stays: false,
        };
        let cpu = Cpu {
            running: IDLE,
            active: true,
            turn_since_ns: 0,
            counts_for: Vec::new(),
            longest_turn_ns: 0,
        };
        Self {
            groups: parents.iter().map(group).collect(),
            tasks: PerTask::filled(tasks, || task),
            cpus: PerCpu::filled(cpus, || cpu.clone()),
        }
    }

    /// What is found when this has happened.
    pub fn see(&mut self, at_ns: u64, happened: Happened<'_>) -> Option<String> {
        match happened {
            Happened::Limited { cgroup, max } => self.set(cgroup, max, at_ns),
            Happened::Born { task, .. } => {
                let task = &mut self.tasks[task];
                (task.exits, task.stays) = (false, false);
            }
            // The policy sees so when it is asked next.
            Happened::Stays { task, stays } => self.tasks[task].stays = stays,
            Happened::InCgroup { task, cgroup } => {
                self.tasks[task].group = cgroup;
                return self.turn_of(task, at_ns);
            }
            Happened::Attributes { task, policy, .. } => {
                self.tasks[task].real_time = matches!(policy, Policy::Fifo(_) | Policy::Rr(_));
                return self.turn_of(task, at_ns);
            }
            Happened::Exits { task } => {
                self.tasks[task].exits = true;
                return self.turn_of(task, at_ns);
            }
            Happened::Ticked { cpu } => return self.turn(cpu, self.cpus[cpu].running, at_ns),
            Happened::Switched { cpu, next, .. } => return self.turn(cpu, next, at_ns),
            Happened::Online { cpu } => self.cpus[cpu].active = true,
            Happened::Offline { cpu } => {
                self.cpus[cpu].active = false;
                return self.turn(cpu, self.cpus[cpu].running, at_ns);
            }
            _ => {}
        }
        None
    }

    fn set(&mut self, group: u32, max: CpuMax, at_ns: u64) {
        for (_, cpu) in self.cpus.pairs_mut() {
            cpu.counts_for.retain(|other| *other != group);
        }
        let account = max.quota_us.map(|us| Account::new(max, us, at_ns));
        self.groups[group as usize].account = account;
    }

    /// One turn of a CPU ends, and another begins.
    fn turn(&mut self, cpu: CpuId, runs: TaskId, at_ns: u64) -> Option<String> {
        let told = self.ends(cpu, at_ns);
        self.cpus[cpu].running = runs;
        self.begins(cpu, at_ns);
        told
    }

    /// The same where a task runs of which something else is true from now on.
    fn turn_of(&mut self, task: TaskId, at_ns: u64) -> Option<String> {
        let on = self.cpus.pairs().find(|(_, cpu)| cpu.running == task);
        let cpu = on.map(|(cpu, _)| cpu)?;
        self.turn(cpu, task, at_ns)
    }

    fn ends(&mut self, cpu: CpuId, at_ns: u64) -> Option<String> {
        let this = &mut self.cpus[cpu];
        if this.counts_for.is_empty() {
            return None;
        }
        let turn_ns = at_ns.saturating_sub(this.turn_since_ns);
        this.longest_turn_ns = this.longest_turn_ns.max(turn_ns);
        let mut counts_for = std::mem::take(&mut this.counts_for);
        let mut told = None;
        for group in &counts_for {
            if let Some(account) = &mut self.groups[*group as usize].account {
                account.turn(false, at_ns);
                let beyond = account.is_above(account.allows_ns());
                told = told.or_else(|| beyond.then(|| self.judge(*group)).flatten());
            }
        }
        counts_for.clear();
        self.cpus[cpu].counts_for = counts_for;
        told
    }

    fn begins(&mut self, cpu: CpuId, at_ns: u64) {
        let this = &mut self.cpus[cpu];
        this.turn_since_ns = at_ns;
        if this.running == IDLE || !this.active || !self.tasks[this.running].may_wait() {
            return;
        }
        let mut at = self.tasks[this.running].group;
        while let Some(place) = at {
            let group = &mut self.groups[place as usize];
            if let Some(account) = &mut group.account {
                account.turn(true, at_ns);
                mask::set(&mut account.cpus, cpu);
                this.counts_for.push(place);
            }
            at = group.parent;
        }
    }

    /// A group that used more than its limit allows: was it more than the policy may overrun as well?
    #[cold]
    fn judge(&self, group: u32) -> Option<String> {
        let account = self.groups[group as usize].account.as_ref()?;
        let overrun_ns: u64 = mask::iter(&account.cpus)
            .map(|cpu| {
                let this = &self.cpus[cpu];
                let counts = this.counts_for.contains(&group);
                let turn_ns = account.at_ns.saturating_sub(this.turn_since_ns) * u64::from(counts);
                2 * this.longest_turn_ns.max(turn_ns)
            })
            .sum();
        if !account.is_above(account.allows_ns() + overrun_ns) {
            return None;
        }
        let (used_ns, passed_ns) = account.used_ns();
        let leaked = u128::from(account.quota_ns) * u128::from(passed_ns);
        let leaked_ns = (leaked / u128::from(account.period_ns)) as u64;
        let allowed_ns = leaked_ns + account.allows_ns();
        let CpuMax { period_us, .. } = account.max;
        let quota_us = account.quota_ns / 1_000;
        let burst = match account.max.burst_us {
            0 => String::new(),
            us => format!(" and a burst of {us} us"),
        };
        Some(format!(
            "control group {group} ran for {used_ns} ns in {passed_ns} ns, and {quota_us} us in every {period_us} us\
             {burst} allow {allowed_ns} ns and {overrun_ns} ns of overrun"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::{Cause, Leaves};

    const US: u64 = 1_000;
    const MS: u64 = 1_000_000;

    fn max(quota_us: u64, period_us: u64, burst_us: u64) -> CpuMax {
        CpuMax {
            quota_us: Some(quota_us),
            period_us,
            burst_us,
        }
    }

    /// Two CPUs, two tasks in group 0, and group 1 below it.
    struct Watched(Limits);

    impl Watched {
        fn new(limit: CpuMax) -> Self {
            let mut watched = Self(Limits::new(2, 2, &[None, Some(0)]));
            watched.limited(0, limit, 0);
            for task in [0, 1] {
                assert_eq!(watched.enters(task, Some(0), 0), None);
            }
            watched
        }

        fn limited(&mut self, cgroup: u32, max: CpuMax, at_ns: u64) {
            let told = self.0.see(at_ns, Happened::Limited { cgroup, max });
            assert_eq!(told, None);
        }

        fn enters(&mut self, task: u32, cgroup: Option<u32>, at_ns: u64) -> Option<String> {
            let task = TaskId(task);
            self.0.see(at_ns, Happened::InCgroup { task, cgroup })
        }

        fn switched(&mut self, cpu: u32, next: TaskId, at_ns: u64) -> Option<String> {
            let switched = Happened::Switched {
                cpu: CpuId(cpu),
                prev: IDLE,
                next,
                leaves: Leaves::Runnable,
                cause: Cause::Schedule,
                served_ns: 0,
            };
            self.0.see(at_ns, switched)
        }

        fn runs(&mut self, cpu: u32, task: u32, at_ns: u64) {
            assert_eq!(self.switched(cpu, TaskId(task), at_ns), None);
        }

        fn idles(&mut self, cpu: u32, at_ns: u64) -> Option<String> {
            self.switched(cpu, IDLE, at_ns)
        }

        fn ticked(&mut self, cpu: u32, at_ns: u64) -> Option<String> {
            self.0.see(at_ns, Happened::Ticked { cpu: CpuId(cpu) })
        }

        /// The first task runs on the first CPU from a time on, with a tick each millisecond: when that is told to be too
        /// long, and how.
        fn ticks_from(&mut self, begin_ns: u64) -> (u64, String) {
            (1..100)
                .map(|tick| begin_ns + tick * MS)
                .find_map(|at_ns| Some((at_ns, self.ticked(0, at_ns)?)))
                .unwrap()
        }
    }

    #[test]
    fn a_nanosecond_more_than_is_allowed_is_told() {
        // 4 ms of 2 in every 20, a tenth of the time, and two turns of 2 ms: 8 ms after 8.888888 ms and not a nanosecond
        // later, as 0.9 × 8,888,888 is below 8,000,000 and 0.9 × 8,888,889 above.
        for (more_ns, told) in [(0, false), (1, true)] {
            let mut watched = Watched::new(max(2_000, 20_000, 0));
            let begin_ns = 10 * MS;
            watched.runs(0, 0, begin_ns);
            for turn in 1..=4 {
                assert_eq!(watched.ticked(0, begin_ns + turn * 2 * MS), None);
            }
            let full_ns = begin_ns + 8_888_888;
            let what = watched.ticked(0, full_ns + more_ns);
            assert_eq!(what.is_some(), told, "{what:?}");
        }
    }

    #[test]
    fn what_is_told_names_group_use_and_limit() {
        let mut watched = Watched::new(max(1_000, 10_000, 500));
        watched.runs(0, 0, 5 * MS);
        let (at_ns, told) = watched.ticks_from(5 * MS);
        // 0.9 × 6 ms are more than 2.5 and 2 ms.
        assert_eq!(at_ns, 11 * MS);
        assert_eq!(
            told,
            "control group 0 ran for 6000000 ns in 6000000 ns, and 1000 us in every 10000 us and a burst of 500 us allow \
             3100000 ns and 2000000 ns of overrun"
        );
    }

    #[test]
    fn all_cpus_and_all_groups_below_count_together() {
        let mut alone = Watched::new(max(5_000, 10_000, 0));
        alone.runs(0, 0, 0);
        let mut both = Watched::new(max(5_000, 10_000, 0));
        assert_eq!(both.enters(1, Some(1), 0), None);
        both.runs(0, 0, 0);
        both.runs(1, 1, 0);
        let one = alone.ticks_from(0).0;
        let ends = (1..100).find(|tick| {
            let at_ns = tick * MS;
            let told = both.ticked(0, at_ns).or(both.ticked(1, at_ns));
            told.is_some()
        });
        // 0.5 × 25 > 12, and 1.5 × 10 > 14.
        assert_eq!((one, ends), (25 * MS, Some(10)));
    }

    #[test]
    fn a_limit_above_is_kept_beside_one_below() {
        let mut watched = Watched::new(max(1_000, 10_000, 0));
        watched.limited(1, max(9_000, 10_000, 0), 0);
        assert_eq!(watched.enters(0, Some(1), 0), None);
        watched.runs(0, 0, 0);
        let (_, told) = watched.ticks_from(0);
        assert!(told.starts_with("control group 0 ran"), "{told}");
        let mut watched = Watched::new(max(9_000, 10_000, 0));
        watched.limited(1, max(1_000, 10_000, 0), 0);
        assert_eq!(watched.enters(0, Some(1), 0), None);
        watched.runs(0, 0, 0);
        let (_, told) = watched.ticks_from(0);
        assert!(told.starts_with("control group 1 ran"), "{told}");
    }

    #[test]
    fn a_quota_in_every_period_is_kept_for_ever_and_more_is_not() {
        // 10 ms of 100, and what is too much adds up.
        for (run_us, kept) in [(10_000, true), (10_100, false)] {
            let mut watched = Watched::new(max(10_000, 100_000, 0));
            let told = (0..500).find_map(|period| {
                let begin_ns = period * 100 * MS;
                watched.runs(0, 0, begin_ns);
                watched.idles(0, begin_ns + run_us * US)
            });
            assert_eq!(told.is_none(), kept, "{told:?}");
        }
    }

    #[test]
    fn what_nobody_can_hold_back_does_not_count() {
        let task = TaskId(0);
        let real_time = Happened::Attributes {
            task,
            policy: Policy::Fifo(1),
            nice: 0,
            prio: 98,
            weight: 100,
            served_ns: 0,
        };
        let stays = Happened::Stays { task, stays: true };
        let cpu = CpuId(0);
        for what in [
            real_time,
            stays,
            Happened::Exits { task },
            Happened::Offline { cpu },
        ] {
            let mut watched = Watched::new(max(1_000, 10_000, 0));
            assert_eq!(watched.0.see(0, what), None);
            watched.runs(0, 0, 0);
            for tick in 1..100 {
                assert_eq!(watched.ticked(0, tick * MS), None, "{what:?}");
            }
            let back = match what {
                Happened::Stays { .. } => Happened::Stays { task, stays: false },
                Happened::Offline { .. } => Happened::Online { cpu },
                // Another of its number.
                _ => continue,
            };
            assert_eq!(watched.0.see(99 * MS + 1, back), None);
            assert_eq!(watched.ticked(0, 100 * MS), None);
            let (at_ns, _) = watched.ticks_from(100 * MS);
            assert_eq!(at_ns, 105 * MS, "0.9 × 5 ms > 4 ms");
        }
    }

    #[test]
    fn another_limit_begins_a_fresh_account_with_the_next_turns() {
        let mut watched = Watched::new(max(1_000, 10_000, 0));
        watched.runs(0, 0, 0);
        for tick in 1..=4 {
            assert_eq!(watched.ticked(0, tick * MS), None);
        }
        watched.limited(0, max(1_000, 10_000, 100), 4 * MS + 1);
        assert_eq!(watched.ticked(0, 5 * MS), None);
        assert_eq!(watched.ticks_from(5 * MS).0, 10 * MS, "0.9 × 5 > 4.1");
        let none = CpuMax::NONE;
        watched.limited(0, none, 11 * MS);
        assert_eq!(watched.idles(0, 900 * MS), None);
    }

    #[test]
    fn who_moves_counts_where_it_is() {
        let mut watched = Watched::new(max(1_000, 10_000, 0));
        assert_eq!(watched.enters(0, None, 0), None);
        watched.runs(0, 0, 0);
        // In for 400 µs and out for 600, and never in at a tick.
        let told = (0..1_000).find_map(|round| {
            let begin_ns = round * MS;
            let told = watched.enters(0, Some(0), begin_ns + 100 * US);
            told.or_else(|| watched.enters(0, None, begin_ns + 500 * US))
        });
        assert!(told.is_some());
        let mut watched = Watched::new(max(5_000, 10_000, 0));
        watched.runs(0, 0, 0);
        assert_eq!(watched.enters(0, None, 9 * MS), None);
        assert_eq!(watched.idles(0, 900 * MS), None);
    }

    #[test]
    fn cpus_that_tell_of_it_late_are_put_right() {
        let mut watched = Watched::new(max(1_000, 10_000, 0));
        watched.runs(0, 0, 50 * US);
        watched.runs(1, 1, 20 * US);
        let level = |watched: &Watched| {
            let account = watched.0.groups[0].account.as_ref().unwrap();
            account.level / i128::from(account.period_ns)
        };
        assert_eq!(level(&watched), i128::from(30 * US));
        assert_eq!(watched.idles(0, 80 * US), None);
        assert_eq!(watched.idles(1, 60 * US), None);
        // 40 µs and 30, less a tenth of the time since.
        assert_eq!(level(&watched), i128::from((40 + 30 - 3) * US));
    }
}
