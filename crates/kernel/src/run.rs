// SPDX-License-Identifier: GPL-2.0-or-later
//! A run: the loop over events, from the start signal to the end.

use std::rc::Rc;

use workload::plan::{End, Start};

use crate::consts::WATCHDOG_MAX_MS;
use crate::cpu::NEVER;
use crate::events::{Event, Kind};
use crate::mask;
use crate::outcome::Outcome;
use crate::rt::lockup::FIRST_LOCKUP;
use crate::seen::call;
use crate::sim::{INTERRUPTED, Sim};
use crate::task::{IDLE, State, TaskId};

/// How many events may pass before an interrupt is noticed.
const STOP_EVENTS: u64 = 1 << 14;

/// So many events at one moment are no progress.
const STANDSTILL: u64 = 100_000;

impl Sim<'_> {
    /// From the start signal to the workload's end, or to the policy's.
    pub fn run(&mut self) -> Outcome {
        self.boot();
        while self.exit.is_none() && !self.ended {
            let Some(event) = self.events.pop() else {
                self.fail("every task is blocked and nothing is to come".to_string());
                break;
            };
            self.advance(event.at_ns);
            self.handle(event);
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

    fn handle(&mut self, event: Event) {
        match event.kind {
            Kind::Cpu => {
                let cpu = &mut self.cpus[event.index as usize];
                if cpu.event_seq == event.seq {
                    cpu.event_seq = 0;
                    cpu.event_at_ns = NEVER;
                    self.cpu_event(event.index);
                }
            }
            Kind::Sleep => {
                if self.tasks[event.index as usize].sleep_seq == event.seq {
                    self.sleep_over(event.index);
                }
            }
            Kind::PolicyTimer => self.policy_timer(event.index, event.seq),
            Kind::Disk => self.disk_done(),
            Kind::Watchdog if event.index == 0 => self.watchdog(),
            Kind::Watchdog if event.index == 1 => self.audit_again(),
            Kind::Watchdog => self.look_for_lockup(event.index - FIRST_LOCKUP),
            Kind::End => self.ended = true,
            Kind::Hotplug => self.hotplug(event.index),
            Kind::RtBudget => self.rt_budget(event.index, event.seq),
        }
    }

    /// The policy's initialisation, the tasks that exist already, and the start signal.
    fn boot(&mut self) {
        let plan = Rc::clone(&self.plan);
        self.begin_op(0, 0);
        if self.ops.init.is_some() {
            let result = call!(self, init);
            if result.unwrap_or(0) != 0 {
                let code = result.unwrap_or(0);
                self.eject(format!("ops.init() failed ({code})"));
            }
        }
        let mut next_cpu = 0;
        for task in 0..self.tasks.len() as TaskId {
            let group = self.tasks[task as usize].group as usize;
            if plan.groups[group].start == Start::Signal && self.exit.is_none() {
                self.born(task, IDLE);
                self.place_at_boot(task, &mut next_cpu);
                self.init_task(task, false);
            }
        }
        for task in 0..self.tasks.len() as TaskId {
            if self.tasks[task as usize].state == State::Blocked && self.exit.is_none() {
                self.enable_task(task);
            }
        }
        for cpu in 0..self.cpus.len() as u32 {
            self.update_idle(cpu, true, true);
        }
        // Loading took its own time; the workload's starts now.
        self.begin_op(0, 0);
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
            .post(u64::from(timeout_ms) * 500_000, Kind::Watchdog, 0);
        if self.options.strict {
            self.events
                .post(self.options.bounds.audit_ns, Kind::Watchdog, 1);
        }
        if let End::After { ns } = plan.end {
            self.events.post(ns, Kind::End, 0);
        }
        self.schedule_lockup_looks();
        self.script_hotplug();
        for task in 0..self.tasks.len() as TaskId {
            if self.tasks[task as usize].state == State::Blocked && self.exit.is_none() {
                let cpu = self.tasks[task as usize].cpu;
                self.interrupt(cpu);
                self.wake(task, false);
                self.end_op();
            }
        }
        self.check_end();
    }

    /// Initial places: one task a CPU in turn, within what each may use.
    fn place_at_boot(&mut self, task: TaskId, next_cpu: &mut u32) {
        let cpus = self.cpus.len() as u32;
        let allowed = self.allowed(task);
        let cpu = (0..cpus)
            .map(|offset| (*next_cpu + offset) % cpus)
            .find(|cpu| mask::has(allowed, *cpu))
            .unwrap_or(0);
        *next_cpu = (cpu + 1) % cpus;
        self.tasks[task as usize].cpu = cpu;
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
