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
    tasks: PerTask<Task>,
    cpus: PerCpu<Cpu>,
}

#[derive(Clone)]
struct Task {
    /// Service of the present life.
    busy_ns: u64,
    on_cpu: CpuId,
    life: Life,
}

#[derive(Clone)]
struct Cpu {
    since_ns: u64,
    idle_ns: u64,
    running: TaskId,
}

impl Accounts {
    pub fn new(cpus: usize, tasks: usize) -> Self {
        let task = Task {
            busy_ns: 0,
            on_cpu: NO_CPU,
            life: Life::None,
        };
        let cpu = Cpu {
            since_ns: 0,
            idle_ns: 0,
            running: IDLE,
        };
        Self {
            tasks: PerTask::filled(tasks, || task.clone()),
            cpus: PerCpu::filled(cpus, || cpu.clone()),
        }
    }

    pub fn born(&mut self, task: TaskId) -> Result<(), String> {
        let account = &mut self.tasks[task];
        if account.life != Life::None {
            return Err(format!("task {task} is born while it lives"));
        }
        account.life = Life::Idle;
        account.busy_ns = 0;
        Ok(())
    }

    pub fn died(&mut self, task: TaskId) {
        self.tasks[task].life = Life::None;
    }

    #[inline]
    pub fn wants(&mut self, task: TaskId) -> Result<(), String> {
        let account = &mut self.tasks[task];
        match account.life {
            Life::Idle => {
                account.life = Life::Wants;
                Ok(())
            }
            Life::Wants => Err(format!("task {task} is woken while it is runnable")),
            Life::None => Err(format!("task {task} is woken and does not live")),
        }
    }

    #[inline(always)]
    pub fn switched(
        &mut self,
        cpu: CpuId,
        prev: TaskId,
        next: TaskId,
        at_ns: u64,
        stays: bool,
    ) -> Result<(), String> {
        let this = &mut self.cpus[cpu];
        let ran = this.running;
        if ran != prev {
            return Err(format!("CPU {cpu} switches from task {prev} but ran {ran}"));
        }
        let Some(delta_ns) = at_ns.checked_sub(this.since_ns) else {
            return Err(format!("CPU {cpu} switches before its last switch"));
        };
        this.since_ns = at_ns;
        this.running = next;
        if prev == IDLE {
            this.idle_ns += delta_ns;
        } else {
            let account = &mut self.tasks[prev];
            account.busy_ns += delta_ns;
            account.on_cpu = NO_CPU;
            if !stays {
                account.life = Life::Idle;
            }
        }
        if next != IDLE {
            let account = &mut self.tasks[next];
            if account.on_cpu != NO_CPU {
                let other = account.on_cpu;
                return Err(format!(
                    "task {next} runs on CPUs {other} and {cpu} at once"
                ));
            }
            if account.life != Life::Wants {
                return Err(format!("task {next} runs on CPU {cpu} but is not runnable"));
            }
            account.on_cpu = cpu;
        }
        Ok(())
    }

    /// A task that wants to run, does not, and waits nowhere.
    pub fn lost(&self, waiting: &Waiting) -> Option<TaskId> {
        self.tasks.ids().find(|task| {
            let account = &self.tasks[*task];
            account.life == Life::Wants && account.on_cpu == NO_CPU && !waiting.somewhere(*task)
        })
    }

    /// The end of a CPU's account: the model says that it was idle for so long.
    pub fn cpu_total(&mut self, cpu: CpuId, idle_ns: u64, until_ns: u64) -> Result<(), String> {
        let this = &mut self.cpus[cpu];
        let delta_ns = until_ns - this.since_ns;
        this.since_ns = until_ns;
        match this.running {
            IDLE => this.idle_ns += delta_ns,
            task => self.tasks[task].busy_ns += delta_ns,
        }
        if this.idle_ns == idle_ns {
            return Ok(());
        }
        Err(format!(
            "CPU {cpu} was idle for {} ns and accounts for {idle_ns} ns",
            this.idle_ns
        ))
    }

    /// The same of a task, when the accounts of all CPUs have ended: it was served for so long.
    pub fn task_total(&mut self, task: TaskId, served_ns: u64) -> Result<(), String> {
        let busy_ns = self.tasks[task].busy_ns;
        if busy_ns == served_ns {
            return Ok(());
        }
        Err(format!(
            "task {task} ran for {busy_ns} ns and accounts for {served_ns} ns"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::super::held::Held;
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
        waiting.in_queue(TaskId(0), 0, &mut Held::new(2, 2));
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
