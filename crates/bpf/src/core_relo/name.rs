// SPDX-License-Identifier: GPL-2.0-or-later
//! Flavours: a name may end in `___` and something that tells one view of a type from another.

/// The name without its flavour: up to the last three underscores that stand between two other characters.
pub fn essential(name: &str) -> &str {
    let bytes = name.as_bytes();
    let end = bytes
        .windows(5)
        .rposition(|five| five[0] != b'_' && five[1..4] == *b"___" && five[4] != b'_');
    end.map_or(name, |at| &name[..=at])
}

#[cfg(test)]
mod tests {
    use super::essential;

    #[test]
    fn a_flavour_is_what_follows_the_last_three_underscores() {
        assert_eq!(essential("task_struct"), "task_struct");
        assert_eq!(essential("task_struct___old"), "task_struct");
        assert_eq!(essential("a___b___c"), "a___b");
        assert_eq!(essential("a____b"), "a____b");
        assert_eq!(essential("a___"), "a___");
        assert_eq!(essential("___a"), "___a");
        assert_eq!(essential(""), "");
    }
}
