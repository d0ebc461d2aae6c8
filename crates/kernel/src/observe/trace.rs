// SPDX-License-Identifier: GPL-2.0-or-later
//! Every scheduling decision, as a running hash, and as text if somebody asked.
//!
//! The text is what ftrace prints, so that its tools read it: `sched_switch`, `sched_wakeup`, `sched_wakeup_new`,
//! `sched_process_exit`, and `scx_*` lines for what has no kernel event: inserts, kicks, and calls of the policy.

use std::collections::BTreeMap;
use std::io::Write;

use workload::plan::Plan;

use super::happened::{Cause, Happened, Leaves, Stamp};
use crate::hotplug::Change;
use crate::ids::{CpuId, IDLE, PerCpu, PerTask, TaskId};
use crate::task::{Place, pid_of};

pub struct Trace {
    hash: u64,
    text: Option<Box<Text>>,
    failed: bool,
}

/// Lines wait until no earlier one can come: an operation's decisions lie at or after its event.
struct Text {
    out: Box<dyn Write>,
    at_once: bool,
    pending: BTreeMap<(u64, u64), String>,
    lines: u64,
    names: PerTask<String>,
    prios: PerTask<i32>,
    running: PerCpu<TaskId>,
}

impl Trace {
    pub fn new(plan: &Plan, cpus: usize, out: Option<Box<dyn Write>>, at_once: bool) -> Self {
        let text = out.map(|mut out| {
            let _ = writeln!(out, "# tracer: nop\n#");
            let names: PerTask<String> = (plan.groups.iter())
                .flat_map(|group| {
                    let name: String = group.name.chars().take(15).collect();
                    std::iter::repeat_n(name, group.count as usize)
                })
                .collect();
            Box::new(Text {
                out,
                at_once,
                pending: BTreeMap::new(),
                lines: 0,
                prios: PerTask::filled(names.len(), || 120),
                names,
                running: PerCpu::filled(cpus, || IDLE),
            })
        });
        Self {
            hash: 0xcbf2_9ce4_8422_2325,
            text,
            failed: false,
        }
    }

    pub fn failed(&self) -> bool {
        self.failed
    }

    pub fn hash(&self) -> u64 {
        self.hash
    }

    #[inline]
    fn mix(&mut self, value: u64) {
        let wide = u128::from(self.hash ^ value) * 0x9e37_79b9_7f4a_7c15;
        self.hash = (wide as u64 ^ (wide >> 64) as u64).wrapping_add(0x632b_e59b_d9b4_e019);
    }

    #[inline(always)]
    pub fn see(&mut self, stamp: Stamp, happened: Happened<'_>) {
        // First, so that what is known for the print alone is read only for it.
        if is_printed(happened) && self.text.is_some() {
            // A copy, made here: where nobody prints, the fact need not be in memory at all.
            let printed = happened;
            self.print(stamp, &printed);
        }
        if let Some((code, cpu, task)) = decision(stamp.on, happened) {
            self.mix(stamp.at_ns ^ code.rotate_left(48));
            self.mix(u64::from(cpu.0) << 32 | u64::from(task.0));
        }
    }

    #[cold]
    fn print(&mut self, stamp: Stamp, happened: &Happened<'_>) {
        if let Some(text) = &mut self.text
            && text.print(stamp, *happened).is_err()
        {
            self.text = None;
            self.failed = true;
        }
    }

    pub fn flush(&mut self) {
        if let Some(text) = &mut self.text
            && text
                .write_before(None)
                .and_then(|()| text.out.flush())
                .is_err()
        {
            self.failed = true;
        }
    }
}

/// Whether a line tells of it, or a later line has to know of it.
#[inline(always)]
fn is_printed(happened: Happened<'_>) -> bool {
    !matches!(
        happened,
        Happened::Wants { .. }
            | Happened::Unqueued { .. }
            | Happened::Taken { .. }
            | Happened::PutBack { .. }
            | Happened::Slice { .. }
            | Happened::Started { .. }
    )
}

/// What a decision is in the hash: its code, where, and about whom.
#[inline(always)]
fn decision(on: CpuId, happened: Happened<'_>) -> Option<(u64, CpuId, TaskId)> {
    Some(match happened {
        Happened::Started { cpu, task, .. } => (1, cpu, task),
        Happened::Switched {
            cpu,
            next: IDLE,
            cause: Cause::Schedule,
            ..
        } => (2, cpu, IDLE),
        Happened::Woken { task, .. } => (3, on, task),
        Happened::Forked { task, .. } => (4, on, task),
        Happened::Exits { task } => (5, on, task),
        Happened::Kept { cpu, task } => (6, cpu, task),
        Happened::Queued { task, to, .. } => match to {
            Place::Local(cpu) => (7 | u64::from(cpu.0) << 8, on, task),
            Place::Dsq(dsq) => (8 | u64::from(dsq.0) << 8, on, task),
            Place::Nowhere | Place::Policy => (9, on, task),
        },
        Happened::QueuedRt { cpu, task } => (10, cpu, task),
        Happened::Kicked { cpu } => (11, cpu, IDLE),
        Happened::Hotplug { cpu, change } => {
            let code = match change {
                Change::Offline => 12,
                Change::Online => 13,
                Change::Inactive => 14,
            };
            (code, cpu, IDLE)
        }
        _ => return None,
    })
}

impl Text {
    fn print(&mut self, stamp: Stamp, happened: Happened<'_>) -> std::io::Result<()> {
        let (cpu, line) = match happened {
            Happened::Attributes { task, prio, .. } => {
                self.prios[task] = prio;
                return Ok(());
            }
            Happened::Switched {
                cpu,
                prev,
                next,
                leaves,
                cause,
                ..
            } => {
                if cause == Cause::Stopper {
                    self.running[cpu] = next;
                    return Ok(());
                }
                let state = match leaves {
                    _ if prev == IDLE => "R",
                    Leaves::Runnable => "R+",
                    Leaves::Blocked => "S",
                    Leaves::Exiting => "X",
                };
                let (from, to) = (self.fields("prev_", prev), self.fields("next_", next));
                let line = format!("sched_switch: {from} prev_state={state} ==> {to}");
                self.write_line(stamp, cpu, &line)?;
                self.running[cpu] = next;
                return Ok(());
            }
            Happened::Woken { task, was_on, .. } => {
                let subject = self.fields("", task);
                let line = format!("sched_wakeup: {subject} target_cpu={was_on:03}");
                (stamp.on, line)
            }
            Happened::Forked { task, was_on } => {
                let subject = self.fields("", task);
                let line = format!("sched_wakeup_new: {subject} target_cpu={was_on:03}");
                (stamp.on, line)
            }
            Happened::Exits { task } => {
                let line = format!("sched_process_exit: {}", self.fields("", task));
                (stamp.on, line)
            }
            Happened::Kept { cpu, task } => {
                let line = format!("scx_enqueue: {} to=policy", self.fields("", task));
                (cpu, line)
            }
            Happened::Queued {
                task,
                to,
                dsq_id,
                slice_ns,
                vtime,
                ..
            } => {
                let subject = self.fields("", task);
                let line = match to {
                    Place::Local(to) => {
                        format!("scx_insert: {subject} dsq=local cpu={to} slice_ns={slice_ns}")
                    }
                    _ => format!(
                        "scx_insert: {subject} dsq={dsq_id:#x} slice_ns={slice_ns} vtime={vtime}"
                    ),
                };
                (stamp.on, line)
            }
            Happened::QueuedRt { cpu, task } => {
                let line = format!("rt_enqueue: {} cpu={cpu}", self.fields("", task));
                (stamp.on, line)
            }
            Happened::Kicked { cpu } => (stamp.on, format!("scx_kick: cpu={cpu}")),
            Happened::Hotplug { cpu, change } => (cpu, format!("cpuhp: cpu={cpu} {change}")),
            Happened::Clocked { cpu, khz } => {
                (cpu, format!("cpu_frequency: state={khz} cpu_id={}", cpu.0))
            }
            Happened::Begins { .. } => (stamp.on, "tracing_mark_write: start".to_string()),
            Happened::Printed { text } => (stamp.on, format!("bpf_trace_printk: {text}")),
            Happened::Called { op } => (
                stamp.on,
                format!("scx_call: op={}", op.trim_end_matches('_')),
            ),
            _ => return Ok(()),
        };
        self.write_line(stamp, cpu, &line)
    }

    fn fields(&self, prefix: &str, task: TaskId) -> String {
        if task == IDLE {
            return format!("{prefix}comm=swapper {prefix}pid=0 {prefix}prio=120");
        }
        format!(
            "{prefix}comm={} {prefix}pid={} {prefix}prio={}",
            self.names[task],
            pid_of(task),
            self.prios[task]
        )
    }

    fn write_line(&mut self, stamp: Stamp, cpu: CpuId, line: &str) -> std::io::Result<()> {
        let (name, pid) = match self.running[cpu] {
            IDLE => ("<idle>", 0),
            task => (self.names[task].as_str(), pid_of(task)),
        };
        // A switch that a wake-up asked for has that one's clock; a kernel's trace has the time.
        let at_ns = stamp.at_ns.max(stamp.now_ns);
        let (seconds, rest) = (at_ns / 1_000_000_000, at_ns % 1_000_000_000);
        let line = format!("{name:>16}-{pid:<7} [{cpu:03}] ..... {seconds}.{rest:09}: {line}");
        self.lines += 1;
        self.pending.insert((at_ns, self.lines), line);
        self.write_before((!self.at_once).then_some(stamp.now_ns))
    }

    /// Write out what happened before a time, or everything.
    fn write_before(&mut self, time_ns: Option<u64>) -> std::io::Result<()> {
        let later = match time_ns {
            Some(time_ns) => self.pending.split_off(&(time_ns, 0)),
            None => BTreeMap::new(),
        };
        for line in std::mem::replace(&mut self.pending, later).values() {
            writeln!(self.out, "{line}")?;
        }
        Ok(())
    }
}
