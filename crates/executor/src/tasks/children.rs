// SPDX-License-Identifier: GPL-2.0-or-later
//! The children of a task: is any alive, and waiting for one to exit.

use serde::{Deserialize, Serialize};

use super::fault::{Fault, Kind};

#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Children {
    /// Those that had exited when the task looked whether any was alive, and that it has not waited for.
    reaped: u32,
}

impl Children {
    /// Waits until one has exited.
    pub fn reap(&mut self) -> Result<(), Fault> {
        if self.reaped > 0 {
            self.reaped -= 1;
            return Ok(());
        }
        match wait(0)? {
            Some(_) => Ok(()),
            None => Err(Fault {
                kind: Kind::Reap,
                errno: libc::ECHILD,
                value: 0,
            }),
        }
    }

    pub fn any_alive(&mut self) -> Result<bool, Fault> {
        loop {
            match wait(libc::WNOHANG)? {
                None => return Ok(false),
                Some(0) => return Ok(true),
                Some(_) => self.reaped += 1,
            }
        }
    }
}

/// Reaps a child of this thread: its id, 0 if all are alive, nothing if there is none.
fn wait(flags: libc::c_int) -> Result<Option<libc::pid_t>, Fault> {
    loop {
        let mut status = 0;
        // SAFETY: writes to a local.
        match unsafe { libc::waitpid(-1, &raw mut status, flags | libc::__WNOTHREAD) } {
            0 => return Ok(Some(0)),
            child @ 1.. if status == 0 => return Ok(Some(child)),
            1.. => return Err(Fault::value(Kind::Child, status.into())),
            _ if std::io::Error::last_os_error().raw_os_error() == Some(libc::ECHILD) => {
                return Ok(None);
            }
            _ => Fault::unless_interrupted(Kind::Reap)?,
        }
    }
}
