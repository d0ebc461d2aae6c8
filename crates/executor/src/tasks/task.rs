// SPDX-License-Identifier: GPL-2.0-or-later
//! One task: waits at the gate, interprets its program, leaves what it used.

use std::ffi::CString;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Acquire, Relaxed, SeqCst};
use std::thread::Scope;

use serde::{Deserialize, Serialize};

use super::account::{Usage, own_time, own_waits};
use super::arena::RUNNING;
use super::calibrate::{Line, burn};
use super::clock::{now_ns, sleep_until};
use super::context::Context;
use super::fault::{Fault, Kind};
use super::files::Files;
use super::{attributes, futex, image, spawn};
use workload::draw::Stream;
use workload::plan::{Draw, Inst, Policy, QueueRef, Since, Value};

pub struct Task<'a, 'env> {
    pub context: &'a Context<'a>,
    /// Its process, which ends after all of its threads.
    scope: &'a Scope<'a, 'env>,
    slot: usize,
    lines: Vec<Line>,
    cursor: usize,
    message: Vec<u8>,
    files: Files,
    pub state: State,
}

/// What a task knows, and keeps in a new program image.
#[derive(Debug, Serialize, Deserialize)]
pub struct State {
    pub group: usize,
    pub index: usize,
    /// The next instruction.
    next: usize,
    locals: Vec<i64>,
    stream: Stream,
    stamp_ns: u64,
    message_ns: u64,
    due_ns: u64,
    /// The last multiple of the timer.
    timer_ns: Option<u64>,
    /// Children that are gone, noticed while looking whether any is alive.
    reaped: u32,
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
        next: 0,
        locals: vec![0; context.plan.groups[group].locals.into()],
        stream: context.plan.stream(group as u32, index as u32),
        stamp_ns: 0,
        message_ns: 0,
        due_ns: 0,
        timer_ns: None,
        reaped: 0,
    };
    name(&context.plan.groups[group].name);
    let mut task = Task::new(context, scope, state);
    let result = task.prepare(forked).and_then(|()| task.interpret());
    task.finish(result);
}

/// Goes on with a task in a new program image.
pub fn resume<'a>(context: &'a Context<'a>, scope: &'a Scope<'a, '_>, state: State) {
    name(&context.plan.groups[state.group].name);
    let mut task = Task::new(context, scope, state);
    let result = task.open_files().and_then(|()| task.interpret());
    task.finish(result);
}

/// What `ps`, `top` and traces call the task; the kernel keeps the first 15 bytes.
fn name(group: &str) {
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

    fn value(&self, value: &Value) -> i64 {
        value.eval(self.state.index as i64, &self.state.locals)
    }

    fn draw(&mut self, draw: &Draw) -> u64 {
        self.state
            .stream
            .draw(draw, self.state.index as i64, &self.state.locals)
    }

    fn element(&self, index: &Value, len: u32) -> Result<usize, Fault> {
        let index = self.value(index);
        let inside = (0..i64::from(len)).contains(&index);
        if inside {
            Ok(index as usize)
        } else {
            Err(Fault::value(Kind::Index, index))
        }
    }

    /// Array and index of a queue.
    fn queue(&self, queue: &QueueRef) -> Result<(usize, usize), Fault> {
        let array = queue.array as usize;
        Ok((
            array,
            self.element(&queue.index, self.context.plan.queues[array].count)?,
        ))
    }

    fn interpret(&mut self) -> Result<(), Fault> {
        let program = &self.context.plan.groups[self.state.group].program;
        loop {
            let inst = &program[self.state.next];
            self.state.next += 1;
            match inst {
                Inst::Jump { to } => self.state.next = *to as usize,
                Inst::JumpLess { left, right, to } => {
                    if self.value(left) < self.value(right) {
                        self.state.next = *to as usize;
                    }
                }
                Inst::Exit => return Ok(()),
                _ => self.step(inst)?,
            }
        }
    }

    fn step(&mut self, inst: &Inst) -> Result<(), Fault> {
        let plan = self.context.plan;
        let arena = self.context.arena;
        match inst {
            Inst::Run { ns } => {
                let ns = self.draw(ns);
                let iterations = self.context.options.calibration.iterations(ns);
                burn(iterations, &mut self.lines, &mut self.cursor);
            }
            Inst::Sleep { ns } => {
                self.state.due_ns = now_ns().saturating_add(self.draw(ns));
                sleep_until(self.state.due_ns);
            }
            Inst::Timer { period_ns, skip } => {
                let period = self.value(period_ns).max(1) as u64;
                let now = now_ns();
                let last = *self.state.timer_ns.get_or_insert(now);
                let over = if *skip {
                    now.saturating_sub(last) / period
                } else {
                    0
                };
                self.state.due_ns = last + (over + 1) * period;
                self.state.timer_ns = Some(self.state.due_ns);
                sleep_until(self.state.due_ns);
            }
            Inst::Until { ns } => {
                let ns = self.value(ns).max(0) as u64;
                self.state.due_ns = arena.shared().start_ns.load(Relaxed) + ns;
                sleep_until(self.state.due_ns);
            }
            Inst::Send { queue, .. } => self.send(queue)?,
            Inst::Recv { queue } => self.receive(queue)?,
            Inst::Poll { first, count, into } => self.poll(first, count, *into)?,
            Inst::Lock { lock, index } => futex::lock(self.lock(*lock, index)?),
            Inst::Spin { lock, index } => futex::spin(self.lock(*lock, index)?),
            Inst::Unlock { lock, index } => futex::unlock(self.lock(*lock, index)?),
            Inst::Wait { sem, index } => {
                let index = self.element(index, plan.semaphores[*sem as usize].0)?;
                self.state.message_ns = arena.semaphore(*sem as usize, index).wait();
            }
            Inst::WaitAny { sem, into } => {
                let array = arena.semaphores(*sem as usize);
                let (index, stamp_ns) = futex::wait_any(&array, arena.posts(*sem as usize));
                self.state.message_ns = stamp_ns;
                self.state.locals[usize::from(*into)] = index as i64;
            }
            Inst::Post { sem, index } => {
                let index = self.element(index, plan.semaphores[*sem as usize].0)?;
                let semaphore = arena.semaphore(*sem as usize, index);
                semaphore.post(self.state.stamp_ns, arena.posts(*sem as usize));
            }
            Inst::Await { .. } | Inst::Signal { .. } => self.condition(inst)?,
            Inst::Disk { bytes, write, sync } => {
                let bytes = self.value(bytes).max(0) as u64;
                self.files.transfer(bytes, *write, *sync)?;
            }
            Inst::Fork { group, index } => {
                let index = self.element(index, plan.groups[*group as usize].count)?;
                spawn::fork_task(self.context, self.scope, *group as usize, index)?;
            }
            Inst::Exec => return Err(image::replace(self)),
            Inst::Reap => self.reap()?,
            Inst::Alive { into } => self.state.locals[usize::from(*into)] = self.any_alive()?,
            // SAFETY: no arguments, no memory.
            Inst::Yield => drop(unsafe { libc::sched_yield() }),
            Inst::Nice { nice } => attributes::set_nice(self.value(nice).clamp(-20, 19) as i32)?,
            Inst::SetPolicy { policy } => attributes::set_policy(*policy)?,
            Inst::Affinity { cpus } => attributes::set_affinity(self.context, cpus)?,
            Inst::Stamp => self.state.stamp_ns = now_ns(),
            Inst::Log { metric, since, per } => {
                let per = self.value(per).max(1) as u64;
                let ns = self.since_ns(*since) / per;
                arena.tally(*metric as usize).record(ns);
            }
            Inst::Elapsed {
                since,
                unit_ns,
                into,
            } => {
                let ns = self.since_ns(*since) as i64;
                self.state.locals[usize::from(*into)] = ns / unit_ns;
            }
            Inst::Cpu { into } => {
                self.state.locals[usize::from(*into)] = attributes::current_cpu(self.context)?;
            }
            Inst::Count { metric, by } => {
                arena
                    .counter(self.slot, *metric as usize)
                    .fetch_add(self.value(by), Relaxed);
            }
            Inst::Draw { value, into } => {
                self.state.locals[usize::from(*into)] = self.draw(value).cast_signed();
            }
            Inst::Set { local, value } => {
                self.state.locals[usize::from(*local)] = self.value(value);
            }
            Inst::Jump { .. } | Inst::JumpLess { .. } | Inst::Exit => {}
        }
        Ok(())
    }

    fn lock(&self, array: u32, index: &Value) -> Result<&AtomicU32, Fault> {
        let array = array as usize;
        let index = self.element(index, self.context.plan.locks[array])?;
        Ok(self.context.arena.lock(array, index))
    }

    fn condition(&self, inst: &Inst) -> Result<(), Fault> {
        let find = |array: u32, index| {
            let array = array as usize;
            let index = self.element(index, self.context.plan.conditions[array])?;
            Ok(self.context.arena.condition(array, index))
        };
        match inst {
            Inst::Await {
                condition,
                index,
                releases,
            } => {
                let held = releases
                    .as_ref()
                    .map(|(lock, index)| self.lock(*lock, index))
                    .transpose()?;
                find(*condition, index)?.wait(held);
            }
            Inst::Signal {
                condition,
                index,
                all,
            } => find(*condition, index)?.signal(*all),
            _ => {}
        }
        Ok(())
    }

    fn since_ns(&self, since: Since) -> u64 {
        let since = match since {
            Since::Stamp => self.state.stamp_ns,
            Since::Message => self.state.message_ns,
            Since::Due => self.state.due_ns,
            Since::Start => self.context.arena.shared().start_ns.load(Relaxed),
        };
        now_ns().saturating_sub(since)
    }

    fn send(&mut self, queue: &QueueRef) -> Result<(), Fault> {
        let (array, index) = self.queue(queue)?;
        let (fd, queue) = (
            self.context.channels.writer(array, index),
            &self.context.plan.queues[array],
        );
        let message = &mut self.message[..queue.message_bytes as usize];
        if queue.stamped {
            message[..8].copy_from_slice(&self.state.stamp_ns.to_le_bytes());
        }
        let mut sent = 0;
        while sent < message.len() {
            let rest = &message[sent..];
            // SAFETY: reads a slice that lives here.
            match unsafe { libc::write(fd, rest.as_ptr().cast(), rest.len()) } {
                count @ 0.. => sent += count as usize,
                _ => again(Kind::Send)?,
            }
        }
        Ok(())
    }

    fn receive(&mut self, queue: &QueueRef) -> Result<(), Fault> {
        let (array, index) = self.queue(queue)?;
        let (fd, queue) = (
            self.context.channels.reader(array, index),
            &self.context.plan.queues[array],
        );
        let message = &mut self.message[..queue.message_bytes as usize];
        let mut received = 0;
        while received < message.len() {
            let rest = &mut message[received..];
            // SAFETY: writes to a slice that lives here.
            match unsafe { libc::read(fd, rest.as_mut_ptr().cast(), rest.len()) } {
                0 => {
                    return Err(Fault {
                        kind: Kind::Receive,
                        errno: libc::EPIPE,
                        value: 0,
                    });
                }
                count @ 1.. => received += count as usize,
                _ => again(Kind::Receive)?,
            }
        }
        if queue.stamped {
            let stamp = message[..8]
                .try_into()
                .map_err(|_| Fault::value(Kind::Receive, 0))?;
            self.state.message_ns = u64::from_le_bytes(stamp);
        }
        Ok(())
    }

    fn poll(&mut self, first: &QueueRef, count: &Value, into: u8) -> Result<(), Fault> {
        let (array, first) = self.queue(first)?;
        let count = self.value(count).max(0) as usize;
        let last = first + count;
        if count == 0 || last > self.context.plan.queues[array].count as usize {
            return Err(Fault::value(Kind::Index, last as i64));
        }
        let mut ready: Vec<libc::pollfd> = (first..last)
            .map(|index| self.context.channels.reader(array, index))
            .map(|fd| libc::pollfd {
                fd,
                events: libc::POLLIN,
                revents: 0,
            })
            .collect();
        // SAFETY: reads and writes a vector of that length.
        while unsafe { libc::poll(ready.as_mut_ptr(), ready.len() as libc::nfds_t, -1) } < 0 {
            again(Kind::Poll)?;
        }
        let offset = ready
            .iter()
            .position(|entry| entry.revents != 0)
            .unwrap_or(0);
        self.state.locals[usize::from(into)] = offset as i64;
        Ok(())
    }

    fn reap(&mut self) -> Result<(), Fault> {
        if self.state.reaped > 0 {
            self.state.reaped -= 1;
            return Ok(());
        }
        match wait_child(0)? {
            Some(_) => Ok(()),
            None => Err(Fault {
                kind: Kind::Reap,
                errno: libc::ECHILD,
                value: 0,
            }),
        }
    }

    fn any_alive(&mut self) -> Result<i64, Fault> {
        loop {
            match wait_child(libc::WNOHANG)? {
                None => return Ok(0),
                Some(0) => return Ok(1),
                Some(_) => self.state.reaped += 1,
            }
        }
    }
}

/// An interrupted system call is tried again; any other error is a fault.
fn again(kind: Kind) -> Result<(), Fault> {
    let error = std::io::Error::last_os_error();
    if error.kind() == std::io::ErrorKind::Interrupted {
        Ok(())
    } else {
        Err(Fault::os(kind, &error))
    }
}

/// Reaps a child of this thread: its id, 0 if all are alive, nothing if there is none.
fn wait_child(flags: libc::c_int) -> Result<Option<libc::pid_t>, Fault> {
    loop {
        let mut status = 0;
        // SAFETY: writes to a local.
        match unsafe { libc::waitpid(-1, &raw mut status, flags | libc::__WNOTHREAD) } {
            0 => return Ok(Some(0)),
            child @ 1.. if status == 0 => return Ok(Some(child)),
            1.. => return Err(Fault::value(Kind::Child, status.into())),
            _ if std::io::Error::last_os_error().raw_os_error() == Some(libc::ECHILD) => {
                return Ok(None);
            }
            _ => again(Kind::Reap)?,
        }
    }
}
