// SPDX-License-Identifier: GPL-2.0-or-later
//! What a kernel does for ordinary tasks beside a real-time hog, and what of its real-time class differs by its age.

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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RtKernel {
    /// The highest priority for which another CPU is looked for, at wake-up and after a switch. Kernels from 3.2 to 3.15
    /// compared with the wrong bound in `cpupri_find`: 97, so that tasks of 98 and 99 moved only when they were pulled.
    pub highest_sought: u8,
    /// How often each CPU's watchdog of soft lockups runs, a task of priority 99; 0: not at all. When it is done the CPU
    /// looks for real-time tasks to pull.
    pub lockup_look_ms: u32,
}

impl Default for RtKernel {
    fn default() -> Self {
        Self {
            highest_sought: 99,
            lockup_look_ms: 0,
        }
    }
}

impl RtGuard {
    const NAMES: [(&str, Self); 4] = [
        ("none", Self::None),
        ("throttle", Self::Throttle),
        ("share", Self::Share),
        ("server", Self::ExtServer),
    ];

    /// As a message has them: `none, throttle, share or server`.
    pub fn names() -> String {
        let [rest @ .., last] = Self::NAMES.map(|(name, _)| name);
        format!("{} or {last}", rest.join(", "))
    }

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
