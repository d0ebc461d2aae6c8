// SPDX-License-Identifier: GPL-2.0-or-later
//! What the kernel tells of a task: CPU time, switches, waiting, migrations.

use std::fs;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::arena::{Slot, UNKNOWN};
use super::clock::thread_cpu_ns;

/// A task's counters so far; `UNKNOWN` where the kernel says nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    pub cpu_ns: u64,
    pub voluntary: u64,
    pub involuntary: u64,
    pub waiting_ns: u64,
    pub migrations: u64,
}

/// Of the calling thread: what it can know cheaply.
pub fn own_time() -> (u64, u64, u64) {
    // SAFETY: a C struct of integers, filled by the call below.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: writes to a local.
    unsafe { libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage) };
    (
        thread_cpu_ns(),
        usage.ru_nvcsw as u64,
        usage.ru_nivcsw as u64,
    )
}

/// Of the calling thread: waiting and migrations, from `/proc`.
pub fn own_waits() -> (u64, u64) {
    waits("/proc/thread-self")
}

/// Of another thread that still lives.
pub fn read(process: u32, thread: u32) -> Option<Usage> {
    let dir = format!("/proc/{process}/task/{thread}");
    let status = fs::read_to_string(format!("{dir}/status")).ok()?;
    let schedstat = fs::read_to_string(format!("{dir}/schedstat")).ok()?;
    let field = |name| field(&status, name).unwrap_or(UNKNOWN);
    let (waiting_ns, migrations) = waits(&dir);
    Some(Usage {
        cpu_ns: schedstat.split_whitespace().next()?.parse().ok()?,
        voluntary: field("voluntary_ctxt_switches"),
        involuntary: field("nonvoluntary_ctxt_switches"),
        waiting_ns,
        migrations,
    })
}

fn waits(dir: &str) -> (u64, u64) {
    let read = |name: &str| fs::read_to_string(format!("{dir}/{name}")).unwrap_or_default();
    let waiting = waiting_of(&read("schedstat")).unwrap_or(UNKNOWN);
    let migrations = field(&read("sched"), "se.nr_migrations").unwrap_or(UNKNOWN);
    (waiting, migrations)
}

/// The second number, unless the third says that nothing was ever counted.
fn waiting_of(schedstat: &str) -> Option<u64> {
    let mut numbers = schedstat.split_whitespace().skip(1).map(str::parse);
    let waiting = numbers.next()?.ok()?;
    let turns: u64 = numbers.next()?.ok()?;
    (turns > 0).then_some(waiting)
}

/// `name : value` or `name:<tab>value`.
fn field(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim_end() == name).then(|| value.trim().parse().ok())?
    })
}

/// Whether a process has died but was not reaped.
pub fn is_zombie(process: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    stat.rsplit(')')
        .next()
        .is_some_and(|rest| rest.trim_start().starts_with('Z'))
}

impl Slot {
    /// Keeps what the task has used before it begins.
    pub fn begin(&self, usage: Usage) {
        for (word, value) in self.words().into_iter().zip(usage.words()) {
            word.store(value, Relaxed);
        }
    }

    /// Turns what was kept into what was used since.
    pub fn settle(&self, usage: Usage) {
        for (word, now) in self.words().into_iter().zip(usage.words()) {
            let before = word.load(Relaxed);
            let known = before != UNKNOWN && now != UNKNOWN;
            word.store(
                if known {
                    now.saturating_sub(before)
                } else {
                    UNKNOWN
                },
                Relaxed,
            );
        }
        for (word, earlier) in self.words().into_iter().zip(&self.earlier) {
            let (used, earlier) = (word.load(Relaxed), earlier.load(Relaxed));
            let known = used != UNKNOWN && earlier != UNKNOWN;
            word.store(if known { used + earlier } else { UNKNOWN }, Relaxed);
        }
    }

    /// Puts away what was used, as the task is forked again.
    pub fn again(&self) {
        for (word, earlier) in self.words().into_iter().zip(&self.earlier) {
            earlier.store(word.load(Relaxed), Relaxed);
        }
    }

    fn words(&self) -> [&AtomicU64; 5] {
        [
            &self.cpu_ns,
            &self.voluntary,
            &self.involuntary,
            &self.waiting_ns,
            &self.migrations,
        ]
    }
}

impl Usage {
    pub const NONE: Self = Self {
        cpu_ns: 0,
        voluntary: 0,
        involuntary: 0,
        waiting_ns: 0,
        migrations: 0,
    };

    fn words(self) -> [u64; 5] {
        [
            self.cpu_ns,
            self.voluntary,
            self.involuntary,
            self.waiting_ns,
            self.migrations,
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_both_forms() {
        let sched = "x (1, #threads: 1)\nse.nr_migrations                 :       17\n";
        assert_eq!(field(sched, "se.nr_migrations"), Some(17));
        let status = "voluntary_ctxt_switches:\t3\nnonvoluntary_ctxt_switches:\t4\n";
        assert_eq!(field(status, "voluntary_ctxt_switches"), Some(3));
        assert_eq!(field(status, "nonvoluntary_ctxt_switches"), Some(4));
        assert_eq!(field(status, "switches"), None);
    }

    #[test]
    fn waiting_is_unknown_where_the_kernel_does_not_count() {
        assert_eq!(waiting_of("524201 61521 1\n"), Some(61_521));
        assert_eq!(waiting_of("0 0 0\n"), None);
        assert_eq!(waiting_of(""), None);
    }

    #[test]
    fn the_calling_thread_is_read_alike_both_ways() {
        let (cpu_ns, voluntary, _) = own_time();
        // SAFETY: no arguments, no memory.
        let thread = unsafe { libc::gettid() } as u32;
        let usage = read(std::process::id(), thread).unwrap();
        assert!(usage.voluntary >= voluntary);
        assert!(
            usage.cpu_ns.abs_diff(cpu_ns) < 1_000_000_000,
            "{usage:?} {cpu_ns}"
        );
        assert!(!is_zombie(std::process::id()));
    }
}
