// SPDX-License-Identifier: GPL-2.0-or-later
//! Kicks: the policy asks a CPU to reschedule. Carried out when the present operation may let go of its locks.

use crate::consts::{KICK_IDLE, KICK_PREEMPT, KICK_WAIT};
use crate::ids::{CpuId, IDLE};
use crate::sim::Sim;
use crate::task::Class;
use crate::trace::What;

/// CPUs to kick, in order of the first kick, with the flags of all kicks since.
#[derive(Default)]
pub struct Kicks {
    pending: Vec<(CpuId, Kick)>,
}

#[derive(Clone, Copy, Default)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "flags of a kick, any of them at once"
)]
struct Kick {
    always: bool,
    if_idle: bool,
    preempt: bool,
    wait: bool,
}

impl Kicks {
    pub fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }
}

impl Sim<'_> {
    /// The kfunc.
    pub(crate) fn kick(&mut self, cpu: CpuId, flags: u64) {
        let idle_only = flags & KICK_IDLE != 0;
        if idle_only {
            if flags & (KICK_PREEMPT | KICK_WAIT) != 0 {
                return self.eject("PREEMPT/WAIT cannot be used with SCX_KICK_IDLE".to_string());
            }
            let target = &self.cpus[cpu];
            if target.curr != IDLE && !target.in_dispatch {
                return;
            }
        }
        let pending = &mut self.kicks.pending;
        let index = pending
            .iter()
            .position(|(other, _)| *other == cpu)
            .unwrap_or_else(|| {
                pending.push((cpu, Kick::default()));
                pending.len() - 1
            });
        let kick = &mut pending[index].1;
        if idle_only {
            kick.if_idle = true;
        } else {
            kick.always = true;
            kick.preempt |= flags & KICK_PREEMPT != 0;
            kick.wait |= flags & KICK_WAIT != 0;
        }
    }

    pub(crate) fn flush_kicks(&mut self) {
        let mut pending = std::mem::take(&mut self.kicks.pending);
        for (cpu, kick) in pending.drain(..) {
            if !self.cpus[cpu].online {
                continue;
            }
            self.decide(What::Kick, cpu, IDLE, self.op_at_ns);
            if kick.always {
                self.kick_one(cpu, kick);
            } else if kick.if_idle && self.cpus[cpu].curr == IDLE {
                self.lock_rq(cpu);
                self.resched(cpu);
            }
        }
        self.kicks.pending = pending;
    }

    fn kick_one(&mut self, cpu: CpuId, kick: Kick) {
        self.lock_rq(cpu);
        let curr = self.cpus[cpu].curr;
        let ext = curr != IDLE && self.tasks[curr].class == Class::Ext;
        if ext && kick.preempt {
            self.seen(curr).scx.slice = 0;
        }
        self.resched(cpu);
        let from = self.op_cpu;
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
    pub(crate) fn release_waiters(&mut self, cpu: CpuId) {
        if self.cpus[cpu].waited_for_by.is_empty() {
            return;
        }
        let at_ns = self.op_at_ns;
        let waiters = std::mem::take(&mut self.cpus[cpu].waited_for_by);
        for waiter in waiters {
            let other = &mut self.cpus[waiter];
            other.waits_for -= 1;
            if other.waits_for == 0 {
                other.kernel_until_ns = other.kernel_until_ns.max(at_ns);
                other.progress_at_ns = other.progress_at_ns.max(at_ns);
                if waiter != self.op_cpu {
                    self.post(waiter);
                }
            }
        }
    }
}
