// SPDX-License-Identifier: GPL-2.0-or-later
//! The command lines: `scx_NAME` in the manner of scx's schedulers, and `schedlab-host`.

mod completions;
mod exec;
mod host;
mod inspect;
mod man;
mod options;
mod scheduler;
mod serve;
mod snapshot;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use clap::{ArgMatches, Command};

use crate::error::{BadInput, report};

/// Called as `scx_NAME`, the program is that scheduler.
pub fn main(args: Vec<OsString>) -> ExitCode {
    let called = args.first().map(|arg| {
        Path::new(arg)
            .file_name()
            .unwrap_or(arg)
            .to_string_lossy()
            .into_owned()
    });
    match called
        .as_deref()
        .and_then(|called| called.strip_prefix("scx_"))
    {
        Some(name) => report(&format!("scx_{name}"), scheduler::main(name, args)),
        None => report("schedlab-host", host::main(args)),
    }
}

/// With what it is built for, as scx's schedulers print it.
fn version(of: &str) -> String {
    format!("{of} {}-linux", std::env::consts::ARCH)
}

/// `None` if clap has already answered (help, version); a mistake becomes one line.
fn parse(command: &Command, args: Vec<OsString>) -> Result<Option<ArgMatches>> {
    match command.clone().try_get_matches_from(args) {
        Ok(matches) => Ok(Some(matches)),
        Err(error) if !error.use_stderr() => {
            error.print()?;
            Ok(None)
        }
        Err(error) => Err(BadInput(one_line(&error.to_string())).into()),
    }
}

/// clap's first sentence and its tip.
fn one_line(message: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for line in message.lines().map(str::trim) {
        let wanted = parts.is_empty()
            || line.starts_with("tip: ")
            || line.starts_with('[')
            || line.starts_with('<');
        if wanted && !line.is_empty() {
            parts.push(line.strip_prefix("error: ").unwrap_or(line));
        }
    }
    parts.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claps_errors_fit_in_a_line() {
        let text = "error: unexpected argument '--rulez' found\n\n  tip: a similar argument exists: '--rules'\n\n\
                    Usage: scx_bfs --rules <NAME>\n\nFor more information, try '--help'.\n";
        assert_eq!(
            one_line(text),
            "unexpected argument '--rulez' found; tip: a similar argument exists: '--rules'"
        );
        let text = "error: the following required arguments were not provided:\n  --out <DIR>\n  <SHARD>\n\nUsage: x\n";
        assert_eq!(
            one_line(text),
            "the following required arguments were not provided:; <SHARD>"
        );
    }
}
