// SPDX-License-Identifier: GPL-2.0-or-later
//! Errors that decide the exit status: bad input 2, not here 3, interrupted 130; every other one is a failure, 1.

use std::fmt;
use std::process::ExitCode;

pub use executor::{Interrupted, NotHere};

/// Bad usage or input: 2.
#[derive(Debug)]
pub struct BadInput(pub String);

impl fmt::Display for BadInput {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for BadInput {}

pub fn exit_status(error: &anyhow::Error) -> u8 {
    if error.is::<Interrupted>() {
        signals::INTERRUPTED
    } else if error.is::<NotHere>() {
        3
    } else if error.is::<BadInput>() {
        2
    } else {
        1
    }
}

/// `anyhow` errors from parsing become bad input.
pub fn bad_input(error: anyhow::Error) -> anyhow::Error {
    if exit_status(&error) == 1 {
        BadInput(format!("{error:#}")).into()
    } else {
        error
    }
}

/// Tell and turn into the process's status.
pub fn report(program: &str, result: anyhow::Result<ExitCode>) -> ExitCode {
    result.unwrap_or_else(|error| {
        let status = exit_status(&error);
        // Whoever sent the signal knows which one it was.
        if error.is::<Interrupted>() {
            eprintln!("{program}: interrupted");
        } else {
            // It may quote names out of anybody's object; what the verifier says has several lines.
            let said = format!("{error:#}")
                .replace(|c: char| c.is_control() && c != '\n' && c != '\t', " ");
            eprintln!("{program}: {said}");
        }
        ExitCode::from(status)
    })
}
