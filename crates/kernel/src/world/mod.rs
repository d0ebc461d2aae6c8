// SPDX-License-Identifier: GPL-2.0-or-later
//! What tasks do when they run: their programs, and what these sleep on and talk through.

mod actor;
pub mod disk;
pub mod futexes;
mod housekeeping;
mod interrupts;
mod ipc;
pub mod kthread;
mod leave;
mod message;
pub mod queues;
pub mod runner;
mod slab;
mod start;
