// SPDX-License-Identifier: GPL-2.0-or-later
//! Runs workloads for real, on the running kernel.
//!
//! `tasks` interprets a plan with processes and threads; `application` makes a real program's input, runs its scripts
//! under a keeper, and leaves nothing; [`energy`] is what the processors take meanwhile. Which scheduler runs is the
//! loader's affair.

pub mod application;
pub mod energy;
mod error;
pub mod tasks;

pub use error::{Interrupted, NotHere};
