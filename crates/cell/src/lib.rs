// SPDX-License-Identifier: GPL-2.0-or-later
//! The formats between programs: what to run (cells, listed in shards) and what came out (records with histograms).
//!
//! `docs/records.md` is their description. The lab writes shards and reads records; the simulator and the host program
//! read shards and write records. [`METRICS`] is what records measure. [`Arm`] is how people write a scheduler with its tunables; [`quoted`] writes the
//! command lines that reproduce a record, and [`version`] is what programs tell of themselves.

mod arm;
mod cell;
mod digest;
mod histogram;
mod metric;
mod record;
mod shard;
mod shell;
mod version;

pub use arm::{Arm, DEFAULT, OPTIONS, assignments};
pub use cell::{Cell, Digests};
pub use digest::hex_digest;
pub use histogram::{Buckets, Histogram};
pub use metric::{Better, METRICS, Metric, Origin, metric};
pub use record::{Cost, FORMAT, Provenance, Record, Status};
pub use shard::{Files, Shard};
pub use shell::quoted;
pub use version::version;
