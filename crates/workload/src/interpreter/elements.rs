// SPDX-License-Identifier: GPL-2.0-or-later
//! Which element of an array an instruction means, and whether the array has it.

use super::world::{Call, Element, World};
use crate::plan::{Plan, QueueRef, Value};

pub fn queue<W: World>(plan: &Plan, world: &mut W, queue: &QueueRef) -> Call<W, Element> {
    let len = plan.queues[queue.array as usize].count;
    element(world, "queue", queue.array, &queue.index, len)
}

/// The first of a range of queues, and how many they are: at least one, all in the same array.
pub fn queues<W: World>(
    plan: &Plan,
    world: &mut W,
    first: &QueueRef,
    count: &Value,
) -> Call<W, (Element, u32)> {
    let len = plan.queues[first.array as usize].count;
    let first = queue(plan, world, first)?;
    let count = world.registers().eval(count);
    let last = (first.index as i64).saturating_add(count).saturating_sub(1);
    if count < 1 || last >= i64::from(len) {
        Err(world.out_of_range("queue", last, len))?;
    }
    Ok((first, count as u32))
}

pub fn lock<W: World>(plan: &Plan, world: &mut W, array: u32, index: &Value) -> Call<W, Element> {
    let len = plan.locks[array as usize];
    element(world, "lock", array, index, len)
}

pub fn semaphore<W: World>(
    plan: &Plan,
    world: &mut W,
    array: u32,
    index: &Value,
) -> Call<W, Element> {
    let (len, _) = plan.semaphores[array as usize];
    element(world, "semaphore", array, index, len)
}

pub fn condition<W: World>(
    plan: &Plan,
    world: &mut W,
    array: u32,
    index: &Value,
) -> Call<W, Element> {
    let len = plan.conditions[array as usize];
    element(world, "condition", array, index, len)
}

pub fn variable<W: World>(
    plan: &Plan,
    world: &mut W,
    array: u32,
    index: &Value,
) -> Call<W, Element> {
    let (len, _) = plan.variables[array as usize];
    element(world, "variable", array, index, len)
}

/// A task of a group.
pub fn task<W: World>(plan: &Plan, world: &mut W, group: u32, index: &Value) -> Call<W, Element> {
    let len = plan.groups[group as usize].count;
    element(world, "task", group, index, len)
}

fn element<W: World>(
    world: &mut W,
    what: &str,
    array: u32,
    index: &Value,
    len: u32,
) -> Call<W, Element> {
    let index = world.registers().eval(index);
    if !(0..i64::from(len)).contains(&index) {
        Err(world.out_of_range(what, index, len))?;
    }
    Ok(Element {
        array: array as usize,
        index: index as usize,
    })
}
