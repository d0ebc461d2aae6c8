// SPDX-License-Identifier: GPL-2.0-or-later
//! A constant of a policy that a user may set, and how its values are written.

/// A constant that may be set before the policy is loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tunable {
    pub name: String,
    /// C type: `u32`, `u64`, `bool`, …
    pub kind: String,
    pub default: i128,
    pub min: i128,
    pub max: i128,
    pub unit: String,
    pub about: String,
    /// Names of the values 0, 1, …; empty for a number.
    pub choices: Vec<String>,
}

impl Tunable {
    /// None of a text that is none of its values.
    pub fn parse(&self, text: &str) -> Option<i128> {
        if !self.choices.is_empty() {
            return self
                .choices
                .iter()
                .position(|choice| choice == text)
                .map(|index| index as i128);
        }
        let value = match text {
            "true" if self.kind == "bool" => 1,
            "false" if self.kind == "bool" => 0,
            _ => text.replace('_', "").parse().ok()?,
        };
        (self.min..=self.max).contains(&value).then_some(value)
    }

    /// What a value must be, in words.
    pub fn expected(&self) -> String {
        if self.choices.is_empty() {
            format!("a number from {} to {} {}", self.min, self.max, self.unit)
                .trim_end()
                .to_owned()
        } else {
            format!("one of {}", self.choices.join(", "))
        }
    }

    /// The default as a user would write it.
    pub fn default_text(&self) -> String {
        self.choices
            .get(self.default as usize)
            .cloned()
            .unwrap_or_else(|| self.default.to_string())
    }
}
