// SPDX-License-Identifier: GPL-2.0-or-later
//! How a policy's code is executed. What it does is the same each time.

use std::fmt;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Execution {
    /// Translated to native code.
    #[default]
    Translated,
    /// The same, with every access checked.
    Paranoid,
    /// As that, and blocks count how often they are executed.
    Counted,
    /// Instruction by instruction, every access checked: slow, and the reference for the others.
    Interpreted,
}

impl Execution {
    pub const ALL: [Self; 4] = [
        Self::Translated,
        Self::Paranoid,
        Self::Counted,
        Self::Interpreted,
    ];

    /// As a message has them: `translated, paranoid or interpreted`.
    pub fn names() -> String {
        let [rest @ .., last] = Self::ALL.map(Self::name);
        format!("{} or {last}", rest.join(", "))
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|execution| execution.name() == name)
    }

    fn name(self) -> &'static str {
        match self {
            Self::Translated => "translated",
            Self::Paranoid => "paranoid",
            Self::Counted => "counted",
            Self::Interpreted => "interpreted",
        }
    }
}

impl fmt::Display for Execution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
