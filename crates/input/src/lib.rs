// SPDX-License-Identifier: GPL-2.0-or-later
//! What people write: TOML, or JSON where others wrote it.
//!
//! Every value knows its file, line and key, so that an error is one line that says where it is, what was expected and
//! what was found. `node` is such a value, `table` reads a table of them and complains about keys that nobody asked
//! for, and `json` reads JSON into the same values.

mod json;
mod node;
mod table;

use std::path::Path;

use anyhow::{Result, anyhow};

pub use node::{Kind, Node};
pub use table::Table;

/// Reads a file as text; `expected` names what it should have been.
pub fn read(path: &Path, expected: &str) -> Result<String> {
    std::fs::read_to_string(path).map_err(|error| {
        anyhow!(
            "{}: expected {expected}: {}",
            one_line(&path.display().to_string()),
            one_line(&error.to_string())
        )
    })
}

/// The same text without line breaks and other control characters.
pub fn one_line(text: &str) -> String {
    text.chars()
        .flat_map(|c| {
            if c.is_control() {
                c.escape_debug().collect()
            } else {
                vec![c]
            }
        })
        .collect()
}

/// What to say after an unknown `name`: the nearest known one, or all of them.
pub fn suggest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    let nearest = known
        .iter()
        .map(|candidate| (strsim::damerau_levenshtein(name, candidate), *candidate))
        .min_by_key(|(distance, _)| *distance);
    match nearest {
        Some((distance, nearest))
            if distance <= 1 + nearest.len() / 4 && distance < name.len().min(nearest.len()) =>
        {
            format!("did you mean {nearest}?")
        }
        Some(_) => format!("expected one of {}", known.join(", ")),
        None => "expected none".to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggestions_are_near_or_complete() {
        assert_eq!(suggest("lods", ["name", "loads"]), "did you mean loads?");
        assert_eq!(
            suggest("work_ns", ["sleep", "work_us"]),
            "did you mean work_us?"
        );
        assert_eq!(
            suggest("zebra", ["name", "loads"]),
            "expected one of name, loads"
        );
        assert_eq!(suggest("zebra", []), "expected none");
        // Any letter is one step from any other.
        assert_eq!(suggest("x", ["n"]), "expected one of n");
    }

    #[test]
    fn lines_stay_one() {
        assert_eq!(one_line("a\nb\r\u{1b}[0mä"), "a\\nb\\r\\u{1b}[0mä");
    }
}
