// SPDX-License-Identifier: GPL-2.0-or-later
//! What each instruction of a plan means, said once for simulated and for real tasks.
//!
//! [`Interpreter::step`] carries out one instruction. Control flow, locals, random draws, due times and stamps are its
//! own business; it keeps them in the task's [`Registers`]. Whatever else an instruction needs it asks of the task's
//! [`World`], with every operand evaluated and every index checked. Who runs a task calls `step` as often as the task
//! may go on.

mod elements;
mod registers;
mod timer;
mod times;
mod world;

pub use registers::Registers;
pub use world::{Call, Element, Stop, World};

use world::enter;

use crate::cgroups;
use crate::plan::{Inst, Plan};

/// What has become of a task with one instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step<E> {
    /// The instruction is done.
    Next,
    /// It was a jump.
    Jumped,
    /// The task does not go on at once; when it does, with the instruction where its registers are.
    Paused,
    /// The program has ended.
    Exited,
    Failed(E),
}

/// Where a program goes on.
enum Flow {
    Next,
    To(u32),
    Exit,
}

/// The program of a group's tasks.
#[derive(Clone, Copy)]
pub struct Interpreter<'p> {
    plan: &'p Plan,
    program: &'p [Inst],
}

impl<'p> Interpreter<'p> {
    pub fn new(plan: &'p Plan, group: usize) -> Self {
        Self {
            plan,
            program: &plan.groups[group].program,
        }
    }

    /// Carry out the next instruction of a task.
    pub fn step<W: World>(&self, world: &mut W) -> Step<W::Error> {
        let registers = world.registers();
        let at = registers.next;
        let Some(inst) = self.program.get(at as usize) else {
            return Step::Exited;
        };
        // A task that replaces its program image goes on behind the instruction that does it.
        registers.next = at + 1;
        let done = self.carry_out(world, inst);
        let registers = world.registers();
        registers.begun = false;
        match done {
            Ok(Flow::Next) => Step::Next,
            Ok(Flow::To(to)) => {
                registers.next = to;
                Step::Jumped
            }
            Ok(Flow::Exit) => Step::Exited,
            Err(Stop::After) => Step::Paused,
            Err(Stop::Before) => {
                registers.next = at;
                registers.begun = true;
                Step::Paused
            }
            Err(Stop::Failed(error)) => Step::Failed(error),
        }
    }

    /// How many steps a task's next instruction takes; none if the task only tries again what it has begun.
    pub fn steps(&self, registers: &Registers) -> u64 {
        match self.program.get(registers.next as usize) {
            Some(inst) if !registers.begun => inst.steps(),
            _ => 0,
        }
    }

    /// Carry out the burst of work that is the task's next instruction, perhaps behind a jump: how long it runs, and how
    /// many steps that takes. Nothing happens if something else comes next.
    pub fn take_burst(&self, registers: &mut Registers) -> Option<(u64, u64)> {
        let mut at = registers.next;
        let mut steps = 1;
        if let Some(Inst::Jump { to }) = self.program.get(at as usize) {
            at = *to;
            steps += 1;
        }
        let Some(Inst::Run { ns }) = self.program.get(at as usize) else {
            return None;
        };
        registers.next = at + 1;
        Some((registers.draw(ns), steps))
    }

    #[allow(clippy::too_many_lines, reason = "one arm an instruction")]
    fn carry_out<W: World>(&self, world: &mut W, inst: &Inst) -> Call<W, Flow> {
        let plan = self.plan;
        match inst {
            Inst::Exit => return Ok(Flow::Exit),
            Inst::Jump { to } => return Ok(Flow::To(*to)),
            Inst::JumpLess { left, right, to } => {
                let registers = world.registers();
                if registers.eval(left) < registers.eval(right) {
                    return Ok(Flow::To(*to));
                }
            }
            Inst::Set { local, value } => {
                let value = world.registers().eval(value);
                world.registers().set(*local, value);
            }
            Inst::Draw { value, into } => {
                let drawn = world.registers().draw(value);
                world.registers().set(*into, drawn.cast_signed());
            }

            Inst::Run { ns } => {
                let ns = world.registers().draw(ns);
                world.run(ns)?;
            }
            Inst::Yield => {
                enter(world);
                world.yield_cpu()?;
            }
            Inst::Sleep { ns } => times::sleep(world, ns)?,
            Inst::Timer { period_ns, skip } => times::timer(world, period_ns, *skip)?,
            Inst::Until { ns } => times::until(world, ns)?,

            Inst::Stamp => {
                let now_ns = world.time_ns();
                world.registers().stamp_ns = now_ns;
            }
            Inst::Log { metric, since, per } => {
                let per = world.registers().eval(per).max(1) as u64;
                let ns = times::since_ns(world, *since);
                world.log(*metric, ns / per);
            }
            Inst::Elapsed {
                since,
                unit_ns,
                into,
            } => {
                let ns = times::since_ns(world, *since) as i64;
                world.registers().set(*into, ns / unit_ns.max(&1));
            }
            Inst::Count { metric, by } => {
                let by = world.registers().eval(by);
                world.count(*metric, by);
            }

            Inst::Send { queue, bytes } => {
                let queue = elements::queue(plan, world, queue)?;
                let bytes = world.registers().eval(bytes).max(0) as u32;
                let stamp_ns = world.registers().stamp_ns;
                enter(world);
                world.send(queue, bytes, stamp_ns)?;
            }
            Inst::Recv { queue } => {
                let queue = elements::queue(plan, world, queue)?;
                enter(world);
                let stamp_ns = world.receive(queue)?;
                if plan.queues[queue.array].stamped {
                    world.registers().message_ns = stamp_ns;
                }
            }
            Inst::Poll { first, count, into } => {
                let (first, count) = elements::queues(plan, world, first, count)?;
                enter(world);
                let offset = world.poll(first, count)?;
                world.registers().set(*into, i64::from(offset));
            }

            Inst::Lock { lock, index } => {
                let lock = elements::lock(plan, world, *lock, index)?;
                world.lock(lock)?;
            }
            Inst::Spin { lock, index } => {
                let lock = elements::lock(plan, world, *lock, index)?;
                world.spin(lock)?;
            }
            Inst::Unlock { lock, index } => {
                let lock = elements::lock(plan, world, *lock, index)?;
                world.unlock(lock)?;
            }
            Inst::Wait { sem, index } => {
                let semaphore = elements::semaphore(plan, world, *sem, index)?;
                world.registers().message_ns = world.wait(semaphore)?;
            }
            Inst::WaitAny { sem, into } => {
                let (index, stamp_ns) = world.wait_any(*sem)?;
                world.registers().message_ns = stamp_ns;
                world.registers().set(*into, i64::from(index));
            }
            Inst::Post { sem, index } => {
                let semaphore = elements::semaphore(plan, world, *sem, index)?;
                let stamp_ns = world.registers().stamp_ns;
                world.post(semaphore, stamp_ns)?;
            }
            Inst::Await {
                condition,
                index,
                releases,
            } => {
                let condition = elements::condition(plan, world, *condition, index)?;
                let releases = match releases {
                    Some((lock, index)) => Some(elements::lock(plan, world, *lock, index)?),
                    None => None,
                };
                world.await_signal(condition, releases)?;
            }
            Inst::Signal {
                condition,
                index,
                all,
            } => {
                let condition = elements::condition(plan, world, *condition, index)?;
                world.signal(condition, *all)?;
            }

            Inst::Add {
                variable,
                index,
                by,
                into,
            } => {
                let variable = elements::variable(plan, world, *variable, index)?;
                let by = world.registers().eval(by);
                let sum = world.add(variable, by)?;
                world.registers().set(*into, sum);
            }
            Inst::Store {
                variable,
                index,
                value,
            } => {
                let variable = elements::variable(plan, world, *variable, index)?;
                let value = world.registers().eval(value);
                world.store(variable, value)?;
            }

            Inst::Fill {
                bytes,
                buffer_bytes,
            } => {
                let bytes = world.registers().eval(bytes).max(0) as u64;
                world.fill(bytes, *buffer_bytes)?;
            }
            Inst::Discard { bytes } => {
                let bytes = world.registers().eval(bytes).max(0) as u64;
                enter(world);
                world.discard(bytes)?;
            }
            Inst::Disk { bytes, write, sync } => {
                let bytes = world.registers().eval(bytes).max(0) as u64;
                enter(world);
                world.disk(bytes, *write, *sync)?;
            }

            Inst::Fork { group, index } => {
                let task = elements::task(plan, world, *group, index)?;
                world.fork(task)?;
            }
            Inst::Exec => world.exec()?,
            Inst::Reap => {
                enter(world);
                world.reap()?;
            }
            Inst::Alive { into } => {
                let alive = world.has_child()?;
                world.registers().set(*into, alive.into());
            }

            Inst::Nice { nice } => {
                let nice = world.registers().eval(nice).clamp(-20, 19);
                enter(world);
                world.set_nice(nice as i32)?;
            }
            Inst::NiceOf { group, index, nice } => {
                let task = elements::task(plan, world, *group, index)?;
                let nice = world.registers().eval(nice).clamp(-20, 19);
                enter(world);
                world.set_nice_of(task, nice as i32)?;
            }
            Inst::SetPolicy { policy } => {
                enter(world);
                world.set_policy(*policy)?;
            }
            Inst::SetPolicyOf {
                group,
                index,
                policy,
            } => {
                let task = elements::task(plan, world, *group, index)?;
                enter(world);
                world.set_policy_of(task, *policy)?;
            }
            Inst::Affinity { cpus } => {
                enter(world);
                world.set_affinity(cpus)?;
            }
            Inst::Confine { group, index, cpus } => {
                let task = elements::task(plan, world, *group, index)?;
                enter(world);
                world.confine(task, cpus)?;
            }
            Inst::Cgroup { cgroup } => {
                enter(world);
                world.set_cgroup(*cgroup)?;
            }
            Inst::CgroupOf {
                group,
                index,
                cgroup,
            } => {
                let task = elements::task(plan, world, *group, index)?;
                enter(world);
                world.set_cgroup_of(task, *cgroup)?;
            }
            Inst::CgroupWeight { cgroup, weight } => {
                let weight = cgroups::weight(world.registers().eval(weight));
                enter(world);
                world.set_cgroup_weight(*cgroup, weight)?;
            }
            Inst::CgroupMax {
                cgroup,
                quota_us,
                period_us,
                burst_us,
            } => {
                let registers = world.registers();
                let quota_us =
                    (quota_us.as_ref()).map(|value| cgroups::quota_us(registers.eval(value)));
                let period_us =
                    (period_us.as_ref()).map(|value| cgroups::period_us(registers.eval(value)));
                let burst_us = (burst_us.as_ref()).map(|value| {
                    cgroups::burst_us(registers.eval(value), quota_us.unwrap_or_default())
                });
                enter(world);
                world.set_cgroup_max(*cgroup, quota_us, period_us, burst_us)?;
            }
            Inst::CgroupCpus { cgroup, cpus } => {
                enter(world);
                world.set_cgroup_cpus(*cgroup, cpus)?;
            }
            Inst::MakeCgroup { cgroup } => {
                enter(world);
                world.make_cgroup(*cgroup)?;
            }
            Inst::RemoveCgroup { cgroup } => {
                enter(world);
                world.remove_cgroup(*cgroup)?;
            }
            Inst::MigrateDisable => world.migrate_disable()?,
            Inst::MigrateEnable => world.migrate_enable()?,
            Inst::Cpu { into } => {
                let cpu = world.cpu()?;
                world.registers().set(*into, cpu.into());
            }
        }
        Ok(Flow::Next)
    }
}
