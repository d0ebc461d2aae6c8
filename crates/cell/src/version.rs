// SPDX-License-Identifier: GPL-2.0-or-later
//! What a program says of its version.

use std::path::Path;

use crate::hex_digest;

/// Where a note of the commit lies, from the folder of the program's own folder. Its first line is the commit, the
/// others are those of `sha256sum`.
const NOTE: &str = "share/schedlab/commit";

/// `0.1.0`, or `0.1.0 (1a2b3c4d5-dirty)` where a note beside the program says so of this very file.
///
/// The commit is not in the program. A commit that touches none of its sources leaves it the file that it was, by whose
/// digest cells are known.
pub fn version() -> String {
    let number = env!("CARGO_PKG_VERSION");
    let commit = std::env::current_exe().ok().and_then(|it| commit(&it));
    match commit {
        Some(commit) => format!("{number} ({commit})"),
        None => number.to_owned(),
    }
}

fn commit(program: &Path) -> Option<String> {
    let note = std::fs::read_to_string(program.parent()?.parent()?.join(NOTE)).ok()?;
    let digest = hex_digest(&std::fs::read(program).ok()?, 32);
    let (commit, files) = note.split_once('\n')?;
    let named = files.lines().any(|line| line.starts_with(&digest));
    named.then(|| commit.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_speaks_of_the_files_that_it_names() {
        let dir = tempfile::tempdir().unwrap();
        for folder in ["bin", "share/schedlab"] {
            std::fs::create_dir_all(dir.path().join(folder)).unwrap();
        }
        let program = dir.path().join("bin/program");
        std::fs::write(&program, "abc").unwrap();
        assert_eq!(commit(&program), None);
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        let note = format!("1a2b3c4d5-dirty\n{abc}  program\n");
        std::fs::write(dir.path().join(NOTE), note).unwrap();
        assert_eq!(commit(&program).as_deref(), Some("1a2b3c4d5-dirty"));
        // Built again, and not by who wrote the note.
        std::fs::write(&program, "abd").unwrap();
        assert_eq!(commit(&program), None);
    }
}
