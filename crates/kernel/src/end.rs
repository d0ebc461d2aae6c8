// SPDX-License-Identifier: GPL-2.0-or-later
//! The end of a run: whether it has come, why, and who brought it about.

use crate::boundary::shown::ExitKind;

/// The policy is thrown out: what its `ops.exit()` is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ejection {
    pub kind: ExitKind,
    pub exit_code: i64,
    pub message: String,
}

impl Ejection {
    pub fn error(message: String) -> Self {
        Self {
            kind: ExitKind::ERROR,
            exit_code: 0,
            message,
        }
    }
}

impl std::fmt::Display for Ejection {
    /// The reason of a run's record; a runtime error speaks for itself.
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        let (reason, message) = (self.kind.reason().to_string_lossy(), &self.message);
        match self.kind {
            ExitKind::ERROR => f.write_str(message),
            ExitKind::UNREG_BPF => {
                write!(f, "{reason} (exit code {:#x}: {message})", self.exit_code)
            }
            _ => write!(f, "{reason} ({message})"),
        }
    }
}

/// Why a run ends before its workload does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Exit {
    /// The kernel or the policy itself threw the policy out.
    Ejected(Ejection),
    /// The simulation cannot go on.
    Failed(String),
}

#[derive(Default)]
pub struct End {
    /// The workload is over.
    pub over: bool,
    /// When the last task to exit had done so.
    pub last_exit_ns: u64,
    exit: Option<Exit>,
    by: &'static str,
}

impl End {
    /// The run breaks off; the first reason counts.
    #[cold]
    pub fn break_off(&mut self, by: &'static str, exit: Exit) {
        if self.exit.is_none() {
            self.exit = Some(exit);
            self.by = by;
        }
    }

    #[inline]
    pub fn broken_off(&self) -> bool {
        self.exit.is_some()
    }

    pub fn exit(&self) -> Option<&Exit> {
        self.exit.as_ref()
    }

    pub fn by(&self) -> &'static str {
        self.by
    }
}
