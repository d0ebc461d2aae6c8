// SPDX-License-Identifier: GPL-2.0-or-later
//! Releases of the kernel: which of them has the interface that the model shows to a policy.

use std::fmt;
use std::str::FromStr;

/// A release, such as 6.12.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Release {
    major: u32,
    minor: u32,
}

impl Release {
    /// Those whose interface the model knows, in their order. The last is the one whose behaviour it has.
    pub const ALL: [Self; 11] = [
        Self::new(6, 12),
        Self::new(6, 13),
        Self::new(6, 14),
        Self::new(6, 15),
        Self::new(6, 16),
        Self::new(6, 17),
        Self::new(6, 18),
        Self::new(6, 19),
        Self::new(7, 0),
        Self::new(7, 1),
        Self::new(7, 2),
    ];
    pub const LAST: Self = Self::ALL[Self::ALL.len() - 1];

    const fn new(major: u32, minor: u32) -> Self {
        Self { major, minor }
    }

    /// As the model's tables write it: 612 is 6.12.
    pub const fn of(number: u32) -> Self {
        Self::new(number / 100, number % 100)
    }

    /// The releases after this one.
    pub fn later(self) -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(move |other| *other > self)
    }

    /// As `KERNEL_VERSION` makes it of its three numbers.
    pub fn version(self) -> u32 {
        self.major << 16 | self.minor << 8
    }
}

impl Default for Release {
    fn default() -> Self {
        Self::LAST
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

impl FromStr for Release {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL
            .into_iter()
            .find(|release| release.to_string() == text);
        found.ok_or_else(|| {
            let names = Self::ALL.map(|release| release.to_string()).join(", ");
            format!("expected one of {names}, found {text}")
        })
    }
}
