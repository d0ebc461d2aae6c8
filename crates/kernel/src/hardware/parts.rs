// SPDX-License-Identifier: GPL-2.0-or-later
//! When within a wake-up and a switch the kernel does its work: a policy that reads the clock in its callbacks
//! sees it.
//!
//! The shares are those of the exact guest, where they are instructions (`tests/vm_policies/test_moments.py` has the
//! policy that reads the clock, and compares).

/// A switch: until the policy is asked for the next task, and from there until that task is told to run.
const UNTIL_DISPATCH_PCT: u64 = 62;
const UNTIL_RUNNING_PCT: u64 = 25;
/// A wake-up, once the run queue is locked and its clock is read.
const AFTER_CLOCK_PCT: u64 = 44;
#[derive(Clone, Copy)]
#[allow(clippy::struct_field_names, reason = "units live in names")]
pub struct SwitchParts {
    pub until_dispatch_ns: u64,
    pub until_running_ns: u64,
    pub after_ns: u64,
}

impl SwitchParts {
    pub fn of(switch_ns: u64) -> Self {
        let until_dispatch_ns = switch_ns * UNTIL_DISPATCH_PCT / 100;
        let until_running_ns = switch_ns * UNTIL_RUNNING_PCT / 100;
        Self {
            until_dispatch_ns,
            until_running_ns,
            after_ns: switch_ns - until_dispatch_ns - until_running_ns,
        }
    }
}

#[derive(Clone, Copy)]
pub struct WakeupParts {
    pub until_clock_ns: u64,
    pub after_ns: u64,
}

impl WakeupParts {
    pub fn of(wakeup_ns: u64) -> Self {
        let after_ns = wakeup_ns * AFTER_CLOCK_PCT / 100;
        Self {
            until_clock_ns: wakeup_ns - after_ns,
            after_ns,
        }
    }
}
