// SPDX-License-Identifier: GPL-2.0-or-later
//! Standard input as lines, and as a life-line: when it ends or falls silent, whatever runs ends as by SIGTERM.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read};
use std::os::fd::{AsFd, AsRawFd};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use anyhow::{Context, Result};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

/// Between two lines a signal from outside is noticed within this time.
const LOOK: Duration = Duration::from_millis(200);
const MOST_BYTES: usize = 1 << 16;

pub struct Input {
    lines: Receiver<String>,
}

impl Input {
    /// Returns also what was standard output. No child of ours can read the one or write into the other.
    pub fn begin(silence: Duration) -> Result<(Self, File)> {
        let stdin = File::from(std::io::stdin().as_fd().try_clone_to_owned()?);
        let stdout = File::from(std::io::stdout().as_fd().try_clone_to_owned()?);
        let null = OpenOptions::new().read(true).open("/dev/null")?;
        // SAFETY: all of them are open.
        let moved = unsafe {
            libc::dup2(null.as_raw_fd(), libc::STDIN_FILENO) >= 0
                && libc::dup2(libc::STDERR_FILENO, libc::STDOUT_FILENO) >= 0
        };
        anyhow::ensure!(moved, "cannot put standard input and output aside");
        Ok((Self::of(stdin, silence, signals::end)?, stdout))
    }

    /// `over` is called when the file has ended, or nothing has come for `silence`.
    fn of(file: File, silence: Duration, over: impl FnOnce() + Send + 'static) -> Result<Self> {
        let (send, lines) = sync_channel(1);
        let thread = std::thread::Builder::new().name("input".into());
        thread
            .spawn(move || {
                signals::left_to_others();
                read(file, silence, &send);
                // Who waits for a line learns that there is none before the signal comes.
                drop(send);
                over();
            })
            .context("a thread")?;
        Ok(Self { lines })
    }

    /// The next line that is not empty; none when the input is over, or a signal has come.
    pub fn next(&self) -> Option<String> {
        loop {
            match self.lines.recv_timeout(LOOK) {
                Ok(line) => return Some(line),
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) if signals::caught() => return None,
                Err(RecvTimeoutError::Timeout) => (),
            }
        }
    }
}

fn read(mut file: File, silence: Duration, lines: &SyncSender<String>) {
    let patience = PollTimeout::try_from(silence).unwrap_or(PollTimeout::MAX);
    let mut bytes = vec![0; MOST_BYTES];
    let mut line = Vec::new();
    loop {
        match poll(
            &mut [PollFd::new(file.as_fd(), PollFlags::POLLIN)],
            patience,
        ) {
            Err(Errno::EINTR) => continue,
            Ok(count) if count > 0 => (),
            _ => return,
        }
        let count = match file.read(&mut bytes) {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Ok(count) if count > 0 => count,
            _ => return,
        };
        for piece in bytes[..count].split_inclusive(|&byte| byte == b'\n') {
            line.extend_from_slice(piece);
            if line.last() != Some(&b'\n') {
                continue;
            }
            let text = String::from_utf8_lossy(&line).trim().to_owned();
            line.clear();
            if !text.is_empty() && lines.send(text).is_err() {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{PipeWriter, Write, pipe};
    use std::os::fd::OwnedFd;
    use std::sync::mpsc::channel;
    use std::time::Instant;

    fn begun(silence: Duration) -> (Input, PipeWriter, Receiver<()>) {
        let (reader, writer) = pipe().unwrap();
        let (tell, over) = channel();
        let input = Input::of(OwnedFd::from(reader).into(), silence, move || {
            tell.send(()).unwrap();
        });
        (input.unwrap(), writer, over)
    }

    #[test]
    fn lines_come_whole_and_the_end_is_told() {
        let (input, mut writer, over) = begun(Duration::from_secs(60));
        writer.write_all(b"one\n\n\ntw").unwrap();
        assert_eq!(input.next().as_deref(), Some("one"));
        writer.write_all(b"o\nhalf a").unwrap();
        assert_eq!(input.next().as_deref(), Some("two"));
        assert!(over.try_recv().is_err());
        drop(writer);
        assert_eq!(input.next(), None);
        over.recv_timeout(Duration::from_secs(10)).unwrap();
    }

    #[test]
    fn silence_is_an_end_and_an_empty_line_breaks_it() {
        let (input, mut writer, over) = begun(Duration::from_millis(300));
        let start = Instant::now();
        for _ in 0..5 {
            std::thread::sleep(Duration::from_millis(100));
            writer.write_all(b"\n").unwrap();
        }
        assert!(start.elapsed() > Duration::from_millis(400) && over.try_recv().is_err());
        assert_eq!(input.next(), None);
        over.recv_timeout(Duration::from_secs(10)).unwrap();
    }
}
