// SPDX-License-Identifier: GPL-2.0-or-later
//! The simulator as a whole, run by small policies.

#![allow(clippy::float_cmp, reason = "the same run gives the same number")]

mod bugs;
mod callbacks;
mod cgroups;
mod classes;
mod common;
mod confine;
mod costs;
mod coverage;
mod determinism;
mod executions;
mod frequency;
mod higher_class;
mod hotplug;
mod housekeeping;
mod immediate;
mod interleave;
mod limits;
mod nodes;
mod outside;
mod queues;
mod releases;
mod rt;
mod rt_rules;
mod runner;
mod set_up;
mod swarm;
mod ticks;
mod timers;
mod turns;
mod waits;
mod wakeups;
mod workloads;
