// SPDX-License-Identifier: GPL-2.0-or-later
//! One thing that has to hold after a run: `LEFT OP RIGHT`, where each side is a number, a text in quotes, a constant of
//! the interface (`SCX_EXIT_ERROR`, `A | B`), or a variable of the policy (`uei.kind`).

use anyhow::{Result, bail, ensure};
use input::Node;
use kernel::Release;

use crate::globals::{Globals, Value};

#[derive(Clone, Debug)]
pub struct Expectation {
    text: String,
    left: String,
    operator: &'static str,
    right: String,
}

const OPERATORS: [&str; 6] = ["==", "!=", ">=", "<=", ">", "<"];

impl Expectation {
    pub fn of(node: &Node) -> Result<Self> {
        let text = node.text()?;
        let words: Vec<&str> = text.split_whitespace().collect();
        let found = words.iter().position(|word| OPERATORS.contains(word));
        let Some(at) = found.filter(|at| *at > 0 && *at + 1 < words.len()) else {
            bail!(node.expected(&format!("LEFT OP RIGHT, OP one of {}", OPERATORS.join(" "))));
        };
        let operator = OPERATORS.into_iter().find(|known| *known == words[at]);
        Ok(Self {
            text: words.join(" "),
            left: words[..at].join(" "),
            operator: operator.expect("just found"),
            right: words[at + 1..].join(" "),
        })
    }

    /// What differs, if it does not hold.
    pub fn differs(&self, globals: &Globals) -> Result<Option<String>> {
        let (left, right) = (value(&self.left, globals)?, value(&self.right, globals)?);
        let holds = match (&left, &right, self.operator) {
            (Value::Number(left), Value::Number(right), operator) => match operator {
                "==" => left == right,
                "!=" => left != right,
                ">=" => left >= right,
                "<=" => left <= right,
                ">" => left > right,
                _ => left < right,
            },
            (Value::Text(left), Value::Text(right), "==") => left == right,
            (Value::Text(left), Value::Text(right), "!=") => left != right,
            _ => bail!("{}: texts and numbers are not compared so", self.text),
        };
        Ok((!holds).then(|| format!("expected {}, found {left} and {right}", self.text)))
    }
}

fn value(text: &str, globals: &Globals) -> Result<Value> {
    if let Some(quoted) = text.strip_prefix('"') {
        let inner = quoted.strip_suffix('"');
        ensure!(
            inner.is_some(),
            "{text}: expected a quotation mark at its end"
        );
        return Ok(Value::Text(inner.unwrap_or_default().to_owned()));
    }
    match numeral(text) {
        Some(number) => Ok(Value::Number(number)),
        None => globals.read(text),
    }
}

/// A number, or constants with `|` between them.
pub fn numeral(text: &str) -> Option<i128> {
    text.split('|').try_fold(0, |all, part| {
        let part = part.trim();
        let one = match part.strip_prefix("0x") {
            Some(digits) => i128::from_str_radix(digits, 16).ok(),
            None => part.parse().ok(),
        };
        let constant = || kernel::constant(part, Release::default()).map(i128::from);
        Some(all | one.or_else(constant)?)
    })
}
