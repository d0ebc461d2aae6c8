// SPDX-License-Identifier: GPL-2.0-or-later
//! A CPU changes its task: the kernel's `__schedule`, in its order.
//!
//! ```text
//!   blocked prev: stopping(false) quiescent
//!   pick:         dispatch …
//!   put prev:     stopping(true) enqueue         (only if another task comes)
//!   set next:     running
//! ```

use crate::boundary::Callback;
use crate::consts::{DEQ_SLEEP, SLICE_INF};
use crate::cpu::NEVER;
use crate::ids::{CpuId, IDLE, NO_CPU, TaskId};
use crate::mask;
use crate::observe::Happened;
use crate::observe::{Cause, Leaves};
use crate::sim::Sim;
use crate::task::{Class, State};
use workload::plan::Policy;

impl Sim<'_> {
    /// A CPU's event: its task's work has ended, a tick, or an interrupt.
    #[inline(always)]
    pub(crate) fn cpu_event(&mut self, cpu: CpuId) {
        let now_ns = self.clock.now_ns;
        let this = &mut self.cpus[cpu];
        if this.curr == IDLE {
            self.interrupt(cpu);
            self.do_as_asked(cpu);
            self.end_op();
            return;
        }
        let ticks = this.next_tick_ns <= now_ns;
        self.progress(cpu);
        self.clock.begin_operation(cpu, now_ns);
        if ticks {
            self.tick(cpu);
        }
        self.do_as_asked(cpu);
        let this = &mut self.cpus[cpu];
        let id = this.curr;
        if !this.need_resched
            && self.clock.at_ns == now_ns
            && self.tasks[id].work == 0
            && (self.broken_off.is_empty() || !self.broken_off.in_program())
        {
            self.clock.in_program = true;
            self.run_program(cpu, id);
            self.clock.in_program = false;
        }
        self.end_op();
    }

    /// What other CPUs have asked this one for by interrupts that have arrived.
    #[inline(always)]
    fn do_as_asked(&mut self, cpu: CpuId) {
        let now_ns = self.clock.now_ns;
        let this = &mut self.cpus[cpu];
        if this.resched_at_ns <= now_ns {
            this.resched_at_ns = NEVER;
            this.need_resched = true;
        }
        if this.wakes_at_ns <= now_ns {
            self.carry_out_wakeups(cpu);
        }
    }

    /// Preempt or not, block or not: pick the next task of a CPU and switch to it.
    pub(crate) fn schedule(&mut self, cpu: CpuId) {
        // The idle loop does so on its way out.
        if self.cpus[cpu].curr == IDLE && !self.cpus[cpu].wake_list.is_empty() {
            self.carry_out_wakeups(cpu);
        }
        let this = &mut self.cpus[cpu];
        this.need_resched = false;
        this.need_resched_lazy = false;
        this.resched_at_ns = NEVER;
        let prev = this.curr;
        if prev != IDLE {
            self.keep_current(cpu, prev);
        }
        self.lock_rq(cpu);
        // One reading of the clock for the whole change, so that no time falls between two tasks.
        let this = &mut self.cpus[cpu];
        let now_ns = self.clock.at_ns;
        let kept_ns = this.kept_clock_ns.take().unwrap_or(now_ns);
        // What has read the clock since then, for the task's account or to go idle, has moved it on.
        let read_ns = if prev == IDLE {
            this.idle_since_ns
        } else {
            this.exec_start_ns
        };
        self.clock.read_rq(cpu, now_ns.min(kept_ns).max(read_ns));
        let (mut runs, mut exits, mut reads) = (false, false, false);
        if prev == IDLE {
            // The idle loop's end takes about as long as taking a task off its queue.
            self.charge(self.machine.switch.until_dispatch_ns);
        } else {
            let task = &self.tasks[prev];
            (runs, exits) = (task.state == State::Running, task.exiting);
            reads = runs && self.clock.in_reader && self.clock.cpu == cpu;
            if task.state == State::Blocked {
                self.charge(self.machine.switch.until_dispatch_ns);
                self.deactivate(cpu, prev);
            }
        }
        let next = self.pick(cpu, prev);
        self.cpus[cpu].next_class = (next != IDLE).then(|| self.tasks[next].class);
        self.release_waiters(cpu);
        let stopper = std::mem::take(&mut self.cpus[cpu].stopper);
        if next == prev && !stopper {
            if prev == IDLE {
                self.update_idle(cpu, true, false);
            }
            self.clock.rq_holds = false;
            return;
        }
        if runs {
            // No task is taken off its queue, so that the policy is asked sooner.
            self.charge(self.machine.switch.until_dispatch_ns);
        }
        if prev == IDLE {
            if !stopper {
                self.update_idle(cpu, false, true);
            }
        } else if runs {
            self.boundary.view.reads(prev, reads, true);
            self.put_prev(cpu, prev, next);
        }
        self.leave_class(cpu, prev, next);
        self.switch(cpu, prev, next);
        if reads {
            self.boundary.view.reads(prev, true, false);
        }
        if exits {
            self.dead(prev);
        }
        self.clock.rq_holds = false;
        self.push_from_inactive(cpu);
    }

    fn pick(&mut self, cpu: CpuId, prev: TaskId) -> TaskId {
        match self.pick_rt(cpu, prev) {
            Some(task) => task,
            None => self.pick_ext(cpu, prev).unwrap_or(IDLE),
        }
    }

    fn put_prev(&mut self, cpu: CpuId, prev: TaskId, next: TaskId) {
        match self.tasks[prev].class {
            Class::Rt => self.put_prev_rt(cpu, prev),
            Class::Ext => self.put_prev_ext(cpu, prev, next),
        }
    }

    fn switch(&mut self, cpu: CpuId, prev: TaskId, next: TaskId) {
        let clock = self.clock.rq_ns;
        let this = &mut self.cpus[cpu];
        this.curr = next;
        this.switching_from = Some(prev);
        if prev == IDLE {
            this.idle_ns += clock - this.idle_since_ns;
        }
        if next == IDLE {
            this.next_tick_ns = NEVER;
            this.idle_since_ns = clock;
        } else {
            this.exec_start_ns = clock;
        }
        if prev != IDLE {
            self.leave_footprint(cpu, prev);
            let blocked = self.tasks[prev].state == State::Blocked;
            let p = self.boundary.view.task_mut(prev);
            p.nvcsw += u64::from(blocked);
            p.nivcsw += u64::from(!blocked);
        }
        self.tell_switch(cpu, prev, next, Cause::Schedule);
        self.charge(self.machine.switch.until_running_ns);
        if next == IDLE {
            self.update_idle(cpu, true, true);
            self.cpus[cpu].switching_from = None;
            self.charge(self.machine.switch.after_ns);
            self.rescale_siblings(cpu);
            return;
        }
        match self.tasks[next].class {
            Class::Rt => self.set_next_rt(cpu, next),
            Class::Ext => self.set_next_ext(cpu, next),
        }
        self.boundary.view.reads(next, false, false);
        self.cpus[cpu].switching_from = None;
        self.charge(self.machine.switch.after_ns);
        let task = &mut self.tasks[next];
        task.state = State::Running;
        let started = Happened::Started {
            cpu,
            task: next,
            runs_ns: self.clock.at_ns,
            moved: task.last_cpu != cpu && task.last_cpu != NO_CPU,
            served_ns: task.exec_ns,
        };
        self.tell(clock, started);
        self.begin_progress(cpu, next);
        if self.runs_without_tick(cpu, next) {
            self.cpus[cpu].next_tick_ns = NEVER;
        } else if prev == IDLE || self.cpus[cpu].next_tick_ns == NEVER {
            let tick = self.machine.tick_ns;
            self.cpus[cpu].next_tick_ns = (self.clock.at_ns / tick + 1) * tick;
            self.timer_is_set();
        }
        if prev == IDLE {
            self.rescale_siblings(cpu);
        }
    }

    /// The kernel's `sched_can_stop_tick()`: for a task that no tick would take the CPU from.
    #[inline(always)]
    fn runs_without_tick(&self, cpu: CpuId, id: TaskId) -> bool {
        let task = &self.tasks[id];
        mask::has(&self.machine.nohz_full, cpu)
            && match task.class {
                Class::Ext => self.boundary.view.task(id).scx.slice == SLICE_INF,
                Class::Rt => matches!(task.policy, Policy::Fifo(_)),
            }
    }

    /// A CPU changes its task, at the run queue's clock.
    #[inline(always)]
    pub(crate) fn tell_switch(&mut self, cpu: CpuId, prev: TaskId, next: TaskId, cause: Cause) {
        let (leaves, served_ns) = match prev {
            IDLE => (Leaves::Runnable, 0),
            prev => {
                let task = &self.tasks[prev];
                let leaves = match task.state {
                    State::Blocked if task.exiting => Leaves::Exiting,
                    State::Blocked => Leaves::Blocked,
                    _ => Leaves::Runnable,
                };
                (leaves, task.exec_ns)
            }
        };
        let switched = Happened::Switched {
            cpu,
            prev,
            next,
            leaves,
            cause,
            served_ns,
        };
        self.tell(self.clock.rq_ns, switched);
    }

    /// A task leaves its run queue because it blocks.
    fn deactivate(&mut self, cpu: CpuId, id: TaskId) {
        match self.tasks[id].class {
            Class::Rt => self.dequeue_rt(cpu, id),
            Class::Ext => self.dequeue_ext(cpu, id, DEQ_SLEEP),
        }
    }

    /// Service up to now: the task's account, and its slice.
    #[inline(always)]
    pub(crate) fn update_curr(&mut self, cpu: CpuId) {
        let clock = self.clock.rq_ns;
        let this = &mut self.cpus[cpu];
        let id = this.curr;
        if id != IDLE && clock > this.exec_start_ns {
            let delta = clock - this.exec_start_ns;
            this.exec_start_ns = clock;
            self.account_service(cpu, id, delta);
        }
    }

    #[inline(never)]
    fn account_service(&mut self, cpu: CpuId, id: TaskId, delta: u64) {
        let task = &mut self.tasks[id];
        task.exec_ns += delta;
        let p = self.boundary.view.task_mut(id);
        p.se.sum_exec_runtime += delta;
        p.utime += delta;
        match task.class {
            Class::Ext => {
                let slice = &mut p.scx.slice;
                if *slice != SLICE_INF {
                    *slice -= delta.min(*slice);
                }
                self.account_server(cpu, delta);
            }
            Class::Rt => self.account_rt(cpu, id, delta),
        }
    }

    fn tick(&mut self, cpu: CpuId) {
        let tick = self.machine.tick_ns;
        self.charge(self.machine.costs.tick_ns);
        let this = &mut self.cpus[cpu];
        this.next_tick_ns = (self.clock.now_ns / tick + 1) * tick;
        this.need_resched |= this.need_resched_lazy;
        let id = this.curr;
        self.clock.rq_holds = true;
        match self.tasks[id].class {
            Class::Ext => {
                self.update_curr(cpu);
                self.tell(self.clock.at_ns, Happened::Ticked { cpu });
                self.call(Callback::Tick, [self.boundary.view.address(id)]);
                if self.boundary.view.task_mut(id).scx.slice == 0 {
                    self.resched(cpu);
                }
            }
            Class::Rt => {
                self.update_curr(cpu);
                self.tick_rt(cpu, id);
            }
        }
        self.clock.rq_holds = false;
        self.expire_timers(cpu, self.clock.now_ns);
        self.timer_is_set();
        self.housekeep();
    }

    /// Ask a CPU to reschedule: at the end of this operation if it is its own, else by an interrupt.
    pub(crate) fn resched(&mut self, cpu: CpuId) {
        let from = self.clock.cpu;
        let this = &mut self.cpus[cpu];
        if this.need_resched || !this.online() {
            return;
        }
        if cpu == from {
            this.need_resched = true;
            return;
        }
        if this.resched_at_ns != NEVER {
            return;
        }
        self.cpus[cpu].resched_at_ns = self.send_interrupt(cpu);
        self.post(cpu);
    }

    /// Returns when the interrupt arrives there.
    pub(crate) fn send_interrupt(&mut self, cpu: CpuId) -> u64 {
        let costs = &self.machine.costs;
        self.clock.at_ns += costs.ipi_send_ns;
        let distance = self.machine.topology.distance(self.clock.cpu, cpu);
        self.clock.at_ns + costs.ipi_ns[distance as usize]
    }
}
