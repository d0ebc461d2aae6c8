// SPDX-License-Identifier: GPL-2.0-or-later
//! The end of a run: whether it has come, why, and who brought it about.

/// Why a run ends before its workload does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Exit {
    /// The kernel or the policy itself threw the policy out.
    Ejected(String),
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
