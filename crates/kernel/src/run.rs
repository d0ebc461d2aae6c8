// SPDX-License-Identifier: GPL-2.0-or-later
//! A run: the loop over events, from the start signal to the end.

use std::rc::Rc;

use workload::plan::{End, Start};

use crate::consts::WATCHDOG_MAX_MS;
use crate::cpu::NEVER;
use crate::events::{Due, Event};
use crate::ids::{CpuId, IDLE, TaskId};
use crate::mask;
use crate::outcome::Outcome;
use crate::seen::call;
use crate::sim::{INTERRUPTED, Sim};
use crate::task::State;

/// How many events may pass before an interrupt is noticed.
const STOP_EVENTS: u64 = 1 << 14;

/// So many events at one moment are no progress.
const STANDSTILL: u64 = 100_000;

impl Sim<'_> {
    /// From the start signal to the workload's end, or to the policy's.
    pub fn run(&mut self) -> Outcome {
        self.boot();
        while self.exit.is_none() && !self.ended {
            let Some(due) = self.events.pop() else {
                self.fail("every task is blocked and nothing is to come".to_string());
                break;
            };
            self.advance(due.at_ns);
            self.handle(due);
            if self.checkers.failed() {
                self.fail_check();
            }
        }
        self.finish()
    }

    fn advance(&mut self, at_ns: u64) {
        debug_assert!(at_ns >= self.now_ns, "time runs forwards");
        if at_ns > self.now_ns {
            self.now_ns = at_ns;
            self.same_time = 0;
        } else {
            self.same_time += 1;
            if self.same_time > 10_000_000 {
                self.fail_by(
                    "livelock",
                    "ten million events without time moving on".to_string(),
                );
            }
        }
        self.handled += 1;
        if self.handled.is_multiple_of(STOP_EVENTS) && self.options.stop.is_some_and(|stop| stop())
        {
            self.fail(INTERRUPTED.to_string());
        }
        if self.options.max_events > 0 && self.handled > self.options.max_events {
            let by = if self.same_time > STANDSTILL {
                "livelock"
            } else {
                "limit"
            };
            self.fail_by(by, format!("more than {} events", self.options.max_events));
        }
    }

    fn handle(&mut self, due: Due) {
        match due.event {
            Event::Cpu(cpu) => {
                let this = &mut self.cpus[cpu];
                if this.event_seq == due.seq {
                    this.event_seq = 0;
                    this.event_at_ns = NEVER;
                    self.cpu_event(cpu);
                }
            }
            Event::Sleep(task) => {
                if self.tasks[task].sleep_seq == due.seq {
                    self.sleep_over(task);
                }
            }
            Event::PolicyTimer(timer) => self.policy_timer(timer, due.seq),
            Event::Disk => self.disk_done(),
            Event::Watchdog => self.watchdog(),
            Event::Audit => self.audit_again(),
            Event::LockupLook(cpu) => self.look_for_lockup(cpu),
            Event::End => self.ended = true,
            Event::Hotplug(line) => self.hotplug(line),
            Event::RtBudget(cpu) => self.rt_budget(cpu, due.seq),
        }
    }

    /// The policy's initialisation, the tasks that exist already, and the start signal.
    fn boot(&mut self) {
        let plan = Rc::clone(&self.plan);
        self.begin_op(CpuId(0), 0);
        if self.ops.init.is_some() {
            let result = call!(self, init);
            if result.unwrap_or(0) != 0 {
                let code = result.unwrap_or(0);
                self.eject(format!("ops.init() failed ({code})"));
            }
        }
        let mut next_cpu = CpuId(0);
        for task in self.tasks.ids() {
            let group = self.tasks[task].group as usize;
            if plan.groups[group].start == Start::Signal && self.exit.is_none() {
                self.born(task, IDLE);
                self.place_at_boot(task, &mut next_cpu);
                self.init_task(task, false);
            }
        }
        for task in self.tasks.ids() {
            if self.tasks[task].state == State::Blocked && self.exit.is_none() {
                self.enable_task(task);
            }
        }
        for cpu in self.cpus.ids() {
            self.update_idle(cpu, true, true);
        }
        // Loading took its own time; the workload's starts now.
        self.begin_op(CpuId(0), 0);
        let timeout_ms = match self.ops.timeout_ms {
            0 => WATCHDOG_MAX_MS,
            ms => ms,
        };
        if timeout_ms > WATCHDOG_MAX_MS {
            self.eject(format!(
                "timeout_ms {timeout_ms} is above {WATCHDOG_MAX_MS}"
            ));
        }
        self.ops.timeout_ms = timeout_ms;
        self.events
            .post(u64::from(timeout_ms) * 500_000, Event::Watchdog);
        if self.options.strict {
            self.events.post(self.options.bounds.audit_ns, Event::Audit);
        }
        if let End::After { ns } = plan.end {
            self.events.post(ns, Event::End);
        }
        self.schedule_lockup_looks();
        self.script_hotplug();
        for task in self.tasks.ids() {
            if self.tasks[task].state == State::Blocked && self.exit.is_none() {
                let cpu = self.tasks[task].cpu;
                self.interrupt(cpu);
                self.wake(task, false);
                self.end_op();
            }
        }
        self.check_end();
    }

    /// Initial places: one task a CPU in turn, within what each may use.
    fn place_at_boot(&mut self, task: TaskId, next_cpu: &mut CpuId) {
        let cpus = self.cpus.len() as u32;
        let allowed = self.allowed(task);
        let cpu = (0..cpus)
            .map(|offset| CpuId((next_cpu.0 + offset) % cpus))
            .find(|cpu| mask::has(allowed, *cpu))
            .unwrap_or_default();
        *next_cpu = CpuId((cpu.0 + 1) % cpus);
        self.tasks[task].cpu = cpu;
    }

    /// The workload ends with its last task, or that of its deciding group.
    pub(crate) fn check_end(&mut self) {
        self.ended |= match self.plan.end {
            End::All => self.live == 0,
            End::Group(group) => self.group_live[group as usize] == 0,
            End::After { .. } => false,
        };
    }
}
