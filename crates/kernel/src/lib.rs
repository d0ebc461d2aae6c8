// SPDX-License-Identifier: GPL-2.0-or-later
//! A deterministic model of a machine and its kernel's scheduling, with the policy as a loaded sched_ext program.
//!
//! `docs/simulator.md` says what is modelled, by which formulas, and what is left out. Rooms, from the top; each uses
//! only what stands below it:
//!
//! | room | what it holds |
//! | --- | --- |
//! | `simulate`, `run`, `outcome` | a run from its start to what came out |
//! | `world` | programs of tasks, and what these talk through |
//! | `sched` | what the kernel does: wake-ups, reschedules, sched_ext, real time |
//! | `sim` | who owns what |
//! | `observe` | trace, metrics and checkers, told what happens |
//! | `boundary` | calls into the policy and back, and the memory both touch |
//! | `interleave` | where operations are broken off, and what they keep locked meanwhile |
//! | `cpu`, `speeds`, `task`, `queue`, `hardware`, `clock` | state, each with what concerns only itself |
//! | `options`, `hotplug`, `end`, `consts`, `mask`, `ids` | terms that all others share |
//!
//! A wake-up, for instance: `sched::wake` asks `sched::ext`, which enters the policy through `boundary`; what the policy
//! inserts goes through `boundary::kfuncs` and `sched::insert` into a `queue`, and `observe` is told of each step.

#![allow(
    clippy::inline_always,
    reason = "what an observer makes of a fact folds into the place where the fact is known, and a question that is \
              nearly always answered with no costs no call"
)]

mod boundary;
mod cgroups;
mod clock;
mod consts;
mod cpu;
mod end;
mod hardware;
pub mod hotplug;
mod ids;
mod interleave;
mod mask;
mod observe;
mod options;
mod outcome;
mod queue;
mod run;
mod sched;
mod sim;
mod simulate;
mod speeds;
mod task;
mod world;

pub use boundary::execution::Execution;
pub use boundary::program::Program;
pub use boundary::refused::Refused;
pub use boundary::release::Release;
pub use bpf::{Coverage, FileCoverage};
pub use hotplug::{Change, Hotplug};
pub use ids::TaskId;
pub use interleave::{Interleave, NOT_POSSIBLE, Switch, Taken};
pub use machine::RtGuard;
pub use observe::Bounds;
pub use options::{GlobalWrite, INTERRUPTED, Options, ProgramRun};
pub use outcome::Outcome;
pub use queue::dsq;
pub use sim::NOT_BUILT_IN;
pub use simulate::{calls, constant, link, load, simulate};
pub use task::pid_of;
