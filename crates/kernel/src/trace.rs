// SPDX-License-Identifier: GPL-2.0-or-later
//! Every scheduling decision, as a running hash, and as text if somebody asked.
//!
//! The text is what ftrace prints, so that its tools read it: `sched_switch`, `sched_wakeup`, `sched_wakeup_new`,
//! `sched_process_exit`, and `scx_*` lines for what has no kernel event: inserts, kicks, and calls of the policy.

use std::collections::BTreeMap;
use std::io::Write;

use crate::ids::{CpuId, IDLE, TaskId};
use crate::lifecycle::pid_of;
use crate::sim::Sim;
use crate::task::{Place, State};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    Run,
    Idle,
    Wake,
    Fork,
    Exit,
    /// Enqueued without a queue: the policy keeps it.
    ToPolicy,
    Queue(Place),
    QueueRt,
    Kick,
    Offline,
    Online,
}

impl What {
    fn code(self) -> u64 {
        match self {
            Self::Run => 1,
            Self::Idle => 2,
            Self::Wake => 3,
            Self::Fork => 4,
            Self::Exit => 5,
            Self::ToPolicy => 6,
            Self::Queue(Place::Local(cpu)) => 7 | u64::from(cpu.0) << 8,
            Self::Queue(Place::Dsq(dsq)) => 8 | u64::from(dsq.0) << 8,
            Self::Queue(Place::Nowhere | Place::Policy) => 9,
            Self::QueueRt => 10,
            Self::Kick => 11,
            Self::Offline => 12,
            Self::Online => 13,
        }
    }
}

pub struct Trace {
    hash: u64,
    text: Option<Text>,
}

/// Lines wait until no earlier one can come: an operation's decisions lie at or after its event.
struct Text {
    out: Box<dyn Write>,
    at_once: bool,
    pending: BTreeMap<(u64, u64), String>,
    lines: u64,
}

impl Trace {
    pub fn new(out: Option<Box<dyn Write>>, at_once: bool) -> Self {
        let text = out.map(|mut out| {
            let _ = writeln!(out, "# tracer: nop\n#");
            Text {
                out,
                at_once,
                pending: BTreeMap::new(),
                lines: 0,
            }
        });
        Self {
            hash: 0xcbf2_9ce4_8422_2325,
            text,
        }
    }

    #[inline]
    fn mix(&mut self, value: u64) {
        let wide = u128::from(self.hash ^ value) * 0x9e37_79b9_7f4a_7c15;
        self.hash = (wide as u64 ^ (wide >> 64) as u64).wrapping_add(0x632b_e59b_d9b4_e019);
    }

    pub fn hash(&self) -> u64 {
        self.hash
    }
}

impl Sim<'_> {
    /// A decision was made: at what time, on which CPU, about which task.
    #[inline]
    pub(crate) fn decide(&mut self, what: What, cpu: CpuId, task: TaskId, at_ns: u64) {
        let subject = u64::from(cpu.0) << 32 | u64::from(task.0);
        self.trace.mix(at_ns ^ what.code().rotate_left(48));
        self.trace.mix(subject);
        if self.trace.text.is_some() {
            self.print(what, cpu, task, at_ns);
        }
    }

    #[cold]
    fn print(&mut self, what: What, cpu: CpuId, task: TaskId, at_ns: u64) {
        let subject = if task == IDLE {
            String::new()
        } else {
            self.fields("", task)
        };
        let line = match what {
            // sched_switch says it.
            What::Run | What::Idle | What::Queue(Place::Nowhere | Place::Policy) => return,
            What::Wake | What::Fork => {
                let name = if what == What::Wake {
                    "sched_wakeup"
                } else {
                    "sched_wakeup_new"
                };
                let target = self.tasks[task].cpu;
                format!("{name}: {subject} target_cpu={target:03}")
            }
            What::Exit => format!("sched_process_exit: {subject}"),
            What::ToPolicy => format!("scx_enqueue: {subject} to=policy"),
            What::Queue(Place::Local(to)) => {
                let slice_ns = self.seen(task).scx.slice;
                format!("scx_insert: {subject} dsq=local cpu={to} slice_ns={slice_ns}")
            }
            What::Queue(Place::Dsq(dsq)) => {
                let scx = &self.seen(task).scx;
                let (slice_ns, vtime) = (scx.slice, scx.dsq_vtime);
                let id = self.dsqs[dsq].id;
                format!("scx_insert: {subject} dsq={id:#x} slice_ns={slice_ns} vtime={vtime}")
            }
            What::QueueRt => format!("rt_enqueue: {subject} cpu={cpu}"),
            What::Kick => format!("scx_kick: cpu={cpu}"),
            What::Offline => format!("cpuhp: cpu={cpu} offline"),
            What::Online => format!("cpuhp: cpu={cpu} online"),
        };
        let cpu = if matches!(what, What::QueueRt | What::Kick) {
            self.op_cpu
        } else {
            cpu
        };
        self.write_line(cpu, at_ns, &line);
    }

    pub(crate) fn trace_switch(&mut self, cpu: CpuId, prev: TaskId, next: TaskId, at_ns: u64) {
        if self.trace.text.is_none() {
            return;
        }
        let state = match prev {
            IDLE => "R",
            prev => match self.tasks[prev].state {
                State::Blocked if self.tasks[prev].exiting => "X",
                State::Blocked => "S",
                _ => "R+",
            },
        };
        let (prev, next) = (self.fields("prev_", prev), self.fields("next_", next));
        self.write_line(
            cpu,
            at_ns,
            &format!("sched_switch: {prev} prev_state={state} ==> {next}"),
        );
    }

    fn fields(&self, prefix: &str, task: TaskId) -> String {
        if task == IDLE {
            return format!("{prefix}comm=swapper {prefix}pid=0 {prefix}prio=120");
        }
        let spec = &self.plan.groups[self.tasks[task].group as usize];
        let name: String = spec.name.chars().take(15).collect();
        // SAFETY: in bounds; only read.
        let prio = unsafe { (*self.seen_ptr(task)).prio };
        format!(
            "{prefix}comm={name} {prefix}pid={} {prefix}prio={prio}",
            pid_of(task)
        )
    }

    fn write_line(&mut self, cpu: CpuId, at_ns: u64, line: &str) {
        let curr = self.cpus[cpu].curr;
        let (name, pid) = match curr {
            IDLE => ("<idle>".to_string(), 0),
            curr => {
                let spec = &self.plan.groups[self.tasks[curr].group as usize];
                (spec.name.chars().take(15).collect(), pid_of(curr))
            }
        };
        let (seconds, rest) = (at_ns / 1_000_000_000, at_ns % 1_000_000_000);
        let line = format!("{name:>16}-{pid:<7} [{cpu:03}] ..... {seconds}.{rest:09}: {line}");
        let now_ns = self.now_ns;
        let Some(text) = &mut self.trace.text else {
            return;
        };
        text.lines += 1;
        text.pending.insert((at_ns, text.lines), line);
        if text.at_once {
            let due = std::mem::take(&mut text.pending);
            return self.write_out(&due);
        }
        let later = text.pending.split_off(&(now_ns, 0));
        let due = std::mem::replace(&mut text.pending, later);
        self.write_out(&due);
    }

    fn write_out(&mut self, lines: &BTreeMap<(u64, u64), String>) {
        let failed = self.trace.text.as_mut().is_some_and(|text| {
            lines
                .values()
                .any(|line| writeln!(text.out, "{line}").is_err())
        });
        if failed {
            self.trace.text = None;
            self.fail("cannot write the trace".to_string());
        }
    }

    pub(crate) fn flush_trace(&mut self) {
        if let Some(text) = &mut self.trace.text {
            let rest = std::mem::take(&mut text.pending);
            self.write_out(&rest);
            let flushed = self
                .trace
                .text
                .as_mut()
                .is_none_or(|text| text.out.flush().is_ok());
            if !flushed {
                self.fail("cannot write the trace".to_string());
            }
        }
    }

    /// A callback of the policy is called.
    #[inline]
    pub(crate) fn trace_call(&mut self, op: &'static str) {
        if self.trace.text.is_some() {
            self.print_call(op);
        }
    }

    #[cold]
    fn print_call(&mut self, op: &str) {
        let op = op.trim_end_matches('_');
        self.write_line(self.op_cpu, self.op_at_ns, &format!("scx_call: op={op}"));
    }
}
