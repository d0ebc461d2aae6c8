// SPDX-License-Identifier: GPL-2.0-or-later
//! A table that remembers which keys were asked for, so that every other one is an error.

use std::cell::RefCell;

use anyhow::Result;

use crate::{Node, suggest};

pub struct Table<'a> {
    node: &'a Node,
    entries: &'a [(String, Node)],
    known: RefCell<Vec<String>>,
}

impl<'a> Table<'a> {
    pub(crate) fn new(node: &'a Node, entries: &'a [(String, Node)]) -> Self {
        Self {
            node,
            entries,
            known: RefCell::default(),
        }
    }

    pub fn node(&self) -> &'a Node {
        self.node
    }

    /// All entries, for tables whose keys are names the writer chose.
    pub fn entries(&self) -> &'a [(String, Node)] {
        self.entries
    }

    pub fn optional(&self, key: &str) -> Option<&'a Node> {
        let mut known = self.known.borrow_mut();
        if !known.iter().any(|name| name == key) {
            known.push(key.to_string());
        }
        self.entries
            .iter()
            .find(|(name, _)| name == key)
            .map(|(_, node)| node)
    }

    pub fn required(&self, key: &str) -> Result<&'a Node> {
        self.optional(key).ok_or_else(|| self.node.missing(key))
    }

    pub fn text_or(&self, key: &str, default: &'a str) -> Result<&'a str> {
        self.optional(key).map_or(Ok(default), Node::text)
    }

    /// To be called when everything known was asked for.
    pub fn finish(self) -> Result<()> {
        let known = self.known.into_inner();
        match self.entries.iter().find(|(name, _)| !known.contains(name)) {
            None => Ok(()),
            Some((name, node)) => {
                let hint = suggest(name, known.iter().map(String::as_str));
                Err(node.error(format!("unknown key, {hint}")))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_keys_are_errors() {
        let root = Node::parse("name = 1\n\n[t]\nlods = 3\n", "f.toml").unwrap();
        let table = root.table().unwrap();
        table.required("name").unwrap();
        let inner = table.required("t").unwrap().table().unwrap();
        assert!(inner.optional("loads").is_none());
        assert_eq!(
            inner.finish().unwrap_err().to_string(),
            "f.toml:4: t.lods: unknown key, did you mean loads?"
        );
        table.finish().unwrap();
    }
}
