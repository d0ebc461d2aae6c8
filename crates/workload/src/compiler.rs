// SPDX-License-Identifier: GPL-2.0-or-later
//! What a program is compiled with: the names that it may use, its locals, and the instructions so far.

use anyhow::{Result, ensure};
use input::{Kind, Node, suggest};

use crate::expr;
use crate::plan::{Inst, Value};
use crate::scope::{Local, Locals, Scope};

/// Names of what a program refers to, in the order of the plan's lists, with their lengths.
#[derive(Clone, Debug, Default)]
pub struct Arrays {
    pub queues: Vec<(String, u32)>,
    pub locks: Vec<(String, u32)>,
    pub semaphores: Vec<(String, u32)>,
    pub conditions: Vec<(String, u32)>,
    pub variables: Vec<(String, u32)>,
    /// With whether the group is started by forking.
    pub groups: Vec<(String, u32, bool)>,
    pub cgroups: Vec<KnownCgroup>,
    /// Counters that [metrics] names.
    pub counters: Vec<String>,
}

/// A control group as programs name it.
#[derive(Clone, Debug)]
pub struct KnownCgroup {
    pub name: String,
    /// The kernel lets no process be in it.
    pub has_children: bool,
}

pub struct Compiler<'a> {
    pub scope: &'a Scope,
    pub arrays: &'a Arrays,
    pub locals: Locals,
    pub program: Vec<Inst>,
}

/// A loop nested deeper than this is a slip of the pen.
const MAX_LOCALS: usize = 64;

impl Compiler<'_> {
    pub fn value(&self, node: &Node) -> Result<Value> {
        self.scope.value(node, Some(&self.locals))
    }

    /// The slot of a local that an action writes, made if it is new.
    pub fn target(&mut self, node: &Node) -> Result<u8> {
        let Some(slot) = self.locals.find(node.text()?) else {
            return self.declare(node);
        };
        let local = &mut self.locals.slots[usize::from(slot)];
        ensure!(!local.counted, node.expected("a name that no for counts"));
        local.range = None;
        Ok(slot)
    }

    pub fn declare(&mut self, node: &Node) -> Result<u8> {
        let name = node.text()?;
        ensure!(
            expr::is_name(name),
            node.expected("a name of a-z, 0-9 and _")
        );
        let taken = self.scope.is_taken(name) || self.locals.find(name).is_some();
        ensure!(
            !taken,
            node.error(format!("expected a new name, {name} is taken"))
        );
        self.slot(node, name)
    }

    pub fn hidden(&mut self, node: &Node) -> Result<u8> {
        self.slot(node, "")
    }

    fn slot(&mut self, node: &Node, name: &str) -> Result<u8> {
        let slots = &mut self.locals.slots;
        let few = slots.len() < MAX_LOCALS;
        ensure!(
            few,
            node.error(format!("expected at most {MAX_LOCALS} locals and loops"))
        );
        slots.push(Local {
            name: name.to_string(),
            visible: !name.is_empty(),
            counted: false,
            range: None,
        });
        Ok((slots.len() - 1) as u8)
    }

    /// `name` or `name[index]` in a list of arrays.
    pub fn element(
        &self,
        node: &Node,
        what: &str,
        arrays: &[(String, u32)],
    ) -> Result<(u32, Value)> {
        let text = node.text()?.trim();
        let (name, index) = match text.split_once('[') {
            None => (text, None),
            Some((name, rest)) => {
                let index = rest.strip_suffix(']');
                let index = index.ok_or_else(|| node.expected(&format!("{what}[index]")))?;
                (name.trim_end(), Some(index))
            }
        };
        let array = Self::array(node, what, name, arrays)?;
        let len = arrays[array as usize].1;
        let index = match index {
            Some(text) => self.scope.expression(node, text, Some(&self.locals))?,
            None if len == 1 => Value::Const(0),
            None => return Err(node.expected(&format!("{name}[index]"))),
        };
        if let Some(index) = self.locals.misses(&index, len) {
            let last = len - 1;
            return Err(node.error(format!("expected an index from 0 to {last}, found {index}")));
        }
        Ok((array, index))
    }

    pub fn array(node: &Node, what: &str, name: &str, arrays: &[(String, u32)]) -> Result<u32> {
        let array = arrays.iter().position(|(known, _)| known == name);
        array.map(|array| array as u32).ok_or_else(|| {
            let hint = suggest(name, arrays.iter().map(|(known, _)| known.as_str()));
            node.error(format!("unknown {what} {name}, {hint}"))
        })
    }

    /// `key = true`, for actions without operands.
    pub fn alone(node: &Node) -> Result<()> {
        match node.kind {
            Kind::Bool(true) => Ok(()),
            _ => Err(node.expected("true")),
        }
    }
}
