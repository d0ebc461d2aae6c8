// SPDX-License-Identifier: GPL-2.0-or-later
//! What names mean while a workload is fixed at one load.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::Result;
use input::{Kind, Node, suggest};

use crate::expr;
use crate::plan::Value;
use crate::profile::Profile;

/// No machine has CPUs beyond this one.
const MAX_CPU: i64 = 1023;

/// The value of a parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Setting {
    Number(i64),
    Choice(String),
}

/// Names known before the run: parameters and `cpus`.
#[derive(Clone, Debug)]
pub struct Scope {
    pub cpus: u32,
    /// The file is only being tried: a larger machine may have the CPUs it names.
    pub trial: bool,
    pub params: BTreeMap<String, Setting>,
    /// What the file draws from, if it names one.
    pub profile: Option<Arc<Profile>>,
}

/// Names of one task: `me` and its locals, by slot.
#[derive(Clone, Debug, Default)]
pub struct Locals {
    pub slots: Vec<Local>,
    /// How many tasks the group has.
    pub count: i64,
}

#[derive(Clone, Debug)]
pub struct Local {
    pub name: String,
    /// Still in scope.
    pub visible: bool,
    /// Counted by a `for`: nothing else may change it.
    pub counted: bool,
    /// Least and greatest value, where the builder knows them.
    pub range: Option<(i64, i64)>,
}

impl Scope {
    /// What the file draws from; `node` asks for it.
    pub fn profile(&self, node: &Node) -> Result<&Profile> {
        let missing = || node.error("expected a profile = \"FILE\" of the whole file, found none");
        self.profile.as_deref().ok_or_else(missing)
    }

    /// An expression whose value is known before the run.
    pub fn known(&self, node: &Node) -> Result<i64> {
        match self.value(node, None)? {
            Value::Const(value) => Ok(value),
            _ => unreachable!("without locals every name is known"),
        }
    }

    /// The same within a range.
    pub fn known_in(&self, node: &Node, low: i64, high: i64) -> Result<i64> {
        let value = self.known(node)?;
        if (low..=high).contains(&value) {
            return Ok(value);
        }
        let is = if matches!(node.kind, Kind::Text(_)) {
            format!(" = {value}")
        } else {
            String::new()
        };
        let found = node.describe();
        Err(node.error(format!("expected {low} to {high}, found {found}{is}")))
    }

    /// Allowed CPUs; an empty list stands for all of them.
    pub fn cpus(&self, node: &Node) -> Result<Vec<u32>> {
        let last = if self.trial {
            MAX_CPU
        } else {
            i64::from(self.cpus) - 1
        };
        let mut cpus = node
            .list()?
            .iter()
            .map(|item| Ok(self.known_in(item, 0, last)? as u32))
            .collect::<Result<Vec<_>>>()?;
        cpus.sort_unstable();
        cpus.dedup();
        Ok(cpus)
    }

    pub fn value(&self, node: &Node, locals: Option<&Locals>) -> Result<Value> {
        match &node.kind {
            Kind::Integer(value) => Ok(Value::Const(*value)),
            Kind::Text(text) => self.expression(node, text, locals),
            _ => Err(node.expected("an integer or an expression")),
        }
    }

    pub fn expression(&self, node: &Node, text: &str, locals: Option<&Locals>) -> Result<Value> {
        expr::parse(text, &|name| self.resolve(name, locals))
            .map_err(|message| node.error(format!("{message} in {}", node.describe())))
    }

    /// A text, or what the parameter of that name chooses.
    pub fn choice<'a>(&'a self, node: &'a Node) -> Result<&'a str> {
        let text = node.text()?;
        Ok(match self.params.get(text) {
            Some(Setting::Choice(choice)) => choice,
            _ => text,
        })
    }

    fn resolve(&self, name: &str, locals: Option<&Locals>) -> Result<Value, String> {
        if name == "cpus" {
            return Ok(Value::Const(self.cpus.into()));
        }
        match self.params.get(name) {
            Some(Setting::Number(value)) => return Ok(Value::Const(*value)),
            Some(Setting::Choice(_)) => {
                return Err(format!("expected numbers, {name} is a choice"));
            }
            None => {}
        }
        if let Some(locals) = locals {
            if name == "me" {
                return Ok(Value::Me);
            }
            if let Some(slot) = locals.find(name) {
                return Ok(Value::Local(slot));
            }
        } else if name == "me" {
            return Err("me is known only inside a program".to_string());
        }
        let visible = locals
            .iter()
            .flat_map(|locals| &locals.slots)
            .filter(|local| local.visible);
        let known = self.params.keys().map(String::as_str).chain(["cpus"]);
        let hint = suggest(name, known.chain(visible.map(|local| local.name.as_str())));
        Err(format!("unknown name {name}, {hint}"))
    }

    /// Whether a name is taken outside programs.
    pub fn is_taken(&self, name: &str) -> bool {
        matches!(name, "me" | "cpus") || self.params.contains_key(name)
    }
}

impl Locals {
    pub fn find(&self, name: &str) -> Option<u8> {
        let slot = self
            .slots
            .iter()
            .rposition(|local| local.visible && local.name == name)?;
        Some(slot as u8)
    }

    /// Least and greatest value of an expression, where that is known.
    pub fn range(&self, value: &Value) -> Option<(i64, i64)> {
        let both = |pair: &(Value, Value)| Some((self.range(&pair.0)?, self.range(&pair.1)?));
        match value {
            Value::Const(value) => Some((*value, *value)),
            Value::Me => Some((0, self.count - 1)),
            Value::Local(slot) => self.slots[usize::from(*slot)].range,
            Value::Add(pair) => {
                let (a, b) = both(pair)?;
                Some((a.0.checked_add(b.0)?, a.1.checked_add(b.1)?))
            }
            Value::Sub(pair) => {
                let (a, b) = both(pair)?;
                Some((a.0.checked_sub(b.1)?, a.1.checked_sub(b.0)?))
            }
            Value::Mul(pair) => {
                let (a, b) = both(pair)?;
                let corner = |x: i64, y: i64| x.checked_mul(y);
                let corners = [
                    corner(a.0, b.0)?,
                    corner(a.0, b.1)?,
                    corner(a.1, b.0)?,
                    corner(a.1, b.1)?,
                ];
                Some((*corners.iter().min()?, *corners.iter().max()?))
            }
            // Divisors are positive constants.
            Value::Div(pair) => {
                let (a, b) = both(pair)?;
                Some((a.0.checked_div_euclid(b.0)?, a.1.checked_div_euclid(b.0)?))
            }
            Value::Rem(pair) => {
                let (a, b) = both(pair)?;
                if a.0 >= 0 && a.1 < b.0 {
                    Some(a)
                } else {
                    Some((0, b.0 - 1))
                }
            }
        }
    }

    /// Why `value` cannot be an index below `len` in every task, if that is certain.
    pub fn misses(&self, value: &Value, len: u32) -> Option<i64> {
        let len = i64::from(len);
        let outside = |index: &i64| !(0..len).contains(index);
        if let Value::Const(index) = value {
            return Some(*index).filter(outside);
        }
        if !uses_locals(value) {
            return (0..self.count).map(|me| value.eval(me, &[])).find(outside);
        }
        // A range may be wider than the values are: only what lies wholly outside is certain.
        let (low, high) = self.range(value)?;
        if high < 0 || low >= len {
            Some(low)
        } else {
            None
        }
    }
}

fn uses_locals(value: &Value) -> bool {
    match value {
        Value::Const(_) | Value::Me => false,
        Value::Local(_) => true,
        Value::Add(pair)
        | Value::Sub(pair)
        | Value::Mul(pair)
        | Value::Div(pair)
        | Value::Rem(pair) => uses_locals(&pair.0) || uses_locals(&pair.1),
    }
}
