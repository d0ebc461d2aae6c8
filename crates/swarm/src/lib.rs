// SPDX-License-Identifier: GPL-2.0-or-later
//! Random machines, workloads and churn for a policy, with every checker watching; what is found is made small.
//!
//! `generate` draws a [`case::Case`] from a seed with `dice`, and `cgroups` its control groups (`cgroup` says what one is).
//! `files` writes it as the machine and workload it means, `cgroup_text` the groups; `job` is what a child is told. A policy may loop or crash, so it runs in a child process: `child` talks to it, `worker` is that
//! process, and `interleaving` says where it breaks operations off. `swarm` runs cases until one is found, and
//! `counts` adds up what they executed; `shrink` makes that one smaller and `simplify` has it tried, `finding` keeps it as files, and `meaning` says in words what was
//! violated.

pub mod case;
mod cgroup;
mod cgroup_text;
mod cgroups;
pub mod child;
pub mod counts;
mod dice;
mod files;
pub mod finding;
mod generate;
pub mod interleaving;
pub mod job;
pub mod meaning;
pub mod shrink;
pub mod simplify;
mod swarm;
pub mod worker;

pub use generate::Draws;
pub use swarm::Swarm;
