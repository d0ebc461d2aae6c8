// SPDX-License-Identifier: GPL-2.0-or-later
//! The sched_ext class: how a task enters, leaves and is chosen, as `kernel/sched/ext` does it.

use crate::boundary::Callback;
use crate::boundary::requests::Context;
use crate::boundary::shown::{CpuReleaseArgs, PreemptReason};
use crate::consts::{
    DEQ_SCHED_CHANGE, DEQ_SLEEP, DISPATCH_LOOPS, ENQ_LAST, OPS_ENQ_EXITING, OPS_ENQ_LAST,
    OPS_ENQ_MIGRATION_DISABLED, PF_EXITING, SLICE_DFL, TASK_IMMED, TASK_QUEUED,
    TASK_REENQ_PREEMPTED,
};
use crate::ids::{CpuId, IDLE, TaskId};
use crate::observe::Happened;
use crate::sim::Sim;
use crate::task::{Class, Place, State};

/// What dispatch concluded.
enum Verdict {
    Nothing,
    Local,
    Prev,
}

impl Sim<'_> {
    /// A task becomes runnable on a CPU.
    pub(crate) fn enqueue_ext(&mut self, cpu: CpuId, id: TaskId, enq_flags: u64) {
        let now = self.clock.now_ns;
        let task = &mut self.tasks[id];
        task.state = State::Queued;
        if task.reset_runnable_at {
            task.runnable_at_ns = now;
            task.reset_runnable_at = false;
        }
        self.boundary.view.task_mut(id).scx.flags |= TASK_QUEUED;
        let shown_flags = self.boundary.enq_flags.shown(enq_flags);
        self.call(
            Callback::Runnable,
            [self.boundary.view.address(id), shown_flags],
        );
        self.do_enqueue(cpu, id, enq_flags);
    }

    /// Hand a queued task to the policy, or past it.
    pub(crate) fn do_enqueue(&mut self, cpu: CpuId, id: TaskId, enq_flags: u64) {
        debug_assert_eq!(self.tasks[id].place, Place::Nowhere);
        self.boundary.view.task_mut(id).scx.flags &= !TASK_IMMED;
        if !self.cpus[cpu].active() {
            return self.enqueue_past_policy(id, Place::Local(cpu), enq_flags);
        }
        if let Some(verdict) = self.tasks[id].verdict.take() {
            return self.direct_dispatch(cpu, id, verdict, enq_flags);
        }
        if self.boundary.ops.flags & OPS_ENQ_EXITING == 0
            && self.boundary.view.task_mut(id).flags & PF_EXITING != 0
        {
            self.boundary.events.SCX_EV_ENQ_SKIP_EXITING += 1;
            return self.enqueue_past_policy(id, Place::Local(cpu), enq_flags);
        }
        if self.boundary.ops.flags & OPS_ENQ_MIGRATION_DISABLED == 0
            && self.boundary.view.migration_disabled(id)
        {
            self.boundary.events.SCX_EV_ENQ_SKIP_MIGRATION_DISABLED += 1;
            return self.enqueue_past_policy(id, Place::Local(cpu), enq_flags);
        }
        if !self.boundary.ops.has(Callback::Enqueue) {
            let global = self.global_dsq_of(cpu);
            return self.enqueue_past_policy(id, Place::Dsq(global), enq_flags);
        }
        let task = &mut self.tasks[id];
        task.qseq = task.qseq.wrapping_add(1);
        self.boundary.requests.context = Context::Enqueue(id);
        let shown_flags = self.boundary.enq_flags.shown(enq_flags);
        self.call(
            Callback::Enqueue,
            [self.boundary.view.address(id), shown_flags],
        );
        self.boundary.requests.context = Context::Other;
        let task = &mut self.tasks[id];
        if let Some(verdict) = task.verdict.take() {
            return self.direct_dispatch(cpu, id, verdict, enq_flags);
        }
        task.custody = true;
        task.place = Place::Policy;
        let at = self.clock.at_ns;
        self.tell(at, Happened::Kept { cpu, task: id });
    }

    fn enqueue_past_policy(&mut self, id: TaskId, to: Place, enq_flags: u64) {
        self.refill_slice(id);
        self.tasks[id].verdict = None;
        self.put(id, to, enq_flags);
    }

    /// A queued or running task leaves its run queue.
    pub(crate) fn dequeue_ext(&mut self, cpu: CpuId, id: TaskId, flags: u64) {
        let flags = if flags & DEQ_SLEEP == 0 {
            flags | DEQ_SCHED_CHANGE
        } else {
            flags
        };
        if self.tasks[id].custody {
            self.call(Callback::Dequeue, [self.boundary.view.address(id), flags]);
            self.tasks[id].custody = false;
        }
        if self.cpus[cpu].curr == id {
            self.update_curr(cpu);
            self.call(Callback::Stopping, [self.boundary.view.address(id), 0]);
        }
        self.call(Callback::Quiescent, [self.boundary.view.address(id), flags]);
        self.boundary.view.task_mut(id).scx.flags &= !TASK_QUEUED;
        self.unlink(id);
        self.tasks[id].verdict = None;
    }

    /// Choose the next task of this class: prev, or the local queue's first, or nothing.
    pub(crate) fn pick_ext(&mut self, cpu: CpuId, prev: TaskId) -> Option<TaskId> {
        self.raise_class(cpu, Class::Ext);
        let verdict = self.dispatch_one(cpu, prev);
        let this = &mut self.cpus[cpu];
        this.in_dispatch = false;
        // Whether a task would run at once was not to be known as long as dispatch went on.
        if this.nr_immed > 0 && this.local.len() > 1 && !matches!(verdict, Verdict::Nothing) {
            self.boundary.requests.reenqueue(Place::Local(cpu), false);
        }
        let next = match verdict {
            Verdict::Nothing => return None,
            Verdict::Prev => prev,
            Verdict::Local => this.local.entries.front()?.task,
        };
        if self.boundary.view.task(next).scx.slice == 0 {
            self.refill_slice(next);
        }
        Some(next)
    }

    fn refill_slice(&mut self, id: TaskId) {
        self.boundary.view.task_mut(id).scx.slice = SLICE_DFL;
        self.boundary.events.SCX_EV_REFILL_SLICE_DFL += 1;
    }

    fn dispatch_one(&mut self, cpu: CpuId, prev: TaskId) -> Verdict {
        // The kernel unpins its run queue for this, and does not read the clock again.
        self.clock.rq_holds = false;
        if self.cpus[cpu].released {
            self.cpus[cpu].released = false;
            self.call(Callback::CpuAcquire, [u64::from(cpu.0), 0]);
        }
        let (mut prev_ext, mut keeps) = (false, false);
        if prev != IDLE {
            let task = &self.tasks[prev];
            prev_ext = task.class == Class::Ext;
            // Still runnable, though switched out perhaps.
            keeps = prev_ext && task.state == State::Running;
        }
        if prev_ext {
            self.update_curr(cpu);
        }
        let this = &mut self.cpus[cpu];
        this.in_dispatch = true;
        if keeps && self.boundary.view.task(prev).scx.slice > 0 {
            return Verdict::Prev;
        }
        if !this.local.is_empty() {
            return Verdict::Local;
        }
        let asks = this.told_online() && self.boundary.ops.has(Callback::Dispatch);
        let global = self.global_dsq_of(cpu);
        if self.consume(cpu, global, 0) {
            return Verdict::Local;
        }
        if asks {
            let prev_address = if prev_ext {
                self.boundary.view.address(prev)
            } else {
                0
            };
            let mut loops = DISPATCH_LOOPS;
            loop {
                self.boundary.requests.dispatched = 0;
                self.boundary.requests.context = Context::Dispatch;
                self.call(Callback::Dispatch, [u64::from(cpu.0), prev_address]);
                self.boundary.requests.context = Context::Other;
                self.flush_inserts(cpu);
                if keeps && self.boundary.view.task(prev).scx.slice > 0 {
                    return Verdict::Prev;
                }
                if !self.cpus[cpu].local.is_empty() {
                    return Verdict::Local;
                }
                if self.consume(cpu, global, 0) {
                    return Verdict::Local;
                }
                if self.boundary.requests.dispatched == 0 || self.end.broken_off() {
                    break;
                }
                loops -= 1;
                if loops == 0 {
                    // It keeps dispatching what cannot run here: come back later.
                    self.kick_cpu(cpu, 0);
                    break;
                }
            }
        }
        if keeps && self.boundary.ops.flags & OPS_ENQ_LAST == 0 {
            self.boundary.events.SCX_EV_DISPATCH_KEEP_LAST += 1;
            return Verdict::Prev;
        }
        Verdict::Nothing
    }

    pub(crate) fn put_prev_ext(&mut self, cpu: CpuId, prev: TaskId, next: TaskId) {
        self.update_curr(cpu);
        self.call(Callback::Stopping, [self.boundary.view.address(prev), 1]);
        let now = self.clock.now_ns;
        let clock = self.clock.rq_ns;
        let task = &mut self.tasks[prev];
        task.state = State::Queued;
        if task.reset_runnable_at {
            task.runnable_at_ns = now;
            task.reset_runnable_at = false;
        }
        self.tell(clock, Happened::PutBack { task: prev });
        let scx = &self.boundary.view.task(prev).scx;
        if scx.slice > 0 && scx.flags & TASK_IMMED != 0 {
            self.enqueue_again(prev, TASK_REENQ_PREEMPTED);
        } else if scx.slice > 0 {
            self.put(prev, Place::Local(cpu), crate::consts::ENQ_HEAD);
        } else if next == IDLE {
            self.do_enqueue(cpu, prev, ENQ_LAST);
            // The CPU looks once more: a guest does not idle beside it, though `rq->curr` is still the task.
            if !self.cpus[cpu].local.is_empty() {
                self.resched(cpu);
            }
        } else {
            self.do_enqueue(cpu, prev, 0);
        }
    }

    /// A CPU goes from a task of this class to one of a higher class: the policy hears of it once, if it wants to.
    pub(crate) fn leave_class(&mut self, cpu: CpuId, prev: TaskId, next: TaskId) {
        let is_ext = |task: TaskId| task != IDLE && self.tasks[task].class == Class::Ext;
        let ops = &self.boundary.ops;
        if !(ops.has(Callback::CpuRelease) || ops.has(Callback::CpuAcquire))
            || !is_ext(prev)
            || next == IDLE
            || is_ext(next)
            || self.cpus[cpu].released
        {
            return;
        }
        let mut args = CpuReleaseArgs {
            reason: PreemptReason::RT,
            task: self.boundary.view.pointer(next),
        };
        let address = self.boundary.lend(&raw mut args);
        self.boundary.requests.context = Context::CpuRelease(cpu);
        self.call(Callback::CpuRelease, [u64::from(cpu.0), address]);
        self.boundary.requests.context = Context::Other;
        self.boundary.take_back();
        self.cpus[cpu].released = true;
    }

    pub(crate) fn set_next_ext(&mut self, cpu: CpuId, next: TaskId) {
        let place = self.tasks[next].place;
        debug_assert_eq!(
            place,
            Place::Local(cpu),
            "a task runs from its CPU's local queue"
        );
        self.unlink(next);
        self.call(Callback::Running, [self.boundary.view.address(next)]);
        let slice_ns = self.boundary.view.task_mut(next).scx.slice;
        let begins = Happened::Slice {
            cpu,
            task: next,
            slice_ns,
        };
        self.tell(self.clock.rq_ns, begins);
        self.tasks[next].reset_runnable_at = true;
    }
}
