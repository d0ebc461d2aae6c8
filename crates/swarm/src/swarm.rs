// SPDX-License-Identifier: GPL-2.0-or-later
//! Many random runs, several at a time, until one finds something.

use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Result;
use policy::Manifest;

use crate::case::Case;
use crate::child::{Built, Runner};
use crate::counts::Counts;
use crate::generate::Draws;
use crate::interleaving::Interleaving;
use crate::job::{Job, Limits, Verdict};
use crate::{files, generate};

pub struct Swarm<'a> {
    pub built: &'a Built,
    pub manifest: &'a Manifest,
    /// Tunables that the user gave.
    pub fixed: &'a BTreeMap<String, String>,
    pub limits: Limits,
    pub draws: Draws,
    pub seed: u64,
    pub runs: u64,
    pub time: Option<Duration>,
    pub jobs: usize,
    /// Operations are broken off, and others come in between.
    pub interleave: bool,
}

#[derive(Default)]
pub struct Outcome {
    /// Runs without a finding that are over.
    pub good: u64,
    pub events: u64,
    /// Runs that were cut short.
    pub cut: u64,
    /// The first run that found something: the same one however many run at a time.
    pub first: Option<(u64, Case, Verdict)>,
    /// What was executed up to there, where the policy is counted.
    pub counts: Vec<u64>,
}

impl Swarm<'_> {
    pub fn job(&self, case: &Case) -> Job {
        let mut tunables = case.tunables.clone();
        tunables.extend(self.fixed.clone());
        Job {
            machine: files::machine(&case.machine),
            workload: files::workload(case),
            seed: case.seed,
            hotplug: case.hotplug_script(),
            interleaving: case.interleaving.clone(),
            tunables,
            limits: self.limits,
            trace: None,
        }
    }

    fn case(&self, run: u64) -> Case {
        let mut case = generate::case(self.seed, run, self.draws, self.manifest, self.fixed);
        if self.interleave {
            case.interleaving = Interleaving::Drawn {
                seed: case.seed,
                most: u32::MAX,
            };
        }
        case
    }

    pub fn run(&self) -> Result<Outcome> {
        let next = AtomicU64::new(0);
        // No run after one that found something.
        let end = AtomicU64::new(self.runs);
        let (good, events, cut) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
        let found = Mutex::new(BTreeMap::new());
        let counts = Mutex::new(Counts::default());
        let over = AtomicBool::new(false);
        let begun = Instant::now();
        let late = || self.time.is_some_and(|time| begun.elapsed() >= time);
        let work = || -> Result<()> {
            let mut runner = Runner::new(self.built);
            while !signals::caught() && !late() {
                let run = next.fetch_add(1, Ordering::Relaxed);
                if run >= end.load(Ordering::Relaxed) {
                    break;
                }
                let case = self.case(run);
                let mut verdict = runner.run(&self.job(&case))?;
                let executed = std::mem::take(&mut verdict.counts);
                lock(&counts).add(run, executed, verdict.found());
                events.fetch_add(verdict.events, Ordering::Relaxed);
                if verdict.found() {
                    end.fetch_min(run, Ordering::Relaxed);
                    lock(&found).insert(run, (case, verdict));
                } else {
                    good.fetch_add(1, Ordering::Relaxed);
                    cut.fetch_add(u64::from(verdict.cut), Ordering::Relaxed);
                }
            }
            Ok(())
        };
        let result = std::thread::scope(|scope| {
            let workers: Vec<_> = (0..self.jobs)
                .map(|_| {
                    scope.spawn(|| {
                        let result = work();
                        if result.is_err() {
                            end.store(0, Ordering::Relaxed);
                        }
                        result
                    })
                })
                .collect();
            let progress = scope.spawn(|| self.show(&over, &good, &events));
            let results: Vec<Result<()>> = workers
                .into_iter()
                .map(|worker| {
                    worker
                        .join()
                        .unwrap_or_else(|_| anyhow::bail!("a thread broke"))
                })
                .collect();
            over.store(true, Ordering::Relaxed);
            let _ = progress.join();
            results.into_iter().collect::<Result<()>>()
        });
        result?;
        let found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(Outcome {
            good: good.into_inner(),
            events: events.into_inner(),
            cut: cut.into_inner(),
            first: found
                .into_iter()
                .next()
                .map(|(run, (case, verdict))| (run, case, verdict)),
            counts: counts
                .into_inner()
                .unwrap_or_else(PoisonError::into_inner)
                .whole(),
        })
    }

    /// A line that changes on a terminal, a line every ten seconds elsewhere.
    fn show(&self, over: &AtomicBool, good: &AtomicU64, events: &AtomicU64) {
        let terminal = std::io::stderr().is_terminal();
        let every = Duration::from_secs(if terminal { 1 } else { 10 });
        let mut next = Instant::now() + every;
        while !over.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(20));
            if Instant::now() < next {
                continue;
            }
            next += every;
            let of = match self.time {
                Some(time) => format!(" in {} s", time.as_secs()),
                None => format!(" of {}", self.runs),
            };
            let millions = events.load(Ordering::Relaxed) as f64 / 1e6;
            let good = good.load(Ordering::Relaxed);
            let (before, after) = if terminal {
                ("\r", "\x1b[K")
            } else {
                ("", "\n")
            };
            let mut err = std::io::stderr().lock();
            let _ = write!(
                err,
                "{before}{}: {good}{of} runs, {millions:.1} M events, nothing found{after}",
                self.built.name
            );
            let _ = err.flush();
        }
        if terminal {
            eprint!("\r\x1b[K");
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
