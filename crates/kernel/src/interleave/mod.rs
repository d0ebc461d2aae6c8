// SPDX-License-Identifier: GPL-2.0-or-later
//! Operations that are broken off between two calls of the policy's, so that another CPU's operation comes in between.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `switch` | one such change of CPU: where an operation is broken off, and for what |
//! | `chooser` | which are made: drawn from a seed, or named one by one |
//! | `interleaving` | where a run is, and which it has made |
//! | `held` | what operations that are broken off keep locked meanwhile |

pub mod chooser;
pub mod held;
pub mod interleaving;
pub mod switch;

pub use chooser::{Interleave, NOT_POSSIBLE};
pub use held::{BrokenOff, Held};
pub use interleaving::Interleaving;
pub use switch::{Between, Switch, Taken};
