// SPDX-License-Identifier: GPL-2.0-or-later
//! Inserting tasks into queues: directly from `select_cpu` and enqueue, buffered from dispatch, and moves between queues.

use crate::boundary::Callback;
use crate::boundary::requests::{Context, Insert};
use crate::consts::{
    DSQ_BUILTIN, DSQ_GLOBAL, DSQ_LOCAL, DSQ_LOCAL_ON, ENQ_HEAD, ENQ_PREEMPT, ENQ_PRIQ, TASK_IMMED,
};
use crate::ids::{CpuId, DsqIndex, IDLE, TaskId};
use crate::observe::Happened;
use crate::queue::dsq::Key;
use crate::sim::Sim;
use crate::task::{Class, Place, Verdict};

const VTIME_IN_BUILTIN: &str = "cannot use vtime ordering for built-in DSQs";

/// Where in which queue a task is.
struct Placed {
    to: Place,
    dsq_id: u64,
    key: Key,
    seq: u32,
}

impl Sim<'_> {
    /// The kfunc: where the task goes depends on the callback it is called from.
    pub(crate) fn insert_task(&mut self, id: TaskId, mut verdict: Verdict) {
        if verdict.enq_flags & crate::consts::ENQ_INTERNAL & !ENQ_PRIQ != 0 {
            return self.eject(format!("invalid enq_flags 0x{:x}", verdict.enq_flags));
        }
        let Some(enq_flags) = self.vetted(verdict.dsq_id, verdict.enq_flags) else {
            return;
        };
        verdict.enq_flags = enq_flags;
        match self.boundary.requests.context {
            Context::Enqueue(task) if task == id => {
                self.tasks[id].verdict = Some(verdict);
                self.boundary.requests.context = Context::Enqueued(task);
            }
            Context::Enqueue(task) => {
                let (expected, got) = (self.label(task), self.label(id));
                self.eject(format!(
                    "scheduling for {expected} but trying to direct-dispatch {got}"
                ));
            }
            Context::Enqueued(_) => {
                let label = self.label(id);
                self.eject(format!("{label} already direct-dispatched"));
            }
            Context::Dispatch => {
                if self.boundary.requests.inserts.len() >= self.batch() {
                    return self.eject("dispatch buffer overflow".to_string());
                }
                let qseq = self.tasks[id].qseq;
                self.boundary.requests.inserts.push(Insert {
                    task: id,
                    qseq,
                    verdict,
                });
            }
            Context::Other | Context::CpuRelease(_) => self.eject(
                "scx_bpf_dsq_insert() called outside select_cpu, enqueue and dispatch".to_string(),
            ),
        }
    }

    pub(crate) fn batch(&self) -> usize {
        match self.boundary.ops.dispatch_max_batch {
            0 => crate::consts::DISPATCH_BATCH,
            batch => batch as usize,
        }
    }

    /// Carry out what `ops.dispatch()` has inserted so far.
    #[inline(always)]
    pub(crate) fn flush_inserts(&mut self, cpu: CpuId) {
        if !self.boundary.requests.inserts.is_empty() {
            self.carry_out_inserts(cpu);
        }
    }

    #[inline(never)]
    fn carry_out_inserts(&mut self, cpu: CpuId) {
        let mut buffer = std::mem::take(&mut self.boundary.requests.inserts);
        for entry in &buffer {
            if self.is_kept(entry.task) {
                continue;
            }
            let task = &self.tasks[entry.task];
            // Only what the policy still holds, from the same hand-over.
            if task.place == Place::Policy && task.qseq == entry.qseq {
                self.finish_dispatch(cpu, entry.task, entry.verdict);
            }
        }
        self.boundary.requests.dispatched += buffer.len() as u32;
        buffer.clear();
        self.boundary.requests.inserts = buffer;
    }

    fn finish_dispatch(&mut self, cpu: CpuId, id: TaskId, verdict: Verdict) {
        self.tasks[id].place = Place::Nowhere;
        let to = self.resolve(cpu, id, verdict.dsq_id);
        self.apply(id, &verdict);
        if let Place::Local(target) = to {
            self.put_local_checked(cpu, id, target, verdict.enq_flags);
        } else {
            self.put(id, to, verdict.enq_flags);
        }
    }

    /// Carry out the verdict of `select_cpu` or enqueue.
    pub(crate) fn direct_dispatch(
        &mut self,
        cpu: CpuId,
        id: TaskId,
        mut verdict: Verdict,
        enq_flags: u64,
    ) {
        verdict.enq_flags |= enq_flags;
        let to = self.resolve(cpu, id, verdict.dsq_id);
        self.apply(id, &verdict);
        match to {
            Place::Local(target) if target != cpu => {
                // Another run queue: the kernel does it as soon as it may drop this one's lock.
                self.put_local_checked(cpu, id, target, verdict.enq_flags);
            }
            _ => self.put(id, to, verdict.enq_flags),
        }
    }

    /// Slice and virtual time come with the insertion; slice 0 keeps the present one, at least 1.
    fn apply(&mut self, id: TaskId, verdict: &Verdict) {
        let scx = &mut self.boundary.view.task_mut(id).scx;
        if verdict.slice > 0 {
            scx.slice = verdict.slice;
        } else {
            scx.slice = scx.slice.max(1);
        }
        if verdict.enq_flags & ENQ_PRIQ != 0 {
            scx.dsq_vtime = verdict.vtime;
        }
    }

    /// Which queue an id means on a CPU, for a task of a CPU of these; the global one where there is none.
    fn resolve(&mut self, cpu: CpuId, id: TaskId, dsq_id: u64) -> Place {
        let global = Place::Dsq(self.global_dsq_of(self.tasks[id].cpu));
        match self.dsq_of(cpu, dsq_id) {
            Ok(_) if dsq_id == DSQ_GLOBAL => global,
            Ok(queue) => queue,
            Err(reason) => {
                self.eject(reason);
                global
            }
        }
    }

    /// Which queue an id means on a CPU.
    pub(crate) fn dsq_of(&self, cpu: CpuId, dsq_id: u64) -> Result<Place, String> {
        if dsq_id == DSQ_LOCAL {
            return Ok(Place::Local(cpu));
        }
        if dsq_id == DSQ_GLOBAL {
            return Ok(Place::Dsq(self.global_dsq_of(cpu)));
        }
        if dsq_id & DSQ_LOCAL_ON == DSQ_LOCAL_ON {
            let target = CpuId(dsq_id as u32);
            return if self.cpus.contains(target) {
                Ok(Place::Local(target))
            } else {
                Err(format!(
                    "invalid CPU {target} in SCX_DSQ_LOCAL_ON dispatch verdict"
                ))
            };
        }
        let dsq = self.dsqs.find(dsq_id);
        dsq.map(Place::Dsq)
            .ok_or_else(|| format!("non-existent DSQ 0x{dsq_id:x}"))
    }

    pub(crate) fn global_dsq_of(&self, cpu: CpuId) -> DsqIndex {
        DsqIndex(self.machine.topology.place(cpu).node)
    }

    /// May the policy move this task to that CPU? Says why not by ejecting, if told to.
    fn may_move(&mut self, id: TaskId, to: CpuId, enforce: bool) -> bool {
        let from = self.tasks[id].cpu;
        if self.boundary.view.migration_disabled(id) {
            if enforce {
                let label = self.label(id);
                self.eject(format!(
                    "SCX_DSQ_LOCAL[_ON] cannot move migration disabled {label} from CPU {from} to {to}"
                ));
            }
            return false;
        }
        if !self.boundary.view.may_run_on(id, to) {
            if enforce {
                let label = self.label(id);
                self.eject(format!(
                    "SCX_DSQ_LOCAL[_ON] target CPU {to} not allowed for {label}"
                ));
            }
            return false;
        }
        let active = self.cpus[to].active();
        if enforce && !active {
            self.boundary.events.SCX_EV_DISPATCH_LOCAL_DSQ_OFFLINE += 1;
        }
        active
    }

    /// Into a local queue that may be another CPU's, with the kernel's checks.
    fn put_local_checked(&mut self, cpu: CpuId, id: TaskId, target: CpuId, enq_flags: u64) {
        let from = self.tasks[id].cpu;
        if from != target {
            if !self.may_move(id, target, true) {
                let global = self.global_dsq_of(from);
                return self.put_shared(global, id, enq_flags & !ENQ_PRIQ);
            }
            if from != cpu {
                self.lock_rq(from);
            }
            self.tasks[id].cpu = target;
        }
        if target != cpu {
            self.lock_rq(target);
        }
        self.put_local(target, id, enq_flags);
    }

    /// Put a queued task into a queue: the kernel's `dispatch_enqueue`.
    pub(crate) fn put(&mut self, id: TaskId, to: Place, enq_flags: u64) {
        match to {
            Place::Local(cpu) => self.put_local(cpu, id, enq_flags),
            Place::Dsq(dsq) => self.put_shared(dsq, id, enq_flags),
            Place::Nowhere | Place::Policy => {}
        }
    }

    fn put_local(&mut self, cpu: CpuId, id: TaskId, enq_flags: u64) {
        self.append_local(cpu, id, enq_flags);
        if enq_flags & ENQ_PRIQ != 0 {
            self.eject(VTIME_IN_BUILTIN.to_string());
        }
        self.end_custody(id);
        self.after_local(cpu, id, enq_flags);
    }

    /// The queue part of [`Self::put_local`].
    #[inline(always)]
    fn append_local(&mut self, cpu: CpuId, id: TaskId, enq_flags: u64) {
        let head = enq_flags & (ENQ_HEAD | ENQ_PREEMPT) != 0;
        let local = &mut self.cpus[cpu].local;
        let placed = Placed {
            to: Place::Local(cpu),
            dsq_id: DSQ_LOCAL,
            key: local.push_fifo(id, head),
            seq: local.seq(),
        };
        self.tell_queued(id, &placed, None, head);
        self.note_immediate(cpu, id, enq_flags);
    }

    fn put_shared(&mut self, index: DsqIndex, id: TaskId, enq_flags: u64) {
        self.lock_dsq(index);
        let head = enq_flags & (ENQ_HEAD | ENQ_PREEMPT) != 0;
        let by_vtime = enq_flags & ENQ_PRIQ != 0;
        let dsq = &mut self.dsqs[index];
        let builtin = dsq.id & DSQ_BUILTIN != 0;
        let vtime = (by_vtime && !builtin).then(|| self.boundary.view.task(id).scx.dsq_vtime);
        let key = match vtime {
            Some(vtime) => dsq.push_vtime(id, vtime),
            None => dsq.push(id, head),
        };
        let (to, dsq_id, seq) = (Place::Dsq(index), dsq.id, dsq.seq());
        if let Ok(key) = key {
            let placed = Placed {
                to,
                dsq_id,
                key,
                seq,
            };
            self.tell_queued(id, &placed, vtime, head);
            if by_vtime && builtin {
                self.eject(VTIME_IN_BUILTIN.to_string());
            }
        } else {
            let other = if vtime.is_some() { "FIFO" } else { "PRIQ" };
            self.eject(format!(
                "DSQ ID 0x{dsq_id:016x} already had {other}-enqueued tasks"
            ));
        }
        if builtin {
            self.end_custody(id);
        } else {
            self.tasks[id].custody = true;
        }
    }

    /// A task is in a queue; `vtime`: by what it is sorted there.
    #[inline(always)]
    fn tell_queued(&mut self, id: TaskId, placed: &Placed, vtime: Option<u64>, head: bool) {
        let task = &mut self.tasks[id];
        debug_assert_eq!(task.place, Place::Nowhere);
        task.dsq_key = placed.key;
        task.dsq_seq = placed.seq;
        task.place = placed.to;
        let scx = &self.boundary.view.task(id).scx;
        let queued = Happened::Queued {
            task: id,
            to: placed.to,
            dsq_id: placed.dsq_id,
            slice_ns: scx.slice,
            vtime: scx.dsq_vtime,
            by_vtime: vtime.is_some(),
            head,
        };
        self.tell(self.clock.at_ns, queued);
    }

    /// The task is in a queue that the kernel takes it from: no business of the policy's any more.
    #[inline]
    fn end_custody(&mut self, id: TaskId) {
        if std::mem::take(&mut self.tasks[id].custody) {
            self.call(Callback::Dequeue, [self.boundary.view.address(id), 0]);
        }
    }

    /// An insert into a local queue wakes its CPU, and may preempt.
    fn after_local(&mut self, cpu: CpuId, id: TaskId, enq_flags: u64) {
        self.raise_class(cpu, Class::Ext);
        let this = &self.cpus[cpu];
        if this.in_dispatch || cpu == self.clock.cpu && this.curr == id {
            return;
        }
        let curr = this.curr;
        if curr == IDLE {
            self.resched(cpu);
        } else if enq_flags & ENQ_PREEMPT != 0 && curr != id && self.tasks[curr].class == Class::Ext
        {
            self.boundary.view.task_mut(curr).scx.slice = 0;
            self.resched(cpu);
        }
    }

    /// Take a task out of whatever queue it is in.
    #[inline(always)]
    pub(crate) fn unlink(&mut self, id: TaskId) {
        let task = &mut self.tasks[id];
        let place = std::mem::replace(&mut task.place, Place::Nowhere);
        if !matches!(place, Place::Nowhere | Place::Policy) {
            self.leave_queue(id, place);
        }
    }

    #[inline(never)]
    fn leave_queue(&mut self, id: TaskId, place: Place) {
        let key = self.tasks[id].dsq_key;
        match place {
            Place::Nowhere | Place::Policy => return,
            Place::Local(cpu) => {
                let immediate = self.boundary.view.task(id).scx.flags & TASK_IMMED != 0;
                let this = &mut self.cpus[cpu];
                this.nr_immed -= u32::from(immediate);
                this.local.remove(key, id);
            }
            Place::Dsq(dsq) => {
                self.lock_dsq(dsq);
                self.dsqs[dsq].remove(key, id);
            }
        }
        self.tell(self.clock.at_ns, Happened::Unqueued { task: id });
    }

    /// Move the first task that may run on this CPU, which is in dispatch, to its local queue.
    #[inline(always)]
    pub(crate) fn consume(&mut self, cpu: CpuId, dsq: DsqIndex, enq_flags: u64) -> bool {
        !self.dsqs[dsq].is_empty() && self.consume_first(cpu, dsq, enq_flags)
    }

    #[inline(never)]
    fn consume_first(&mut self, cpu: CpuId, dsq: DsqIndex, enq_flags: u64) -> bool {
        self.lock_dsq(dsq);
        for index in 0..self.dsqs[dsq].len() {
            let id = self.dsqs[dsq].entries[index].task;
            let from = self.tasks[id].cpu;
            if from == cpu || self.may_move(id, cpu, false) {
                self.dsqs[dsq].take(index);
                let taken = Happened::Taken { task: id, dsq, cpu };
                self.tell(self.clock.now_ns, taken);
                let task = &mut self.tasks[id];
                task.place = Place::Nowhere;
                task.cpu = cpu;
                if from != cpu {
                    self.lock_rq(from);
                }
                self.append_local(cpu, id, enq_flags);
                self.end_custody(id);
                return true;
            }
        }
        false
    }

    /// The kfunc, from dispatch: what was inserted before counts first.
    pub(crate) fn move_first_to_local(&mut self, dsq_id: u64, enq_flags: u64) -> bool {
        if self.boundary.requests.context != Context::Dispatch {
            self.eject("scx_bpf_dsq_move_to_local() called outside dispatch".to_string());
            return false;
        }
        let Some(enq_flags) = self.vetted(DSQ_LOCAL, enq_flags) else {
            return false;
        };
        let cpu = self.clock.cpu;
        self.flush_inserts(cpu);
        let Some(dsq) = self.dsqs.find(dsq_id) else {
            self.eject(format!("invalid DSQ ID 0x{dsq_id:016x}"));
            return false;
        };
        let moved = self.consume(cpu, dsq, enq_flags);
        self.boundary.requests.dispatched += u32::from(moved);
        moved
    }

    /// Move a task that an iterator found to another queue.
    pub(crate) fn move_between(&mut self, id: TaskId, dsq_id: u64, enq_flags: u64) -> bool {
        let cpu = self.clock.cpu;
        let to = self.resolve(cpu, id, dsq_id);
        self.unlink(id);
        if let Place::Local(target) = to {
            self.put_local_checked(cpu, id, target, enq_flags);
        } else {
            self.put(id, to, enq_flags);
        }
        true
    }
}
