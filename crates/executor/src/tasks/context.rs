// SPDX-License-Identifier: GPL-2.0-or-later
//! What every task of a run shares.

use std::os::fd::RawFd;
use std::path::Path;
use std::sync::atomic::Ordering::SeqCst;

use super::ExecOptions;
use super::arena::Arena;
use super::channels::Channels;
use workload::plan::{End, Plan};

pub struct Context<'a> {
    pub plan: &'a Plan,
    pub options: &'a ExecOptions,
    pub arena: &'a Arena,
    pub channels: &'a Channels,
    /// The folder of the plan's control groups, where it has any.
    pub cgroups: Option<&'a Path>,
    /// CPUs that the caller may use: the plan's CPU 0 is the first of them.
    pub cpus: &'a [usize],
    /// An eventfd that tells the supervisor to look.
    pub bell: RawFd,
}

impl Context<'_> {
    pub fn ring(&self) {
        let one = 1u64;
        // SAFETY: reads eight bytes of a local.
        unsafe { libc::write(self.bell, (&raw const one).cast(), 8) };
    }

    /// A task of the group has ended in good order.
    pub fn ended(&self, group: usize) {
        let alive = self.arena.alive(group).fetch_sub(1, SeqCst) - 1;
        let live = self.arena.shared().live.fetch_sub(1, SeqCst) - 1;
        if live == 0 || (alive == 0 && self.plan.end == End::Group(group as u32)) {
            self.ring();
        }
    }

    /// Whether the workload has come to its end by itself.
    pub fn is_over(&self) -> bool {
        match self.plan.end {
            End::All => self.arena.shared().live.load(SeqCst) == 0,
            End::Group(group) => self.arena.alive(group as usize).load(SeqCst) == 0,
            End::After { .. } => false,
        }
    }
}
