// SPDX-License-Identifier: GPL-2.0-or-later
//! A `suspend` without a value, as rt-app's `workgen` filled it in until 2025.

/// The text with an empty value after every such key; lines stay where they are.
pub fn filled(json: &str) -> String {
    let mut filled = String::with_capacity(json.len());
    let mut rest = json;
    // The last token but white space and comments, where it is a key that may have to be filled in.
    let mut key = false;
    // What opens the object or list around this place, and whether a key may come next.
    let mut open: Vec<char> = Vec::new();
    let mut key_next = false;
    while let Some(first) = rest.chars().next() {
        let length = token(rest);
        let text = &rest[..length];
        match first {
            '"' => {
                key = key_next && text.starts_with("\"suspend");
                key_next = false;
            }
            '{' | '[' => {
                open.push(first);
                (key, key_next) = (false, first == '{');
            }
            ',' | '}' | ']' => {
                if key {
                    filled.push_str(": \"\"");
                }
                if first != ',' {
                    open.pop();
                }
                (key, key_next) = (false, first == ',' && open.last() == Some(&'{'));
            }
            _ if first.is_whitespace() || is_comment(text) => {}
            _ => key = false,
        }
        filled.push_str(text);
        rest = &rest[length..];
    }
    filled
}

fn is_comment(text: &str) -> bool {
    text.starts_with("//") || text.starts_with("/*")
}

/// How many bytes of the text are its first string, comment, or else character.
fn token(text: &str) -> usize {
    let until = |end: &str, from: usize| text[from..].find(end).map_or(text.len(), |at| from + at);
    if text.starts_with("//") {
        return until("\n", 2);
    }
    if text.starts_with("/*") {
        return (until("*/", 2) + 2).min(text.len());
    }
    if text.starts_with('"') {
        let mut escaped = false;
        for (at, c) in text.char_indices().skip(1) {
            match c {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                '"' => return at + 1,
                _ => {}
            }
        }
        return text.len();
    }
    text.chars().next().map_or(0, char::len_utf8)
}

#[cfg(test)]
mod tests {
    use super::filled;

    #[test]
    fn only_a_suspend_without_value_is_filled_in() {
        for (text, expected) in [
            (
                "{\"suspend\", \"run\": 1}",
                "{\"suspend\": \"\", \"run\": 1}",
            ),
            (
                "{\"run\": 1, \"suspend2\" /* , */ }",
                "{\"run\": 1, \"suspend2\" /* , */ : \"\"}",
            ),
            (
                "{\"suspend\" // no, }\n,}",
                "{\"suspend\" // no, }\n: \"\",}",
            ),
        ] {
            assert_eq!(filled(text), expected);
        }
        for same in [
            "{\"suspend\": \"a\", \"b\": [\"suspend\", \"suspend\"]}",
            "{\"resume\": \"suspend\", \"\\\"suspend\": 1}",
            "{\"run\", \"a\": \"",
            "/* \"suspend\",",
            "{\"suspend",
        ] {
            assert_eq!(filled(same), same);
        }
    }
}
