// SPDX-License-Identifier: GPL-2.0-or-later
//! Words of a command line that a reader can paste into a shell.

/// As a shell takes it.
pub fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-:+=,".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_string()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::quoted;

    #[test]
    fn a_shell_gives_every_word_back() {
        let words = [
            "",
            "bfs:rules=424+a=1",
            "/tmp/my folder/w.toml",
            "it's",
            "'",
            "$HOME `ls` \"x\" \\ # ~ ; & | * ? ü\n\tend",
        ];
        assert_eq!(quoted(words[1]), words[1]);
        for word in words {
            let script = format!("printf %s {}", quoted(word));
            let output = Command::new("sh").args(["-c", &script]).output().unwrap();
            assert_eq!(String::from_utf8(output.stdout).unwrap(), word, "{script}");
        }
    }
}
