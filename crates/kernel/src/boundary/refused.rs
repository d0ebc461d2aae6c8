// SPDX-License-Identifier: GPL-2.0-or-later
//! Why an object cannot be linked against the model.

use std::fmt;

use bpf::LinkError;

/// A line for each thing that is missing.
#[derive(Debug)]
pub struct Refused {
    pub lines: Vec<String>,
}

impl Refused {
    /// Each line begins with the policy's name.
    pub fn new(policy: &str, error: &LinkError) -> Self {
        let text = error.to_string();
        let line = |line| format!("{policy}: {line}");
        Self {
            lines: text.lines().map(line).collect(),
        }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.lines.join("\n"))
    }
}

impl std::error::Error for Refused {}
