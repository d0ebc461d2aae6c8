// SPDX-License-Identifier: GPL-2.0-or-later
//! The built-in tracking of idle CPUs and the default choice of a CPU, as `kernel/sched/ext_idle.c` has them.

use crate::boundary::Callback;
use crate::consts::{PF_EXITING, PICK_IDLE_CORE, PICK_IDLE_IN_NODE, WAKE_SYNC};
use crate::ids::{CpuId, Id, TaskId};
use crate::mask::{self, CpuMask};
use crate::sim::Sim;

impl Sim<'_> {
    /// A CPU goes idle or comes back; `notify`: it really changed, so the policy hears of it.
    pub(crate) fn update_idle(&mut self, cpu: CpuId, idle: bool, notify: bool) {
        if self.cpus[cpu].unseen {
            return;
        }
        if self.boundary.builtin_idle() {
            self.set_idle_bit(cpu, idle);
        }
        if notify {
            self.call(Callback::UpdateIdle, [u64::from(cpu.0), u64::from(idle)]);
        }
    }

    /// When a policy is loaded, the kernel marks every CPU idle, and each is right from when it goes idle or comes back
    /// from it (`reset_idle_masks`). The CPU of who loaded it is busy all that time, and stays marked.
    pub(crate) fn mark_loader_idle(&mut self, cpu: CpuId) {
        if self.boundary.builtin_idle() {
            self.set_idle_bit(cpu, true);
        }
    }

    fn set_idle_bit(&mut self, cpu: CpuId, idle: bool) {
        let masks = &mut *self.boundary.view.masks;
        if idle {
            mask::set(&mut masks.idle, cpu);
        } else {
            mask::clear(&mut masks.idle, cpu);
        }
        if !self.machine.topology.smt() {
            let word = cpu.index() / 64;
            masks.idle_smt.bits[word] = masks.idle.bits[word];
            return;
        }
        let core = &self.machine.domains.cores[self.machine.topology.place(cpu).core as usize];
        let whole = idle
            && core
                .bits
                .iter()
                .zip(&masks.idle.bits)
                .all(|(core, idle)| core & !idle == 0);
        for (smt, core) in masks.idle_smt.bits.iter_mut().zip(&core.bits) {
            *smt = if whole { *smt | core } else { *smt & !core };
        }
    }

    /// Claim an idle CPU. Its core is not wholly idle any more either way.
    pub(crate) fn claim_idle(&mut self, cpu: CpuId) -> bool {
        let masks = &mut *self.boundary.view.masks;
        if self.machine.topology.smt() {
            let core = &self.machine.domains.cores[self.machine.topology.place(cpu).core as usize];
            for (smt, core) in masks.idle_smt.bits.iter_mut().zip(&core.bits) {
                *smt &= !core;
            }
        } else {
            mask::clear(&mut masks.idle_smt, cpu);
        }
        let was = mask::has(&masks.idle, cpu);
        mask::clear(&mut masks.idle, cpu);
        was
    }

    /// Claim some idle CPU of a set; with `PICK_IDLE_CORE` one of a wholly idle core. Whole cores go first anyway.
    pub(crate) fn pick_idle(&mut self, allowed: &CpuMask, flags: u64) -> Option<CpuId> {
        self.pick_idle_within(allowed, None, flags)
    }

    /// The same within a node, then, unless told to stay there, in the others in their order.
    pub(crate) fn pick_idle_node(
        &mut self,
        allowed: &CpuMask,
        node: usize,
        flags: u64,
    ) -> Option<CpuId> {
        let others = (0..self.machine.domains.nodes.len()).filter(|other| *other != node);
        let others = others.filter(|_| flags & PICK_IDLE_IN_NODE == 0);
        let nodes: Vec<usize> = std::iter::once(node).chain(others).collect();
        nodes.into_iter().find_map(|node| {
            let within = self.machine.domains.nodes[node].clone();
            self.pick_idle_within(allowed, Some(&within), flags)
        })
    }

    fn pick_idle_within(
        &mut self,
        allowed: &CpuMask,
        within: Option<&CpuMask>,
        flags: u64,
    ) -> Option<CpuId> {
        loop {
            let found = if self.machine.topology.smt() {
                self.first_of(&self.boundary.view.masks.idle_smt, allowed, within)
            } else {
                None
            };
            let found = match found {
                Some(cpu) => Some(cpu),
                None if self.machine.topology.smt() && flags & PICK_IDLE_CORE != 0 => None,
                None => self.first_of(&self.boundary.view.masks.idle, allowed, within),
            };
            let cpu = found?;
            if self.claim_idle(cpu) {
                return Some(cpu);
            }
        }
    }

    fn first_of(
        &self,
        mask: &CpuMask,
        allowed: &CpuMask,
        within: Option<&CpuMask>,
    ) -> Option<CpuId> {
        match within {
            None => mask::first_in(self.machine.domains.words, |word| {
                mask.bits[word] & allowed.bits[word]
            }),
            Some(within) => mask::first_in(self.machine.domains.words, |word| {
                mask.bits[word] & allowed.bits[word] & within.bits[word]
            }),
        }
    }

    /// Any CPU of a set, idle or not, in turn.
    pub(crate) fn pick_any(&mut self, allowed: &CpuMask) -> Option<CpuId> {
        let online = mask::and(allowed, &self.boundary.view.masks.online);
        let last = self.cpus[self.clock.cpu].distribute;
        let next = mask::iter(&online)
            .find(|cpu| *cpu > last)
            .or_else(|| mask::first(&online));
        if let Some(cpu) = next {
            self.cpus[self.clock.cpu].distribute = cpu;
        }
        next
    }

    /// The kernel's default choice: an idle CPU, claimed, or none.
    pub(crate) fn default_cpu(
        &mut self,
        id: TaskId,
        prev_cpu: CpuId,
        wake_flags: u64,
    ) -> Option<CpuId> {
        let allowed = std::ptr::from_ref(self.boundary.view.allowed(id));
        // SAFETY: affinity does not change during the search, and the mask does not move.
        let allowed = unsafe { &*allowed };
        self.default_cpu_of(allowed, prev_cpu, wake_flags, 0)
    }

    /// The same among these CPUs; with `PICK_IDLE_CORE` one of a wholly idle core only.
    pub(crate) fn default_cpu_of(
        &mut self,
        allowed: &CpuMask,
        prev_cpu: CpuId,
        wake_flags: u64,
        flags: u64,
    ) -> Option<CpuId> {
        let prev_allowed = mask::has(allowed, prev_cpu);
        if wake_flags & WAKE_SYNC != 0 {
            let cpu = self.clock.cpu;
            let topology = &self.machine.topology;
            let near = topology.place(cpu).llc == topology.place(prev_cpu).llc;
            if prev_allowed && near && self.claim_idle(prev_cpu) {
                return Some(prev_cpu);
            }
            let current = self.boundary.view.pointer(self.cpus[cpu].curr);
            // SAFETY: a task of this simulation, or the idle task.
            let exiting = unsafe { (*current).flags } & PF_EXITING != 0;
            if !exiting
                && self.cpus[cpu].local.is_empty()
                && !mask::is_empty(&self.boundary.view.masks.idle)
                && mask::has(allowed, cpu)
            {
                return Some(cpu);
            }
        }
        if self.machine.topology.smt() {
            if prev_allowed
                && mask::has(&self.boundary.view.masks.idle_smt, prev_cpu)
                && self.claim_idle(prev_cpu)
            {
                return Some(prev_cpu);
            }
            if let Some(cpu) = self.pick_near(allowed, prev_cpu, PICK_IDLE_CORE) {
                return Some(cpu);
            }
            if flags & PICK_IDLE_CORE != 0 {
                return None;
            }
        }
        if prev_allowed && self.claim_idle(prev_cpu) {
            return Some(prev_cpu);
        }
        self.pick_near(allowed, prev_cpu, 0)
    }

    /// From the last-level cache outwards.
    fn pick_near(&mut self, allowed: &CpuMask, prev_cpu: CpuId, flags: u64) -> Option<CpuId> {
        if mask::is_empty(&self.boundary.view.masks.idle) {
            return None;
        }
        let place = *self.machine.topology.place(prev_cpu);
        if self.machine.domains.use_llc {
            let llc = self.machine.domains.llcs[place.llc as usize].clone();
            if let Some(cpu) = self.pick_idle_within(allowed, Some(&llc), flags) {
                return Some(cpu);
            }
        }
        if self.machine.domains.use_node {
            let node = self.machine.domains.nodes[place.node as usize].clone();
            if let Some(cpu) = self.pick_idle_within(allowed, Some(&node), flags) {
                return Some(cpu);
            }
        }
        self.pick_idle_within(allowed, None, flags)
    }
}
