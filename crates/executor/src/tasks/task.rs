// SPDX-License-Identifier: GPL-2.0-or-later
//! One task: waits at the gate, goes through its program, leaves what it used.

use std::ffi::CString;
use std::sync::atomic::Ordering::{Acquire, Relaxed, SeqCst};
use std::thread::Scope;

use serde::{Deserialize, Serialize};

use super::account::{Usage, own_time, own_waits};
use super::arena::RUNNING;
use super::calibrate::Line;
use super::children::Children;
use super::clock::now_ns;
use super::context::Context;
use super::fault::Fault;
use super::files::Files;
use super::{attributes, futex, memory};
use workload::interpreter::{Interpreter, Registers, Step};
use workload::plan::Policy;

pub struct Task<'a, 'env> {
    pub context: &'a Context<'a>,
    /// Its process, which ends after all of its threads.
    pub scope: &'a Scope<'a, 'env>,
    pub slot: usize,
    pub lines: Vec<Line>,
    pub cursor: usize,
    pub message: Vec<u8>,
    /// What `fill` writes to.
    pub buffer: Vec<u8>,
    pub files: Files,
    pub state: State,
}

/// What a task keeps in a new program image.
#[derive(Debug, Serialize, Deserialize)]
pub struct State {
    pub group: usize,
    pub index: usize,
    pub registers: Registers,
    pub children: Children,
}

/// Runs a task from its beginning to its end. Forked tasks begin at once.
pub fn live<'a>(
    context: &'a Context<'a>,
    scope: &'a Scope<'a, '_>,
    group: usize,
    index: usize,
    forked: bool,
) {
    let state = State {
        group,
        index,
        registers: Registers::new(context.plan, group as u32, index as u32),
        children: Children::default(),
    };
    name(&context.plan.groups[group].name);
    let mut task = Task::new(context, scope, state);
    let result = task.prepare(forked).and_then(|()| task.go_through());
    task.finish(result);
}

/// Goes on with a task in a new program image.
pub fn resume<'a>(context: &'a Context<'a>, scope: &'a Scope<'a, '_>, state: State) {
    name(&context.plan.groups[state.group].name);
    let mut task = Task::new(context, scope, state);
    let result = task.open_files().and_then(|()| task.go_through());
    task.finish(result);
}

/// What `ps`, `top` and traces call the task; the kernel keeps the first 15 bytes.
pub fn name(group: &str) {
    if let Ok(text) = CString::new(group) {
        // SAFETY: the kernel copies a text that ends with a zero.
        unsafe { libc::prctl(libc::PR_SET_NAME, text.as_ptr()) };
    }
}

impl<'a, 'env> Task<'a, 'env> {
    fn new(context: &'a Context<'a>, scope: &'a Scope<'a, 'env>, state: State) -> Self {
        let plan = context.plan;
        let message = plan
            .queues
            .iter()
            .map(|queue| queue.message_bytes)
            .max()
            .unwrap_or(0);
        let lines = (plan.groups[state.group].footprint_kib as usize * 16).max(1);
        Self {
            context,
            scope,
            slot: context.arena.slot_of(state.group, state.index),
            // Not zero, so that the pages are the task's own from the start.
            lines: vec![[1; 8]; lines],
            cursor: 0,
            message: vec![1; message as usize],
            buffer: memory::buffer(&plan.groups[state.group].program),
            files: Files::default(),
            state,
        }
    }

    fn finish(&self, result: Result<(), Fault>) {
        let slot = self.context.arena.slot(self.slot);
        slot.ended_ns.store(now_ns(), SeqCst);
        if let Err(fault) = result {
            fault.leave(self.context.arena, self.slot);
            self.context.ring();
            return;
        }
        let (waiting_ns, migrations) = own_waits();
        let (cpu_ns, voluntary, involuntary) = own_time();
        slot.settle(Usage {
            cpu_ns,
            voluntary,
            involuntary,
            waiting_ns,
            migrations,
        });
        self.context.ended(self.state.group);
    }

    fn open_files(&mut self) -> Result<(), Fault> {
        let program = &self.context.plan.groups[self.state.group].program;
        self.files = Files::open(self.context, program)?;
        Ok(())
    }

    fn prepare(&mut self, forked: bool) -> Result<(), Fault> {
        let (context, slot) = (self.context, self.context.arena.slot(self.slot));
        let group = &context.plan.groups[self.state.group];
        slot.process.store(std::process::id(), Relaxed);
        // SAFETY: no arguments, no memory.
        slot.thread.store(unsafe { libc::gettid() } as u32, Relaxed);
        attributes::set_nice(group.nice)?;
        // What the group does not say, a forked task has from its parent.
        if group.policy != Policy::Other {
            attributes::set_policy(group.policy)?;
        }
        if group.slice_us > 0 {
            attributes::set_slice(group)?;
        }
        if !group.cpus.is_empty() {
            attributes::set_affinity(context, &group.cpus)?;
        }
        self.open_files()?;
        if forked {
            slot.begin(Usage::NONE);
        } else {
            let (waiting_ns, migrations) = own_waits();
            let shared = context.arena.shared();
            while shared.go.load(Acquire) == 0 {
                futex::wait(&shared.gate, 0);
            }
            let (cpu_ns, voluntary, involuntary) = own_time();
            slot.start_cpu_ns.store(cpu_ns, Relaxed);
            slot.begin(Usage {
                cpu_ns,
                voluntary,
                involuntary,
                waiting_ns,
                migrations,
            });
        }
        slot.begun.store(RUNNING, SeqCst);
        Ok(())
    }

    /// The program, to its end.
    fn go_through(&mut self) -> Result<(), Fault> {
        let interpreter = Interpreter::new(self.context.plan, self.state.group);
        loop {
            match interpreter.step(self) {
                Step::Next | Step::Jumped | Step::Paused => {}
                Step::Exited => return Ok(()),
                Step::Failed(fault) => return Err(fault),
            }
        }
    }
}
