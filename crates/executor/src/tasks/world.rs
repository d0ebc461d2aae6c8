// SPDX-License-Identifier: GPL-2.0-or-later
//! What a real task does for each call of its program: system calls that return when they are done.

use std::sync::atomic::Ordering::{Relaxed, SeqCst};

use super::calibrate::work;
use super::fault::{Fault, Kind};
use super::task::Task;
use super::{attributes, cgroups, clock, futex, image, memory, messages, spawn};
use workload::interpreter::{Call, Element, Registers, World};
use workload::plan::Policy;

impl World for Task<'_, '_> {
    type Error = Fault;

    fn registers(&mut self) -> &mut Registers {
        &mut self.state.registers
    }

    fn time_ns(&self) -> u64 {
        clock::now_ns()
    }

    fn start_ns(&self) -> u64 {
        self.context.arena.shared().start_ns.load(Relaxed)
    }

    fn out_of_range(&mut self, _what: &str, index: i64, _len: u32) -> Fault {
        Fault::value(Kind::Index, index)
    }

    fn run(&mut self, ns: u64) -> Call<Self> {
        let calibration = self.context.options.calibration;
        work(ns, calibration, &mut self.lines, &mut self.cursor);
        Ok(())
    }

    fn sleep_until(&mut self, due_ns: u64) -> Call<Self> {
        clock::sleep_until(due_ns);
        Ok(())
    }

    fn yield_cpu(&mut self) -> Call<Self> {
        // SAFETY: no arguments, no memory.
        unsafe { libc::sched_yield() };
        Ok(())
    }

    fn send(&mut self, queue: Element, _bytes: u32, stamp_ns: u64) -> Call<Self> {
        let array = &self.context.plan.queues[queue.array];
        let message = &mut self.message[..array.message_bytes as usize];
        let fd = self.context.channels.writer(queue.array, queue.index);
        Ok(messages::send(
            fd,
            message,
            array.stamped.then_some(stamp_ns),
        )?)
    }

    fn receive(&mut self, queue: Element) -> Call<Self, u64> {
        let bytes = self.context.plan.queues[queue.array].message_bytes;
        let message = &mut self.message[..bytes as usize];
        let fd = self.context.channels.reader(queue.array, queue.index);
        messages::receive(fd, message)?;
        Ok(messages::stamp_ns(message))
    }

    fn poll(&mut self, first: Element, count: u32) -> Call<Self, u32> {
        let range = first.index..first.index + count as usize;
        let channels = self.context.channels;
        Ok(messages::poll(
            range.map(|index| channels.reader(first.array, index)),
        )?)
    }

    fn lock(&mut self, lock: Element) -> Call<Self> {
        futex::lock(self.context.arena.lock(lock.array, lock.index));
        Ok(())
    }

    fn spin(&mut self, lock: Element) -> Call<Self> {
        futex::spin(self.context.arena.lock(lock.array, lock.index));
        Ok(())
    }

    fn unlock(&mut self, lock: Element) -> Call<Self> {
        futex::unlock(self.context.arena.lock(lock.array, lock.index));
        Ok(())
    }

    fn wait(&mut self, semaphore: Element) -> Call<Self, u64> {
        let arena = self.context.arena;
        Ok(arena.semaphore(semaphore.array, semaphore.index).wait())
    }

    fn wait_any(&mut self, array: u32) -> Call<Self, (u32, u64)> {
        let (arena, array) = (self.context.arena, array as usize);
        let (index, stamp_ns) = futex::wait_any(&arena.semaphores(array), arena.posts(array));
        Ok((index as u32, stamp_ns))
    }

    fn post(&mut self, semaphore: Element, stamp_ns: u64) -> Call<Self> {
        let arena = self.context.arena;
        let posts = arena.posts(semaphore.array);
        arena
            .semaphore(semaphore.array, semaphore.index)
            .post(stamp_ns, posts);
        Ok(())
    }

    fn await_signal(&mut self, condition: Element, releases: Option<Element>) -> Call<Self> {
        let arena = self.context.arena;
        let held = releases.map(|lock| arena.lock(lock.array, lock.index));
        arena.condition(condition.array, condition.index).wait(held);
        Ok(())
    }

    fn signal(&mut self, condition: Element, all: bool) -> Call<Self> {
        let arena = self.context.arena;
        arena
            .condition(condition.array, condition.index)
            .signal(all);
        Ok(())
    }

    fn add(&mut self, variable: Element, by: i64) -> Call<Self, i64> {
        let variable = self.context.arena.variable(variable.array, variable.index);
        Ok(variable.fetch_add(by, SeqCst).wrapping_add(by))
    }

    fn store(&mut self, variable: Element, value: i64) -> Call<Self> {
        let variable = self.context.arena.variable(variable.array, variable.index);
        variable.store(value, SeqCst);
        Ok(())
    }

    fn fill(&mut self, bytes: u64, buffer_bytes: u32) -> Call<Self> {
        memory::fill(&mut self.buffer[..buffer_bytes as usize], bytes);
        Ok(())
    }

    fn discard(&mut self, bytes: u64) -> Call<Self> {
        Ok(self.files.discard(bytes)?)
    }

    fn disk(&mut self, bytes: u64, write: bool, sync: bool) -> Call<Self> {
        Ok(self.files.transfer(bytes, write, sync)?)
    }

    fn fork(&mut self, task: Element) -> Call<Self> {
        Ok(spawn::fork_task(
            self.context,
            self.scope,
            task.array,
            task.index,
        )?)
    }

    fn exec(&mut self) -> Call<Self> {
        Err(image::replace(self))?
    }

    fn reap(&mut self) -> Call<Self> {
        Ok(self.state.children.reap()?)
    }

    fn has_child(&mut self) -> Call<Self, bool> {
        Ok(self.state.children.any_alive()?)
    }

    fn set_nice(&mut self, nice: i32) -> Call<Self> {
        Ok(attributes::set_nice(nice)?)
    }

    fn set_nice_of(&mut self, task: Element, nice: i32) -> Call<Self> {
        Ok(attributes::set_nice_of(self.context, task, nice)?)
    }

    fn set_policy(&mut self, policy: Policy) -> Call<Self> {
        Ok(attributes::set_policy(policy)?)
    }

    fn set_policy_of(&mut self, task: Element, policy: Policy) -> Call<Self> {
        Ok(attributes::set_policy_of(self.context, task, policy)?)
    }

    fn set_affinity(&mut self, cpus: &[u32]) -> Call<Self> {
        Ok(attributes::set_affinity(self.context, cpus)?)
    }

    fn confine(&mut self, task: Element, cpus: &[u32]) -> Call<Self> {
        Ok(attributes::confine(self.context, task, cpus)?)
    }

    fn set_cgroup(&mut self, cgroup: Option<u32>) -> Call<Self> {
        Ok(cgroups::enter(self.context, cgroup)?)
    }

    fn set_cgroup_of(&mut self, task: Element, cgroup: Option<u32>) -> Call<Self> {
        Ok(cgroups::move_other(self.context, task, cgroup)?)
    }

    fn set_cgroup_weight(&mut self, cgroup: u32, weight: u32) -> Call<Self> {
        Ok(cgroups::set_weight(self.context, cgroup, weight)?)
    }

    fn set_cgroup_max(
        &mut self,
        cgroup: u32,
        quota_us: Option<u64>,
        period_us: Option<u64>,
        burst_us: Option<u64>,
    ) -> Call<Self> {
        let limit = cgroups::limit(quota_us, period_us);
        Ok(cgroups::set_max(self.context, cgroup, &limit, burst_us)?)
    }

    fn set_cgroup_cpus(&mut self, cgroup: u32, cpus: &[u32]) -> Call<Self> {
        Ok(cgroups::set_cpus(self.context, cgroup, cpus)?)
    }

    fn make_cgroup(&mut self, cgroup: u32) -> Call<Self> {
        Ok(cgroups::make(self.context, cgroup)?)
    }

    fn remove_cgroup(&mut self, cgroup: u32) -> Call<Self> {
        Ok(cgroups::remove(self.context, cgroup)?)
    }

    fn migrate_disable(&mut self) -> Call<Self> {
        unreachable!("a plan with it is refused")
    }

    fn migrate_enable(&mut self) -> Call<Self> {
        unreachable!("a plan with it is refused")
    }

    fn cpu(&mut self) -> Call<Self, u32> {
        Ok(attributes::current_cpu(self.context)?)
    }

    fn log(&mut self, distribution: u32, ns: u64) {
        if !self.context.arena.is_over() {
            self.context.arena.tally(distribution as usize).record(ns);
        }
    }

    fn count(&mut self, counter: u32, by: i64) {
        if !self.context.arena.is_over() {
            let counter = self.context.arena.counter(self.slot, counter as usize);
            counter.fetch_add(by, Relaxed);
        }
    }
}
