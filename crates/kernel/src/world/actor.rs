// SPDX-License-Identifier: GPL-2.0-or-later
//! Tasks go through their programs: what each call of the workload's interpreter does in the model.
//!
//! A call that costs CPU time ends the operation: the next instruction follows when that time has passed, so that every
//! effect has its own place in time. Instructions without cost follow at once.

use std::rc::Rc;

use workload::interpreter::{Call, Element, Interpreter, Registers, Step, Stop, World};
use workload::plan::Policy;

use crate::boundary::Callback;
use crate::cgroups;
use crate::consts::{TASK_INTERRUPTIBLE, TASK_UNINTERRUPTIBLE};
use crate::cpu::work_of;
use crate::ids::{CpuId, TaskId};
use crate::observe::Happened;
use crate::sched::attributes::listed;
use crate::sim::Sim;
use crate::task::{Class, Stage, State, Task, Wait};

/// More instructions than that without time passing is a program that never will.
const ENDLESS: u32 = 1_000_000;

impl Sim<'_> {
    /// The running task of a CPU has finished its burst: go on in its program.
    pub(crate) fn run_program(&mut self, cpu: CpuId, id: TaskId) {
        let stage = self.tasks[id].stage;
        match stage {
            Stage::Program if self.enters_cgroup(cpu, id) => return,
            Stage::Program => {}
            Stage::Start => return self.go_on_at_start(cpu, id),
            Stage::Accounts => return self.settle(cpu, id),
            Stage::Exit => return self.leave(cpu, id),
        }
        let plan = Rc::clone(&self.plan);
        let interpreter = Interpreter::new(&plan, self.tasks[id].group as usize);
        let priced = self.machine.costs.program_step_ns > 0;
        let mut actor = Actor {
            sim: self,
            cpu,
            id,
            steps: 0,
        };
        for _ in 0..ENDLESS {
            if priced {
                actor.steps += interpreter.steps(actor.registers());
            }
            match interpreter.step(&mut actor) {
                Step::Next if actor.sim.clock.at_ns > actor.sim.clock.now_ns => {
                    return actor.charge_steps();
                }
                Step::Next | Step::Jumped => {}
                Step::Paused => return actor.charge_steps(),
                Step::Exited => {
                    actor.charge_steps();
                    return self.end_program(cpu, id);
                }
                Step::Failed(what) => return self.fail_task(id, &what),
            }
        }
        self.fail_task(
            id,
            &format!("takes {ENDLESS} instructions without using time"),
        );
    }

    /// The running task of a CPU goes to sleep until it is woken.
    pub(super) fn block(&mut self, cpu: CpuId, id: TaskId, wait: Wait) {
        let task = &mut self.tasks[id];
        task.state = State::Blocked;
        task.wait = wait;
        self.boundary.view.task_mut(id).__state = match wait {
            Wait::Disk => TASK_UNINTERRUPTIBLE,
            _ => TASK_INTERRUPTIBLE,
        };
        self.cpus[cpu].need_resched = true;
    }

    fn fail_task(&mut self, id: TaskId, what: &str) {
        let label = self.label(id);
        self.fail(format!("{label} {what}"));
    }

    /// A task that is about to go on with a burst takes it up at once: what only touches the task itself needs no event
    /// of its own. Anything else waits for its time. Returns how much work it has then.
    pub(crate) fn look_ahead(&mut self, id: TaskId) -> u64 {
        let task = &mut self.tasks[id];
        if task.work == 0 && task.stage == Stage::Program && task.enters.is_none() {
            let interpreter = Interpreter::new(&self.plan, task.group as usize);
            if let Some((ns, steps)) = interpreter.take_burst(&mut task.registers) {
                let steps_ns = steps * self.machine.costs.program_step_ns;
                task.work = work_of(ns.saturating_add(steps_ns));
            }
        }
        task.work
    }

    fn yield_current(&mut self, cpu: CpuId, id: TaskId) {
        if self.tasks[id].class == Class::Rt {
            return self.yield_rt(cpu, id);
        }
        if self.boundary.ops.has(Callback::Yield) {
            self.update_curr(cpu);
            self.call(Callback::Yield, [self.boundary.view.address(id), 0]);
        } else {
            self.boundary.view.task_mut(id).scx.slice = 0;
        }
        self.cpus[cpu].need_resched = true;
    }
}

/// The task that a CPU runs, in its own operation.
struct Actor<'s, 'a> {
    sim: &'s mut Sim<'a>,
    cpu: CpuId,
    id: TaskId,
    /// Of the task's program, those that have not cost anything yet.
    steps: u64,
}

impl Actor<'_, '_> {
    /// What the steps up to here have taken.
    fn take_steps_ns(&mut self) -> u64 {
        std::mem::take(&mut self.steps) * self.sim.machine.costs.program_step_ns
    }

    fn charge_steps(&mut self) {
        let steps_ns = self.take_steps_ns();
        self.sim.charge(steps_ns);
    }

    fn task(&mut self) -> &mut Task {
        &mut self.sim.tasks[self.id]
    }

    fn cgroup_name(&self, cgroup: impl Into<Option<u32>>) -> &str {
        let cgroup = cgroup.into();
        cgroup.map_or("/", |cgroup| &self.sim.plan.cgroups[cgroup as usize].name)
    }

    fn block(&mut self, wait: Wait) {
        self.sim.block(self.cpu, self.id, wait);
    }

    /// What a call got; without it the task waits, and tries again when it is woken.
    fn got<T>(&mut self, got: Option<T>, wait: Wait) -> Call<Self, T> {
        got.ok_or_else(|| {
            self.block(wait);
            Stop::Before
        })
    }

    /// The kernel works for the task, which can be preempted meanwhile; where no runner starts the tasks it cannot.
    fn works(&mut self, ns: u64) -> Call<Self> {
        if self.sim.runner.is_none() {
            self.sim.charge(ns);
            return Ok(());
        }
        self.takes(ns)
    }

    /// So much time passes before the call does anything.
    fn takes(&mut self, ns: u64) -> Call<Self> {
        if ns > 0 && !self.registers().begun() {
            self.task().work = work_of(ns);
            return Err(Stop::Before);
        }
        Ok(())
    }

    /// The time until a message is there passes at once unless something happens meanwhile: a receiver looks for it, or the
    /// sender is interrupted.
    fn makes_message(&mut self, queue: Element, bytes: u32) -> Call<Self> {
        if std::mem::take(&mut self.task().message_made) {
            return Ok(());
        }
        let ns = self.sim.until_sent_ns(self.sim.queues.kind(queue), bytes);
        if self.sim.next_beside_ns(self.cpu) > self.sim.clock.at_ns + ns {
            self.sim.charge(ns);
            return Ok(());
        }
        let task = self.task();
        task.message_made = true;
        task.work = work_of(ns.max(1));
        Err(Stop::Before)
    }

    /// The task waits, and goes on when it is woken.
    fn asleep(&mut self, wait: Wait) -> Call<Self> {
        self.block(wait);
        Err(Stop::After)
    }
}

impl World for Actor<'_, '_> {
    /// What the task has done wrong, as the rest of a sentence about it.
    type Error = String;

    fn registers(&mut self) -> &mut Registers {
        &mut self.task().registers
    }

    fn time_ns(&self) -> u64 {
        self.sim.clock.at_ns
    }

    fn start_ns(&self) -> u64 {
        self.sim.clock.start_ns
    }

    fn out_of_range(&mut self, what: &str, index: i64, len: u32) -> String {
        format!("asks for {what} {index} of {len}")
    }

    fn enter_kernel(&mut self) {
        self.charge_steps();
        self.sim.charge(self.sim.machine.costs.syscall_ns);
    }

    fn run(&mut self, ns: u64) -> Call<Self> {
        if ns == 0 {
            return Ok(());
        }
        let steps_ns = self.take_steps_ns();
        self.task().work = work_of(ns.saturating_add(steps_ns));
        Err(Stop::After)
    }

    fn sleep_until(&mut self, due_ns: u64) -> Call<Self> {
        if due_ns <= self.sim.clock.at_ns {
            return Ok(());
        }
        self.sim.charge(self.sim.machine.costs.timer_ns);
        if due_ns <= self.sim.clock.at_ns {
            return Ok(());
        }
        self.sim.post_wakeup(self.id, due_ns);
        self.asleep(Wait::Sleep)
    }

    fn yield_cpu(&mut self) -> Call<Self> {
        self.sim.yield_current(self.cpu, self.id);
        Err(Stop::After)
    }

    fn send(&mut self, queue: Element, bytes: u32, stamp_ns: u64) -> Call<Self> {
        if self.sim.queues.has_room(queue, bytes) {
            self.makes_message(queue, bytes)?;
        }
        let sent = self.sim.send(self.id, queue, bytes, stamp_ns);
        self.got(sent, Wait::Queue)
    }

    fn receive(&mut self, queue: Element) -> Call<Self, u64> {
        let stamp_ns = self.sim.receive(self.id, queue);
        self.got(stamp_ns, Wait::Queue)
    }

    fn poll(&mut self, first: Element, count: u32) -> Call<Self, u32> {
        let offset = self.sim.queues.poll(self.id, first, count);
        self.got(offset, Wait::Poll)
    }

    fn lock(&mut self, lock: Element) -> Call<Self> {
        let taken = self.sim.take_lock(self.id, lock);
        self.got(taken, Wait::Lock)
    }

    fn spin(&mut self, lock: Element) -> Call<Self> {
        self.sim.spin_lock(self.id, lock).ok_or(Stop::Before)
    }

    fn unlock(&mut self, lock: Element) -> Call<Self> {
        Ok(self.sim.drop_lock(self.id, lock)?)
    }

    fn wait(&mut self, semaphore: Element) -> Call<Self, u64> {
        let stamp_ns = self.sim.take_semaphore(self.id, semaphore);
        self.got(stamp_ns, Wait::Semaphore)
    }

    fn wait_any(&mut self, array: u32) -> Call<Self, (u32, u64)> {
        let posted = self.sim.take_any_semaphore(self.id, array);
        self.got(posted, Wait::Semaphore)
    }

    fn post(&mut self, semaphore: Element, stamp_ns: u64) -> Call<Self> {
        self.sim.post_semaphore(semaphore, stamp_ns);
        Ok(())
    }

    fn await_signal(&mut self, condition: Element, releases: Option<Element>) -> Call<Self> {
        self.sim.await_condition(self.id, condition, releases)?;
        self.asleep(Wait::Condition)
    }

    fn signal(&mut self, condition: Element, all: bool) -> Call<Self> {
        self.sim.signal_condition(condition, all);
        Ok(())
    }

    fn add(&mut self, variable: Element, by: i64) -> Call<Self, i64> {
        let variable = self.sim.futexes.variable(variable);
        *variable = variable.wrapping_add(by);
        Ok(*variable)
    }

    fn store(&mut self, variable: Element, value: i64) -> Call<Self> {
        *self.sim.futexes.variable(variable) = value;
        Ok(())
    }

    /// Work of the task's own, as long as the kernel would take to copy so much.
    fn fill(&mut self, bytes: u64, _buffer_bytes: u32) -> Call<Self> {
        let ns = self.sim.copy_ns(bytes);
        self.run(ns)
    }

    fn discard(&mut self, _bytes: u64) -> Call<Self> {
        Ok(())
    }

    fn disk(&mut self, bytes: u64, _write: bool, sync: bool) -> Call<Self> {
        if !self.registers().begun() {
            self.sim.charge(self.sim.copy_ns(bytes));
        }
        if !sync {
            return Ok(());
        }
        // What the kernel does for the device it can be preempted in, unlike the rest.
        let cost_kib_ns = self.sim.machine.costs.disk_cpu_kib_ns;
        let kernel_ns = cost_kib_ns.saturating_mul(bytes) / 1024;
        self.takes(kernel_ns)?;
        self.sim.disk_request(self.id, bytes);
        self.asleep(Wait::Disk)
    }

    fn fork(&mut self, task: Element) -> Call<Self> {
        let child = self.sim.groups.member(task.array, task.index);
        if self.sim.tasks[child].alive() || self.sim.tasks[child].threads > 0 {
            let group = &self.sim.plan.groups[task.array].name;
            Err(format!("forks {group}[{}], which still lives", task.index))?;
        }
        self.works(self.sim.fork_ns(child))?;
        self.sim.fork(self.id, child);
        Ok(())
    }

    fn exec(&mut self) -> Call<Self> {
        self.works(self.sim.machine.costs.exec_ns)
    }

    fn reap(&mut self) -> Call<Self> {
        let task = self.task();
        if task.zombies == 0 && task.children_alive == 0 {
            Err("reaps and has no child".to_string())?;
        }
        let reaped = task.zombies.checked_sub(1);
        let reaped = reaped.map(|left| task.zombies = left);
        self.got(reaped, Wait::Child)
    }

    fn has_child(&mut self) -> Call<Self, bool> {
        Ok(self.task().children_alive > 0)
    }

    fn set_nice(&mut self, nice: i32) -> Call<Self> {
        self.sim.set_nice(self.cpu, self.id, nice);
        Ok(())
    }

    fn set_nice_of(&mut self, task: Element, nice: i32) -> Call<Self> {
        let id = self.sim.groups.member(task.array, task.index);
        if id == self.id {
            return self.set_nice(nice);
        }
        if self.sim.tasks[id].alive() {
            self.sim.set_nice_of(id, nice);
        }
        Ok(())
    }

    fn set_policy(&mut self, policy: Policy) -> Call<Self> {
        self.sim.set_policy(self.cpu, self.id, policy);
        Err(Stop::After)
    }

    fn set_policy_of(&mut self, task: Element, policy: Policy) -> Call<Self> {
        let id = self.sim.groups.member(task.array, task.index);
        if id == self.id {
            return self.set_policy(policy);
        }
        if self.sim.tasks[id].alive() {
            self.sim.set_policy_of(id, policy);
        }
        Ok(())
    }

    fn set_affinity(&mut self, cpus: &[u32]) -> Call<Self> {
        if !self.sim.may_ask(self.id, listed(cpus)) {
            Err("asks for CPUs of which its control group has none".to_owned())?;
        }
        self.sim.set_affinity(self.cpu, self.id, cpus);
        Err(Stop::After)
    }

    fn confine(&mut self, task: Element, cpus: &[u32]) -> Call<Self> {
        let id = self.sim.groups.member(task.array, task.index);
        if id == self.id {
            return self.set_affinity(cpus);
        }
        if self.sim.tasks[id].alive() {
            if !self.sim.may_ask(id, listed(cpus)) {
                let label = self.sim.label(id);
                Err(format!(
                    "confines {label} to CPUs of which its control group has none"
                ))?;
            }
            self.sim.confine(id, listed(cpus));
        }
        Ok(())
    }

    fn set_cgroup(&mut self, cgroup: Option<u32>) -> Call<Self> {
        let to = cgroups::destination(cgroup);
        let moved = self.sim.move_process(Some(self.cpu), self.id, to);
        moved.map_err(|why| format!("moves to {}: {why}", self.cgroup_name(cgroup)))?;
        Err(Stop::After)
    }

    fn set_cgroup_of(&mut self, task: Element, cgroup: Option<u32>) -> Call<Self> {
        let id = self.sim.groups.member(task.array, task.index);
        if !self.sim.tasks[id].alive() {
            return Ok(());
        }
        if self.sim.tasks[id].leader == self.sim.tasks[self.id].leader {
            return self.set_cgroup(cgroup);
        }
        let to = cgroups::destination(cgroup);
        let moved = self.sim.move_process(Some(self.cpu), id, to);
        let label = self.sim.label(id);
        moved.map_err(|why| format!("moves {label} to {}: {why}", self.cgroup_name(cgroup)))?;
        Ok(())
    }

    fn set_cgroup_weight(&mut self, cgroup: u32, weight: u32) -> Call<Self> {
        self.sim.set_cgroup_weight(cgroups::place(cgroup), weight);
        Ok(())
    }

    fn set_cgroup_max(
        &mut self,
        cgroup: u32,
        quota_us: Option<u64>,
        period_us: Option<u64>,
        burst_us: Option<u64>,
    ) -> Call<Self> {
        let place = cgroups::place(cgroup);
        let set = (self.sim).set_cgroup_max(place, quota_us, period_us, burst_us);
        let name = self.cgroup_name(Some(cgroup));
        set.map_err(|why| format!("limits {name}: {why}"))?;
        Ok(())
    }

    fn set_cgroup_cpus(&mut self, cgroup: u32, cpus: &[u32]) -> Call<Self> {
        let place = cgroups::place(cgroup);
        self.sim.set_cgroup_cpus(self.cpu, place, cpus);
        Err(Stop::After)
    }

    fn make_cgroup(&mut self, cgroup: u32) -> Call<Self> {
        let made = self.sim.make_cgroup(self.cpu, cgroup);
        made.map_err(|why| format!("makes {}: {why}", self.cgroup_name(cgroup)))?;
        Ok(())
    }

    fn remove_cgroup(&mut self, cgroup: u32) -> Call<Self> {
        self.sim.remove_cgroup(cgroups::place(cgroup));
        Ok(())
    }

    fn migrate_disable(&mut self) -> Call<Self> {
        self.sim.migrate_disable(self.id);
        Ok(())
    }

    fn migrate_enable(&mut self) -> Call<Self> {
        self.sim.migrate_enable(self.cpu, self.id);
        Err(Stop::After)
    }

    fn cpu(&mut self) -> Call<Self, u32> {
        Ok(self.cpu.0)
    }

    fn log(&mut self, distribution: u32, ns: u64) {
        let happened = Happened::Logged {
            metric: distribution,
            ns,
        };
        self.sim.tell(self.sim.clock.at_ns, happened);
    }

    fn count(&mut self, counter: u32, by: i64) {
        let happened = Happened::Counted {
            metric: counter,
            by,
        };
        self.sim.tell(self.sim.clock.at_ns, happened);
    }
}
