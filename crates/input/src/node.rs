// SPDX-License-Identifier: GPL-2.0-or-later
//! One value of a file, with where it stands.

use std::ops::RangeInclusive;
use std::sync::Arc;

use anyhow::{Error, Result, anyhow, ensure};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::{Table, one_line};

#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    Bool(bool),
    Integer(i64),
    /// As written.
    Float(String),
    Text(String),
    List(Vec<Node>),
    /// In the order of the file.
    Table(Vec<(String, Node)>),
    Date,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    pub(crate) file: Arc<str>,
    pub(crate) line: u32,
    pub(crate) path: String,
    pub kind: Kind,
}

impl Node {
    /// The whole of a TOML text; `file` is what errors call it.
    pub fn parse(text: &str, file: &str) -> Result<Self> {
        let file: Arc<str> = one_line(file).into();
        let lines = Lines::of(text);
        let root = DeTable::parse(text).map_err(|error| {
            let line = lines.at(error.span().map_or(0, |span| span.start));
            anyhow!(
                "{file}:{line}: expected TOML: {}",
                one_line(&error.message().replace('\n', ", "))
            )
        })?;
        let line = 1;
        let kind = table(root.get_ref(), &file, "", &lines)?;
        Ok(Self {
            file,
            line,
            path: String::new(),
            kind,
        })
    }

    /// `FILE:LINE: KEY: message`.
    pub fn error(&self, message: impl AsRef<str>) -> Error {
        let Self {
            file, line, path, ..
        } = self;
        let message = one_line(message.as_ref());
        if path.is_empty() {
            anyhow!("{file}: {message}")
        } else {
            anyhow!("{file}:{line}: {path}: {message}")
        }
    }

    /// The same error for a key of this table that is not there.
    pub(crate) fn missing(&self, key: &str) -> Error {
        if self.path.is_empty() {
            anyhow!("{}: {key}: expected this key, found none", self.file)
        } else {
            anyhow!(
                "{}:{}: {}.{key}: expected this key, found none",
                self.file,
                self.line,
                self.path
            )
        }
    }

    pub fn expected(&self, what: &str) -> Error {
        self.error(format!("expected {what}, found {}", self.describe()))
    }

    /// The value as an error shows it.
    pub fn describe(&self) -> String {
        match &self.kind {
            Kind::Bool(value) => value.to_string(),
            Kind::Integer(value) => value.to_string(),
            Kind::Float(value) => value.clone(),
            Kind::Text(value) if value.chars().count() <= 60 => format!("{value:?}"),
            Kind::Text(value) => {
                let head: String = value.chars().take(57).collect();
                format!("{:?}", head + "...")
            }
            Kind::List(items) => format!("a list of {}", items.len()),
            Kind::Table(_) => "a table".to_string(),
            Kind::Date => "a date".to_string(),
        }
    }

    /// Another value that was made from this one: errors about it name the place of this one.
    #[must_use]
    pub fn made(&self, kind: Kind) -> Self {
        Self {
            kind,
            ..self.clone()
        }
    }

    pub fn path(&self) -> &str {
        &self.path
    }

    pub fn table(&self) -> Result<Table<'_>> {
        match &self.kind {
            Kind::Table(entries) => Ok(Table::new(self, entries)),
            _ => Err(self.expected("a table")),
        }
    }

    pub fn list(&self) -> Result<&[Self]> {
        match &self.kind {
            Kind::List(items) => Ok(items),
            _ => Err(self.expected("a list")),
        }
    }

    pub fn text(&self) -> Result<&str> {
        match &self.kind {
            Kind::Text(text) => Ok(text),
            _ => Err(self.expected("a string")),
        }
    }

    pub fn bool(&self) -> Result<bool> {
        match self.kind {
            Kind::Bool(value) => Ok(value),
            _ => Err(self.expected("true or false")),
        }
    }

    pub fn integer(&self, range: RangeInclusive<i64>) -> Result<i64> {
        let what = || format!("an integer from {} to {}", range.start(), range.end());
        match self.kind {
            Kind::Integer(value) if range.contains(&value) => Ok(value),
            _ => Err(self.expected(&what())),
        }
    }

    /// A decimal number as thousandths, rounded to the nearest.
    pub fn thousandths(&self, range: RangeInclusive<i64>) -> Result<i64> {
        let what = || {
            let (low, high) = (*range.start() as f64 / 1e3, *range.end() as f64 / 1e3);
            self.expected(&format!("a number from {low} to {high}"))
        };
        let value = match &self.kind {
            Kind::Integer(value) => *value as f64,
            Kind::Float(text) => text.replace('_', "").parse().map_err(|_| what())?,
            _ => return Err(what()),
        };
        let milli = (value * 1e3).round();
        ensure!(
            milli >= *range.start() as f64 && milli <= *range.end() as f64,
            what()
        );
        Ok(milli as i64)
    }
}

/// Where lines end, to turn offsets into line numbers.
pub(crate) struct Lines(Vec<usize>);

impl Lines {
    pub(crate) fn of(text: &str) -> Self {
        Self(text.match_indices('\n').map(|(offset, _)| offset).collect())
    }

    pub(crate) fn at(&self, offset: usize) -> u32 {
        1 + self.0.partition_point(|&end| end < offset) as u32
    }
}

fn table(entries: &DeTable, file: &Arc<str>, path: &str, lines: &Lines) -> Result<Kind> {
    let mut in_order: Vec<_> = entries.iter().collect();
    in_order.sort_by_key(|(key, _)| key.span().start);
    let mut nodes = Vec::with_capacity(in_order.len());
    for (key, value) in in_order {
        let name = key.get_ref().as_ref();
        let path = if path.is_empty() {
            one_line(name)
        } else {
            format!("{path}.{}", one_line(name))
        };
        // A key's line says more than that of a value that spans many.
        let line = lines.at(key.span().start);
        nodes.push((name.to_string(), node(value, file, line, path, lines)?));
    }
    Ok(Kind::Table(nodes))
}

fn node(
    value: &Spanned<DeValue>,
    file: &Arc<str>,
    line: u32,
    path: String,
    lines: &Lines,
) -> Result<Node> {
    let kind = match value.get_ref() {
        DeValue::Boolean(value) => Kind::Bool(*value),
        DeValue::Integer(value) => {
            let digits = value.as_str().replace('_', "");
            let parsed = i64::from_str_radix(&digits, value.radix());
            Kind::Integer(parsed.map_err(|_| {
                anyhow!(
                    "{file}:{line}: {path}: expected an integer of 64 bits, found {}",
                    crate::one_line(value.as_str())
                )
            })?)
        }
        DeValue::Float(value) => Kind::Float(value.as_str().to_string()),
        DeValue::String(value) => Kind::Text(value.to_string()),
        DeValue::Datetime(_) => Kind::Date,
        DeValue::Array(items) => {
            let mut nodes = Vec::with_capacity(items.len());
            for (index, item) in items.iter().enumerate() {
                let line = lines.at(item.span().start);
                nodes.push(node(item, file, line, format!("{path}[{index}]"), lines)?);
            }
            Kind::List(nodes)
        }
        DeValue::Table(entries) => table(entries, file, &path, lines)?,
    };
    Ok(Node {
        file: file.clone(),
        line,
        path,
        kind,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root(text: &str) -> Node {
        Node::parse(text, "f.toml").unwrap()
    }

    fn message(error: &Error) -> String {
        format!("{error:#}")
    }

    #[test]
    fn values_know_their_line_and_key() {
        let root = root("a = 1\n[b]\nc = [\n 1,\n { d = \"x\" },\n]\n");
        let table = root.table().unwrap();
        let b = table.required("b").unwrap();
        let list = b.table().unwrap().required("c").unwrap().list().unwrap();
        let d = list[1].table().unwrap().required("d").unwrap();
        for (result, expected) in [
            (
                list[0].text().map(drop),
                "f.toml:4: b.c[0]: expected a string, found 1",
            ),
            (
                d.integer(1..=3).map(drop),
                "f.toml:5: b.c[1].d: expected an integer from 1 to 3, found \"x\"",
            ),
            (
                d.bool().map(drop),
                "f.toml:5: b.c[1].d: expected true or false, found \"x\"",
            ),
            (
                d.table().map(drop),
                "f.toml:5: b.c[1].d: expected a table, found \"x\"",
            ),
            (
                b.list().map(drop),
                "f.toml:2: b: expected a list, found a table",
            ),
            (
                b.table().unwrap().required("x").map(drop),
                "f.toml:2: b.x: expected this key, found none",
            ),
            (
                table.required("x").map(drop),
                "f.toml: x: expected this key, found none",
            ),
        ] {
            assert_eq!(message(&result.unwrap_err()), expected);
        }
    }

    #[test]
    fn not_toml() {
        for (text, expected) in [
            ("a = 1\nb = \n", "f.toml:2: expected TOML: "),
            ("a = 1\na = 2\n", "f.toml:2: expected TOML: duplicate key"),
            (
                "a = 99999999999999999999\n",
                "f.toml:1: a: expected an integer of 64 bits, found 9",
            ),
            ("a = 1\u{0}0\n", "f.toml:1: "),
        ] {
            let error = message(&Node::parse(text, "f.toml").unwrap_err());
            assert!(error.starts_with(expected), "{error}");
            assert_eq!(error.lines().count(), 1);
            assert!(!error.contains(char::is_control), "{error:?}");
        }
    }

    #[test]
    fn decimals_become_thousandths() {
        let root = root("a = 0.65\nb = 1\nc = nan\nd = 0.1234\n");
        let table = root.table().unwrap();
        assert_eq!(
            table.required("a").unwrap().thousandths(0..=5000).unwrap(),
            650
        );
        assert_eq!(
            table.required("b").unwrap().thousandths(0..=5000).unwrap(),
            1000
        );
        assert_eq!(
            table.required("d").unwrap().thousandths(0..=5000).unwrap(),
            123
        );
        assert_eq!(
            message(
                &table
                    .required("c")
                    .unwrap()
                    .thousandths(0..=5000)
                    .unwrap_err()
            ),
            "f.toml:3: c: expected a number from 0 to 5, found nan"
        );
    }
}
