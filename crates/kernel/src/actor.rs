// SPDX-License-Identifier: GPL-2.0-or-later
//! Tasks execute the workload's program.
//!
//! An instruction that costs CPU time ends the operation: the next one follows when that time has passed, so that every
//! effect has its own place in time. Instructions without cost follow at once.

use std::rc::Rc;

use workload::plan::{Draw, Inst, Plan, QueueRef, Since, Value};

use crate::events::Event;
use crate::ids::{CpuId, NO_CPU, TaskId};
use crate::seen::call;
use crate::sim::Sim;
use crate::stint::FULL_RATE;
use crate::task::{Class, State, Task, Wait};

/// More instructions than that without time passing is a program that never will.
const ENDLESS: u32 = 1_000_000;

/// What an instruction did.
pub(crate) enum Step {
    Next,
    /// To this instruction.
    To(u32),
    /// The task waits, and tries the same instruction again when woken.
    Blocked(Wait),
    /// The task waits, and goes on after it.
    Asleep(Wait),
    /// It has a burst of work, and tries the same instruction again after it.
    Again,
    /// It has a burst of work, or does not run here any more: go on after it, but not now.
    Pause,
    Exit,
}

fn draw(task: &mut Task, ns: &Draw) -> u64 {
    match ns {
        Draw::Fixed(Value::Const(ns)) => (*ns).max(0) as u64,
        _ => task.stream.draw(ns, i64::from(task.index), &task.locals),
    }
}

impl Sim<'_> {
    /// The running task of a CPU has finished its burst: go on in its program.
    pub(crate) fn run_program(&mut self, cpu: CpuId, id: TaskId) {
        let plan = Rc::clone(&self.plan);
        let program = &plan.groups[self.tasks[id].group as usize].program;
        for _ in 0..ENDLESS {
            let pc = self.tasks[id].pc;
            let step = match program.get(pc as usize) {
                None => Step::Exit,
                Some(inst) => self.step(cpu, id, inst, &plan),
            };
            let task = &mut self.tasks[id];
            match step {
                Step::Next => {
                    task.pc = pc + 1;
                    task.begun = false;
                    if self.op_at_ns > self.now_ns {
                        return;
                    }
                }
                Step::To(to) => task.pc = to,
                Step::Pause => {
                    task.pc = pc + 1;
                    task.begun = false;
                    return;
                }
                Step::Blocked(wait) => {
                    task.begun = true;
                    return self.block(cpu, id, wait);
                }
                Step::Asleep(wait) => {
                    task.pc = pc + 1;
                    task.begun = false;
                    return self.block(cpu, id, wait);
                }
                Step::Again => {
                    task.begun = true;
                    return;
                }
                Step::Exit => {
                    self.exit_current(id);
                    self.cpus[cpu].need_resched = true;
                    return;
                }
            }
        }
        let label = self.label(id);
        self.fail(format!(
            "{label} takes {ENDLESS} instructions without using time"
        ));
    }

    /// A task that is about to go on with a burst takes it up at once: what only touches the task itself needs no event
    /// of its own. Anything else waits for its time.
    pub(crate) fn look_ahead(&mut self, id: TaskId) {
        let task = &mut self.tasks[id];
        if task.work > 0 {
            return;
        }
        let program = &self.plan.groups[task.group as usize].program;
        let mut pc = task.pc;
        if let Some(Inst::Jump { to }) = program.get(pc as usize) {
            pc = *to;
        }
        if let Some(Inst::Run { ns }) = program.get(pc as usize) {
            let ns = draw(task, ns);
            task.pc = pc + 1;
            task.begun = false;
            task.work = ns.min(u64::MAX / FULL_RATE) * FULL_RATE;
        }
    }

    fn block(&mut self, cpu: CpuId, id: TaskId, wait: Wait) {
        let task = &mut self.tasks[id];
        task.state = State::Blocked;
        task.wait = wait;
        self.cpus[cpu].need_resched = true;
    }

    #[allow(clippy::too_many_lines, reason = "one arm an instruction")]
    fn step(&mut self, cpu: CpuId, id: TaskId, inst: &Inst, plan: &Plan) -> Step {
        let syscall_ns = self.machine.costs.syscall_ns;
        let begun = self.tasks[id].begun;
        macro_rules! eval {
            ($value:expr) => {{
                let task = &self.tasks[id];
                $value.eval(i64::from(task.index), &task.locals)
            }};
        }
        macro_rules! local {
            ($slot:expr, $value:expr) => {{
                let value = $value;
                if let Some(local) = self.tasks[id].locals.get_mut(usize::from($slot)) {
                    *local = value;
                }
            }};
        }
        // A system call is paid once, however often it has to wait.
        let enter = if begun { 0 } else { syscall_ns };
        match inst {
            Inst::Run { ns } => {
                let task = &mut self.tasks[id];
                let ns = draw(task, ns);
                if ns == 0 {
                    return Step::Next;
                }
                task.work = ns.min(u64::MAX / FULL_RATE) * FULL_RATE;
                Step::Pause
            }
            Inst::Sleep { ns } => {
                self.charge(syscall_ns);
                let ns = draw(&mut self.tasks[id], ns);
                if ns == 0 {
                    return Step::Next;
                }
                self.sleep_until(id, self.op_at_ns + ns);
                Step::Asleep(Wait::Sleep)
            }
            Inst::Timer { period_ns, skip } => {
                let period = eval!(period_ns).max(1) as u64;
                self.charge(syscall_ns);
                let at = self.op_at_ns;
                let task = &mut self.tasks[id];
                let last = *task.timer_ns.get_or_insert(at);
                let over = if *skip {
                    at.saturating_sub(last) / period
                } else {
                    0
                };
                let due = last + (over + 1) * period;
                task.timer_ns = Some(due);
                if due <= at {
                    task.due_ns = due;
                    return Step::Next;
                }
                self.sleep_until(id, due);
                Step::Asleep(Wait::Sleep)
            }
            Inst::Until { ns } => {
                let due = eval!(ns).max(0) as u64;
                self.charge(syscall_ns);
                if due <= self.op_at_ns {
                    self.tasks[id].due_ns = due;
                    return Step::Next;
                }
                self.sleep_until(id, due);
                Step::Asleep(Wait::Sleep)
            }
            Inst::Send { queue, bytes } => {
                self.charge(enter);
                let bytes = eval!(bytes).max(0) as u32;
                let queue = self.queue_index(id, queue);
                self.send(id, queue, bytes)
            }
            Inst::Recv { queue } => {
                self.charge(enter);
                let queue = self.queue_index(id, queue);
                self.receive(id, queue)
            }
            Inst::Poll { first, count, into } => {
                self.charge(enter);
                let count = eval!(count).max(0) as u32;
                let first = self.queue_index(id, first);
                match self.poll(id, first, count) {
                    Some(offset) => {
                        local!(*into, i64::from(offset));
                        Step::Next
                    }
                    None => Step::Blocked(Wait::Poll),
                }
            }
            Inst::Lock { lock, index } => {
                let index = eval!(index);
                self.take_lock(id, *lock, index)
            }
            Inst::Spin { lock, index } => {
                let index = eval!(index);
                self.spin_lock(id, *lock, index)
            }
            Inst::Unlock { lock, index } => {
                let index = eval!(index);
                self.drop_lock(id, *lock, index)
            }
            Inst::Wait { sem, index } => {
                let index = eval!(index);
                self.wait_semaphore(id, *sem, index)
            }
            Inst::WaitAny { sem, into } => match self.wait_any(id, *sem) {
                Ok(index) => {
                    local!(*into, i64::from(index));
                    Step::Next
                }
                Err(step) => step,
            },
            Inst::Post { sem, index } => {
                let index = eval!(index);
                self.post_semaphore(id, *sem, index)
            }
            Inst::Await {
                condition,
                index,
                releases,
            } => {
                let index = eval!(index);
                let held = releases.as_ref().map(|(lock, index)| (*lock, eval!(index)));
                self.await_condition(id, (*condition, index), held)
            }
            Inst::Signal {
                condition,
                index,
                all,
            } => {
                let index = eval!(index);
                self.signal_condition(id, *condition, index, *all)
            }
            Inst::Disk {
                bytes,
                write: _,
                sync,
            } => {
                let bytes = eval!(bytes).max(0) as u64;
                if !begun {
                    self.charge(syscall_ns + self.copy_ns(bytes));
                }
                if !*sync {
                    return Step::Next;
                }
                // What the kernel does for the device it can be preempted in, unlike the rest.
                let kernel_ns = self.machine.costs.disk_cpu_kib_ns.saturating_mul(bytes) / 1024;
                if !begun && kernel_ns > 0 {
                    self.tasks[id].work = kernel_ns.min(u64::MAX / FULL_RATE) * FULL_RATE;
                    return Step::Again;
                }
                self.disk_request(id, bytes);
                Step::Asleep(Wait::Disk)
            }
            Inst::Fork { group, index } => {
                let index = eval!(index);
                let spec = &plan.groups[*group as usize];
                if index < 0 || index >= i64::from(spec.count) {
                    self.fail(format!(
                        "{} forks {}[{index}] of {}",
                        self.label(id),
                        spec.name,
                        spec.count
                    ));
                    return Step::Pause;
                }
                let child = TaskId(self.group_first[*group as usize].0 + index as u32);
                if self.tasks[child].alive() || self.tasks[child].threads > 0 {
                    self.fail(format!(
                        "{} forks {}[{index}], which still lives",
                        self.label(id),
                        spec.name
                    ));
                    return Step::Pause;
                }
                self.fork(id, child);
                Step::Next
            }
            Inst::Exec => {
                self.charge(self.machine.costs.exec_ns);
                Step::Next
            }
            Inst::Exit => Step::Exit,
            Inst::Reap => {
                self.charge(enter);
                let task = &mut self.tasks[id];
                if task.zombies > 0 {
                    task.zombies -= 1;
                    Step::Next
                } else if task.children_alive > 0 {
                    Step::Blocked(Wait::Child)
                } else {
                    self.fail(format!("{} reaps and has no child", self.label(id)));
                    Step::Pause
                }
            }
            Inst::Alive { into } => {
                let alive = i64::from(self.tasks[id].children_alive > 0);
                local!(*into, alive);
                Step::Next
            }
            Inst::Yield => {
                self.charge(syscall_ns);
                self.yield_current(cpu, id);
                Step::Pause
            }
            Inst::Nice { nice } => {
                self.charge(syscall_ns);
                let nice = eval!(nice) as i32;
                self.set_nice(cpu, id, nice);
                Step::Next
            }
            Inst::SetPolicy { policy } => {
                self.charge(syscall_ns);
                self.set_policy(cpu, id, *policy);
                Step::Pause
            }
            Inst::Affinity { cpus } => {
                self.charge(syscall_ns);
                self.set_affinity(cpu, id, cpus);
                Step::Pause
            }
            Inst::Stamp => {
                self.tasks[id].stamp_ns = self.op_at_ns;
                Step::Next
            }
            Inst::Log { metric, since, per } => {
                let per = eval!(per).max(1) as u64;
                let ns = self.since_ns(id, *since) / per;
                self.metrics.log(*metric, ns);
                Step::Next
            }
            Inst::Elapsed {
                since,
                unit_ns,
                into,
            } => {
                let ns = self.since_ns(id, *since) as i64;
                local!(*into, ns / unit_ns);
                Step::Next
            }
            Inst::Cpu { into } => {
                local!(*into, i64::from(cpu.0));
                Step::Next
            }
            Inst::Count { metric, by } => {
                let by = eval!(by);
                self.metrics.count(*metric, by);
                Step::Next
            }
            Inst::Draw { value, into } => {
                let drawn = draw(&mut self.tasks[id], value);
                local!(*into, drawn.cast_signed());
                Step::Next
            }
            Inst::Set { local, value } => {
                local!(*local, eval!(value));
                Step::Next
            }
            Inst::Jump { to } => Step::To(*to),
            Inst::JumpLess { left, right, to } => {
                if eval!(left) < eval!(right) {
                    Step::To(*to)
                } else {
                    Step::Next
                }
            }
        }
    }

    fn since_ns(&self, id: TaskId, since: Since) -> u64 {
        let task = &self.tasks[id];
        let since_ns = match since {
            Since::Stamp => task.stamp_ns,
            Since::Message => task.message_stamp_ns,
            Since::Due => task.due_ns,
            Since::Start => 0,
        };
        self.op_at_ns.saturating_sub(since_ns)
    }

    /// Ordinary tasks wake later than asked, by the kernel's timer slack.
    fn sleep_until(&mut self, id: TaskId, due_ns: u64) {
        let task = &mut self.tasks[id];
        task.due_ns = due_ns;
        let slack_ns = match task.class {
            Class::Ext => self.machine.costs.timer_slack_ns,
            Class::Rt => 0,
        };
        task.sleep_seq = self.events.post(due_ns + slack_ns, Event::Sleep(id));
    }

    /// The timer interrupt comes to the CPU where the task went to sleep.
    pub(crate) fn sleep_over(&mut self, id: TaskId) {
        let task = &mut self.tasks[id];
        task.sleep_seq = 0;
        let cpu = self.timer_cpu(id);
        self.interrupt(cpu);
        self.wake(id, false);
        self.end_op();
    }

    /// Where a task's interrupts go: its last CPU, unless that has gone.
    pub(crate) fn timer_cpu(&self, id: TaskId) -> CpuId {
        let last = self.tasks[id].last_cpu;
        let cpu = if last == NO_CPU {
            self.tasks[id].cpu
        } else {
            last
        };
        if self.cpus[cpu].online {
            cpu
        } else {
            crate::mask::first(&self.masks.online).unwrap_or_default()
        }
    }

    pub(crate) fn copy_ns(&self, bytes: u64) -> u64 {
        self.machine.costs.copy_kib_ns * bytes / 1024
    }

    fn queue_index(&self, id: TaskId, queue: &QueueRef) -> u32 {
        let task = &self.tasks[id];
        let index = queue.index.eval(i64::from(task.index), &task.locals);
        self.ipc.queue(queue.array, index)
    }

    fn yield_current(&mut self, cpu: CpuId, id: TaskId) {
        if self.tasks[id].class == Class::Rt {
            return self.yield_rt(cpu, id);
        }
        if self.ops.yield_.is_some() {
            self.update_curr(cpu);
            call!(self, yield_, self.seen_ptr(id), std::ptr::null_mut());
        } else {
            self.seen(id).scx.slice = 0;
        }
        self.cpus[cpu].need_resched = true;
    }
}
