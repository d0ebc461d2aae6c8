// SPDX-License-Identifier: GPL-2.0-or-later
//! Flattens a task's program: blocks become jumps.

use anyhow::{Result, ensure};
use input::{Node, Table, suggest};

use crate::action;
use crate::compiler::{Arrays, Compiler};
use crate::expr::combine;
use crate::plan::{Inst, Value};
use crate::scope::{Locals, Scope};

pub const BLOCKS: &[&str] = &["loop", "repeat", "for", "while", "if", "migrate_disable"];

/// The program of a group of `count` tasks, and how many locals it has.
pub fn compile(node: &Node, count: u32, scope: &Scope, arrays: &Arrays) -> Result<(Vec<Inst>, u8)> {
    let locals = Locals {
        slots: Vec::new(),
        count: count.into(),
    };
    let mut compiler = Compiler {
        scope,
        arrays,
        locals,
        program: Vec::new(),
    };
    compiler.block(node)?;
    compiler.program.push(Inst::Exit);
    Ok((compiler.program, compiler.locals.slots.len() as u8))
}

impl Compiler<'_> {
    fn block(&mut self, node: &Node) -> Result<()> {
        let items = node.list()?;
        ensure!(
            !items.is_empty(),
            node.error("expected at least one action, found none")
        );
        items.iter().try_for_each(|item| self.item(item))
    }

    fn item(&mut self, node: &Node) -> Result<()> {
        let table = node.table()?;
        let actions = || BLOCKS.iter().chain(action::ACTIONS).copied();
        let mut found = table
            .entries()
            .iter()
            .filter(|(key, _)| actions().any(|action| action == key));
        let Some((action, value)) = found.next() else {
            let Some((key, value)) = table.entries().first() else {
                return Err(node.error("expected an action, found an empty table"));
            };
            return Err(value.error(format!("unknown action, {}", suggest(key, actions()))));
        };
        if let Some((other, value)) = found.next() {
            return Err(value.error(format!("expected one action, found {action} and {other}")));
        }
        table.optional(action);
        if BLOCKS.contains(&action.as_str()) {
            self.flow(action, value, &table)?;
        } else {
            let inst = action::compile(self, action, value, &table)?;
            let taken_again = match &inst {
                Inst::Await {
                    releases: Some((lock, index)),
                    ..
                } => Some(Inst::Lock {
                    lock: *lock,
                    index: index.clone(),
                }),
                _ => None,
            };
            self.program.push(inst);
            self.program.extend(taken_again);
        }
        table.finish()
    }

    fn flow(&mut self, action: &str, value: &Node, table: &Table) -> Result<()> {
        match action {
            "loop" => {
                let start = self.here();
                self.body(value)?;
                self.program.push(Inst::Jump { to: start });
            }
            "repeat" => {
                let right = self.value(value)?;
                let slot = self.hidden(value)?;
                self.counted(slot, Value::Const(0), right, table.required("do")?)?;
            }
            "for" => {
                let from = table
                    .optional("from")
                    .map_or(Ok(Value::Const(0)), |n| self.value(n))?;
                let right = self.value(table.required("to")?)?;
                let slot = self.declare(value)?;
                let last = self
                    .locals
                    .range(&right)
                    .map(|(_, high)| high.saturating_sub(1));
                let first = self.locals.range(&from).map(|(low, _)| low);
                let local = &mut self.locals.slots[usize::from(slot)];
                (local.counted, local.range) =
                    (true, first.zip(last).filter(|(first, last)| first <= last));
                self.counted(slot, from, right, table.required("do")?)?;
                self.locals.slots[usize::from(slot)].visible = false;
            }
            "while" => {
                let condition = self.value(value)?;
                let test = self.jump_later();
                let start = self.here();
                self.body(table.required("do")?)?;
                self.land(test);
                let (left, right) = (Value::Const(0), condition);
                self.program.push(Inst::JumpLess {
                    left,
                    right,
                    to: start,
                });
            }
            "migrate_disable" => {
                let start = self.program.len();
                self.program.push(Inst::MigrateDisable);
                self.block(value)?;
                let mut inside = self.program[start..].iter();
                if let Some(action) = inside.find_map(leaves_section) {
                    return Err(value.error(format!(
                        "{action} is not allowed while migration is disabled"
                    )));
                }
                self.program.push(Inst::MigrateEnable);
            }
            _ => {
                let (left, right) = (Value::Const(0), self.value(value)?);
                self.program.push(Inst::JumpLess {
                    left,
                    right,
                    to: self.here() + 2,
                });
                let otherwise = self.jump_later();
                self.block(table.required("do")?)?;
                if let Some(node) = table.optional("else") {
                    let end = self.jump_later();
                    self.land(otherwise);
                    self.block(node)?;
                    self.land(end);
                } else {
                    self.land(otherwise);
                }
            }
        }
        Ok(())
    }

    /// `for slot = from; slot < right; slot += 1`, the test at the end.
    fn counted(&mut self, local: u8, from: Value, right: Value, body: &Node) -> Result<()> {
        self.program.push(Inst::Set { local, value: from });
        let test = self.jump_later();
        let start = self.here();
        self.body(body)?;
        let next = combine('+', Value::Local(local), Value::Const(1)).expect("not a division");
        self.program.push(Inst::Set { local, value: next });
        self.land(test);
        self.program.push(Inst::JumpLess {
            left: Value::Local(local),
            right,
            to: start,
        });
        Ok(())
    }

    /// A loop's body must let time pass, or nothing ever ends.
    fn body(&mut self, node: &Node) -> Result<()> {
        let start = self.program.len();
        self.block(node)?;
        let passes = self.program[start..].iter().any(takes_time);
        ensure!(
            passes,
            node.error("expected an action that takes time in a loop, found none")
        );
        Ok(())
    }

    fn here(&self) -> u32 {
        self.program.len() as u32
    }

    fn jump_later(&mut self) -> usize {
        self.program.push(Inst::Jump { to: u32::MAX });
        self.program.len() - 1
    }

    fn land(&mut self, jump: usize) {
        self.program[jump] = Inst::Jump { to: self.here() };
    }
}

/// What the kernel never does while it has disabled migration, by its name.
fn leaves_section(inst: &Inst) -> Option<&'static str> {
    match inst {
        Inst::Affinity { .. } => Some("affinity"),
        Inst::Cgroup { .. } => Some("cgroup"),
        Inst::Exec => Some("exec"),
        Inst::Exit => Some("exit"),
        Inst::Fork { .. } => Some("fork"),
        _ => None,
    }
}

fn takes_time(inst: &Inst) -> bool {
    !matches!(
        inst,
        Inst::Alive { .. }
            | Inst::Elapsed { .. }
            | Inst::Cpu { .. }
            | Inst::Stamp
            | Inst::Log { .. }
            | Inst::Count { .. }
            | Inst::Draw { .. }
            | Inst::Set { .. }
            | Inst::Add { .. }
            | Inst::Store { .. }
            | Inst::Jump { .. }
            | Inst::JumpLess { .. }
            | Inst::Nice { .. }
            | Inst::NiceOf { .. }
            | Inst::SetPolicy { .. }
            | Inst::SetPolicyOf { .. }
            | Inst::Affinity { .. }
            | Inst::Confine { .. }
            | Inst::Cgroup { .. }
            | Inst::CgroupOf { .. }
            | Inst::CgroupWeight { .. }
            | Inst::CgroupMax { .. }
            | Inst::CgroupCpus { .. }
            | Inst::MakeCgroup { .. }
            | Inst::RemoveCgroup { .. }
            | Inst::MigrateDisable
            | Inst::MigrateEnable
    )
}
