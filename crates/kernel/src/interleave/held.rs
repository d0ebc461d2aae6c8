// SPDX-License-Identifier: GPL-2.0-or-later
//! What operations that are broken off keep: what comes in between cannot have it.

use crate::ids::{CpuId, TaskId};

/// One operation that is broken off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// Where it runs: with interrupts disabled, so that nothing else does.
    pub cpu: CpuId,
    /// Whose run queue it has locked.
    pub run_queue: Option<CpuId>,
    /// Whose `pi_lock` it holds, or whom it is about to hand over.
    pub task: Option<TaskId>,
    /// It is a system call of a task, which may be in the middle of what tasks talk through.
    pub program: bool,
    /// It is a step of CPU hotplug, of which there is one at a time.
    pub hotplug: bool,
}

/// Those that are broken off, the outermost first.
#[derive(Default)]
pub struct BrokenOff {
    held: Vec<Held>,
}

impl BrokenOff {
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    pub fn depth(&self) -> usize {
        self.held.len()
    }

    pub fn push(&mut self, held: Held) {
        self.held.push(held);
    }

    pub fn pop(&mut self) {
        self.held.pop();
    }

    /// Those that are in the kernel already.
    pub fn cpus(&self) -> impl Iterator<Item = CpuId> {
        self.held.iter().map(|held| held.cpu)
    }

    pub fn busy(&self, cpu: CpuId) -> bool {
        self.cpus().any(|busy| busy == cpu)
    }

    pub fn locks(&self, cpu: CpuId) -> bool {
        self.held.iter().any(|held| held.run_queue == Some(cpu))
    }

    pub fn keeps(&self, task: TaskId) -> bool {
        self.held.iter().any(|held| held.task == Some(task))
    }

    pub fn in_program(&self) -> bool {
        self.held.iter().any(|held| held.program)
    }

    pub fn in_hotplug(&self) -> bool {
        self.held.iter().any(|held| held.hotplug)
    }
}
