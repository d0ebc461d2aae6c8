// SPDX-License-Identifier: GPL-2.0-or-later
//! Words of a command line that a reader can paste into a shell.

/// As a shell takes it.
pub fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-:+=,".contains(c);
    if text.chars().all(plain) {
        text.to_string()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}
