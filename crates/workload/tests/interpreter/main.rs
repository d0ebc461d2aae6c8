// SPDX-License-Identifier: GPL-2.0-or-later
//! What each instruction of a plan means, whatever the world.

mod fake;
mod instructions;
mod stops;
mod times;
