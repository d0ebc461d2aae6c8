// SPDX-License-Identifier: GPL-2.0-or-later
//! Nice value, policy and allowed CPUs of the calling task, and of others.

use std::sync::atomic::Ordering::SeqCst;

use super::arena::Slot;
use super::context::Context;
use super::fault::{Fault, Kind};
use workload::interpreter::Element;
use workload::plan::{Group, Policy};

/// CPUs that the calling thread may use, in ascending order.
pub fn allowed_cpus() -> Vec<usize> {
    let mut set = [0u64; 16];
    // SAFETY: writes to a local of that size; more than 1,024 CPUs are an error, and then the list is empty.
    unsafe { libc::sched_getaffinity(0, size_of_val(&set), set.as_mut_ptr().cast()) };
    (0..1024)
        .filter(|cpu| set[cpu / 64] >> (cpu % 64) & 1 == 1)
        .collect()
}

/// The plan's number of the CPU that the calling thread runs on.
pub fn current_cpu(context: &Context) -> Result<u32, Fault> {
    // SAFETY: no memory.
    let cpu = unsafe { libc::sched_getcpu() };
    let rank = usize::try_from(cpu)
        .ok()
        .and_then(|cpu| context.cpus.binary_search(&cpu).ok());
    rank.map(|rank| rank as u32)
        .ok_or(Fault::value(Kind::Cpu, cpu.into()))
}

/// `cpus` of the plan; none stands for all.
pub fn set_affinity(context: &Context, cpus: &[u32]) -> Result<(), Fault> {
    sched_setaffinity(CALLER, &listed(context, cpus)?)
}

/// The same for another task.
pub fn confine(context: &Context, task: Element, cpus: &[u32]) -> Result<(), Fault> {
    let set = listed(context, cpus)?;
    of_another(context, task, |slot| sched_setaffinity(thread(slot), &set))
}

/// The calling thread, to system calls.
const CALLER: libc::pid_t = 0;

/// Changes a task that may have ended, or not have begun; then there is nothing to change.
pub fn of_another(
    context: &Context,
    task: Element,
    change: impl FnOnce(&Slot) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let slot = context.arena.slot_of(task.array, task.index);
    let slot = context.arena.slot(slot);
    if thread(slot) == 0 || slot.ended_ns.load(SeqCst) != 0 {
        return Ok(());
    }
    match change(slot) {
        Err(fault) if fault.errno == libc::ESRCH => Ok(()),
        changed => changed,
    }
}

fn thread(slot: &Slot) -> libc::pid_t {
    slot.thread.load(SeqCst) as libc::pid_t
}

type CpuSet = [u64; 16];

fn sched_setaffinity(thread: libc::pid_t, set: &CpuSet) -> Result<(), Fault> {
    // SAFETY: reads a set of that size.
    match unsafe { libc::sched_setaffinity(thread, size_of_val(set), set.as_ptr().cast()) } {
        0 => Ok(()),
        _ => Err(Fault::last(Kind::Affinity)),
    }
}

fn listed(context: &Context, cpus: &[u32]) -> Result<CpuSet, Fault> {
    let mut set: CpuSet = [0; 16];
    let mut allow = |cpu: usize| set[cpu / 64] |= 1 << (cpu % 64);
    if cpus.is_empty() {
        context.cpus.iter().copied().for_each(&mut allow);
    }
    for &cpu in cpus {
        let Some(&cpu) = context.cpus.get(cpu as usize) else {
            return Err(Fault::value(Kind::Affinity, cpu.into()));
        };
        allow(cpu);
    }
    Ok(set)
}

pub fn set_nice(nice: i32) -> Result<(), Fault> {
    setpriority(CALLER, nice)
}

/// The same for another task.
pub fn set_nice_of(context: &Context, task: Element, nice: i32) -> Result<(), Fault> {
    of_another(context, task, |slot| setpriority(thread(slot), nice))
}

fn setpriority(thread: libc::pid_t, nice: i32) -> Result<(), Fault> {
    let who = thread as libc::id_t;
    // SAFETY: no memory. A process that has a nice value already needs no leave to keep it.
    if unsafe { libc::getpriority(libc::PRIO_PROCESS, who) } == nice {
        return Ok(());
    }
    // SAFETY: no memory.
    match unsafe { libc::setpriority(libc::PRIO_PROCESS, who, nice) } {
        0 => Ok(()),
        _ => Err(Fault::last(Kind::Nice)),
    }
}

pub fn set_policy(policy: Policy) -> Result<(), Fault> {
    sched_setscheduler(CALLER, policy)
}

/// The same for another task.
pub fn set_policy_of(context: &Context, task: Element, policy: Policy) -> Result<(), Fault> {
    of_another(context, task, |slot| {
        sched_setscheduler(thread(slot), policy)
    })
}

fn sched_setscheduler(thread: libc::pid_t, policy: Policy) -> Result<(), Fault> {
    let (policy, priority) = match policy {
        Policy::Other => (libc::SCHED_OTHER, 0),
        Policy::Batch => (libc::SCHED_BATCH, 0),
        Policy::Idle => (libc::SCHED_IDLE, 0),
        Policy::Fifo(priority) => (libc::SCHED_FIFO, priority.into()),
        Policy::Rr(priority) => (libc::SCHED_RR, priority.into()),
    };
    let mut parameter = libc::sched_param { sched_priority: 0 };
    // By system call throughout, as musl's wrappers refuse.
    // SAFETY: fills a local.
    let current = unsafe {
        libc::syscall(libc::SYS_sched_getparam, thread, &raw mut parameter);
        (
            libc::syscall(libc::SYS_sched_getscheduler, thread),
            parameter.sched_priority,
        )
    };
    // What is so already needs no leave.
    if current == (policy.into(), priority) {
        return Ok(());
    }
    parameter.sched_priority = priority;
    // SAFETY: reads a local.
    match unsafe {
        libc::syscall(
            libc::SYS_sched_setscheduler,
            thread,
            policy,
            &raw const parameter,
        )
    } {
        0 => Ok(()),
        _ => Err(Fault::last(Kind::Policy)),
    }
}

/// The kernel's `struct sched_attr`, in its first size.
#[repr(C)]
struct SchedAttr {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime_ns: u64,
    deadline_ns: u64,
    period_ns: u64,
}

/// Ask for slices of that length. Kernels before 6.12 take it and do nothing.
pub fn set_slice(group: &Group) -> Result<(), Fault> {
    let policy = match group.policy {
        Policy::Batch => libc::SCHED_BATCH,
        _ => libc::SCHED_OTHER,
    };
    let attr = SchedAttr {
        size: size_of::<SchedAttr>() as u32,
        policy: policy as u32,
        flags: 0,
        nice: group.nice,
        priority: 0,
        runtime_ns: u64::from(group.slice_us) * 1_000,
        deadline_ns: 0,
        period_ns: 0,
    };
    // SAFETY: reads a local of the size it says; 0 is the calling thread.
    match unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attr, 0) } {
        0 => Ok(()),
        _ => Err(Fault::last(Kind::Slice)),
    }
}
