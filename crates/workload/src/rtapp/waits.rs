// SPDX-License-Identifier: GPL-2.0-or-later
//! Events in which tasks wait for each other: mutexes with conditions, as rt-app makes them of pthreads'.

use anyhow::{Result, ensure};
use input::Node;

use super::names::named;
use super::program::Events;
use super::read::Event;
use super::{flag, int, list, table, text};

impl Events<'_, '_> {
    /// `sync` signals first. rt-app's manual has it take the mutex itself; where the task holds it already, it does not.
    pub fn wait(&mut self, event: &Event, actions: &mut Vec<Node>) -> Result<()> {
        let at = event.node;
        let keys = at.table()?;
        let (condition, mutex) = (keys.required("ref")?, keys.required("mutex")?);
        keys.finish()?;
        let lock = self.lock(mutex)?;
        let own = event.kind == "sync" && !self.held.contains(&lock);
        ensure!(
            own || self.held.contains(&lock),
            mutex.error("expected a mutex that the task took earlier in this phase")
        );
        let (name, lock) = (condition.text()?, self.element(mutex, &lock));
        let condition = self.condition(condition, name);
        let mut act = |entries| actions.push(table(at, entries));
        if own {
            act(vec![("lock", lock.clone())]);
        }
        if event.kind == "sync" {
            act(vec![("signal", condition.clone())]);
        }
        act(vec![("await", condition), ("holding", lock.clone())]);
        if own {
            act(vec![("unlock", lock)]);
        }
        Ok(())
    }

    /// A task waits for its own name, whatever the event says.
    pub fn suspend(&mut self, at: &Node, actions: &mut Vec<Node>) -> Result<()> {
        let name = self.task.name;
        let (lock, condition) = (self.free_lock(at, name)?, self.condition(at, name));
        actions.extend([
            table(at, vec![("lock", lock.clone())]),
            table(at, vec![("await", condition), ("holding", lock.clone())]),
            table(at, vec![("unlock", lock)]),
        ]);
        Ok(())
    }

    /// Wakes whoever waits for that name at this moment: instances of that task, and who waits for a condition called so.
    pub fn resume(&mut self, at: &Node, actions: &mut Vec<Node>) -> Result<()> {
        let name = at.text()?;
        let (lock, condition) = (self.free_lock(at, name)?, self.condition(at, name));
        actions.extend([
            table(at, vec![("lock", lock.clone())]),
            table(at, vec![("signal", condition), ("all", flag(at))]),
            table(at, vec![("unlock", lock)]),
        ]);
        Ok(())
    }

    /// The mutex of that name, which the task is about to take.
    fn free_lock(&mut self, at: &Node, name: &str) -> Result<Node> {
        let lock = named(&mut self.shared.locks, name);
        ensure!(
            !self.held.contains(&lock),
            at.error(format!(
                "expected the mutex {name:?} to be free, the task holds it"
            ))
        );
        Ok(self.element(at, &lock))
    }

    /// The last of the users wakes the others, which count up again as they go. As in rt-app, one that comes back before
    /// that finds a barrier that still looks complete, and passes.
    pub fn barrier(&mut self, at: &Node, actions: &mut Vec<Node>) -> Result<()> {
        let name = at.text()?;
        let own = format!("barrier\0{name}");
        let lock = named(&mut self.shared.locks, &own);
        let lock = self.element(at, &lock);
        let condition = self.condition(at, &own);
        let variable = self.shared.variable("barrier", name, self.users(name) - 1);
        let variable = self.element(at, &variable);
        let count = |by| {
            let add = vec![
                ("add", variable.clone()),
                ("by", int(at, by)),
                ("into", text(at, "missing")),
            ];
            table(at, add)
        };
        let wait = vec![
            count(-1),
            table(
                at,
                vec![("await", condition.clone()), ("holding", lock.clone())],
            ),
            count(1),
        ];
        let wake = table(at, vec![("signal", condition), ("all", flag(at))]);
        actions.extend([
            table(at, vec![("lock", lock.clone())]),
            count(0),
            table(
                at,
                vec![
                    // Not 0: below it where only forked tasks, which rt-app does not count, use the barrier.
                    ("if", text(at, "missing * missing")),
                    ("do", list(at, wait)),
                    ("else", list(at, vec![wake])),
                ],
            ),
            table(at, vec![("unlock", lock)]),
        ]);
        Ok(())
    }

    /// Every event that names a barrier counts, once for each instance of its task.
    fn users(&self, barrier: &str) -> i64 {
        let events = self.file.events().filter(|(_, event)| {
            event.kind == "barrier" && event.node.text().is_ok_and(|name| name == barrier)
        });
        events.map(|(task, _)| task.instances).sum()
    }
}
