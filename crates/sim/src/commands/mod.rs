// SPDX-License-Identifier: GPL-2.0-or-later
//! The subcommands, a module each.

pub mod bench;
pub mod cell;
pub mod check;
pub mod conformance;
pub mod describe;
pub mod run;
pub mod set_up;
