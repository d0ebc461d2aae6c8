// SPDX-License-Identifier: GPL-2.0-or-later
//! Short names for contents.

use sha2::{Digest, Sha256};

/// The first `digits` (at most 32) hex digits of SHA-256.
pub fn hex_digest(bytes: &[u8], digits: usize) -> String {
    let hash = Sha256::digest(bytes);
    let head = hash
        .iter()
        .take(16)
        .fold(0u128, |head, byte| head << 8 | u128::from(*byte));
    let mut hex = format!("{head:032x}");
    hex.truncate(digits);
    hex
}
