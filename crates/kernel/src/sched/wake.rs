// SPDX-License-Identifier: GPL-2.0-or-later
//! Waking tasks: the kernel's `try_to_wake_up` and `wake_up_new_task`.

use machine::Distance;

use crate::boundary::Callback;
use crate::boundary::requests::Context;
use crate::consts::{
    DSQ_LOCAL, ENQ_CPU_SELECTED, ENQ_WAKEUP, OPS_ALLOW_QUEUED_WAKEUP, SLICE_DFL, TASK_RUNNING,
    TASK_WAKING, WAKE_FORK, WAKE_SYNC, WAKE_TTWU,
};
use crate::cpu::{NEVER, Wakeup};
use crate::ids::{CpuId, IDLE, TaskId};
use crate::observe::Happened;
use crate::sim::Sim;
use crate::task::{Class, State, Verdict, Wait};

impl Sim<'_> {
    /// Wake a blocked task, from the CPU of the present operation.
    pub(crate) fn wake(&mut self, id: TaskId, sync: bool) {
        if self.tasks[id].state != State::Blocked || self.cannot_be_woken(id) {
            return;
        }
        let waits_since_ns = self.clock.at_ns;
        self.charge(self.machine.wakeup.until_clock_ns);
        let was_on = self.tasks[id].cpu;
        let woken = Happened::Woken {
            task: id,
            was_on,
            waits_since_ns,
        };
        self.tell(self.clock.at_ns, woken);
        self.boundary.view.task_mut(id).__state = TASK_WAKING;
        let wake_flags = WAKE_TTWU | if sync { WAKE_SYNC } else { 0 };
        self.make_runnable(id, wake_flags, ENQ_WAKEUP);
        self.charge(self.machine.wakeup.after_ns);
    }

    /// Start a task that has just been forked.
    pub(crate) fn wake_new(&mut self, id: TaskId) {
        let was_on = self.tasks[id].cpu;
        let forked = Happened::Forked { task: id, was_on };
        self.tell(self.clock.at_ns, forked);
        self.boundary.view.task_mut(id).__state = TASK_RUNNING;
        self.make_runnable(id, WAKE_FORK, 0);
    }

    #[inline(always)]
    fn make_runnable(&mut self, id: TaskId, wake_flags: u64, enq_flags: u64) {
        let task = &mut self.tasks[id];
        task.wait = Wait::None;
        let class = task.class;
        let (cpu, enq_flags) = match class {
            Class::Rt => (self.select_cpu_rt(id), enq_flags),
            Class::Ext => self.select_cpu_ext(id, wake_flags, enq_flags),
        };
        self.tasks[id].cpu = cpu;
        if wake_flags & WAKE_TTWU != 0 && self.leaves_wakeup(cpu, id) {
            self.leave_wakeup(cpu, id, enq_flags);
        } else {
            self.activate(cpu, id, enq_flags);
        }
        self.flush_kicks();
    }

    /// Whether a wake-up is left to the CPU on which the task is to run: the kernel's `ttwu_queue_cond()`.
    fn leaves_wakeup(&self, cpu: CpuId, id: TaskId) -> bool {
        let (from, target) = (self.clock.cpu, &self.cpus[cpu]);
        if cpu == from || !self.machine.ttwu_queue || !target.active() {
            return false;
        }
        let allowed = self.machine.built_in
            || self.tasks[id].class != Class::Ext
            || self.boundary.ops.flags & OPS_ALLOW_QUEUED_WAKEUP != 0;
        let distance = self.machine.topology.distance(from, cpu);
        let far = matches!(distance, Distance::Node | Distance::Remote);
        allowed && self.boundary.view.may_run_on(id, cpu) && (far || target.empty())
    }

    /// The CPU finds the task in its list, and is interrupted if that was empty.
    fn leave_wakeup(&mut self, cpu: CpuId, task: TaskId, enq_flags: u64) {
        self.tasks[task].state = State::Waking;
        if self.machine.built_in {
            // The kernel's `idle_cpu()` looks for this, sched_ext's masks do not.
            self.claim_idle(cpu);
        }
        self.cpus[cpu]
            .wake_list
            .push_back(Wakeup { task, enq_flags });
        if self.cpus[cpu].wakes_at_ns == NEVER {
            self.cpus[cpu].wakes_at_ns = self.send_interrupt(cpu);
            self.post(cpu);
        }
    }

    /// A CPU carries out the wake-ups that others left to it: the kernel's `sched_ttwu_pending()`.
    pub(crate) fn carry_out_wakeups(&mut self, cpu: CpuId) {
        self.cpus[cpu].wakes_at_ns = NEVER;
        while let Some(Wakeup { task, enq_flags }) = self.cpus[cpu].wake_list.pop_front() {
            let stays = self.cpus[cpu].active() && self.boundary.view.may_run_on(task, cpu);
            let cpu = if stays { cpu } else { self.fallback_cpu(task) };
            self.tasks[task].cpu = cpu;
            self.activate(cpu, task, enq_flags);
        }
        self.flush_kicks();
    }

    /// A task becomes runnable on a CPU: the kernel's `ttwu_do_activate()`.
    #[inline(always)]
    fn activate(&mut self, cpu: CpuId, id: TaskId, enq_flags: u64) {
        self.lock_rq(cpu);
        self.clock.read_rq(cpu, self.clock.at_ns);
        let at = self.clock.at_ns;
        let wants = Happened::Wants {
            task: id,
            served_ns: self.tasks[id].exec_ns,
        };
        self.tell(at, wants);
        match self.tasks[id].class {
            Class::Rt => self.enqueue_rt(cpu, id, false),
            Class::Ext => {
                self.enqueue_ext(cpu, id, enq_flags);
                self.preempt_idle(cpu);
                self.flush_reenqueues_of(cpu);
            }
        }
        self.keep_clock(cpu, at);
        self.clock.rq_holds = false;
        self.boundary.view.task_mut(id).__state = TASK_RUNNING;
    }

    /// A CPU that is to reschedule for a wake-up does so at the wake-up's clock, unless its task has left its queue.
    #[inline(always)]
    fn keep_clock(&mut self, cpu: CpuId, clock_ns: u64) {
        let this = &mut self.cpus[cpu];
        let queued = this.curr == IDLE || self.tasks[this.curr].state == State::Running;
        if queued && (this.need_resched || this.resched_at_ns != NEVER) {
            this.kept_clock_ns = Some(clock_ns);
        }
    }

    /// The kernel asks the policy only about tasks that have a choice.
    fn select_cpu_ext(&mut self, id: TaskId, wake_flags: u64, enq_flags: u64) -> (CpuId, u64) {
        let prev_cpu = self.tasks[id].cpu;
        if self.boundary.view.pinned(id) {
            return (self.fallback_cpu(id), enq_flags);
        }
        let cpu = if self.boundary.ops.has(Callback::SelectCpu) {
            self.boundary.requests.context = Context::Enqueue(id);
            let p = self.boundary.view.address(id);
            let chosen = self.call(Callback::SelectCpu, [p, u64::from(prev_cpu.0), wake_flags]);
            let cpu = chosen.map_or(-1, |cpu| cpu as i32);
            self.boundary.requests.context = Context::Other;
            if cpu >= 0 && self.cpus.contains(CpuId(cpu as u32)) {
                CpuId(cpu as u32)
            } else {
                self.eject(format!("invalid CPU {cpu} from ops.select_cpu()"));
                prev_cpu
            }
        } else {
            match self.default_cpu(id, prev_cpu, wake_flags) {
                Some(cpu) => {
                    self.tasks[id].verdict = Some(Verdict {
                        dsq_id: DSQ_LOCAL,
                        slice: SLICE_DFL,
                        vtime: 0,
                        enq_flags: 0,
                    });
                    cpu
                }
                None => prev_cpu,
            }
        };
        let cpu = if self.boundary.view.may_run_on(id, cpu) && self.cpus[cpu].active() {
            cpu
        } else {
            self.boundary.events.SCX_EV_SELECT_CPU_FALLBACK += 1;
            self.fallback_cpu(id)
        };
        (cpu, enq_flags | ENQ_CPU_SELECTED)
    }

    /// Any active CPU that the task may use; if there is none, its affinity gives way, as in the kernel.
    pub(crate) fn fallback_cpu(&mut self, id: TaskId) -> CpuId {
        let prev = self.tasks[id].cpu;
        if self.boundary.view.migration_disabled(id) {
            return prev;
        }
        let usable =
            |cpu: &CpuId| self.cpus[*cpu].active() && self.boundary.view.may_run_on(id, *cpu);
        if usable(&prev) {
            return prev;
        }
        if let Some(cpu) = self.cpus.ids().find(usable) {
            return cpu;
        }
        self.set_affinity_mask(id, None);
        self.call_set_cpumask(id);
        let active = |cpu: &CpuId| self.cpus[*cpu].active();
        self.cpus.ids().find(active).unwrap_or_default()
    }
}
