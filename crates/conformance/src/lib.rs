// SPDX-License-Identifier: GPL-2.0-or-later
//! The kernel's own tests of sched_ext, run in the simulator: their policies unchanged, with what is expected of each
//! written down here.
//!
//! `tests.toml` is the table: what a test's user half does before, and what holds afterwards. `table` reads it, `workloads`
//! has what runs meanwhile, `expectation` is one thing that has to hold, `globals` reads the policy's variables for
//! it, `run` carries out a case, and `suite` goes through the tests of a kernel tree.

mod expectation;
mod globals;
mod run;
mod suite;
mod table;

pub use suite::{Report, Tested, Verdict, run};
