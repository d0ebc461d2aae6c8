// SPDX-License-Identifier: GPL-2.0-or-later
//! Executing images, by the interpreter and by their translation.

mod faults;
mod scenarios;
mod world;
mod write;
