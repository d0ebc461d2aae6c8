// SPDX-License-Identifier: GPL-2.0-or-later
//! When sleeps are due, and how long ago something was.
//!
//! A task that has slept goes on behind the instruction, so that each is one system call.

use super::world::{Call, World};
use crate::plan::{Draw, Since, Value};

pub fn sleep<W: World>(world: &mut W, ns: &Draw) -> Call<W> {
    world.enter_kernel();
    let now_ns = world.time_ns();
    let due_ns = now_ns.saturating_add(world.registers().draw(ns));
    sleep_until(world, due_ns)
}

pub fn timer<W: World>(world: &mut W, period_ns: &Value, skip: bool) -> Call<W> {
    let period_ns = world.registers().eval(period_ns).max(1) as u64;
    world.enter_kernel();
    let now_ns = world.time_ns();
    let due_ns = world.registers().timer.next(now_ns, period_ns, skip);
    sleep_until(world, due_ns)
}

pub fn until<W: World>(world: &mut W, ns: &Value) -> Call<W> {
    let ns = world.registers().eval(ns).max(0) as u64;
    world.enter_kernel();
    let due_ns = world.start_ns().saturating_add(ns);
    sleep_until(world, due_ns)
}

/// Every way of sleeping sets the due time, even one that is over at once: lateness counts from it.
fn sleep_until<W: World>(world: &mut W, due_ns: u64) -> Call<W> {
    world.registers().due_ns = due_ns;
    world.sleep_until(due_ns)
}

pub fn since_ns<W: World>(world: &mut W, since: Since) -> u64 {
    let registers = world.registers();
    let since_ns = match since {
        Since::Stamp => registers.stamp_ns,
        Since::Message => registers.message_ns,
        Since::Due => registers.due_ns,
        Since::Start => world.start_ns(),
    };
    world.time_ns().saturating_sub(since_ns)
}
