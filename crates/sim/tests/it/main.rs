// SPDX-License-Identifier: GPL-2.0-or-later
//! The simulator as a whole, run by small policies.

#![allow(clippy::float_cmp, reason = "the same run gives the same number")]

mod bugs;
mod classes;
mod common;
mod costs;
mod determinism;
mod hotplug;
mod kernel;
mod queues;
mod rt;
mod rt_rules;
mod runner;
mod swarm;
mod waits;
mod workloads;
