// SPDX-License-Identifier: GPL-2.0-or-later
//! Executing images, by the interpreter and by their translation.

mod coverage;
mod faults;
mod pointers;
mod random;
mod scenarios;
mod semantics;
mod world;
mod write;
