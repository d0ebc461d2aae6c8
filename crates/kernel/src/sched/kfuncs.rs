// SPDX-License-Identifier: GPL-2.0-or-later
//! What the kfuncs of sched_ext do, as the boundary asks for it.

use bpf::host::{FaultKind, Host};

use crate::boundary::release::Release;
use crate::boundary::{self, requests::Context};
use crate::boundary::{Boundary, Callback, Kernel, Moment, Walk, Work};
use crate::consts::{
    CPUPERF_ONE, DSQ_BUILTIN, DSQ_GLOBAL, DSQ_LOCAL, DSQ_LOCAL_ON, EBUSY, EINVAL, ENOENT,
    OPS_IDLE_PER_NODE, PICK_IDLE_IN_NODE,
};
use crate::end::{Ejection, Exit};
use crate::ids::{CpuId, TaskId};
use crate::mask::{self, CpuMask};
use crate::observe::Happened;
use crate::queue::dsq::Key;
use crate::sim::Sim;
use crate::task::{Place, Task, Verdict, task_of_pid};

/// `NUMA_NO_NODE`.
const NO_NODE: i32 = -1;
const EOPNOTSUPP: i32 = -95;

impl Sim<'_> {
    /// Call a callback, if the policy has it; what it returned.
    #[inline]
    pub(crate) fn call<const N: usize>(
        &mut self,
        callback: Callback,
        arguments: [u64; N],
    ) -> Option<u64> {
        boundary::call(self, callback, arguments)
    }

    fn existing(&mut self, cpu: i32) -> Option<CpuId> {
        let id = CpuId(cpu.cast_unsigned());
        if cpu >= 0 && self.cpus.contains(id) {
            return Some(id);
        }
        self.eject(format!("invalid CPU {cpu}"));
        None
    }

    /// A node, where the policy asked for tracking by nodes; `NUMA_NO_NODE` is none, and no error.
    fn existing_node(&mut self, node: i32) -> Result<usize, i32> {
        if self.boundary.ops.flags & OPS_IDLE_PER_NODE == 0 {
            self.eject("per-node idle tracking is disabled".to_string());
            return Err(EOPNOTSUPP);
        }
        if node == NO_NODE {
            return Err(ENOENT);
        }
        let found = usize::try_from(node).ok();
        let found = found.filter(|node| *node < self.machine.topology.nodes());
        found.ok_or_else(|| {
            self.eject(format!("invalid node {node}"));
            EINVAL
        })
    }

    /// The built-in idle tracking is off when the policy does its own.
    fn needs_builtin_idle(&mut self) -> bool {
        let builtin = self.boundary.builtin_idle();
        if !builtin {
            self.eject("built-in idle tracking is disabled".to_string());
        }
        builtin
    }
}

impl Kernel for Sim<'_> {
    #[inline]
    fn boundary(&mut self) -> &mut Boundary {
        &mut self.boundary
    }

    #[inline]
    fn moment(&self) -> Moment {
        let clock = &self.clock;
        // The kernel's own scheduler reads its run queue's clock and no other.
        let own = self.machine.built_in;
        Moment {
            now_ns: if own || clock.rq_holds {
                clock.rq_ns
            } else {
                clock.at_ns
            },
            ktime_ns: if own { clock.rq_ns } else { clock.at_ns },
            cpu: clock.cpu,
            in_interrupt: clock.in_interrupt,
            current: self.cpus[clock.cpu].current(),
        }
    }

    #[inline(always)]
    fn calls(&mut self, callback: Callback) {
        let op = callback.name();
        self.tell(self.clock.at_ns, Happened::Called { op });
    }

    #[cold]
    fn seam(&mut self, call: &'static str) {
        self.point(call);
    }

    #[cold]
    fn cannot_wait(&mut self) {
        self.not_possible();
    }

    #[inline]
    fn charge_policy(&mut self, work: Work) {
        let native = if self.machine.built_in {
            work.built_in()
        } else {
            work.native()
        };
        self.clock.at_ns += native * self.machine.costs.policy_instruction_ps / 1_000;
    }

    #[cold]
    fn fault(&mut self, fault: &Host) {
        let what = self.loaded.program.describe(fault);
        let by = match FaultKind::of(fault.fault) {
            Some(FaultKind::Limit) => "endless loop",
            _ => "fault",
        };
        self.end.break_off(by, Exit::Failed(what));
    }

    fn eject(&mut self, message: String) {
        Sim::eject(self, message);
    }

    fn throw_out(&mut self, ejection: Ejection) {
        Sim::throw_out(self, ejection);
    }

    fn create_dsq(&mut self, id: u64, node: i32) -> i32 {
        if node >= self.machine.topology.nodes() as i32 || node < -1 {
            return EINVAL;
        }
        self.dsqs.create(id)
    }

    fn destroy_dsq(&mut self, id: u64) {
        if let Err(reason) = self.dsqs.destroy(id) {
            self.eject(reason);
        }
    }

    fn insert(&mut self, task: TaskId, verdict: Verdict) {
        self.insert_task(task, verdict);
    }

    fn move_to_local(&mut self, dsq_id: u64, enq_flags: u64) -> bool {
        self.move_first_to_local(dsq_id, enq_flags)
    }

    fn nr_queued(&self, id: u64) -> i32 {
        if id == DSQ_LOCAL {
            return self.cpus[self.clock.cpu].local.len() as i32;
        }
        if id & DSQ_LOCAL_ON == DSQ_LOCAL_ON {
            let cpu = self.cpus.get(CpuId(id as u32));
            return cpu.map_or(ENOENT, |cpu| cpu.local.len() as i32);
        }
        if id == DSQ_GLOBAL {
            return ENOENT;
        }
        let dsq = self.dsqs.find(id);
        dsq.map_or(ENOENT, |dsq| self.dsqs[dsq].len() as i32)
    }

    fn walk(&self, id: u64, is_reversed: bool) -> Option<Walk> {
        let dsq = self.dsqs.find(id)?;
        Some(Walk {
            dsq,
            limit: self.dsqs[dsq].seq(),
            at: None,
            slice_ns: None,
            vtime: None,
            is_reversed,
        })
    }

    fn walk_on(&self, walk: &mut Walk) -> Option<TaskId> {
        let dsq = &self.dsqs[walk.dsq];
        // What came in after the walk began is not part of it.
        let limit = walk.limit;
        let belongs = |index: &usize| {
            let seq = dsq.entries[*index].seq;
            seq.wrapping_sub(limit).cast_signed() <= 0
        };
        let (all, at) = (dsq.entries.len(), walk.at);
        let index = if walk.is_reversed {
            let end = at.map_or(all, |(_, key, order)| dsq.search(key, order));
            (0..end).rev().find(belongs)
        } else {
            let begin = at.map_or(0, |(index, key, order)| {
                dsq.after(Key { key, order }, index as usize)
            });
            (begin..all).find(belongs)
        }?;
        let entry = &dsq.entries[index];
        walk.at = Some((index as u32, entry.key, entry.order));
        Some(entry.task)
    }

    fn move_walked(&mut self, what: Option<(TaskId, Walk)>, dsq_id: u64, enq_flags: u64) -> bool {
        if matches!(
            self.boundary.requests.context,
            Context::Enqueue(_) | Context::Enqueued(_)
        ) {
            self.eject("scx_bpf_dsq_move() called from select_cpu or enqueue".to_string());
            return false;
        }
        let Some((id, walk)) = what else {
            return false;
        };
        let Some(enq_flags) = self.vetted(dsq_id, enq_flags) else {
            return false;
        };
        let task = &self.tasks[id];
        // Gone, or back in the queue since the walk began.
        if task.place != Place::Dsq(walk.dsq)
            || task.dsq_seq.wrapping_sub(walk.limit).cast_signed() > 0
        {
            return false;
        }
        let scx = &mut self.boundary.view.task_mut(id).scx;
        scx.slice = walk.slice_ns.unwrap_or(scx.slice);
        scx.dsq_vtime = walk.vtime.unwrap_or(scx.dsq_vtime);
        self.move_between(id, dsq_id, enq_flags)
    }

    fn kick(&mut self, cpu: i32, flags: u64) {
        if let Some(cpu) = self.existing(cpu) {
            self.kick_cpu(cpu, flags);
        }
    }

    fn select_cpu_dfl(&mut self, task: TaskId, prev_cpu: i32, wake_flags: u64) -> (i32, bool) {
        let Some(prev) = self.existing(prev_cpu) else {
            return (prev_cpu, false);
        };
        if !self.needs_builtin_idle() {
            return (prev_cpu, false);
        }
        match self.default_cpu(task, prev, wake_flags) {
            Some(cpu) => (cpu.0 as i32, true),
            None => (prev_cpu, false),
        }
    }

    fn pick_idle_cpu(&mut self, allowed: &CpuMask, flags: u64) -> i32 {
        if !self.needs_builtin_idle() {
            return EBUSY;
        }
        self.pick_idle(allowed, flags)
            .map_or(EBUSY, |cpu| cpu.0 as i32)
    }

    fn pick_any_cpu(&mut self, allowed: &CpuMask, flags: u64) -> i32 {
        if self.boundary.builtin_idle()
            && let Some(cpu) = self.pick_idle(allowed, flags)
        {
            return cpu.0 as i32;
        }
        self.pick_any(allowed).map_or(EBUSY, |cpu| cpu.0 as i32)
    }

    fn pick_idle_cpu_node(&mut self, allowed: &CpuMask, node: i32, flags: u64) -> i32 {
        if !self.needs_builtin_idle() {
            return EBUSY;
        }
        match self.existing_node(node) {
            Ok(node) => self
                .pick_idle_node(allowed, node, flags)
                .map_or(EBUSY, |cpu| cpu.0 as i32),
            Err(error) => error,
        }
    }

    fn pick_any_cpu_node(&mut self, allowed: &CpuMask, node: i32, flags: u64) -> i32 {
        let existing = match self.existing_node(node) {
            Ok(existing) => existing,
            Err(error) => return error,
        };
        if self.boundary.builtin_idle()
            && let Some(cpu) = self.pick_idle_node(allowed, existing, flags)
        {
            return cpu.0 as i32;
        }
        let within = &self.machine.domains.nodes[existing];
        let any = if flags & PICK_IDLE_IN_NODE == 0 {
            self.pick_any(allowed)
        } else {
            let within = mask::and(allowed, within);
            self.pick_any(&within)
        };
        any.map_or(EBUSY, |cpu| cpu.0 as i32)
    }

    fn node_cpus(&mut self, node: i32) -> Option<CpuMask> {
        if !self.needs_builtin_idle() {
            return None;
        }
        let node = self.existing_node(node).ok()?;
        Some(self.machine.domains.nodes[node].clone())
    }

    fn test_and_clear_cpu_idle(&mut self, cpu: i32) -> bool {
        self.needs_builtin_idle() && self.existing(cpu).is_some_and(|cpu| self.claim_idle(cpu))
    }

    fn select_cpu_and(
        &mut self,
        task: TaskId,
        prev_cpu: i32,
        wake_flags: u64,
        allowed: &CpuMask,
        flags: u64,
    ) -> i32 {
        let Some(prev) = self.existing(prev_cpu) else {
            return EINVAL;
        };
        if !self.needs_builtin_idle() {
            return EBUSY;
        }
        let allowed = mask::and(allowed, self.boundary.view.allowed(task));
        self.default_cpu_of(&allowed, prev, wake_flags, flags)
            .map_or(EBUSY, |cpu| cpu.0 as i32)
    }

    fn current_of(&mut self, cpu: i32) -> Option<TaskId> {
        let cpu = self.existing(cpu)?;
        Some(self.cpus[cpu].current())
    }

    fn node_of(&mut self, cpu: i32) -> i32 {
        let cpu = self.existing(cpu);
        cpu.map_or(EINVAL, |cpu| self.machine.topology.place(cpu).node as i32)
    }

    fn peek(&self, dsq_id: u64) -> Option<TaskId> {
        let dsq = self.dsqs.find(dsq_id)?;
        self.dsqs[dsq].entries.front().map(|entry| entry.task)
    }

    fn dispatch_slots(&self) -> u32 {
        self.batch()
            .saturating_sub(self.boundary.requests.inserts.len()) as u32
    }

    fn cancel_dispatch(&mut self) {
        if self.boundary.requests.inserts.pop().is_none() {
            self.eject("dispatch buffer underflow".to_string());
        }
    }

    fn reenqueue_local(&mut self) -> u32 {
        if let Context::CpuRelease(cpu) = self.boundary.requests.context {
            let count = self.reenqueue(Place::Local(cpu), true);
            self.boundary.requests.context = Context::CpuRelease(cpu);
            count
        } else {
            self.eject("scx_bpf_reenqueue_local() called outside cpu_release".to_string());
            0
        }
    }

    fn reenqueue_later(&mut self, dsq_id: u64) {
        let queue = match self.dsq_of(self.clock.cpu, dsq_id) {
            Ok(Place::Dsq(dsq)) if self.dsqs[dsq].id & DSQ_BUILTIN != 0 => {
                return self.eject(format!("DSQ 0x{dsq_id:x} not allowed for reenq"));
            }
            Ok(queue) => queue,
            Err(reason) => return self.eject(reason),
        };
        self.boundary.requests.reenqueue(queue, true);
    }

    fn nodes(&self) -> u32 {
        self.machine.topology.nodes() as u32
    }

    fn capacity_of(&mut self, cpu: i32) -> u32 {
        let cpu = self.existing(cpu);
        cpu.map_or(CPUPERF_ONE, |cpu| self.machine.topology.place(cpu).capacity)
    }

    fn speed_of(&mut self, cpu: i32) -> u32 {
        let cpu = self.existing(cpu);
        cpu.map_or(CPUPERF_ONE, |cpu| Sim::speed_of(self, cpu))
    }

    fn ask_for_speed(&mut self, cpu: i32, target: u32) {
        let Some(existing) = self.existing(cpu) else {
            return;
        };
        // Who has a run queue locked may not lock another; older kernels locked none.
        let locked = self.locked_rq().filter(|locked| *locked != existing);
        if locked.is_some() && self.boundary.release >= Release::of(616) {
            return self.eject(format!("Invalid target CPU {cpu}"));
        }
        Sim::ask_for_speed(self, existing, target);
    }

    fn print(&mut self, text: &str) {
        self.tell(self.clock.at_ns, Happened::Printed { text });
    }

    fn task_cpu(&self, task: Option<TaskId>) -> CpuId {
        match task {
            Some(task) => self.tasks[task].cpu,
            // The idle task is wherever it is looked at.
            None => self.clock.cpu,
        }
    }

    fn task_running(&self, task: TaskId) -> bool {
        self.cpus[self.tasks[task].cpu].curr == task
    }

    fn task_with_pid(&self, pid: i32) -> Option<TaskId> {
        task_of_pid(pid).filter(|task| self.tasks.get(*task).is_some_and(Task::alive))
    }

    fn start_timer(&mut self, index: usize, ns: u64) {
        self.start_policy_timer(index, ns);
    }
}
