// SPDX-License-Identifier: GPL-2.0-or-later
//! A world that writes down what it is asked to do, and whose clock moves only when its task runs or sleeps.

use std::collections::VecDeque;

use workload::interpreter::{Call, Element, Interpreter, Registers, Step, Stop, World};
use workload::plan::{
    Draw, End, Group, Inst, Plan, Policy, QueueArray, QueueKind, QueueRef, Start, Value,
};

/// What a world was asked to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Did {
    EnterKernel,
    Run(u64),
    SleepUntil(u64),
    Yield,
    Send(Element, u32, u64),
    Receive(Element),
    Poll(Element, u32),
    Lock(Element),
    Spin(Element),
    Unlock(Element),
    Wait(Element),
    WaitAny(u32),
    Post(Element, u64),
    Await(Element, Option<Element>),
    Signal(Element, bool),
    Add(Element, i64),
    Store(Element, i64),
    Fill(u64, u32),
    Discard(u64),
    Disk(u64, bool, bool),
    Fork(Element),
    Exec,
    Reap,
    HasChild,
    Nice(i32),
    NiceOf(Element, i32),
    Policy(Policy),
    PolicyOf(Element, Policy),
    Affinity(Vec<u32>),
    Confine(Element, Vec<u32>),
    Cgroup(Option<u32>),
    CgroupOf(Element, Option<u32>),
    CgroupWeight(u32, u32),
    CgroupMax(u32, Option<u64>, Option<u64>, Option<u64>),
    CgroupCpus(u32, Vec<u32>),
    MakeCgroup(u32),
    RemoveCgroup(u32),
    MigrateDisable,
    MigrateEnable,
    Log(u32, u64),
    Count(u32, i64),
}

pub struct Fake {
    registers: Registers,
    pub now_ns: u64,
    pub start_ns: u64,
    /// How much later than due a sleep ends.
    pub late_ns: u64,
    /// The stamp of every message and post that comes.
    pub stamp_ns: u64,
    /// What the next calls are answered with, beginning with the first; all later ones are done at once.
    pub stops: VecDeque<Option<Stop<String>>>,
    pub did: Vec<Did>,
}

impl Fake {
    /// The task of that index in the plan's first group.
    pub fn new(plan: &Plan, index: u32) -> Self {
        Self {
            registers: Registers::new(plan, 0, index),
            now_ns: 0,
            start_ns: 0,
            late_ns: 0,
            stamp_ns: 0,
            stops: VecDeque::new(),
            did: Vec::new(),
        }
    }

    fn does(&mut self, did: Did) -> Call<Self> {
        self.did.push(did);
        match self.stops.pop_front().flatten() {
            Some(stop) => Err(stop),
            None => Ok(()),
        }
    }

    /// Goes on with the program until it is over.
    pub fn finish(&mut self, plan: &Plan) -> Result<(), String> {
        let interpreter = Interpreter::new(plan, 0);
        for _ in 0..1_000 {
            match interpreter.step(self) {
                Step::Next | Step::Jumped | Step::Paused => {}
                Step::Exited => return Ok(()),
                Step::Failed(error) => return Err(error),
            }
        }
        panic!("the program does not end");
    }

    pub fn logs(&self) -> Vec<u64> {
        let log = |did: &Did| match did {
            Did::Log(_, ns) => Some(*ns),
            _ => None,
        };
        self.did.iter().filter_map(log).collect()
    }

    pub fn counts(&self) -> Vec<i64> {
        let count = |did: &Did| match did {
            Did::Count(_, by) => Some(*by),
            _ => None,
        };
        self.did.iter().filter_map(count).collect()
    }

    /// What it did beside looking at the time and entering the kernel.
    pub fn calls(&self) -> Vec<Did> {
        let calls = self.did.iter().filter(|did| **did != Did::EnterKernel);
        calls.cloned().collect()
    }
}

impl World for Fake {
    type Error = String;

    fn registers(&mut self) -> &mut Registers {
        &mut self.registers
    }

    fn time_ns(&self) -> u64 {
        self.now_ns
    }

    fn start_ns(&self) -> u64 {
        self.start_ns
    }

    fn out_of_range(&mut self, what: &str, index: i64, len: u32) -> String {
        format!("{what} {index} of {len}")
    }

    fn enter_kernel(&mut self) {
        self.did.push(Did::EnterKernel);
    }

    fn run(&mut self, ns: u64) -> Call<Self> {
        self.now_ns += ns;
        self.does(Did::Run(ns))
    }

    fn sleep_until(&mut self, due_ns: u64) -> Call<Self> {
        if due_ns > self.now_ns {
            self.now_ns = due_ns.saturating_add(self.late_ns);
        }
        self.does(Did::SleepUntil(due_ns))
    }

    fn yield_cpu(&mut self) -> Call<Self> {
        self.does(Did::Yield)
    }

    fn send(&mut self, queue: Element, bytes: u32, stamp_ns: u64) -> Call<Self> {
        self.does(Did::Send(queue, bytes, stamp_ns))
    }

    fn receive(&mut self, queue: Element) -> Call<Self, u64> {
        self.does(Did::Receive(queue))?;
        Ok(self.stamp_ns)
    }

    /// The last queue of the range has a message.
    fn poll(&mut self, first: Element, count: u32) -> Call<Self, u32> {
        self.does(Did::Poll(first, count))?;
        Ok(count - 1)
    }

    fn lock(&mut self, lock: Element) -> Call<Self> {
        self.does(Did::Lock(lock))
    }

    fn spin(&mut self, lock: Element) -> Call<Self> {
        self.does(Did::Spin(lock))
    }

    fn unlock(&mut self, lock: Element) -> Call<Self> {
        self.does(Did::Unlock(lock))
    }

    fn wait(&mut self, semaphore: Element) -> Call<Self, u64> {
        self.does(Did::Wait(semaphore))?;
        Ok(self.stamp_ns)
    }

    /// Semaphore 2 of the array is posted.
    fn wait_any(&mut self, array: u32) -> Call<Self, (u32, u64)> {
        self.does(Did::WaitAny(array))?;
        Ok((2, self.stamp_ns))
    }

    fn post(&mut self, semaphore: Element, stamp_ns: u64) -> Call<Self> {
        self.does(Did::Post(semaphore, stamp_ns))
    }

    fn await_signal(&mut self, condition: Element, releases: Option<Element>) -> Call<Self> {
        self.does(Did::Await(condition, releases))
    }

    fn signal(&mut self, condition: Element, all: bool) -> Call<Self> {
        self.does(Did::Signal(condition, all))
    }

    /// The sum is always 9.
    fn add(&mut self, variable: Element, by: i64) -> Call<Self, i64> {
        self.does(Did::Add(variable, by))?;
        Ok(9)
    }

    fn store(&mut self, variable: Element, value: i64) -> Call<Self> {
        self.does(Did::Store(variable, value))
    }

    fn fill(&mut self, bytes: u64, buffer_bytes: u32) -> Call<Self> {
        self.does(Did::Fill(bytes, buffer_bytes))
    }

    fn discard(&mut self, bytes: u64) -> Call<Self> {
        self.does(Did::Discard(bytes))
    }

    fn disk(&mut self, bytes: u64, write: bool, sync: bool) -> Call<Self> {
        self.does(Did::Disk(bytes, write, sync))
    }

    fn fork(&mut self, task: Element) -> Call<Self> {
        self.does(Did::Fork(task))
    }

    fn exec(&mut self) -> Call<Self> {
        self.does(Did::Exec)
    }

    fn reap(&mut self) -> Call<Self> {
        self.does(Did::Reap)
    }

    fn has_child(&mut self) -> Call<Self, bool> {
        self.does(Did::HasChild)?;
        Ok(true)
    }

    fn set_nice(&mut self, nice: i32) -> Call<Self> {
        self.does(Did::Nice(nice))
    }

    fn set_nice_of(&mut self, task: Element, nice: i32) -> Call<Self> {
        self.does(Did::NiceOf(task, nice))
    }

    fn set_policy(&mut self, policy: Policy) -> Call<Self> {
        self.does(Did::Policy(policy))
    }

    fn set_policy_of(&mut self, task: Element, policy: Policy) -> Call<Self> {
        self.does(Did::PolicyOf(task, policy))
    }

    fn set_affinity(&mut self, cpus: &[u32]) -> Call<Self> {
        self.does(Did::Affinity(cpus.to_vec()))
    }

    fn confine(&mut self, task: Element, cpus: &[u32]) -> Call<Self> {
        self.does(Did::Confine(task, cpus.to_vec()))
    }

    fn set_cgroup(&mut self, cgroup: Option<u32>) -> Call<Self> {
        self.does(Did::Cgroup(cgroup))
    }

    fn set_cgroup_of(&mut self, task: Element, cgroup: Option<u32>) -> Call<Self> {
        self.does(Did::CgroupOf(task, cgroup))
    }

    fn set_cgroup_weight(&mut self, cgroup: u32, weight: u32) -> Call<Self> {
        self.does(Did::CgroupWeight(cgroup, weight))
    }

    fn set_cgroup_max(
        &mut self,
        cgroup: u32,
        quota_us: Option<u64>,
        period_us: Option<u64>,
        burst_us: Option<u64>,
    ) -> Call<Self> {
        self.does(Did::CgroupMax(cgroup, quota_us, period_us, burst_us))
    }

    fn set_cgroup_cpus(&mut self, cgroup: u32, cpus: &[u32]) -> Call<Self> {
        self.does(Did::CgroupCpus(cgroup, cpus.to_vec()))
    }

    fn make_cgroup(&mut self, cgroup: u32) -> Call<Self> {
        self.does(Did::MakeCgroup(cgroup))
    }

    fn remove_cgroup(&mut self, cgroup: u32) -> Call<Self> {
        self.does(Did::RemoveCgroup(cgroup))
    }

    fn migrate_disable(&mut self) -> Call<Self> {
        self.does(Did::MigrateDisable)
    }

    fn migrate_enable(&mut self) -> Call<Self> {
        self.does(Did::MigrateEnable)
    }

    /// CPU 6.
    fn cpu(&mut self) -> Call<Self, u32> {
        Ok(6)
    }

    fn log(&mut self, distribution: u32, ns: u64) {
        self.did.push(Did::Log(distribution, ns));
    }

    fn count(&mut self, counter: u32, by: i64) {
        self.did.push(Did::Count(counter, by));
    }
}

/// A plan for the program of one group of 8 tasks with 4 locals. It has two arrays of 4 queues, of which the first
/// carries stamps, and arrays of 3 locks, 3 semaphores, 3 conditions and 3 variables, each behind an array of 1.
pub fn plan(program: Vec<Inst>) -> Plan {
    let queues = |stamped| QueueArray {
        name: String::new(),
        kind: QueueKind::Pipe,
        count: 4,
        capacity_bytes: 4_096,
        message_bytes: 8,
        stamped,
        back_of: None,
    };
    Plan {
        groups: vec![Group {
            name: "task".to_string(),
            count: 8,
            start: Start::Signal,
            threads: false,
            nice: 0,
            policy: Policy::Other,
            slice_us: 0,
            cpus: Vec::new(),
            cgroup: None,
            kernel: false,
            footprint_kib: 0,
            locals: 4,
            program,
        }],
        cgroups: Vec::new(),
        queues: vec![queues(true), queues(false)],
        locks: vec![1, 3],
        semaphores: vec![(1, 0), (3, 0)],
        conditions: vec![1, 3],
        variables: vec![(1, 0), (3, 0)],
        end: End::All,
        distributions: vec!["d_us".to_string(); 2],
        counters: vec!["c".to_string(); 2],
        throughput: None,
        promises: Vec::new(),
        seed: 7,
    }
}

/// Task 1 of a plan with this program, after it has ended.
pub fn run(program: Vec<Inst>) -> Fake {
    let plan = plan(program);
    let mut fake = Fake::new(&plan, 1);
    fake.finish(&plan).unwrap();
    fake
}

pub fn number(value: i64) -> Value {
    Value::Const(value)
}

pub fn fixed(value: i64) -> Draw {
    Draw::Fixed(Value::Const(value))
}

pub fn queue(array: u32, index: i64) -> QueueRef {
    QueueRef {
        array,
        index: number(index),
    }
}

pub fn element(array: usize, index: usize) -> Element {
    Element { array, index }
}

/// Counts a value, so that a test sees it.
pub fn show(value: Value) -> Inst {
    Inst::Count {
        metric: 0,
        by: value,
    }
}
