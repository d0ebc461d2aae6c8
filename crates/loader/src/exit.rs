// SPDX-License-Identifier: GPL-2.0-or-later
//! Why a scheduler ended, as `exit_info` of `include/scx.h` holds it.

use std::fmt;

/// `SCX_EXIT_UNREG`: we detached it ourselves.
const BY_USER: i32 = 64;
/// `SCX_EXIT_ERROR`: from here on, the kernel threw the scheduler out.
const FIRST_ERROR: i32 = 1024;
/// `SCX_EXIT_ERROR_STALL`: the watchdog saw a runnable task that did not run.
const STALL: i32 = 1026;
/// `SCX_ECODE_ACT_RESTART`: load it again, a CPU came or went.
const ACT_RESTART: i64 = 1 << 48;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exit {
    pub kind: i32,
    pub code: i64,
    pub reason: String,
    pub message: String,
    /// What each CPU and runnable task was at when the kernel threw the scheduler out.
    pub dump: String,
}

/// The C structure, byte for byte.
#[repr(C)]
pub struct RawExitInfo {
    kind: i32,
    code: i64,
    reason: [u8; 128],
    message: [u8; 1024],
    dump: [u8; 32_768],
}

impl Exit {
    /// `None` while the scheduler runs.
    ///
    /// # Safety
    /// `raw` is the policy's mapped `exit_info`; the kernel writes `kind` last.
    pub unsafe fn read(raw: *const RawExitInfo) -> Option<Self> {
        // SAFETY: as above; the kernel writes while we read, hence volatile.
        let kind = unsafe { (&raw const (*raw).kind).read_volatile() };
        if kind == 0 {
            return None;
        }
        std::sync::atomic::fence(std::sync::atomic::Ordering::Acquire);
        // SAFETY: as above.
        let info = unsafe { raw.read_volatile() };
        Some(Self {
            kind,
            code: info.code,
            reason: text(&info.reason),
            message: text(&info.message),
            dump: text(&info.dump),
        })
    }

    pub fn by_user(&self) -> bool {
        self.kind == BY_USER
    }

    /// The kernel threw the scheduler out: a stall, or an error the policy made or reported.
    pub fn ejected(&self) -> bool {
        self.kind >= FIRST_ERROR
    }

    pub fn stalled(&self) -> bool {
        self.kind == STALL
    }

    pub fn asks_for_restart(&self) -> bool {
        self.code & ACT_RESTART != 0
    }
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match (self.reason.as_str(), self.message.as_str()) {
            ("", _) => write!(f, "exit kind {}", self.kind),
            (reason, "") => f.write_str(reason),
            (reason, message) => write!(f, "{reason} ({message})"),
        }
    }
}

fn text(bytes: &[u8]) -> String {
    let end = bytes
        .iter()
        .position(|byte| *byte == 0)
        .unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(clippy::large_stack_arrays, reason = "the policy's structure as it is")]
    fn raw(kind: i32, code: i64, reason: &str, message: &str) -> RawExitInfo {
        let mut info = RawExitInfo {
            kind,
            code,
            reason: [0; 128],
            message: [0; 1024],
            dump: [0; 32_768],
        };
        info.reason[..reason.len()].copy_from_slice(reason.as_bytes());
        info.message[..message.len()].copy_from_slice(message.as_bytes());
        info
    }

    fn read(info: &RawExitInfo) -> Option<Exit> {
        // SAFETY: a whole structure.
        unsafe { Exit::read(info) }
    }

    #[test]
    fn nothing_while_it_runs() {
        assert_eq!(read(&raw(0, 0, "", "")), None);
    }

    #[test]
    fn a_stall_is_an_ejection_with_its_message() {
        let exit = read(&raw(
            1026,
            0,
            "runnable task stall",
            "stress-ng[88] failed to run for 30.1s",
        ))
        .unwrap();
        assert!(exit.ejected() && exit.stalled() && !exit.asks_for_restart());
        assert_eq!(
            exit.to_string(),
            "runnable task stall (stress-ng[88] failed to run for 30.1s)"
        );
    }

    #[test]
    fn hotplug_asks_for_a_restart() {
        let exit = read(&raw(
            66,
            1 << 48 | 1 << 32,
            "unregistered from the main kernel",
            "",
        ))
        .unwrap();
        assert!(exit.asks_for_restart() && !exit.ejected() && !exit.by_user());
        assert_eq!(exit.to_string(), "unregistered from the main kernel");
    }
}
