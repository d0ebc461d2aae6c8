// SPDX-License-Identifier: GPL-2.0-or-later
//! One run from its beginning to its end, seen by the supervisor.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::Ordering::{Relaxed, SeqCst};

use anyhow::{Result, bail, ensure};

use super::arena::{Arena, FORKED};
use super::attributes::allowed_cpus;
use super::cgroups::Cgroups;
use super::channels::Channels;
use super::clock::{now_ns, thread_cpu_ns};
use super::context::Context;
use super::family::Family;
use super::{ExecOptions, Outcome, account, fault, futex, image, outcome, spawn};
use crate::energy::Meter;
use crate::error::Interrupted;
use workload::plan::{End, Inst, Plan, Start};

/// How often to look without being told: for forked tasks that died where nobody waits for them, and for all where
/// another thread of the caller swallows SIGCHLD.
const LOOK_NS: u64 = 500_000_000;
/// Between looks at the gate while tasks arrive.
const GATE_LOOK_NS: u64 = 500_000;
/// For all tasks to arrive at the gate.
const GATE_LIMIT_NS: u64 = 120_000_000_000;

pub fn run(plan: &Plan, options: &ExecOptions) -> Result<Outcome> {
    options.calibration.check()?;
    let execs = plan
        .groups
        .iter()
        .flat_map(|group| &group.program)
        .any(|inst| *inst == Inst::Exec);
    ensure!(
        !execs || image::can_replace(),
        "exec: expected a program that can go on in a new image, this one cannot"
    );
    let cpus = allowed_cpus();
    let made = match &options.cgroups {
        Some(_) => None,
        None => Cgroups::make(plan)?,
    };
    let folder = made.as_ref().map(Cgroups::folder);
    let arena = Arena::new(plan)?;
    let channels = Channels::open(plan)?;
    // SAFETY: a new descriptor, owned at once.
    let bell = unsafe {
        match libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) {
            -1 => bail!(
                "cannot open an eventfd: {}",
                std::io::Error::last_os_error()
            ),
            number => OwnedFd::from_raw_fd(number),
        }
    };
    let bell_fd = bell.as_raw_fd();
    let context = Context {
        plan,
        options,
        arena: &arena,
        channels: &channels,
        cgroups: options.cgroups.as_deref().or(folder),
        cpus: &cpus,
        bell: bell_fd,
    };
    let watch = Watch {
        context: &context,
        family: Family::new()?,
    };
    let before_ns = thread_cpu_ns();
    spawn::start_all(&context, &watch.family)?;
    let fork_ns = thread_cpu_ns() - before_ns;
    watch.gather()?;
    let mut meter = options.packages.clone().and_then(Meter::begin);
    let shared = arena.shared();
    let start_ns = now_ns();
    shared.start_ns.store(start_ns, SeqCst);
    shared.go.store(1, SeqCst);
    futex::wake(&shared.go, i32::MAX as u32);
    let before_ns = thread_cpu_ns();
    let now_ns = watch.until_over(start_ns, &mut meter)?;
    let energy = meter.and_then(Meter::end);
    let counted = outcome::count(&arena, plan);
    let reap_ns = thread_cpu_ns() - before_ns;
    outcome::settle_living(&arena);
    let ended_ns = outcome::ended_ns(&arena, plan, now_ns);
    drop(watch);
    let runner = outcome::runner(&arena, fork_ns, reap_ns);
    let elapsed_ns = ended_ns.saturating_sub(start_ns);
    let outcome = outcome::outcome(&arena, plan, counted, elapsed_ns, runner)?;
    Ok(Outcome { energy, ..outcome })
}

struct Watch<'a> {
    context: &'a Context<'a>,
    family: Family,
}

impl Watch<'_> {
    /// Waits until every task is blocked at the gate, ready to go.
    fn gather(&self) -> Result<()> {
        let shared = self.context.arena.shared();
        let signalled = self
            .context
            .plan
            .groups
            .iter()
            .filter(|group| group.start == Start::Signal);
        let tasks: u32 = signalled.map(|group| group.count).sum();
        let limit_ns = now_ns() + GATE_LIMIT_NS;
        let mut arrived = 0;
        loop {
            // Moving the waiters counts them: only a task that is really blocked is moved.
            arrived += futex::move_all(&shared.gate, &shared.go);
            if arrived >= tasks {
                return Ok(());
            }
            self.look(now_ns() + GATE_LOOK_NS)?;
            ensure!(
                now_ns() < limit_ns,
                "only {arrived} of {tasks} tasks came to the start"
            );
        }
    }

    /// Returns when the workload is over: the time then.
    fn until_over(&self, start_ns: u64, meter: &mut Result<Meter, String>) -> Result<u64> {
        let limit_ns = start_ns.saturating_add(self.context.options.limit.as_nanos() as u64);
        let after_ns = match self.context.plan.end {
            End::After { ns } => start_ns.saturating_add(ns),
            _ => u64::MAX,
        };
        let forks = self
            .context
            .plan
            .groups
            .iter()
            .any(|group| group.start == Start::Fork);
        loop {
            let now = now_ns();
            // All have exited when a parent that waits for them would know.
            let over = self.context.is_over()
                && (self.context.plan.end != End::All || self.family.all_reaped());
            if over || now >= after_ns {
                self.check_fault()?;
                return Ok(now);
            }
            let limit = self.context.options.limit;
            ensure!(now < limit_ns, "not over after {} s", limit.as_secs());
            self.look(after_ns.min(limit_ns).min(now + LOOK_NS))?;
            if let Ok(meter) = meter {
                meter.look();
            }
            if forks {
                self.check_zombies()?;
            }
        }
    }

    /// Sleeps until something happens, at most until `until_ns`, and looks what it was.
    fn look(&self, until_ns: u64) -> Result<()> {
        let left_ns = until_ns.saturating_sub(now_ns());
        let timeout = libc::timespec {
            tv_sec: (left_ns / 1_000_000_000) as libc::time_t,
            tv_nsec: (left_ns % 1_000_000_000) as libc::c_long,
        };
        let watched = [self.family.signals.as_raw_fd(), self.context.bell];
        let mut ready = watched.map(|fd| libc::pollfd {
            fd,
            events: libc::POLLIN,
            revents: 0,
        });
        // SAFETY: reads and writes locals; no signal mask.
        unsafe { libc::ppoll(ready.as_mut_ptr(), 2, &raw const timeout, std::ptr::null()) };
        let mut rung = 0u64;
        // SAFETY: writes eight bytes to a local.
        unsafe { libc::read(self.context.bell, (&raw mut rung).cast(), 8) };
        while let Some(signal) = self.family.signal() {
            if signal != libc::SIGCHLD {
                return Err(Interrupted(signal).into());
            }
        }
        while let Some((process, status)) = self.family.reap() {
            self.check_fault()?;
            if status != 0 {
                let task = self.name(process);
                bail!("{task} {}", how(status));
            }
        }
        self.check_fault()
    }

    fn check_fault(&self) -> Result<()> {
        match fault::read(self.context.arena, self.context.plan) {
            Some(fault) => bail!("{fault}"),
            None => Ok(()),
        }
    }

    fn check_zombies(&self) -> Result<()> {
        let arena = self.context.arena;
        for slot in 0..arena.tasks() {
            let (group, _) = arena.task_of(slot);
            if self.context.plan.groups[group].start != Start::Fork {
                continue;
            }
            let of = arena.slot(slot);
            let lives = of.begun.load(SeqCst) >= FORKED && of.ended_ns.load(SeqCst) == 0;
            // In this order: a task that ends in good order says so before it is a zombie.
            let dead = lives && account::is_zombie(of.process.load(Relaxed));
            if dead && of.ended_ns.load(SeqCst) == 0 {
                bail!("{} died", fault::name(arena, self.context.plan, slot));
            }
        }
        Ok(())
    }

    fn name(&self, process: libc::pid_t) -> String {
        let arena = self.context.arena;
        if self.family.is_guardian(process) {
            return "the guardian".to_string();
        }
        let is = |slot: &usize| arena.slot(*slot).process.load(Relaxed) == process as u32;
        (0..arena.tasks()).find(is).map_or_else(
            || "a task".to_string(),
            |slot| fault::name(arena, self.context.plan, slot),
        )
    }
}

/// A wait status in words.
fn how(status: libc::c_int) -> String {
    if libc::WIFSIGNALED(status) {
        format!("was killed by signal {}", libc::WTERMSIG(status))
    } else {
        format!("exited with status {}", libc::WEXITSTATUS(status))
    }
}
