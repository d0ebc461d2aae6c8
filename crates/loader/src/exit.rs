// SPDX-License-Identifier: GPL-2.0-or-later
//! Why a scheduler ended, as the policy records it: in `exit_info` with `include/scx.h`, in `uei` with scx's own headers.

use std::fmt;
use std::ptr::NonNull;

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

/// The C structure, byte for byte: all of `struct user_exit_info`, and what `exit_info` begins with.
#[repr(C)]
pub struct RawExitInfo {
    kind: i32,
    code: i64,
    reason: [u8; 128],
    message: [u8; 1024],
}

/// What follows in `exit_info`.
pub type RawDump = [u8; 32_768];

/// Where in memory a loaded policy records its end.
pub struct Place {
    pub info: NonNull<RawExitInfo>,
    pub dump: Option<NonNull<RawDump>>,
}

impl Exit {
    /// `None` while the scheduler runs.
    ///
    /// # Safety
    /// The place lies in memory that is mapped; the kernel writes `kind` last.
    pub unsafe fn read(place: &Place) -> Option<Self> {
        let raw = place.info.as_ptr();
        // SAFETY: as above; the kernel writes while we read, hence volatile.
        let kind = unsafe { (&raw const (*raw).kind).read_volatile() };
        if kind == 0 {
            return None;
        }
        std::sync::atomic::fence(std::sync::atomic::Ordering::Acquire);
        // SAFETY: as above.
        let info = unsafe { raw.read_volatile() };
        // SAFETY: as above.
        let dump = place.dump.map(|dump| text(unsafe { dump.as_ref() }));
        Some(Self {
            kind,
            code: info.code,
            reason: text(&info.reason),
            message: text(&info.message),
            dump: dump.unwrap_or_default(),
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

    fn raw(kind: i32, code: i64, reason: &str, message: &str) -> RawExitInfo {
        let mut info = RawExitInfo {
            kind,
            code,
            reason: [0; 128],
            message: [0; 1024],
        };
        info.reason[..reason.len()].copy_from_slice(reason.as_bytes());
        info.message[..message.len()].copy_from_slice(message.as_bytes());
        info
    }

    fn read(info: &RawExitInfo) -> Option<Exit> {
        let place = Place {
            info: info.into(),
            dump: None,
        };
        // SAFETY: a whole structure.
        unsafe { Exit::read(&place) }
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
    fn a_dump_is_there_where_the_policy_keeps_one() {
        let info = raw(1024, 0, "runtime error", "");
        let mut dump: Box<RawDump> = vec![0; 32_768].try_into().unwrap();
        dump[..4].copy_from_slice(b"CPUs");
        let place = Place {
            info: (&info).into(),
            dump: Some(dump.as_ref().into()),
        };
        // SAFETY: both are whole.
        assert_eq!(unsafe { Exit::read(&place) }.unwrap().dump, "CPUs");
        assert_eq!(read(&info).unwrap().dump, "");
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
