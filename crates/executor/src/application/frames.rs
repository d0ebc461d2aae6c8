// SPDX-License-Identifier: GPL-2.0-or-later
//! A file of frame times that a command leaves behind, as `MangoHud` writes it: lines about the system, a line with the
//! names of the columns, among which `frametime` in milliseconds, then a row for each frame. Nothing in it is trusted.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, Result, anyhow, bail, ensure};

const COLUMN: &str = "frametime";
/// The line with the names of the columns is among the first.
const MOST_LINES_BEFORE: usize = 100;
/// A day at a thousand frames a second is smaller.
const MOST_BYTES: u64 = 1 << 30;
const MOST_LINE_BYTES: u64 = 1 << 16;
/// Of fewer frames a 99th percentile says nothing.
const FEWEST: usize = 100;
/// So many that all of them are kept in memory without harm.
const MOST: usize = 5_000_000;
const LONGEST_MS: f64 = 60_000.0;

/// When a file was last written, and how long it is.
type Written = (SystemTime, u64);

/// The file, or the folder with the file, as it was before the command ran.
pub struct Frames {
    path: PathBuf,
    before: Vec<(PathBuf, Written)>,
}

impl Frames {
    pub fn before(path: &Path) -> Self {
        Self {
            path: path.to_path_buf(),
            before: there(path),
        }
    }

    /// The frame times of the file that was written since; an older one is of another run.
    pub fn after(&self) -> Result<Vec<u64>> {
        let mut new: Vec<_> = there(&self.path)
            .into_iter()
            .filter(|found| !self.before.contains(found))
            .collect();
        new.sort_by_key(|(_, written)| *written);
        let (path, _) = new.pop().ok_or_else(|| {
            anyhow!(
                "{}: the command left no file of frames there, or only an old one",
                self.path.display()
            )
        })?;
        read(&path)
    }
}

/// The file itself; of a folder all that end in `.csv`, but for summaries.
fn there(path: &Path) -> Vec<(PathBuf, Written)> {
    let files: Vec<PathBuf> = if path.is_dir() {
        let entries = fs::read_dir(path).into_iter().flatten().flatten();
        entries
            .map(|entry| entry.path())
            .filter(|path| path.extension().is_some_and(|end| end == "csv"))
            .filter(|path| !path.to_string_lossy().ends_with("_summary.csv"))
            .collect()
    } else {
        vec![path.to_path_buf()]
    };
    let written = |path: PathBuf| {
        let about = fs::metadata(&path).ok().filter(fs::Metadata::is_file)?;
        Some((path, (about.modified().ok()?, about.len())))
    };
    files.into_iter().filter_map(written).collect()
}

fn read(path: &Path) -> Result<Vec<u64>> {
    let name = path.display();
    let file = File::open(path).with_context(|| name.to_string())?;
    let about = file.metadata().with_context(|| name.to_string())?;
    ensure!(
        about.is_file(),
        "{name}: expected a file of frames, not a device or pipe"
    );
    ensure!(
        about.len() <= MOST_BYTES,
        "{name}: expected a file of frames of at most 1 GiB"
    );
    parse(BufReader::new(file.take(MOST_BYTES))).map_err(|error| anyhow!("{name}: {error:#}"))
}

fn parse(mut text: impl BufRead) -> Result<Vec<u64>> {
    let mut column = None;
    let mut frames = Vec::new();
    let mut number = 0;
    let mut bytes = Vec::new();
    loop {
        bytes.clear();
        let count = (&mut text)
            .take(MOST_LINE_BYTES)
            .read_until(b'\n', &mut bytes)?;
        if count == 0 {
            break;
        }
        number += 1;
        ensure!(
            bytes.ends_with(b"\n") || (count as u64) < MOST_LINE_BYTES,
            "line {number}: expected a line of at most {MOST_LINE_BYTES} bytes"
        );
        let line = String::from_utf8_lossy(&bytes);
        let mut cells = line.trim().split(',').map(str::trim);
        match column {
            None => {
                column = cells.position(|cell| cell == COLUMN);
                ensure!(
                    column.is_some() || number < MOST_LINES_BEFORE,
                    "expected a line with the names of columns, among them '{COLUMN}'"
                );
            }
            Some(_) if line.trim().is_empty() => {}
            Some(at) => {
                let cell = cells.nth(at).unwrap_or("");
                frames.push(nanoseconds(cell).ok_or_else(|| {
                    anyhow!(
                        "line {number}, column '{COLUMN}': expected milliseconds, above 0 and at most {LONGEST_MS}, got '{}'",
                        cell.chars().take(40).collect::<String>().escape_debug()
                    )
                })?);
                ensure!(frames.len() <= MOST, "expected at most {MOST} frames");
            }
        }
    }
    match column {
        None => bail!("expected a line with the names of columns, among them '{COLUMN}'"),
        Some(_) if frames.len() < FEWEST => bail!(
            "expected {FEWEST} frames or more for a 99th percentile, got {}",
            frames.len()
        ),
        Some(_) => Ok(frames),
    }
}

fn nanoseconds(cell: &str) -> Option<u64> {
    let ms: f64 = cell.parse().ok()?;
    (ms > 0.0 && ms <= LONGEST_MS).then_some((ms * 1e6).round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "os,cpu,gpu,ram,kernel,driver,cpuscheduler\nDebian,x,y,1,7.2,z,performance\nfps,frametime,cpu_load\n";

    fn rows(count: usize, row: &str) -> String {
        HEAD.to_string() + &format!("{row}\n").repeat(count)
    }

    fn fails(text: &[u8], part: &str) {
        let error = parse(text).unwrap_err().to_string();
        assert!(error.contains(part) && !error.contains('\n'), "{error}");
    }

    #[test]
    fn frame_times_are_those_of_the_column_in_nanoseconds() {
        let frames = parse((rows(150, "60.0,16.6667,12") + "\n").as_bytes()).unwrap();
        assert_eq!(frames, vec![16_666_700; 150]);
        let windows = rows(100, "60,16.5,1").replace('\n', "\r\n");
        assert_eq!(parse(windows.as_bytes()).unwrap(), vec![16_500_000; 100]);
    }

    #[test]
    fn what_is_no_file_of_frames_is_said_in_one_line() {
        fails(b"", "'frametime'");
        fails(HEAD.as_bytes(), "100 frames or more");
        fails(rows(99, "60,16,1").as_bytes(), "got 99");
        fails("x\n".repeat(5_000).as_bytes(), "'frametime'");
        fails(&vec![b'x'; 100_000], "line 1: expected a line of at most");
        fails(&[0xff; 3_000], "'frametime'");
        for cell in ["", "x", "NaN", "inf", "-1", "0", "1e9", "\u{1b}[31m"] {
            fails(
                rows(100, &format!("60,{cell},1")).as_bytes(),
                "line 4, column",
            );
        }
        fails(rows(100, "60").as_bytes(), "line 4, column");
    }

    /// Bytes of a good file are exchanged, cut out and doubled: frames come of it, or a line.
    #[test]
    fn a_damaged_file_is_read_or_said_to_be_none() {
        let good = rows(120, "60.0,16.6667,12").into_bytes();
        let pieces: [&[u8]; 7] = [
            b"-1",
            b"NaN",
            b"inf",
            b"1e400",
            b"\x1b[2J",
            b",,,",
            b"\0\xff\n",
        ];
        let mut state = 1_u64;
        let mut draw = |below: usize| {
            // Knuth's MMIX generator, whose high bits are the good ones.
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % below
        };
        let mut read = 0;
        for case in 0..2_000 {
            let mut text = good.clone();
            let at = draw(text.len());
            let end = (at + 1 + draw(40)).min(text.len());
            match draw(4) {
                0 => drop(text.drain(at..end)),
                1 => text[at] = draw(256) as u8,
                2 => drop(text.splice(at..end, pieces[draw(7)].iter().copied())),
                _ => drop(text.splice(at..at, good[at..end].iter().copied())),
            }
            match parse(text.as_slice()) {
                Ok(frames) => {
                    assert!(frames.iter().all(|ns| (1..=60_000_000_000).contains(ns)));
                    read += 1;
                }
                Err(error) => {
                    let said = format!("{error:#}");
                    assert!(!said.contains(char::is_control), "case {case}: {said:?}");
                }
            }
        }
        assert!((1..2_000).contains(&read), "{read}");
    }

    #[test]
    fn only_what_was_written_since_counts() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("game.csv");
        fs::write(&file, rows(100, "60,16,1")).unwrap();
        let (one, any) = (Frames::before(&file), Frames::before(folder.path()));
        let missing = Frames::before(&folder.path().join("none.csv"));
        assert!(
            one.after()
                .unwrap_err()
                .to_string()
                .contains("only an old one")
        );
        assert!(
            missing
                .after()
                .unwrap_err()
                .to_string()
                .contains("left no file")
        );
        fs::write(folder.path().join("game_summary.csv"), "x").unwrap();
        assert!(any.after().is_err());
        fs::write(folder.path().join("game2.csv"), rows(120, "60,17,1")).unwrap();
        assert_eq!(any.after().unwrap().len(), 120);
        fs::write(&file, rows(110, "60,16,1")).unwrap();
        assert_eq!(one.after().unwrap().len(), 110);
        // A folder in the place of a file, or a pipe, is no file of frames.
        let odd = folder.path().join("odd");
        let before = Frames::before(&odd);
        fs::create_dir(&odd).unwrap();
        assert!(before.after().is_err());
    }
}
