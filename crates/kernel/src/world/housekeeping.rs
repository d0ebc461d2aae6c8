// SPDX-License-Identifier: GPL-2.0-or-later
//! The kernel's own thread is woken at ticks (see `kthread`).

use crate::cpu::work_of;
use crate::ids::TaskId;
use crate::sim::Sim;
use crate::task::{Stage, State};

impl Sim<'_> {
    pub(crate) fn is_kthread(&self, id: TaskId) -> bool {
        let kthread = self.runner.as_ref().and_then(|it| it.kthread.as_ref());
        kthread.is_some_and(|kthread| kthread.id == id)
    }

    /// A tick on a CPU that is busy.
    pub(crate) fn housekeep(&mut self) {
        let Some(kthread) = self.runner.as_mut().and_then(|it| it.kthread.as_mut()) else {
            return;
        };
        let (id, takes_ns) = (kthread.id, kthread.takes_ns);
        let sleeps = self.tasks[id].state == State::Blocked;
        if kthread.take_on(self.clock.now_ns, sleeps) {
            let task = &mut self.tasks[id];
            task.stage = Stage::Start;
            task.work = work_of(takes_ns);
            self.wake(id, false);
        }
    }

    /// A task has died.
    pub(crate) fn release_later(&mut self) {
        if let Some(kthread) = self.runner.as_mut().and_then(|it| it.kthread.as_mut()) {
            kthread.release();
        }
    }
}
