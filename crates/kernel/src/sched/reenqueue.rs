// SPDX-License-Identifier: GPL-2.0-or-later
//! Tasks that go back to the policy out of a queue: all of them, where a kfunc asks for it, or those of a local queue that
//! were inserted for immediate execution (`SCX_ENQ_IMMED`) and whose CPU cannot run them at once.

use crate::consts::{
    DSQ_LOCAL, DSQ_LOCAL_ON, ENQ_IMMED, ENQ_PREEMPT, ENQ_REENQ, OPS_ALWAYS_ENQ_IMMED,
    REENQ_LOCAL_REPEATS, TASK_IMMED, TASK_REENQ_IMMED, TASK_REENQ_KFUNC, TASK_REENQ_MASK,
};
use crate::ids::{CpuId, IDLE, TaskId};
use crate::sim::Sim;
use crate::task::{Class, Place};

impl Sim<'_> {
    /// The flags of an insertion, for the queue that it goes to; nothing, and the policy is thrown out, where they do not
    /// fit together.
    pub(crate) fn vetted(&mut self, dsq_id: u64, enq_flags: u64) -> Option<u64> {
        let local = dsq_id == DSQ_LOCAL || dsq_id & DSQ_LOCAL_ON == DSQ_LOCAL_ON;
        if enq_flags & ENQ_IMMED != 0 && !local {
            self.eject(format!("SCX_ENQ_IMMED on a non-local DSQ 0x{dsq_id:x}"));
            return None;
        }
        let always = local && self.boundary.ops.flags & OPS_ALWAYS_ENQ_IMMED != 0;
        Some(enq_flags | if always { ENQ_IMMED } else { 0 })
    }

    /// A task of this class is there for the CPU: the part of the kernel's `wakeup_preempt()` that is between classes.
    pub(crate) fn raise_class(&mut self, cpu: CpuId, class: Class) {
        let this = &mut self.cpus[cpu];
        if this.next_class < Some(class) {
            this.next_class = Some(class);
            if class == Class::Rt && this.nr_immed > 0 {
                self.boundary.requests.reenqueue(Place::Local(cpu), false);
            }
        }
    }

    /// An ext task has been enqueued on a CPU: any goes before idleness.
    pub(crate) fn preempt_idle(&mut self, cpu: CpuId) {
        self.raise_class(cpu, Class::Ext);
        if self.cpus[cpu].curr == IDLE {
            self.resched(cpu);
        }
    }

    /// Whether an ext task would run on the CPU at once: the kernel's `rq_is_open()`.
    fn is_open(&self, cpu: CpuId, enq_flags: u64) -> bool {
        let this = &self.cpus[cpu];
        match this.next_class {
            Some(Class::Rt) => false,
            Some(Class::Ext) => this.in_dispatch || enq_flags & ENQ_PREEMPT != 0,
            None => true,
        }
    }

    /// A task has come to a local queue. That it is to run at once it keeps until it is enqueued anew.
    #[inline(always)]
    pub(crate) fn note_immediate(&mut self, cpu: CpuId, id: TaskId, enq_flags: u64) {
        let flags = &mut self.boundary.view.task_mut(id).scx.flags;
        if enq_flags & ENQ_IMMED != 0 {
            *flags |= TASK_IMMED;
        }
        if *flags & TASK_IMMED != 0 {
            self.cpus[cpu].nr_immed += 1;
            if self.cpus[cpu].local.len() > 1 || !self.is_open(cpu, enq_flags) {
                self.boundary.requests.reenqueue(Place::Local(cpu), false);
            }
        }
    }

    /// Carry out what has been asked for until now.
    #[inline(always)]
    pub(crate) fn flush_reenqueues(&mut self) {
        if !self.boundary.requests.reenqueues.is_empty() {
            self.carry_out_reenqueues();
        }
    }

    #[cold]
    fn carry_out_reenqueues(&mut self) {
        for asked in std::mem::take(&mut self.boundary.requests.reenqueues) {
            match asked.queue {
                Place::Local(cpu) => self.reenqueue_local_again(cpu, asked.all),
                other => {
                    self.reenqueue(other, asked.all);
                }
            }
        }
    }

    /// The same for a CPU's local queue, in the wake-up that has brought a task there.
    #[inline(always)]
    pub(crate) fn flush_reenqueues_of(&mut self, cpu: CpuId) {
        if self.boundary.requests.reenqueues.is_empty() {
            return;
        }
        if let Some(asked) = self.boundary.requests.take_reenqueue(Place::Local(cpu)) {
            self.reenqueue_local_again(cpu, asked.all);
        }
    }

    /// Until the policy has found another place for the tasks. It may not look for one for ever.
    #[cold]
    fn reenqueue_local_again(&mut self, cpu: CpuId, mut all: bool) {
        let queue = Place::Local(cpu);
        let mut repeats = 0;
        loop {
            self.reenqueue(queue, all);
            let Some(asked) = self.boundary.requests.take_reenqueue(queue) else {
                return;
            };
            all = asked.all;
            repeats += 1;
            self.boundary.events.SCX_EV_REENQ_LOCAL_REPEAT += 1;
            if repeats > REENQ_LOCAL_REPEATS {
                return self.eject(format!(
                    "SCX_ENQ_REENQ on SCX_DSQ_LOCAL repeated {repeats} times"
                ));
            }
        }
    }

    /// What waits in a queue goes back to the policy; how many tasks that are. `all`: not only what cannot run at once.
    pub(crate) fn reenqueue(&mut self, queue: Place, all: bool) -> u32 {
        self.as_a_whole(|sim| sim.put_back(queue, all))
    }

    fn put_back(&mut self, queue: Place, all: bool) -> u32 {
        let (entries, open) = match queue {
            Place::Local(cpu) => (&self.cpus[cpu].local.entries, self.is_open(cpu, 0)),
            Place::Dsq(dsq) => (&self.dsqs[dsq].entries, false),
            Place::Nowhere | Place::Policy => return 0,
        };
        // Whatever comes back meanwhile is not looked at again.
        let mut waiting: Vec<(TaskId, u32)> = Vec::new();
        for (place, entry) in entries.iter().enumerate() {
            let immediate = self.boundary.view.task(entry.task).scx.flags & TASK_IMMED != 0;
            if immediate && !(place == 0 && open) {
                self.boundary.events.SCX_EV_REENQ_IMMED += 1;
                waiting.push((entry.task, TASK_REENQ_IMMED));
            } else if all {
                waiting.push((entry.task, TASK_REENQ_KFUNC));
            }
        }
        for (id, _) in &waiting {
            self.unlink(*id);
        }
        for (id, reason) in &waiting {
            self.enqueue_again(*id, *reason);
        }
        waiting.len() as u32
    }

    /// A task goes back to the policy, which is told why.
    pub(crate) fn enqueue_again(&mut self, id: TaskId, reason: u32) {
        self.boundary.view.task_mut(id).scx.flags |= reason;
        self.do_enqueue(self.tasks[id].cpu, id, ENQ_REENQ);
        self.boundary.view.task_mut(id).scx.flags &= !TASK_REENQ_MASK;
    }
}
