// SPDX-License-Identifier: GPL-2.0-or-later
//! Slices: somebody has to give a task a new one when the old is used up.
//!
//! A task that begins one run after the other with next to nothing is switched out at every tick: its slice is carried
//! over and never refilled. One whose slice never ends keeps its CPU from those who wait for it.

use crate::ids::{CpuId, IDLE, PerCpu, PerTask, TaskId};
use crate::mask::{self, CpuMask};

/// Less than any policy would give on purpose: a task cannot even be switched to and from in that time.
const SLIVER_NS: u64 = 1_000;

pub struct Slices {
    /// Runs in a row that began with a sliver.
    slivers: PerTask<u32>,
    /// By CPU: the task of ours that runs, since when.
    running: PerCpu<(TaskId, u64)>,
}

impl Slices {
    pub fn new(cpus: usize, tasks: usize) -> Self {
        Self {
            slivers: PerTask::filled(tasks, || 0),
            running: PerCpu::filled(cpus, || (IDLE, 0)),
        }
    }

    pub fn off(&mut self, cpu: CpuId) {
        self.running[cpu] = (IDLE, 0);
    }

    pub fn begins(
        &mut self,
        cpu: CpuId,
        task: TaskId,
        slice_ns: u64,
        at_ns: u64,
        bound: u32,
    ) -> Option<String> {
        self.running[cpu] = (task, at_ns);
        let slivers = &mut self.slivers[task];
        *slivers = if slice_ns <= SLIVER_NS {
            *slivers + 1
        } else {
            0
        };
        (*slivers > bound).then(|| {
            format!(
                "task {task} begins to run with a slice of {slice_ns} ns, for the {bound}th time in a row and more: \
                 nobody refills it"
            )
        })
    }

    /// Somebody waits for too long, and every CPU that he may use has run one task all that time.
    pub fn audit(
        &self,
        now_ns: u64,
        affinity: &PerTask<CpuMask>,
        waited_ns: impl Fn(TaskId) -> Option<u64>,
        bound: impl Fn(TaskId) -> u64,
    ) -> Option<String> {
        affinity.ids().find_map(|other| {
            let waited_ns = waited_ns(other).filter(|waited_ns| *waited_ns > bound(other))?;
            let mut runner = None;
            for cpu in mask::iter(&affinity[other]) {
                let (task, since_ns) = self.running[cpu];
                let ran_ns = now_ns.saturating_sub(since_ns);
                if task == IDLE || ran_ns < waited_ns {
                    return None;
                }
                runner = Some((cpu, task, ran_ns));
            }
            let (cpu, task, ran_ns) = runner?;
            Some(format!(
                "task {task} has had CPU {cpu} for {ran_ns} ns in one go, and task {other} waits for {waited_ns} ns"
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slivers_in_a_row_are_counted() {
        let mut slices = Slices::new(1, 1);
        for _ in 0..3 {
            assert_eq!(slices.begins(CpuId(0), TaskId(0), 1, 0, 3), None);
        }
        assert_eq!(slices.begins(CpuId(0), TaskId(0), 5_000, 0, 3), None);
        for _ in 0..3 {
            assert_eq!(slices.begins(CpuId(0), TaskId(0), 0, 0, 3), None);
        }
        assert!(slices.begins(CpuId(0), TaskId(0), 1, 0, 3).is_some());
    }

    #[test]
    fn an_endless_run_beside_a_waiting_task_is_seen() {
        let mut slices = Slices::new(2, 2);
        let mut affinity = PerTask::filled(2, || mask::first_n(2));
        slices.begins(CpuId(1), TaskId(0), u64::MAX, 5, 3);
        let look = |slices: &Slices, affinity: &PerTask<CpuMask>, at_ns| {
            let waited_ns = |task| (task == TaskId(1)).then_some(at_ns - 10);
            slices.audit(at_ns, affinity, waited_ns, |_| 100)
        };
        assert_eq!(
            look(&slices, &affinity, 200),
            None,
            "CPU 0 does not run one task"
        );
        affinity[TaskId(1)] = mask::of([CpuId(1)]);
        assert_eq!(look(&slices, &affinity, 100), None, "not so long yet");
        assert!(
            look(&slices, &affinity, 200)
                .unwrap()
                .contains("task 0 has had CPU 1 for 195 ns")
        );
        slices.off(CpuId(1));
        assert_eq!(look(&slices, &affinity, 200), None);
    }

    #[test]
    fn a_sliver_is_a_microsecond_or_less() {
        let mut slices = Slices::new(1, 1);
        let mut begins = |slice_ns| slices.begins(CpuId(0), TaskId(0), slice_ns, 0, 0);
        assert!(begins(1_000).is_some());
        assert_eq!(begins(1_001), None);
    }

    #[test]
    fn who_waits_as_long_as_it_may_or_longer_than_the_other_runs_is_not_kept_from_it() {
        let affinity = PerTask::filled(2, || mask::of([CpuId(0)]));
        let told = |runs_ns, at_ns| {
            let mut slices = Slices::new(1, 2);
            slices.begins(CpuId(0), TaskId(0), u64::MAX, runs_ns, 3);
            let waited_ns = |task| (task == TaskId(1)).then_some(at_ns - 10);
            slices.audit(at_ns, &affinity, waited_ns, |_| 100)
        };
        assert_eq!(told(10, 110), None);
        assert!(told(10, 111).is_some());
        assert_eq!(told(11, 111), None);
    }
}
