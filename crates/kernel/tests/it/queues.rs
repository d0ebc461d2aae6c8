// SPDX-License-Identifier: GPL-2.0-or-later
//! Queues against literal models.

use kernel::TaskId;
use kernel::dsq::{Dsq, Key, MixedOrder};
use proptest::prelude::*;

proptest! {
    /// By virtual time: a sorted list, equal times in order of insertion, wrapping.
    #[test]
    fn by_virtual_time(base: u64, steps in prop::collection::vec((0u64..50, 0usize..4), 1..200)) {
        let mut dsq = Dsq::new(1);
        let mut model: Vec<(u64, TaskId, Key)> = Vec::new();
        for (task, (offset, action)) in steps.into_iter().enumerate() {
            let task = TaskId(task as u32);
            if action == 3 && !model.is_empty() {
                let (_, gone, place) = model.remove(offset as usize % model.len());
                dsq.remove(place, gone);
            } else {
                let place = dsq.push_vtime(task, base.wrapping_add(offset)).unwrap();
                let at = model.iter().position(|(other, ..)| *other > offset).unwrap_or(model.len());
                model.insert(at, (offset, task, place));
            }
            let order: Vec<TaskId> = dsq.entries.iter().map(|entry| entry.task).collect();
            let expected: Vec<TaskId> = model.iter().map(|(_, task, _)| *task).collect();
            prop_assert_eq!(order, expected);
        }
    }

    /// By arrival: a list with two ends, and removals anywhere.
    #[test]
    fn by_arrival(steps in prop::collection::vec((0usize..50, 0usize..4), 1..200)) {
        let mut dsq = Dsq::new(1);
        let mut model: Vec<(TaskId, Key)> = Vec::new();
        for (task, (pick, action)) in steps.into_iter().enumerate() {
            let task = TaskId(task as u32);
            match action {
                0 | 1 => model.push((task, dsq.push(task, false).unwrap())),
                2 => model.insert(0, (task, dsq.push(task, true).unwrap())),
                _ if !model.is_empty() => {
                    let (gone, place) = model.remove(pick % model.len());
                    dsq.remove(place, gone);
                }
                _ => {}
            }
            let order: Vec<TaskId> = dsq.entries.iter().map(|entry| entry.task).collect();
            let expected: Vec<TaskId> = model.iter().map(|(task, _)| *task).collect();
            prop_assert_eq!(order, expected);
        }
    }

    /// A walk sees every task once although the one it stands on may be taken away.
    #[test]
    fn walks_survive_removals(keys in prop::collection::vec(0u64..20, 1..60), gone in prop::collection::vec(any::<bool>(), 60)) {
        let mut dsq = Dsq::new(1);
        let places: Vec<Key> = keys.iter().enumerate().map(|(task, key)| dsq.push_vtime(TaskId(task as u32), *key).unwrap()).collect();
        let expected: Vec<TaskId> = dsq.entries.iter().map(|entry| entry.task).collect();
        let mut seen = Vec::new();
        let mut index = 0;
        while let Some(entry) = dsq.entries.get(index).copied() {
            seen.push(entry.task);
            let place = places[entry.task.0 as usize];
            if gone[entry.task.0 as usize] {
                dsq.remove(place, entry.task);
            }
            index = dsq.after(place, index);
        }
        prop_assert_eq!(seen, expected);
    }
}

#[test]
fn one_order_at_a_time() {
    let mut dsq = Dsq::new(1);
    let place = dsq.push(TaskId(0), false).unwrap();
    assert_eq!(dsq.push_vtime(TaskId(1), 5), Err(MixedOrder));
    dsq.remove(place, TaskId(0));
    let place = dsq.push_vtime(TaskId(1), 5).unwrap();
    assert_eq!(dsq.push(TaskId(2), false), Err(MixedOrder));
    dsq.remove(place, TaskId(1));
    assert!(dsq.push(TaskId(2), true).is_ok());
}

#[test]
fn policies_walk_and_move() {
    use crate::common::{MS, for_ms, free, hogs, plan, run, sleepers};

    let load = plan(vec![hogs(5), sleepers(7, MS, MS / 2)], for_ms(500));
    let outcome = run(&free(3), load, "walks");
    assert_eq!(outcome.status, cell::Status::Ok, "{}", outcome.reason);
}

#[test]
fn maps_and_timers_keep_their_values() {
    use crate::common::{MS, for_ms, free, group, hogs, plan, run_for, sleepers, traced};
    use workload::plan::{Inst, Start, Value};

    let mut child = group("child", 1, vec![run_for(MS)]);
    child.start = Start::Fork;
    let parent = group(
        "parent",
        1,
        vec![
            Inst::Fork {
                group: 3,
                index: Value::Const(0),
            },
            Inst::Reap,
            Inst::Jump { to: 0 },
        ],
    );
    let load = plan(
        vec![hogs(2), sleepers(3, MS, MS / 2), parent, child],
        for_ms(500),
    );
    let (outcome, text) = traced(&free(3), load, "maps", kernel::Options::default());
    assert_eq!(outcome.status, cell::Status::Ok, "{}", outcome.reason);
    // Every 5 ms, the last at 500 ms together with the end.
    let kicks = text
        .lines()
        .filter(|line| line.ends_with("scx_kick: cpu=0"))
        .count();
    assert!((98..=100).contains(&kicks), "{kicks}");
}
