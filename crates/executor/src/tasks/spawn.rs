// SPDX-License-Identifier: GPL-2.0-or-later
//! Starting tasks: a process each, one process for a group of threads, or a thread of the process that forks it.

use std::sync::atomic::Ordering::SeqCst;
use std::thread::Scope;

use anyhow::{Result, anyhow};

use super::arena::FORKED;
use super::context::Context;
use super::family::Family;
use super::fault::{Fault, Kind};
use super::fork::fork;
use super::{cgroups, task};
use workload::plan::Start;

/// Exit status of a task that left a fault.
const FAULTY: i32 = 1;
/// Interpreting needs little; what is not touched is not allocated.
const STACK_BYTES: usize = 256 * 1024;

/// Starts everything that waits for the start signal.
pub fn start_all(context: &Context, family: &Family) -> Result<()> {
    for (group, of) in context.plan.groups.iter().enumerate() {
        if of.start == Start::Fork {
            continue;
        }
        let processes = if of.threads { 1 } else { of.count };
        for index in 0..processes {
            let body = || {
                family.join();
                if of.threads {
                    threads(context, group)
                } else {
                    one(context, group, index as usize, false)
                }
            };
            let child = family.fork(body).map_err(|error| {
                anyhow!("cannot start {}[{index}] of {}: {error}", of.name, of.count)
            })?;
            // By both sides: the child may die before it says who it is.
            let slot = context.arena.slot_of(group, index as usize);
            context.arena.slot(slot).process.store(child as u32, SeqCst);
        }
    }
    Ok(())
}

/// The exit status of a task's process.
fn one(context: &Context, group: usize, index: usize, forked: bool) -> i32 {
    if !enter_cgroup(context, group, index) {
        return FAULTY;
    }
    std::thread::scope(|scope| task::live(context, scope, group, index, forked));
    status(context)
}

fn status(context: &Context) -> i32 {
    if context.arena.shared().fault.load(SeqCst) == 0 {
        0
    } else {
        FAULTY
    }
}

/// A process goes to where its tasks begin, first of all.
fn enter_cgroup(context: &Context, group: usize, index: usize) -> bool {
    let Some(cgroup) = context.plan.groups[group].cgroup else {
        return true;
    };
    // As whoever hears of it will know the task.
    task::name(&context.plan.groups[group].name);
    let entered = cgroups::enter(context, Some(cgroup));
    if let Err(fault) = &entered {
        fault.leave(context.arena, context.arena.slot_of(group, index));
        context.ring();
    }
    entered.is_ok()
}

fn threads(context: &Context, group: usize) -> i32 {
    if !enter_cgroup(context, group, 0) {
        return FAULTY;
    }
    std::thread::scope(|scope| {
        for index in 0..context.plan.groups[group].count as usize {
            if let Err(fault) = thread(context, scope, group, index, false) {
                fault.leave(context.arena, context.arena.slot_of(group, index));
                context.ring();
                // The threads that did start wait at the gate for ever; the supervisor ends them.
                break;
            }
        }
    });
    status(context)
}

fn thread<'a>(
    context: &'a Context<'a>,
    scope: &'a Scope<'a, '_>,
    group: usize,
    index: usize,
    forked: bool,
) -> Result<(), Fault> {
    let builder = std::thread::Builder::new().stack_size(STACK_BYTES);
    let body = move || task::live(context, scope, group, index, forked);
    match builder.spawn_scoped(scope, body) {
        Ok(_) => Ok(()),
        Err(error) => Err(Fault::os(Kind::Thread, &error)),
    }
}

/// One task starts another; `scope` is its process.
pub fn fork_task<'a>(
    context: &'a Context<'a>,
    scope: &'a Scope<'a, '_>,
    group: usize,
    index: usize,
) -> Result<(), Fault> {
    let slot = context.arena.slot(context.arena.slot_of(group, index));
    let first = slot
        .begun
        .compare_exchange(0, FORKED, SeqCst, SeqCst)
        .is_ok();
    if !first {
        if slot.ended_ns.load(SeqCst) == 0 {
            return Err(Fault::value(Kind::ForkedTwice, index as i64));
        }
        slot.again();
        slot.process.store(0, SeqCst);
        slot.ended_ns.store(0, SeqCst);
        context.arena.alive(group).fetch_add(1, SeqCst);
    }
    context.arena.shared().live.fetch_add(1, SeqCst);
    if context.plan.groups[group].threads {
        return thread(context, scope, group, index, true);
    }
    let child =
        fork(|| one(context, group, index, true)).map_err(|error| Fault::os(Kind::Fork, &error))?;
    // By both sides: the child may die before it says who it is.
    slot.process.store(child as u32, SeqCst);
    Ok(())
}
