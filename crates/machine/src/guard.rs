// SPDX-License-Identifier: GPL-2.0-only
//! What a kernel does for ordinary tasks beside a real-time hog.

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RtGuard {
    /// Nothing.
    None,
    /// Real-time tasks get 950 ms of every second of a CPU (kernels from 5.10 to 6.11).
    Throttle,
    /// The same, but a CPU borrows what others have not used: up to all of its own time (`RT_RUNTIME_SHARE`, kernels up
    /// to 5.9).
    Share,
    /// Ext tasks get 50 ms of every second of a CPU that they have waited for (kernels from 7.0).
    #[default]
    ExtServer,
}

impl RtGuard {
    const NAMES: [(&str, Self); 4] = [
        ("none", Self::None),
        ("throttle", Self::Throttle),
        ("share", Self::Share),
        ("server", Self::ExtServer),
    ];

    pub fn named(name: &str) -> Option<Self> {
        Self::NAMES
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, guard)| *guard)
    }
}

impl std::fmt::Display for RtGuard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = Self::NAMES
            .iter()
            .find(|(_, guard)| guard == self)
            .map_or("", |(name, _)| name);
        f.write_str(name)
    }
}
