// SPDX-License-Identifier: GPL-2.0-or-later
//! What the policy has asked for in a callback, and what the model carries out later.

use crate::ids::{CpuId, TaskId};
use crate::task::{Place, Verdict};

/// Which kfuncs make sense: what callback the policy is in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Context {
    #[default]
    Other,
    /// `select_cpu` or enqueue of this task, which may be inserted directly.
    Enqueue(TaskId),
    /// The same, after it has inserted.
    Enqueued(TaskId),
    Dispatch,
    /// `cpu_release` of this CPU.
    CpuRelease(CpuId),
}

/// An insert of `ops.dispatch()`, carried out when it returns.
#[derive(Clone, Copy, Debug)]
pub struct Insert {
    pub task: TaskId,
    pub qseq: u32,
    pub verdict: Verdict,
}

#[derive(Clone, Copy, Default)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "flags of a kick, any of them at once"
)]
pub struct Kick {
    pub always: bool,
    pub if_idle: bool,
    pub preempt: bool,
    pub wait: bool,
}

impl Kick {
    /// The CPU is kicked once for both.
    pub fn join(&mut self, other: Self) {
        self.always |= other.always;
        self.if_idle |= other.if_idle;
        self.preempt |= other.preempt;
        self.wait |= other.wait;
    }
}

/// What waits in a queue is to go back to the policy.
#[derive(Clone, Copy, Debug)]
pub struct Reenqueue {
    pub queue: Place,
    /// All of it, not only what should run at once and cannot.
    pub all: bool,
}

#[derive(Default)]
pub struct Requests {
    pub context: Context,
    pub inserts: Vec<Insert>,
    /// Tasks that `ops.dispatch()` has moved so far.
    pub dispatched: u32,
    /// Queues that go back to the policy at the end of the operation, each once.
    pub reenqueues: Vec<Reenqueue>,
    /// CPUs to kick, in order of the first kick, with the flags of all kicks since.
    pub kicks: Vec<(CpuId, Kick)>,
}

impl Requests {
    pub fn reenqueue(&mut self, queue: Place, all: bool) {
        let asked = &mut self.reenqueues;
        match asked.iter_mut().find(|other| other.queue == queue) {
            Some(same) => same.all |= all,
            None => asked.push(Reenqueue { queue, all }),
        }
    }

    /// What was asked of this queue, once.
    pub fn take_reenqueue(&mut self, queue: Place) -> Option<Reenqueue> {
        let place = (self.reenqueues.iter()).position(|asked| asked.queue == queue)?;
        Some(self.reenqueues.remove(place))
    }

    /// The kicks of a CPU so far.
    pub fn kick_of(&mut self, cpu: CpuId) -> &mut Kick {
        let kicks = &mut self.kicks;
        let index = kicks
            .iter()
            .position(|(other, _)| *other == cpu)
            .unwrap_or_else(|| {
                kicks.push((cpu, Kick::default()));
                kicks.len() - 1
            });
        &mut kicks[index].1
    }
}
