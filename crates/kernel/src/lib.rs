// SPDX-License-Identifier: GPL-2.0-or-later
//! A deterministic model of a machine and its kernel's scheduling, with the policy as a loaded sched_ext program.
//!
//! `docs/simulator.md` says what is modelled, by which formulas, and what is left out.

mod attr;
mod checkers;
mod consts;
mod cpu;
pub mod dsq;
pub mod events;
mod ext;
mod host;
pub mod hotplug;
mod idle;
pub mod ids;
mod insert;
mod kick;
mod lifecycle;
pub mod lock;
mod maps;
mod mask;
mod metrics;
mod op;
pub mod outcome;
pub mod rt;
mod run;
mod schedule;
mod seen;
pub mod sim;
mod simulate;
mod stint;
pub mod task;
mod topology;
mod trace;
mod wake;
mod watchdog;
mod world;

pub use checkers::Bounds;
pub use hotplug::Hotplug;
pub use ids::TaskId;
pub use lifecycle::pid_of;
pub use machine::RtGuard;
pub use outcome::Outcome;
pub use sim::{INTERRUPTED, Options, Sim};
pub use simulate::simulate;
