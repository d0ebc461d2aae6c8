// SPDX-License-Identifier: GPL-2.0-or-later
//! The workload language: one description, executed by real processes and by simulated tasks.
//!
//! `file` reads a TOML workload (`rtapp` makes one of rt-app's JSON) and fixes it at a load and a CPU count. What comes
//! out is a [`plan::Plan`]. `interpreter` says what each instruction of a plan means, over what the world of a task can
//! do: the kernel model is one such world, and the executor of real tasks is another.

mod action;
mod build;
mod cgroups;
pub mod command;
mod compiler;
mod description;
pub mod draw;
pub mod expr;
pub mod file;
pub mod interpreter;
pub mod plan;
mod profile;
mod program;
mod queues;
mod rtapp;
mod scope;

pub use description::{Description, Level};
pub use file::Workload;

/// Every action of the language, for listings.
pub fn actions() -> impl Iterator<Item = &'static str> {
    program::BLOCKS.iter().chain(action::ACTIONS).copied()
}
