// SPDX-License-Identifier: GPL-2.0-or-later
//! Errors that decide the exit status; every other one is a failure, 1.

use std::fmt;
use std::process::ExitCode;

/// Bad usage or input: 2.
#[derive(Debug)]
pub struct BadInput(pub String);

/// This machine or kernel cannot do it: 3.
#[derive(Debug)]
pub struct NotHere(pub String);

/// A signal ended it in order: 130.
#[derive(Debug)]
pub struct Interrupted;

macro_rules! said {
    ($($error:ident),*) => {
        $(impl fmt::Display for $error {
            fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
        impl std::error::Error for $error {})*
    };
}
said!(BadInput, NotHere);

impl fmt::Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("interrupted")
    }
}

impl std::error::Error for Interrupted {}

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
        eprintln!("{program}: {error:#}");
        ExitCode::from(status)
    })
}
