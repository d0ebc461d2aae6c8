// SPDX-License-Identifier: GPL-2.0-or-later
//! Who runs where and for how long, from the switches alone.

use super::waiting::Waiting;
use crate::ids::{CpuId, IDLE, NO_CPU, PerCpu, PerTask, TaskId};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Life {
    None,
    Idle,
    Wants,
}

pub struct Accounts {
    life: PerTask<Life>,
    on_cpu: PerTask<CpuId>,
    /// Service of the present life.
    busy_ns: PerTask<u64>,
    running: PerCpu<TaskId>,
    since_ns: PerCpu<u64>,
    idle_ns: PerCpu<u64>,
}

impl Accounts {
    pub fn new(cpus: usize, tasks: usize) -> Self {
        Self {
            life: PerTask::filled(tasks, || Life::None),
            on_cpu: PerTask::filled(tasks, || NO_CPU),
            busy_ns: PerTask::filled(tasks, || 0),
            running: PerCpu::filled(cpus, || IDLE),
            since_ns: PerCpu::filled(cpus, || 0),
            idle_ns: PerCpu::filled(cpus, || 0),
        }
    }

    pub fn born(&mut self, task: TaskId) -> Result<(), String> {
        if self.life[task] != Life::None {
            return Err(format!("task {task} is born while it lives"));
        }
        self.life[task] = Life::Idle;
        self.busy_ns[task] = 0;
        Ok(())
    }

    pub fn died(&mut self, task: TaskId) {
        self.life[task] = Life::None;
    }

    pub fn wants(&mut self, task: TaskId) -> Result<(), String> {
        match self.life[task] {
            Life::Idle => {
                self.life[task] = Life::Wants;
                Ok(())
            }
            Life::Wants => Err(format!("task {task} is woken while it is runnable")),
            Life::None => Err(format!("task {task} is woken and does not live")),
        }
    }

    pub fn switched(
        &mut self,
        cpu: CpuId,
        prev: TaskId,
        next: TaskId,
        at_ns: u64,
        stays: bool,
    ) -> Result<(), String> {
        let ran = self.running[cpu];
        if ran != prev {
            return Err(format!("CPU {cpu} switches from task {prev} but ran {ran}"));
        }
        let Some(delta_ns) = at_ns.checked_sub(self.since_ns[cpu]) else {
            return Err(format!("CPU {cpu} switches before its last switch"));
        };
        self.since_ns[cpu] = at_ns;
        self.running[cpu] = next;
        if prev == IDLE {
            self.idle_ns[cpu] += delta_ns;
        } else {
            self.busy_ns[prev] += delta_ns;
            self.on_cpu[prev] = NO_CPU;
            if !stays {
                self.life[prev] = Life::Idle;
            }
        }
        if next != IDLE {
            if self.on_cpu[next] != NO_CPU {
                return Err(format!(
                    "task {next} runs on CPUs {} and {cpu} at once",
                    self.on_cpu[next]
                ));
            }
            if self.life[next] != Life::Wants {
                return Err(format!("task {next} runs on CPU {cpu} but is not runnable"));
            }
            self.on_cpu[next] = cpu;
        }
        Ok(())
    }

    /// A task that wants to run, does not, and waits nowhere.
    pub fn lost(&self, waiting: &Waiting) -> Option<TaskId> {
        self.life.ids().find(|task| {
            self.life[*task] == Life::Wants
                && self.on_cpu[*task] == NO_CPU
                && !waiting.somewhere(*task)
        })
    }

    /// The end of a CPU's account: the model says that it was idle for so long.
    pub fn cpu_total(&mut self, cpu: CpuId, idle_ns: u64, until_ns: u64) -> Result<(), String> {
        let delta_ns = until_ns - self.since_ns[cpu];
        self.since_ns[cpu] = until_ns;
        match self.running[cpu] {
            IDLE => self.idle_ns[cpu] += delta_ns,
            task => self.busy_ns[task] += delta_ns,
        }
        if self.idle_ns[cpu] == idle_ns {
            return Ok(());
        }
        Err(format!(
            "CPU {cpu} was idle for {} ns and accounts for {idle_ns} ns",
            self.idle_ns[cpu]
        ))
    }

    /// The same of a task, when the accounts of all CPUs have ended: it was served for so long.
    pub fn task_total(&mut self, task: TaskId, served_ns: u64) -> Result<(), String> {
        if self.busy_ns[task] == served_ns {
            return Ok(());
        }
        Err(format!(
            "task {task} ran for {} ns and accounts for {served_ns} ns",
            self.busy_ns[task]
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two_tasks() -> Accounts {
        let mut accounts = Accounts::new(2, 2);
        for task in [TaskId(0), TaskId(1)] {
            accounts.born(task).unwrap();
            accounts.wants(task).unwrap();
        }
        accounts
    }

    #[test]
    fn a_task_on_two_cpus_is_seen() {
        let mut accounts = two_tasks();
        accounts
            .switched(CpuId(0), IDLE, TaskId(0), 5, false)
            .unwrap();
        let error = accounts
            .switched(CpuId(1), IDLE, TaskId(0), 6, false)
            .unwrap_err();
        assert_eq!(error, "task 0 runs on CPUs 0 and 1 at once");
    }

    #[test]
    fn switches_that_cannot_be_are_seen() {
        let mut accounts = two_tasks();
        assert!(accounts.wants(TaskId(0)).is_err(), "woken twice");
        assert!(accounts.born(TaskId(0)).is_err(), "born twice");
        assert!(
            accounts
                .switched(CpuId(0), TaskId(1), TaskId(0), 5, true)
                .is_err(),
            "task 1 did not run"
        );
        accounts
            .switched(CpuId(0), IDLE, TaskId(0), 5, false)
            .unwrap();
        assert!(
            accounts
                .switched(CpuId(0), TaskId(0), TaskId(1), 4, true)
                .is_err(),
            "time runs back"
        );
        accounts
            .switched(CpuId(0), TaskId(0), TaskId(1), 9, false)
            .unwrap();
        assert!(
            accounts
                .switched(CpuId(0), TaskId(1), TaskId(0), 10, true)
                .is_err(),
            "task 0 sleeps"
        );
    }

    #[test]
    fn a_lost_task_is_seen() {
        let mut accounts = two_tasks();
        let mut waiting = Waiting::new(2, 2);
        waiting.begins(TaskId(0), 0);
        waiting.in_queue(TaskId(0));
        assert_eq!(accounts.lost(&waiting), Some(TaskId(1)));
        accounts
            .switched(CpuId(0), IDLE, TaskId(1), 5, false)
            .unwrap();
        assert_eq!(accounts.lost(&waiting), None);
    }

    #[test]
    fn every_nanosecond_is_somebodys() {
        let (first, second) = (TaskId(0), TaskId(1));
        let mut accounts = two_tasks();
        accounts.switched(CpuId(0), IDLE, first, 5, false).unwrap();
        accounts.switched(CpuId(0), first, second, 9, true).unwrap();
        accounts.cpu_total(CpuId(0), 5, 20).unwrap();
        accounts.cpu_total(CpuId(1), 20, 20).unwrap();
        assert_eq!(accounts.task_total(first, 4), Ok(()));
        assert_eq!(accounts.task_total(second, 11), Ok(()));
        let mut accounts = two_tasks();
        accounts.switched(CpuId(0), IDLE, first, 5, false).unwrap();
        accounts.cpu_total(CpuId(0), 5, 20).unwrap();
        let error = accounts.task_total(first, 14).unwrap_err();
        assert_eq!(error, "task 0 ran for 15 ns and accounts for 14 ns");
        let error = accounts.cpu_total(CpuId(1), 19, 20).unwrap_err();
        assert_eq!(error, "CPU 1 was idle for 20 ns and accounts for 19 ns");
    }
}
