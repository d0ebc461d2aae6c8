// SPDX-License-Identifier: GPL-2.0-or-later
//! The processes below this one: what they used, and their end.

use std::collections::BTreeMap;
use std::io;

/// Of one process: its parent, and the CPU time of itself and of the children it waited for, in ticks.
#[derive(Clone, Copy)]
struct Process {
    parent: u32,
    ticks: u64,
}

/// CPU seconds of all living descendants and of the children they waited for; `None` if there are none.
pub fn cpu_s() -> Option<f64> {
    let below = below();
    // SAFETY: no memory.
    let tick = unsafe { libc::sysconf(libc::_SC_CLK_TCK) } as f64;
    let ticks: u64 = below.values().map(|process| process.ticks).sum();
    (!below.is_empty()).then(|| ticks as f64 / tick)
}

/// Kills and reaps until none is left. Orphans become our children, if this process is a subreaper.
pub fn end_all() {
    loop {
        for process in below().into_keys() {
            // SAFETY: no memory.
            unsafe { libc::kill(process as libc::pid_t, libc::SIGKILL) };
        }
        // SAFETY: no memory.
        let reaped = unsafe { libc::waitpid(-1, std::ptr::null_mut(), libc::WNOHANG) };
        if reaped < 0 && io::Error::last_os_error().raw_os_error() == Some(libc::ECHILD) {
            return;
        }
        if reaped == 0 {
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
    }
}

fn below() -> BTreeMap<u32, Process> {
    let mut all = BTreeMap::new();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        if let Some(id) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok())
            && let Ok(stat) = std::fs::read_to_string(entry.path().join("stat"))
            && let Some(process) = parse(&stat)
        {
            all.insert(id, process);
        }
    }
    let me = std::process::id();
    let parent = |id: &u32| all.get(id).map(|process: &Process| process.parent);
    let is_below = |id: &u32| {
        let mut next = parent(id);
        // As deep as there are processes, should the snapshot have a loop.
        for _ in 0..all.len() {
            match next {
                Some(id) if id == me => return true,
                Some(id) => next = parent(&id),
                None => return false,
            }
        }
        false
    };
    all.iter()
        .filter(|(id, _)| is_below(id))
        .map(|(id, process)| (*id, *process))
        .collect()
}

/// A line of /proc/PID/stat: behind the name in parentheses, state and parent, then fields 14 to 17.
fn parse(stat: &str) -> Option<Process> {
    let rest = &stat[stat.rfind(')')? + 1..];
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
    Some(Process {
        parent: number(1)? as u32,
        ticks: number(11)? + number(12)? + number(13)? + number(14)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_stat() {
        let line = "7 (a) b) S 3 7 7 0 -1 4194560 1 2 3 4 100 20 3000 400 20 0 1 0 5 6 7";
        let process = parse(line).unwrap();
        assert_eq!((process.parent, process.ticks), (3, 3520));
        assert!(parse("7 (a").is_none());
    }
}
