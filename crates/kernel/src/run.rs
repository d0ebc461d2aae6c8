// SPDX-License-Identifier: GPL-2.0-or-later
//! A run: the loop over events, from the start signal to the end.

use workload::plan::{End, Start};

use crate::boundary::{self, Callback};
use crate::clock::events::{Due, Event};
use crate::consts::{OPS_ENQ_LAST, OPS_IDLE_PER_NODE, WATCHDOG_MAX_MS};
use crate::cpu::NEVER;
use crate::end::Exit;
use crate::ids::{CpuId, IDLE, TaskId};
use crate::mask;
use crate::options::INTERRUPTED;
use crate::outcome::Outcome;
use crate::sim::Sim;
use crate::task::State;

/// How many events may pass before an interrupt is noticed.
const STOP_EVENTS: u64 = 1 << 14;

/// So many events at one moment are no progress.
const STANDSTILL: u64 = 100_000;
const LIVELOCK: u64 = 10_000_000;

impl Sim<'_> {
    /// From the start signal to the workload's end, or to the policy's.
    pub fn run(&mut self) -> Outcome {
        self.boot();
        self.undivided -= 1;
        let mut look_at = 0;
        while !self.end.broken_off() && !self.end.over {
            let Some(due) = self.clock.next() else {
                self.fail("every task is blocked and nothing is to come".to_string());
                break;
            };
            if self.clock.handled() >= look_at {
                look_at = self.check_limits();
            }
            self.handle(due);
            if self.observers.complains() {
                self.heed_complaint();
            }
        }
        self.finish()
    }

    /// Is there reason to stop? Returns how many events have to be handled before there can be another.
    fn check_limits(&mut self) -> u64 {
        let (handled, same_time) = (self.clock.handled(), self.clock.at_the_same_time());
        if same_time > LIVELOCK {
            let what = "ten million events without time moving on".to_string();
            self.end.break_off("livelock", Exit::Failed(what));
        }
        if handled.is_multiple_of(STOP_EVENTS) && self.limits.stop.is_some_and(|stop| stop()) {
            self.fail(INTERRUPTED.to_string());
        }
        let most = self.limits.max_events;
        if most > 0 && handled > most {
            let by = if same_time > STANDSTILL {
                "livelock"
            } else {
                "limit"
            };
            let what = format!("more than {most} events");
            self.end.break_off(by, Exit::Failed(what));
        }
        let stop_at = (handled / STOP_EVENTS + 1) * STOP_EVENTS;
        let livelock_at = handled - same_time + LIVELOCK + 1;
        let limit_at = if most > 0 { most + 1 } else { u64::MAX };
        stop_at.min(livelock_at).min(limit_at)
    }

    #[inline(always)]
    pub(crate) fn handle(&mut self, due: Due) {
        if self.turns.is_some() && self.has_to_wait_for_a_turn(&due) {
            return;
        }
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
            Event::End => self.end.over = true,
            Event::Hotplug(line) => self.hotplug(line),
            Event::RtBudget(cpu) => self.rt_budget(cpu, due.seq),
            Event::Turn => self.turn_over(due.seq),
            Event::Frequency(policy) => self.change_frequency(policy),
            Event::Program(index) => self.run_later(index),
            Event::Write(index) => {
                let write = &self.limits.writes[index as usize];
                self.boundary.write_data(write.offset, &write.bytes);
            }
        }
    }

    /// What the kernel refuses of a policy before it calls it.
    fn validate_ops(&mut self) {
        let ops = &self.boundary.ops;
        let (has_enqueue, flags) = (ops.has(Callback::Enqueue), ops.flags);
        if flags & OPS_ENQ_LAST != 0 && !has_enqueue {
            self.eject("SCX_OPS_ENQ_LAST requires ops.enqueue() to be implemented".to_owned());
        }
        if flags & OPS_IDLE_PER_NODE != 0 && !self.boundary.builtin_idle() {
            let what = "SCX_OPS_BUILTIN_IDLE_PER_NODE requires CPU idle selection enabled";
            self.eject(what.to_owned());
        }
    }

    /// What the policy's own program had the kernel run before it attached the policy.
    pub(crate) fn run_programs(&mut self) {
        for run in self.loaded.program.runs() {
            boundary::call_program(self, run.function, &run.context);
        }
    }

    fn script_programs(&mut self) {
        for (index, later) in self.limits.runs.iter().enumerate() {
            let at_ns = self.clock.start_ns + later.at_ns;
            self.clock.post(at_ns, Event::Program(index as u32));
        }
        for (index, write) in self.limits.writes.iter().enumerate() {
            let at_ns = self.clock.start_ns + write.at_ns;
            self.clock.post(at_ns, Event::Write(index as u32));
        }
    }

    fn run_later(&mut self, index: u32) {
        self.interrupt(CpuId(0));
        let run = std::mem::take(&mut self.limits.runs[index as usize].run);
        boundary::call_program(self, run.function, &run.context);
        self.end_op();
    }

    /// The policy's initialisation, the tasks that exist already, and the start signal.
    fn boot(&mut self) {
        self.clock.begin_operation(CpuId(0), 0);
        for cpu in std::mem::take(&mut self.limits.offline) {
            self.begin_offline(CpuId(cpu));
        }
        self.validate_ops();
        self.run_programs();
        if let Some(code) = self.call(Callback::Init, [])
            && code as i32 != 0
        {
            self.eject(format!("ops.init() failed ({})", code as i32));
        }
        self.init_cgroups();
        let mut next_cpu = CpuId(0);
        for task in self.tasks.ids() {
            if self.is_there_at_boot(task) && !self.end.broken_off() {
                self.born(task, IDLE);
                self.place_at_boot(task, &mut next_cpu);
                self.init_task(task, false);
            }
        }
        for task in self.tasks.ids() {
            if self.tasks[task].state == State::Blocked && !self.end.broken_off() {
                self.enable_task(task);
            }
        }
        for cpu in self.cpus.ids() {
            if self.cpus[cpu].online() {
                self.update_idle(cpu, true, true);
            }
        }
        // Loading took its own time; the workload's starts now.
        self.clock.begin_operation(CpuId(0), 0);
        let timeout_ms = match self.boundary.ops.timeout_ms {
            0 => WATCHDOG_MAX_MS,
            ms => ms,
        };
        if timeout_ms > WATCHDOG_MAX_MS {
            self.eject(format!(
                "timeout_ms {timeout_ms} is above {WATCHDOG_MAX_MS}"
            ));
        }
        self.boundary.ops.timeout_ms = timeout_ms;
        self.clock
            .post(u64::from(timeout_ms) * 500_000, Event::Watchdog);
        if let Some(audit_ns) = self.limits.audit_ns {
            self.clock.post(audit_ns, Event::Audit);
        }
        if self.runner.is_some() {
            return self.set_out();
        }
        self.begin();
        for task in self.tasks.ids() {
            if self.tasks[task].state == State::Blocked && !self.end.broken_off() {
                let cpu = self.tasks[task].cpu;
                self.interrupt(cpu);
                self.wake(task, false);
                self.end_op();
            }
        }
        self.check_end();
    }

    /// Whether a task exists before anything runs; where there is a runner, it starts the workload's.
    fn is_there_at_boot(&self, task: TaskId) -> bool {
        let group = self.tasks[task].group as usize;
        match &self.runner {
            Some(runner) => runner.id == task || self.is_kthread(task),
            None => self.plan.groups[group].start == Start::Signal,
        }
    }

    /// The start signal: the workload's time counts from here.
    pub(crate) fn begin(&mut self) {
        let start_ns = self.clock.at_ns;
        self.clock.start_ns = start_ns;
        if let End::After { ns } = self.plan.end {
            self.clock.post(start_ns + ns, Event::End);
        }
        self.schedule_lockup_looks();
        self.script_hotplug();
        self.script_programs();
    }

    /// Initial places: one task a CPU in turn, within what each may use.
    fn place_at_boot(&mut self, task: TaskId, next_cpu: &mut CpuId) {
        let cpus = self.cpus.len() as u32;
        let allowed = self.boundary.view.allowed(task);
        let cpu = (0..cpus)
            .map(|offset| CpuId((next_cpu.0 + offset) % cpus))
            .find(|cpu| mask::has(allowed, *cpu) && self.cpus[*cpu].online())
            .unwrap_or_default();
        *next_cpu = CpuId((cpu.0 + 1) % cpus);
        self.tasks[task].cpu = cpu;
    }

    /// The workload ends with its last task, which the runner has to have reaped, or with that of its deciding group.
    pub(crate) fn check_end(&mut self) {
        let reaped = self.plan.end != End::All || !self.has_to_reap();
        self.end.over |= reaped && self.groups.are_done(&self.plan.end);
    }
}
