// SPDX-License-Identifier: GPL-2.0-or-later
//! JSON, with comments and trailing commas, as the same values that know their place.

use std::sync::Arc;

use anyhow::{Result, anyhow};
use jsonc_parser::ast::Value;
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

use crate::node::Lines;
use crate::{Kind, Node, one_line};

impl Node {
    /// The whole of a JSON text; `file` is what errors call it. A key may stand in an object more than once.
    pub fn parse_json(text: &str, file: &str) -> Result<Self> {
        let options = ParseOptions {
            allow_comments: true,
            allow_trailing_commas: true,
            allow_loose_object_property_names: false,
            allow_missing_commas: false,
            allow_single_quoted_strings: false,
            allow_hexadecimal_numbers: false,
            allow_unary_plus_numbers: false,
            allow_bare_decimal_point_numbers: false,
            allow_non_finite_numbers: false,
            allow_extended_string_escapes: false,
        };
        let place = Place {
            file: one_line(file).into(),
            lines: Lines::of(text),
        };
        let parsed = parse_to_ast(text, &CollectOptions::default(), &options).map_err(|error| {
            let line = place.lines.at(error.range().start);
            let message = one_line(&error.kind().to_string());
            anyhow!("{}:{line}: expected JSON: {message}", place.file)
        })?;
        let Some(value) = parsed.value else {
            return Err(anyhow!("{}: expected JSON, found nothing", place.file));
        };
        place.node(&value, 1, "")
    }
}

struct Place {
    file: Arc<str>,
    lines: Lines,
}

impl Place {
    fn node(&self, value: &Value, line: u32, path: &str) -> Result<Node> {
        let made = |kind| {
            let (file, path) = (self.file.clone(), path.to_string());
            Node {
                file,
                line,
                path,
                kind,
            }
        };
        Ok(made(match value {
            Value::StringLit(text) => Kind::Text(text.value.to_string()),
            Value::BooleanLit(value) => Kind::Bool(value.value),
            Value::NumberLit(number) => match number.value.parse() {
                Ok(value) => Kind::Integer(value),
                Err(_) => Kind::Float(number.value.to_string()),
            },
            Value::NullKeyword(_) => {
                return Err(made(Kind::Bool(false)).error("expected a value, found null"));
            }
            Value::Array(array) => {
                let mut items = Vec::with_capacity(array.elements.len());
                for (index, item) in array.elements.iter().enumerate() {
                    let line = self.lines.at(item.start());
                    items.push(self.node(item, line, &format!("{path}[{index}]"))?);
                }
                Kind::List(items)
            }
            Value::Object(object) => {
                let mut entries = Vec::with_capacity(object.properties.len());
                for property in &object.properties {
                    let line = self.lines.at(property.start());
                    let name = property.name.clone().into_string();
                    let key = one_line(&name);
                    let path = if path.is_empty() {
                        key
                    } else {
                        format!("{path}.{key}")
                    };
                    entries.push((name, self.node(&property.value, line, &path)?));
                }
                Kind::Table(entries)
            }
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_know_their_line_and_key() {
        let text =
            "{\n /* c */ \"a\": 1, // d\n \"a\": [true,\n 1.5], \"b\": {\"x\": \"y\",},\n}\n";
        let root = Node::parse_json(text, "f.json").unwrap();
        let table = root.table().unwrap();
        let [first, second, b] = table.entries() else {
            panic!("{table:?}", table = table.entries());
        };
        assert_eq!((first.0.as_str(), second.0.as_str()), ("a", "a"));
        assert_eq!(first.1.integer(0..=1).unwrap(), 1);
        let half = &second.1.list().unwrap()[1];
        assert_eq!(
            half.integer(0..=1).unwrap_err().to_string(),
            "f.json:4: a[1]: expected an integer from 0 to 1, found 1.5"
        );
        let x = b.1.table().unwrap().required("x").unwrap();
        assert_eq!(
            x.bool().unwrap_err().to_string(),
            "f.json:4: b.x: expected true or false, found \"y\""
        );
    }

    #[test]
    fn not_json() {
        for (text, expected) in [
            ("", "f.json: expected JSON, found nothing"),
            ("{\n \"a\": }", "f.json:2: expected JSON: "),
            ("{\n \"a\" 1}", "f.json:2: expected JSON: "),
            ("{'a': 1}", "f.json:1: expected JSON: "),
            (
                "{\"a\":\n null}",
                "f.json:1: a: expected a value, found null",
            ),
        ] {
            let error = Node::parse_json(text, "f.json").unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
            assert_eq!(error.lines().count(), 1);
        }
    }
}
