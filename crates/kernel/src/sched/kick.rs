// SPDX-License-Identifier: GPL-2.0-or-later
//! Kicks: the policy asks a CPU to reschedule. Carried out when the present operation may let go of its locks.

use crate::boundary::requests::Kick;
use crate::boundary::{Locks, Register, Underway};
use crate::consts::{KICK_IDLE, KICK_PREEMPT, KICK_WAIT};
use crate::ids::{CpuId, IDLE};
use crate::observe::Happened;
use crate::sim::Sim;
use crate::task::Class;

impl Sim<'_> {
    /// The kfunc.
    pub(crate) fn kick_cpu(&mut self, cpu: CpuId, flags: u64) {
        let idle_only = flags & KICK_IDLE != 0;
        if idle_only {
            if flags & (KICK_PREEMPT | KICK_WAIT) != 0 {
                return self.eject("PREEMPT/WAIT cannot be used with SCX_KICK_IDLE".to_string());
            }
            // The kernel looks only if it gets the run queue's lock.
            let target = &self.cpus[cpu];
            if target.curr != IDLE && !target.in_dispatch && self.locked_rq() != Some(cpu) {
                return;
            }
        }
        let kick = self.boundary.requests.kick_of(cpu);
        if idle_only {
            kick.if_idle = true;
        } else {
            kick.always = true;
            kick.preempt |= flags & KICK_PREEMPT != 0;
            kick.wait |= flags & KICK_WAIT != 0;
        }
    }

    /// Whose run queue's lock the callback under way is called with.
    pub(crate) fn locked_rq(&self) -> Option<CpuId> {
        let Underway {
            callback, first, ..
        } = self.boundary.underway?;
        match callback.locks() {
            Locks::Nothing => None,
            Locks::Cpu => Some(CpuId(first as u32)),
            Locks::CpuOfTask => {
                let task = self.boundary.view.task_of(Register::of(first));
                task.map(|task| self.tasks[task].cpu)
            }
        }
    }

    /// Carry out what has been asked for until now.
    #[inline(always)]
    pub(crate) fn flush_kicks(&mut self) {
        if !self.boundary.requests.kicks.is_empty() {
            self.carry_out_kicks();
        }
    }

    #[inline(never)]
    fn carry_out_kicks(&mut self) {
        // The CPU carries them out in an interrupt of its own (`kick_cpus_irq_workfn`).
        self.charge(self.machine.costs.kick_ns);
        let mut pending = std::mem::take(&mut self.boundary.requests.kicks);
        let mut left = Vec::new();
        for (cpu, kick) in pending.drain(..) {
            if !self.cpus[cpu].online() {
                continue;
            }
            // The interrupt that kicks waits for the lock; whoever has it lets it go on.
            if !self.broken_off.is_empty() && self.broken_off.locks(cpu) {
                left.push((
                    cpu,
                    Kick {
                        wait: false,
                        ..kick
                    },
                ));
                continue;
            }
            self.tell(self.clock.at_ns, Happened::Kicked { cpu });
            if kick.always {
                self.kick_one(cpu, kick);
            } else if kick.if_idle && self.cpus[cpu].curr == IDLE {
                self.lock_rq(cpu);
                self.resched(cpu);
            }
        }
        pending.append(&mut left);
        self.boundary.requests.kicks = pending;
    }

    fn kick_one(&mut self, cpu: CpuId, kick: Kick) {
        self.lock_rq(cpu);
        let curr = self.cpus[cpu].curr;
        let ext = curr != IDLE && self.tasks[curr].class == Class::Ext;
        if ext && kick.preempt {
            self.boundary.view.task_mut(curr).scx.slice = 0;
        }
        self.resched(cpu);
        let from = self.clock.cpu;
        if ext && kick.wait && cpu != from && self.cpus[from].curr != IDLE {
            let target = &mut self.cpus[cpu];
            // Who waits lets go of those that wait for him, so that no two wait for each other.
            if target.waits_for == 0 && !target.waited_for_by.contains(&from) {
                target.waited_for_by.push(from);
                self.cpus[from].waits_for += 1;
                self.release_waiters(from);
            }
        }
    }

    /// A CPU has been through a reschedule: whoever waited for that goes on.
    #[inline(always)]
    pub(crate) fn release_waiters(&mut self, cpu: CpuId) {
        if !self.cpus[cpu].waited_for_by.is_empty() {
            self.let_waiters_go(cpu);
        }
    }

    #[cold]
    fn let_waiters_go(&mut self, cpu: CpuId) {
        let at_ns = self.clock.at_ns;
        let waiters = std::mem::take(&mut self.cpus[cpu].waited_for_by);
        for waiter in waiters {
            let other = &mut self.cpus[waiter];
            other.waits_for -= 1;
            if other.waits_for == 0 {
                other.kernel_until_ns = other.kernel_until_ns.max(at_ns);
                other.progress_at_ns = other.progress_at_ns.max(at_ns);
                if waiter != self.clock.cpu {
                    self.post(waiter);
                }
            }
        }
    }
}
