// SPDX-License-Identifier: GPL-2.0-or-later
//! What each finding means, for somebody who wrote the policy.

use std::path::Path;

use workload::plan::Plan;

/// Events shown of the run, and of the task it is about.
const LAST: usize = 10;
const LAST_OF_TASK: usize = 6;

/// Whoever may find something, in the order of `docs/checking.md`; the last four find mistakes of the simulator.
pub const CHECKERS: [&str; 15] = [
    "work conservation",
    "starvation",
    "lost task",
    "slice",
    "cpu limit",
    "kernel",
    "watchdog",
    "endless loop",
    "fault",
    "crash",
    "livelock",
    "queue order",
    "affinity",
    "accounts",
    "simulator",
];

pub fn of(by: &str) -> &'static str {
    match by {
        "work conservation" => {
            "A CPU stood idle beside a task that may use it. Whoever queues a task where several CPUs look must wake \
             an idle one (scx_bpf_kick_cpu with SCX_KICK_IDLE), and dispatch must look into every queue that may \
             hold something for its CPU. The bound is --idle-ms."
        }
        "starvation" => {
            "A task that could run did not, for longer than its share of the machine explains. Either no CPU that it \
             may use looks where it is queued, or others are always preferred. The bounds are --starvation-ms and \
             --share-ms."
        }
        "lost task" => {
            "The policy took a task in enqueue and put it into no queue, or forgot that it holds it. Every enqueue \
             must end in an insert, then or later."
        }
        "slice" => {
            "A slice that is used up is never refilled, or never ends: insert with a fresh slice, and do not carry \
             over what is left of one that has run out."
        }
        "cpu limit" => {
            "A control group got more CPU time than its limit (cpu.max) allows. What its tasks and those of the groups \
             below it run is charged to each limit above them; what they ran too much is taken from the next periods; \
             and who has no time left goes on nowhere, not even as the last task of a CPU (SCX_OPS_ENQ_LAST)."
        }
        "queue order" => {
            "A task was taken from a queue before one that stood before it and may run there."
        }
        "affinity" => "A task ran on a CPU that it may not use.",
        "kernel" => {
            "The sched_ext core refuses this and throws the scheduler out; the message is the kernel's. A task may \
             be inserted once, into a queue that exists, and into the local queue of a CPU that it may use."
        }
        "watchdog" => {
            "The kernel's watchdog throws out a scheduler that leaves a runnable task waiting so long."
        }
        "endless loop" => {
            "A callback does not return. The kernel's verifier refuses such a loop, or its watchdog finds the CPU \
             locked up: bound every loop, and do not wait in one for what only another CPU can do."
        }
        "fault" => {
            "The policy's code touched memory that is neither its own nor shown to it, wrote to what it may only read, \
             nested its calls too deep, or passed a helper what that does not take. The kernel's verifier refuses this \
             before the code runs."
        }
        "crash" => {
            "The policy's code broke. In the kernel the verifier refuses most of what can break."
        }
        "livelock" => {
            "The run does not get on: CPUs reschedule all the time and nobody works, as when a policy kicks a CPU from \
             the dispatch that this very kick causes."
        }
        _ => {
            "The simulation's own account does not add up: this is a mistake of the simulator, please report it."
        }
    }
}

/// `task 3` as the trace has it: `b[1003]`; `control group 0` by its name.
pub fn with_labels(text: &str, plan: &Plan) -> String {
    let labels: Vec<String> = plan
        .groups
        .iter()
        .flat_map(|group| std::iter::repeat_n(group.name.as_str(), group.count as usize))
        .enumerate()
        .map(|(task, name)| format!("{name}[{}]", kernel::pid_of(kernel::TaskId(task as u32))))
        .collect();
    let mut words: Vec<String> = text.split(' ').map(str::to_string).collect();
    for index in 1..words.len() {
        let word = &words[index];
        let end = word
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(word.len());
        let (digits, rest) = word.split_at(end);
        let Ok(place) = digits.parse::<usize>() else {
            continue;
        };
        let name = if words[index - 1] == "task" {
            labels.get(place)
        } else if words[..index].ends_with(&["control".to_string(), "group".to_string()]) {
            plan.cgroups.get(place).map(|cgroup| &cgroup.name)
        } else {
            None
        };
        if let Some(name) = name {
            words[index] = format!("{name}{rest}");
        }
    }
    words.join(" ")
}

/// The first `name[pid]` of a message.
fn first_pid(reason: &str) -> Option<&str> {
    reason.split('[').skip(1).find_map(|rest| {
        let (pid, _) = rest.split_once(']')?;
        pid.bytes().all(|byte| byte.is_ascii_digit()).then_some(pid)
    })
}

/// What the trace says last of all, and about the task in question, in order of time.
pub struct Trace {
    lines: Vec<String>,
    /// The last callback of the policy that was entered.
    pub callback: Option<String>,
}

impl Trace {
    pub fn read(path: &Path) -> Self {
        let text = std::fs::read(path).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let mut lines: Vec<String> = text
            .lines()
            .filter(|line| !line.starts_with('#'))
            .map(|line| line.trim().to_string())
            .collect();
        let callback = lines
            .iter()
            .rev()
            .find_map(|line| line.split_once("scx_call: op="))
            .map(|(_, op)| op.to_string());
        // Written as it came; a decision may lie after the event that it belongs to.
        lines.sort_by_key(|line| time(line));
        Self { lines, callback }
    }

    pub fn lines(&self) -> &[String] {
        &self.lines
    }

    pub fn last(&self, reason: &str) -> Vec<&str> {
        let mut chosen: Vec<usize> = (0..self.lines.len()).rev().take(LAST).collect();
        if let Some(pid) = first_pid(reason) {
            let mark = format!("pid={pid} ");
            let of_task = (0..self.lines.len())
                .rev()
                .filter(|index| self.lines[*index].contains(&mark))
                .take(LAST_OF_TASK);
            chosen.extend(of_task);
        }
        chosen.sort_unstable();
        chosen.dedup();
        chosen
            .into_iter()
            .map(|index| self.lines[index].as_str())
            .collect()
    }
}

/// In nanoseconds; the trace writes `seconds.nanoseconds:`.
fn time(line: &str) -> u64 {
    line.split_whitespace()
        .find_map(|word| {
            let (seconds, ns) = word.strip_suffix(':')?.split_once('.')?;
            Some(seconds.parse::<u64>().ok()? * 1_000_000_000 + ns.parse::<u64>().ok()?)
        })
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_trace_is_put_in_order_and_the_task_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("trace.txt");
        let mut text = String::from("# tracer: nop\n#\n");
        text.push_str("a-1000 [000] ..... 0.000000009: scx_kick: cpu=1\n");
        text.push_str(
            "a-1000 [000] ..... 0.000000005: scx_insert: comm=a pid=1000 prio=120 dsq=0\n",
        );
        for at in 10..40 {
            text += "b-1001 [000] ..... ";
            text += &["0.0000000", &at.to_string(), ": scx_call: op=tick\n"].concat();
        }
        std::fs::write(&path, text).unwrap();
        let trace = Trace::read(&path);
        assert_eq!(trace.callback.as_deref(), Some("tick"));
        let last = trace.last("starvation: task a[1000] waits");
        assert_eq!(last.len(), 1 + LAST);
        assert!(last[0].contains("scx_insert"));
        assert!(last[LAST].contains("0.000000039"));
    }

    #[test]
    fn every_kind_has_its_words() {
        let own = CHECKERS.len() - 2;
        for by in &CHECKERS[..own] {
            assert!(!of(by).contains("simulator"), "{by}");
        }
    }
}
