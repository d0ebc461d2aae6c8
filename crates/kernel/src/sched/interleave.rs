// SPDX-License-Identifier: GPL-2.0-or-later
//! An operation is broken off, and another CPU's comes in between, as a whole or itself broken off.
//!
//! On a machine both run at once. Here the one waits while the other is carried out: it takes as long as if its CPU had
//! been held up, by the firmware or a hypervisor. What may come in between is what could on a machine: something that
//! is due soon, on a CPU that is not in the kernel already, and that needs no lock of those that are broken off. That
//! it does shows only when it asks. Then it would have to wait, which it cannot, and the run is given up as one that
//! is not possible ([`NOT_POSSIBLE`]); whoever drew it tries again without the switch.

use crate::boundary::{Callback, RETURN, Register, Underway};
use crate::clock::events::{Due, Event};
use crate::cpu::NEVER;
use crate::end::Exit;
use crate::ids::{CpuId, IDLE, TaskId};
use crate::interleave::chooser::{Choice, below};
use crate::interleave::{Between, Held, NOT_POSSIBLE, Switch, Taken};
use crate::sim::Sim;

/// So many operations at most are broken off at a time.
const DEPTH: usize = 2;
/// What is due within this time may come in between, and so long the operation that is broken off is held up.
const WINDOW_NS: u64 = 1_000_000;
/// So many events are looked at.
const LOOKED_AT: usize = 32;

impl Sim<'_> {
    /// A point at which the operation under way may be broken off.
    pub(crate) fn point(&mut self, call: &'static str) {
        let operation = self.clock.handled();
        let held = self.held();
        let hotplug = self.beside_hotplug();
        let Some(interleaving) = &mut self.interleaving else {
            return;
        };
        let point = interleaving.count(operation);
        let Some(held) = held else {
            return;
        };
        let Some(choice) = interleaving.chooser.choose(operation, point, hotplug) else {
            return;
        };
        self.broken_off.push(held);
        if let Some((due, between)) = self.take_event(&choice) {
            let switch = Switch {
                operation,
                point,
                between,
            };
            let interleaving = self.interleaving.as_mut();
            if interleaving.is_some_and(|interleaving| interleaving.chooser.make(&switch)) {
                self.note_switch(switch, call);
                self.come_between(due);
            } else {
                self.clock.put_back(due);
            }
        }
        self.broken_off.pop();
    }

    /// What the operation under way keeps if it is broken off here; `None`: it must not be.
    fn held(&self) -> Option<Held> {
        if self.undivided > 0 || self.broken_off.depth() >= DEPTH || self.end.broken_off() {
            return None;
        }
        let mut held = Held {
            cpu: self.clock.cpu,
            run_queue: None,
            task: None,
            program: self.clock.in_program,
            hotplug: false,
        };
        let Some(Underway {
            callback,
            first,
            within,
        }) = self.boundary.underway
        else {
            // A timer of the policy's.
            return Some(held);
        };
        if within || !may_be_broken_off(callback) {
            return None;
        }
        let task = self.boundary.view.task_of(Register::of(first));
        held.run_queue = self.locked_rq();
        match callback {
            Callback::CpuOnline | Callback::CpuOffline => held.hotplug = true,
            Callback::Dispatch | Callback::UpdateIdle => {}
            _ => held.task = task,
        }
        Some(held)
    }

    /// Whether the script has a CPU go or come about now. It goes a grace period after the script says so.
    fn beside_hotplug(&self) -> bool {
        let now_ns = self.clock.at_ns;
        self.limits.hotplug.iter().any(|line| {
            let at_ns = self.clock.start_ns + line.at_ns;
            (at_ns.saturating_sub(WINDOW_NS)..at_ns + 3 * WINDOW_NS).contains(&now_ns)
        })
    }

    /// Takes the chosen one out of the events that may come in between.
    fn take_event(&mut self, choice: &Choice) -> Option<(Due, Between)> {
        let until_ns = self.clock.at_ns.max(self.clock.now_ns) + WINDOW_NS;
        let soon = self.clock.take_soon(until_ns, LOOKED_AT);
        let fitting = soon.iter().enumerate();
        let fitting = fitting.filter(|(_, due)| self.may_come_between(due));
        let fitting: Vec<(usize, Between)> = fitting
            .filter_map(|(index, due)| Some((index, Between::of(due.event)?)))
            .collect();
        let chosen = match choice {
            Choice::Any(draw) => fitting.get(below(*draw, fitting.len() as u32) as usize),
            Choice::Hotplug => {
                let mut steps = fitting.iter();
                steps.find(|(_, between)| matches!(between, Between::Hotplug(_)))
            }
            Choice::This(wanted) => fitting.iter().find(|(_, between)| between == wanted),
        };
        let chosen = chosen.copied();
        let mut taken = None;
        for (index, due) in soon.into_iter().enumerate() {
            match chosen {
                Some((at, between)) if at == index => taken = Some((due, between)),
                _ => self.clock.put_back(due),
            }
        }
        taken
    }

    /// Whether an event is still due, and no CPU or lock that it is sure to need is taken.
    fn may_come_between(&self, due: &Due) -> bool {
        let free = |cpu: CpuId| !self.broken_off.busy(cpu);
        match due.event {
            Event::Cpu(cpu) => {
                let this = &self.cpus[cpu];
                let due_ns = due.at_ns.max(self.clock.now_ns);
                let kernel = this.next_tick_ns.min(this.interrupted_at_ns()) <= due_ns;
                this.event_seq == due.seq
                    && free(cpu)
                    && !self.broken_off.locks(cpu)
                    && (kernel || this.curr == IDLE || !self.broken_off.in_program())
            }
            Event::Sleep(task) => {
                self.tasks[task].sleep_seq == due.seq
                    && !self.broken_off.keeps(task)
                    && free(self.timer_cpu(task))
            }
            Event::PolicyTimer(timer) => {
                let cpu = self.boundary.maps.timer_cpu(timer as usize, due.seq);
                cpu.is_some_and(|cpu| free(self.online_or_first(cpu)))
            }
            Event::Hotplug(line) => {
                let cpu = CpuId(self.limits.hotplug[line as usize].cpu);
                let ops = &self.boundary.ops;
                // Without these the policy is loaded anew.
                ops.has(Callback::CpuOnline)
                    && ops.has(Callback::CpuOffline)
                    && !self.broken_off.in_hotplug()
                    && free(cpu)
                    && !self.broken_off.locks(cpu)
                    && free(self.hotplug_thread(cpu))
            }
            _ => false,
        }
    }

    /// Carry out what comes in between.
    fn come_between(&mut self, due: Due) {
        let operation = self.clock.suspend(due.at_ns);
        let cpu = &mut self.cpus[operation.cpu];
        // It is in the kernel all that time: its task does not get on.
        cpu.progress_at_ns = cpu.progress_at_ns.max(self.clock.now_ns);
        let suspended = self.boundary.suspend();
        self.handle(due);
        self.boundary.resume(suspended);
        self.clock.resume(&operation);
    }

    fn note_switch(&mut self, switch: Switch, call: &str) {
        let here = match self.boundary.underway {
            Some(Underway { callback, .. }) => format!("ops.{}()", callback.name()),
            None => "a timer".to_owned(),
        };
        let place = if call == RETURN {
            format!("as {here} returns")
        } else {
            format!("in {here} before {call}()")
        };
        let between = match switch.between {
            Between::Cpu(cpu) => {
                let this = &self.cpus[CpuId(cpu)];
                let due_ns = self.clock.now_ns.max(this.event_at_ns);
                let what = if this.resched_at_ns <= due_ns {
                    "reschedules"
                } else if this.wakes_at_ns <= due_ns {
                    "carries out wake-ups"
                } else if this.next_tick_ns <= due_ns && this.next_tick_ns != NEVER {
                    "has its tick"
                } else {
                    "goes on with its task"
                };
                format!("CPU {cpu} {what}")
            }
            Between::Sleep(task) => {
                let cpu = self.timer_cpu(TaskId(task));
                format!("CPU {cpu} wakes {}", self.label(TaskId(task)))
            }
            Between::Timer(timer) => format!("timer {timer} of the policy goes off"),
            Between::Hotplug(line) => format!(
                "CPU {} goes {}",
                self.limits.hotplug[line as usize].cpu, self.limits.hotplug[line as usize].change
            ),
        };
        let what = format!("CPU {} {place}: {between}", self.clock.cpu);
        if let Some(interleaving) = &mut self.interleaving {
            interleaving.taken.push(Taken { switch, what });
        }
    }

    /// What runs needs this run queue, which nothing that is broken off may have locked.
    #[inline(always)]
    pub(crate) fn needs_rq(&mut self, cpu: CpuId) {
        if !self.broken_off.is_empty() && self.broken_off.locks(cpu) {
            self.not_possible();
        }
    }

    /// Whether a task is in the hands of an operation that is broken off. Who asks wants to have it.
    #[inline(always)]
    pub(crate) fn is_kept(&mut self, task: TaskId) -> bool {
        let kept = !self.broken_off.is_empty() && self.broken_off.keeps(task);
        if kept {
            self.not_possible();
        }
        kept
    }

    /// A waker waits until the task has left its CPU (`p->on_cpu`), and for whoever wakes it at the same time.
    #[inline(always)]
    pub(crate) fn cannot_be_woken(&mut self, task: TaskId) -> bool {
        if self.broken_off.is_empty() {
            return false;
        }
        let on_cpu = (self.broken_off.cpus()).any(|cpu| self.cpus[cpu].current() == task);
        if on_cpu {
            self.not_possible();
        }
        on_cpu || self.is_kept(task)
    }

    #[cold]
    pub(crate) fn not_possible(&mut self) {
        let what = "what came in between needs a lock of an operation that is broken off";
        self.end
            .break_off(NOT_POSSIBLE, Exit::Failed(what.to_owned()));
    }

    /// What changes several tasks or CPUs step by step, and is not to be broken off in between.
    pub(crate) fn as_a_whole<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        self.undivided += 1;
        let result = work(self);
        self.undivided -= 1;
        result
    }
}

/// The callbacks of tasks that come and go and of the policy itself are not.
fn may_be_broken_off(callback: Callback) -> bool {
    use Callback as C;
    matches!(
        callback,
        C::SelectCpu
            | C::Runnable
            | C::Enqueue
            | C::Dispatch
            | C::Running
            | C::Stopping
            | C::Quiescent
            | C::Tick
            | C::UpdateIdle
            | C::CpuOnline
            | C::CpuOffline
    )
}
