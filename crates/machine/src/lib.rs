// SPDX-License-Identifier: GPL-2.0-or-later
//! Machines: topology and costs, as data.
//!
//! A machine file says how many sockets, last-level caches, cores and threads there are, how they are numbered, the
//! tick rate, and what the kernel's and the hardware's work costs. The simulator asks; it never invents.
//!
//! [`topology`] is which CPUs share what, [`costs`] what their work takes, `spread` how
//! far from there it may lie, `guard` what protects ordinary tasks from
//! real-time ones, `frequency` how fast clocks go and what that takes; `file` reads all of it.

pub mod costs;
mod file;
mod frequency;
mod frequency_file;
mod guard;
mod spread;
pub mod topology;

use std::path::Path;

use anyhow::Result;

pub use costs::{Costs, Distance, IdleState};
pub use frequency::{Clocked, Frequency, Governor, Power};
pub use guard::{RtGuard, RtKernel};
pub use spread::Spreads;
pub use topology::{Cpu, Numbering, Shape, Topology};

/// Most CPUs a machine may have: the width of the simulator's CPU masks.
pub const MAX_CPUS: usize = 1024;

/// A machine as the simulator sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    pub name: String,
    pub title: String,
    pub topology: Topology,
    /// Timer interrupts per second and busy CPU (the kernel's `CONFIG_HZ`).
    pub hz: u32,
    /// CPUs that need no tick for a task that runs as long as it likes (the kernel's parameter `nohz_full`).
    pub nohz_full: Vec<u32>,
    /// One CPU works at a time, and the time of all goes by, as in a guest whose emulator counts instructions.
    pub one_clock: bool,
    /// What its kernel keeps ordinary tasks alive with.
    pub rt_guard: RtGuard,
    pub rt_kernel: RtKernel,
    /// Its kernel leaves a wake-up to the CPU that is to run the task, where that one is idle or shares no cache with the
    /// waker's (`TTWU_QUEUE` of kernels from 6.0).
    pub ttwu_queue: bool,
    /// `None`: every CPU runs at one speed.
    pub frequency: Option<Frequency>,
    /// `None`: nobody says what the machine takes.
    pub power: Option<Power>,
    pub costs: Costs,
    pub spreads: Spreads,
}

impl Machine {
    /// Reads a machine's text; `file` is what errors call it.
    pub fn from_toml(text: &str, file: &str) -> Result<Self> {
        file::machine(text, file)
    }

    pub fn read(path: &Path) -> Result<Self> {
        let text = input::read(path, "a machine file")?;
        Self::from_toml(&text, &path.display().to_string())
    }

    /// The machine as a repetition of this seed finds it.
    #[must_use]
    pub fn drawn(&self, seed: u64) -> Self {
        Self {
            costs: self.spreads.draw(&self.costs, seed),
            ..self.clone()
        }
    }

    pub fn cpus(&self) -> usize {
        self.topology.len()
    }
}
