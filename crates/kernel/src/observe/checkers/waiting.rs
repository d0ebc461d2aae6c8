// SPDX-License-Identifier: GPL-2.0-or-later
//! Who waits, since when, and whether a CPU stood idle beside it.

use super::Bounds;
use super::held::Held;
use crate::ids::{CpuId, PerCpu, PerTask, TaskId};
use crate::mask::{self, CpuMask};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    NotWaiting,
    /// Wants to run; not yet said where it waits.
    Unknown,
    Policy,
    Queue,
}

#[derive(Clone)]
struct Task {
    place: Place,
    since_ns: u64,
    /// Since when it may use the CPUs that it may use.
    allowed_ns: u64,
    /// Idle time of all CPUs until it began to wait, or until it might use the CPUs that it may use.
    idle_before_ns: i64,
}

#[derive(Clone)]
struct Cpu {
    idle: bool,
    /// Since when it has been so, or busy. A CPU that looks for work in vain begins anew.
    since_ns: u64,
    /// Since when it has been idle without a break, if it is.
    idle_from_ns: u64,
}

pub struct Waiting {
    tasks: PerTask<Task>,
    cpus: PerCpu<Cpu>,
    idle_cpus: u32,
    /// The sum of `idle_from_ns` of those.
    idle_from_sum_ns: i64,
    /// Idle time of all CPUs in spells that are over.
    idle_total_ns: i64,
}

impl Waiting {
    pub fn new(cpus: usize, tasks: usize) -> Self {
        let task = Task {
            place: Place::NotWaiting,
            since_ns: 0,
            allowed_ns: 0,
            idle_before_ns: 0,
        };
        Self {
            tasks: PerTask::filled(tasks, || task.clone()),
            cpus: PerCpu::filled(cpus, || Cpu {
                idle: true,
                since_ns: 0,
                idle_from_ns: 0,
            }),
            idle_cpus: cpus as u32,
            idle_from_sum_ns: 0,
            idle_total_ns: 0,
        }
    }

    /// A task wants to run, and nobody has said yet where it waits.
    #[inline]
    pub fn begins(&mut self, task: TaskId, at_ns: u64, held: &mut Held) {
        self.begins_in(task, at_ns, None, held);
    }

    /// The policy keeps the task, which may have waited before.
    #[inline]
    pub fn with_policy(&mut self, task: TaskId, at_ns: u64, held: &mut Held) {
        self.begins_in(task, at_ns, Some(Place::Policy), held);
    }

    /// The same in a queue.
    #[inline]
    pub fn in_queue(&mut self, task: TaskId, at_ns: u64, held: &mut Held) {
        self.begins_in(task, at_ns, Some(Place::Queue), held);
    }

    #[inline]
    fn begins_in(&mut self, task: TaskId, at_ns: u64, place: Option<Place>, held: &mut Held) {
        let idle_before_ns = self.idle_until_ns(at_ns);
        let wait = &mut self.tasks[task];
        if wait.place == Place::NotWaiting {
            wait.place = Place::Unknown;
            wait.since_ns = at_ns;
            wait.idle_before_ns = idle_before_ns;
            held.begins(task, at_ns);
        }
        if let Some(place) = place {
            wait.place = place;
        }
    }

    pub fn allowed(&mut self, task: TaskId, at_ns: u64) {
        self.tasks[task].idle_before_ns = self.idle_until_ns(at_ns);
        self.tasks[task].allowed_ns = at_ns;
    }

    /// Idle time of all CPUs until then, whether their spells are over or not.
    #[inline]
    fn idle_until_ns(&self, at_ns: u64) -> i64 {
        self.idle_total_ns + i64::from(self.idle_cpus) * at_ns as i64 - self.idle_from_sum_ns
    }

    /// Idle time of all CPUs while the task has waited and might use them, in spells that are over: at their ends the
    /// policy was asked for work.
    fn idle_meanwhile_ns(&self, task: TaskId) -> i64 {
        let wait = &self.tasks[task];
        let since_ns = wait.since_ns.max(wait.allowed_ns);
        let last: i64 = (self.cpus.iter())
            .filter(|this| this.idle)
            .map(|this| since_ns.saturating_sub(this.idle_from_ns) as i64)
            .sum();
        self.idle_total_ns - wait.idle_before_ns + last
    }

    pub fn gone(&mut self, task: TaskId) {
        self.tasks[task].place = Place::NotWaiting;
    }

    pub fn somewhere(&self, task: TaskId) -> bool {
        matches!(self.tasks[task].place, Place::Policy | Place::Queue)
    }

    /// The task runs. If it waited long beside an idle CPU, says so.
    #[inline]
    pub fn ends(
        &mut self,
        task: TaskId,
        at_ns: u64,
        allowed: &CpuMask,
        idle_ns: u64,
    ) -> Option<String> {
        let wait = &mut self.tasks[task];
        wait.place = Place::NotWaiting;
        if at_ns <= wait.since_ns + idle_ns || self.idle_cpus == 0 {
            return None;
        }
        self.waited_beside_idle(task, at_ns, allowed, idle_ns)
    }

    #[cold]
    fn waited_beside_idle(
        &self,
        task: TaskId,
        at_ns: u64,
        allowed: &CpuMask,
        idle_ns: u64,
    ) -> Option<String> {
        self.beside_idle(task, at_ns, allowed, idle_ns)
            .map(|(cpu, ns)| format!("task {task} waited for {ns} ns while CPU {cpu} was idle"))
    }

    #[inline]
    pub fn cpu(&mut self, cpu: CpuId, idle: bool, at_ns: u64) {
        let this = &mut self.cpus[cpu];
        if this.idle != idle {
            this.idle = idle;
            if idle {
                this.idle_from_ns = at_ns;
                self.idle_cpus += 1;
                self.idle_from_sum_ns += at_ns as i64;
            } else {
                self.idle_cpus -= 1;
                self.idle_from_sum_ns -= this.idle_from_ns as i64;
                self.idle_total_ns += at_ns as i64 - this.idle_from_ns as i64;
            }
        }
        this.since_ns = at_ns;
    }

    pub fn offline(&mut self, cpu: CpuId, at_ns: u64) {
        self.cpu(cpu, false, at_ns);
    }

    fn beside_idle(
        &self,
        task: TaskId,
        at_ns: u64,
        allowed: &CpuMask,
        bound_ns: u64,
    ) -> Option<(CpuId, u64)> {
        let idle = self.cpus.pairs().filter(|(_, this)| this.idle);
        let mut usable = idle.filter(|(cpu, _)| mask::has(allowed, *cpu));
        usable.find_map(|(cpu, this)| {
            let since_ns = (this.since_ns)
                .max(self.tasks[task].since_ns)
                .max(self.tasks[task].allowed_ns);
            let ns = at_ns.saturating_sub(since_ns);
            (ns > bound_ns).then_some((cpu, ns))
        })
    }

    /// How long a task of the policy's has waited while real-time tasks did not hold all that it may use; `None` if it
    /// does not wait.
    pub fn waited_ns(
        &self,
        task: TaskId,
        allowed: &CpuMask,
        held: &Held,
        now_ns: u64,
    ) -> Option<u64> {
        let wait = &self.tasks[task];
        let ours = wait.place != Place::NotWaiting && !held.is_real_time(task);
        ours.then(|| {
            let held_ns = held.while_waiting_ns(task, allowed, now_ns);
            now_ns.saturating_sub(wait.since_ns + held_ns)
        })
    }

    /// `wait_ns`: how long each task may wait.
    pub fn audit(
        &self,
        now_ns: u64,
        affinity: &PerTask<CpuMask>,
        held: &Held,
        bounds: &Bounds,
        wait_ns: impl Fn(TaskId) -> u64,
    ) -> Vec<(&'static str, String)> {
        let mut found = Vec::new();
        for (task, allowed) in affinity.pairs() {
            let Some(waited_ns) = self.waited_ns(task, allowed, held, now_ns) else {
                continue;
            };
            if waited_ns > wait_ns(task) {
                found.push((
                    "starvation",
                    format!("task {task} has waited for {waited_ns} ns"),
                ));
            }
            if self.tasks[task].place == Place::Policy {
                let idle_ns = self.idle_meanwhile_ns(task);
                let anywhere = mask::count(allowed) as usize == self.cpus.len();
                if anywhere && idle_ns > bounds.lost_ns as i64 {
                    let what = format!(
                        "task {task} is kept for {waited_ns} ns, {idle_ns} ns idle meanwhile"
                    );
                    found.push(("lost task", what));
                }
            } else if let Some((cpu, ns)) = self.beside_idle(task, now_ns, allowed, bounds.idle_ns)
            {
                let what =
                    format!("task {task} waits in a queue for {ns} ns while CPU {cpu} is idle");
                found.push(("work conservation", what));
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cpu_that_was_not_allowed_was_not_wasted() {
        let mut waiting = Waiting::new(2, 1);
        let mut held = Held::new(2, 1);
        let both = mask::first_n(2);
        waiting.cpu(CpuId(0), false, 0);
        waiting.begins(TaskId(0), 10, &mut held);
        waiting.allowed(TaskId(0), 50);
        assert_eq!(waiting.ends(TaskId(0), 70, &both, 30), None);
        waiting.begins(TaskId(0), 70, &mut held);
        assert!(waiting.ends(TaskId(0), 101, &both, 30).is_some());
    }

    /// No real-time task holds a CPU.
    fn nobody() -> Held {
        Held::new(2, 1)
    }

    fn waited_ns(waiting: &Waiting, now_ns: u64) -> Option<u64> {
        waiting.waited_ns(TaskId(0), &mask::first_n(2), &nobody(), now_ns)
    }

    /// Two busy CPUs, and one task.
    fn busy() -> Waiting {
        let mut waiting = Waiting::new(2, 1);
        waiting.cpu(CpuId(0), false, 0);
        waiting.cpu(CpuId(1), false, 0);
        waiting
    }

    #[test]
    fn a_wait_is_wasted_while_it_lasts_and_the_cpu_is_idle_and_allowed() {
        let both = mask::first_n(2);
        for (waits_ns, idle_ns, allowed_ns) in [(50, 10, 10), (10, 50, 10), (10, 10, 50)] {
            let told = |at_ns| {
                let mut waiting = busy();
                waiting.cpu(CpuId(1), true, idle_ns);
                waiting.allowed(TaskId(0), allowed_ns);
                waiting.begins(TaskId(0), waits_ns, &mut nobody());
                waiting.ends(TaskId(0), at_ns, &both, 30)
            };
            assert_eq!(told(80), None);
            let wasted = "task 0 waited for 31 ns while CPU 1 was idle";
            assert_eq!(told(81).as_deref(), Some(wasted));
        }
    }

    #[test]
    fn a_cpu_that_is_busy_or_offline_or_forbidden_is_not_wasted() {
        let both = mask::first_n(2);
        let mut waiting = busy();
        waiting.begins(TaskId(0), 0, &mut nobody());
        assert_eq!(waiting.ends(TaskId(0), 100, &both, 30), None);
        waiting.cpu(CpuId(1), true, 0);
        let first = mask::of([CpuId(0)]);
        assert_eq!(waiting.ends(TaskId(0), 100, &first, 30), None);
        assert!(waiting.ends(TaskId(0), 100, &both, 30).is_some());
        waiting.offline(CpuId(0), 100);
        assert_eq!(waiting.idle_cpus, 1, "it was busy");
        waiting.offline(CpuId(1), 100);
        assert_eq!(waiting.idle_cpus, 0);
        assert_eq!(waiting.ends(TaskId(0), 200, &both, 30), None);
    }

    #[test]
    fn a_wait_goes_on_from_one_place_to_the_next() {
        let mut waiting = busy();
        assert_eq!(waited_ns(&waiting, 5), None);
        waiting.begins(TaskId(0), 10, &mut nobody());
        assert!(!waiting.somewhere(TaskId(0)));
        waiting.with_policy(TaskId(0), 20, &mut nobody());
        assert!(waiting.somewhere(TaskId(0)));
        waiting.in_queue(TaskId(0), 30, &mut nobody());
        assert!(waiting.somewhere(TaskId(0)));
        assert_eq!(waited_ns(&waiting, 35), Some(25));
        waiting.gone(TaskId(0));
        assert!(!waiting.somewhere(TaskId(0)));
        assert_eq!(waited_ns(&waiting, 40), None);
    }

    /// What an audit finds of the only task.
    fn found(waiting: &Waiting, now_ns: u64, allowed: &CpuMask, wait_ns: u64) -> Vec<String> {
        let bounds = Bounds {
            idle_ns: 30,
            lost_ns: 100,
            ..Bounds::default()
        };
        let affinity = PerTask::filled(1, || allowed.clone());
        let found = waiting.audit(now_ns, &affinity, &nobody(), &bounds, |_| wait_ns);
        let told = |(kind, what): (&str, String)| format!("{kind}: {what}");
        found.into_iter().map(told).collect()
    }

    #[test]
    fn who_waits_longer_than_it_may_starves() {
        let both = mask::first_n(2);
        let mut waiting = busy();
        assert!(found(&waiting, 500, &both, 100).is_empty());
        waiting.in_queue(TaskId(0), 50, &mut nobody());
        assert!(found(&waiting, 150, &both, 100).is_empty());
        let starves = "starvation: task 0 has waited for 101 ns";
        assert_eq!(found(&waiting, 151, &both, 100), [starves]);
    }

    #[test]
    fn a_queue_beside_an_idle_cpu_is_found() {
        let both = mask::first_n(2);
        let mut waiting = busy();
        waiting.in_queue(TaskId(0), 50, &mut nobody());
        waiting.cpu(CpuId(1), true, 60);
        assert!(found(&waiting, 90, &both, 1_000).is_empty());
        let idles = "work conservation: task 0 waits in a queue for 31 ns while CPU 1 is idle";
        assert_eq!(found(&waiting, 91, &both, 1_000), [idles]);
        let first = mask::of([CpuId(0)]);
        assert!(found(&waiting, 91, &first, 1_000).is_empty());
    }

    #[test]
    fn a_task_that_its_policy_keeps_is_lost_after_so_much_idle_time() {
        let both = mask::first_n(2);
        let mut waiting = busy();
        let idles = |waiting: &mut Waiting, from_ns, to_ns| {
            waiting.cpu(CpuId(1), true, from_ns);
            waiting.cpu(CpuId(1), false, to_ns);
        };
        // This was before it waits.
        idles(&mut waiting, 10, 50);
        waiting.with_policy(TaskId(0), 50, &mut nobody());
        idles(&mut waiting, 60, 100);
        idles(&mut waiting, 110, 170);
        assert!(found(&waiting, 180, &both, 1_000).is_empty());
        idles(&mut waiting, 190, 191);
        let lost = "lost task: task 0 is kept for 150 ns, 101 ns idle meanwhile";
        assert_eq!(found(&waiting, 200, &both, 1_000), [lost]);
        let first = mask::of([CpuId(0)]);
        assert!(found(&waiting, 200, &first, 1_000).is_empty(), "pinned");
        waiting.in_queue(TaskId(0), 200, &mut nobody());
        assert!(found(&waiting, 200, &both, 1_000).is_empty());
    }
    /// Two CPUs and a task that the policy keeps from 1,000 on; one CPU has been idle from 0 on.
    fn kept_beside_an_idle_cpu() -> Waiting {
        let mut waiting = Waiting::new(2, 1);
        waiting.cpu(CpuId(0), false, 0);
        waiting.with_policy(TaskId(0), 1_000, &mut nobody());
        waiting
    }

    #[test]
    fn idle_time_before_the_wait_loses_no_task() {
        let both = mask::first_n(2);
        let mut waiting = kept_beside_an_idle_cpu();
        assert!(found(&waiting, 5_000, &both, 9_000).is_empty(), "no end");
        waiting.cpu(CpuId(1), false, 1_100);
        assert!(found(&waiting, 5_000, &both, 9_000).is_empty());

        let mut waiting = kept_beside_an_idle_cpu();
        // It looks for work in vain, which breaks no spell.
        waiting.cpu(CpuId(1), true, 1_050);
        waiting.cpu(CpuId(1), false, 1_101);
        let lost = "lost task: task 0 is kept for 500 ns, 101 ns idle meanwhile";
        assert_eq!(found(&waiting, 1_500, &both, 9_000), [lost]);
    }

    #[test]
    fn a_spell_that_goes_on_takes_nothing_from_those_that_are_over() {
        let both = mask::first_n(2);
        let mut waiting = kept_beside_an_idle_cpu();
        waiting.cpu(CpuId(0), true, 1_000);
        waiting.cpu(CpuId(0), false, 1_101);
        let lost = "lost task: task 0 is kept for 500 ns, 101 ns idle meanwhile";
        assert_eq!(found(&waiting, 1_500, &both, 9_000), [lost]);
    }

    #[test]
    fn idle_time_of_cpus_that_it_might_not_use_loses_no_task() {
        let both = mask::first_n(2);
        let mut waiting = kept_beside_an_idle_cpu();
        waiting.allowed(TaskId(0), 1_800);
        waiting.cpu(CpuId(1), false, 1_900);
        assert!(found(&waiting, 2_000, &both, 9_000).is_empty());
        waiting.cpu(CpuId(1), true, 2_000);
        waiting.cpu(CpuId(1), false, 2_001);
        let lost = "lost task: task 0 is kept for 1100 ns, 101 ns idle meanwhile";
        assert_eq!(found(&waiting, 2_100, &both, 9_000), [lost]);
    }
}
