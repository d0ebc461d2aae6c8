// SPDX-License-Identifier: GPL-2.0-or-later
//! From what the tasks left to metrics.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};

use anyhow::{Result, ensure};

use super::account;
use super::arena::{Arena, RUNNING, Slot, UNKNOWN};
use super::{NOT_ASKED, Outcome, RunnerCost};
use cell::Histogram;
use workload::plan::{End, Plan};

/// What the tasks have counted and logged.
pub struct Counted {
    counters: Vec<i64>,
    distributions: Vec<Histogram>,
}

/// Taken at the end at once, and nothing counts from then on: tasks that still live go on until they are killed, and
/// where they outnumber the CPUs, the supervisor is long kept from that.
pub fn count(arena: &Arena, plan: &Plan) -> Counted {
    arena.end();
    let counters = (0..plan.counters.len()).map(|index| arena.counted(index));
    let distributions = (0..plan.distributions.len()).map(|index| arena.tally(index).read());
    Counted {
        counters: counters.collect(),
        distributions: distributions.collect(),
    }
}

/// Settles the accounts of tasks that still live.
pub fn settle_living(arena: &Arena) {
    for slot in (0..arena.tasks()).map(|slot| arena.slot(slot)) {
        let living = slot.begun.load(SeqCst) == RUNNING && slot.ended_ns.load(SeqCst) == 0;
        if living
            && let Some(usage) =
                account::read(slot.process.load(Relaxed), slot.thread.load(Relaxed))
        {
            slot.settle(usage);
        }
    }
}

/// When the workload's end condition came true.
pub fn ended_ns(arena: &Arena, plan: &Plan, now_ns: u64) -> u64 {
    match plan.end {
        End::Group(group) => arena
            .group_slots(group as usize)
            .map(|slot| arena.slot(slot).ended_ns.load(SeqCst))
            .max()
            .unwrap_or(0),
        End::All | End::After { .. } => now_ns,
    }
}

/// What start and end took of the supervisor's CPU time, and the start of the tasks' own.
pub fn runner(arena: &Arena, fork_ns: u64, reap_ns: u64) -> RunnerCost {
    let came = (0..arena.tasks()).map(|slot| arena.slot(slot).start_cpu_ns.load(Relaxed));
    let came: Vec<u64> = came.filter(|ns| *ns > 0).collect();
    let tasks = came.len().max(1) as f64;
    RunnerCost {
        fork_ns: fork_ns as f64 / tasks,
        task_ns: came.iter().sum::<u64>() as f64 / tasks,
        reap_ns: reap_ns as f64 / tasks,
    }
}

pub fn outcome(
    arena: &Arena,
    plan: &Plan,
    counted: Counted,
    elapsed_ns: u64,
    runner: RunnerCost,
) -> Result<Outcome> {
    let ran = || {
        (0..arena.tasks())
            .map(|slot| arena.slot(slot))
            .filter(|slot| slot.begun.load(SeqCst) == RUNNING)
    };
    // One task that is not known makes the sum unknown.
    let sum = |word: fn(&Slot) -> u64| {
        ran()
            .map(word)
            .try_fold(0u64, |sum, value| (value != UNKNOWN).then_some(sum + value))
    };
    let seconds = elapsed_ns as f64 / 1e9;
    let mut metrics = BTreeMap::from([("elapsed_s".to_string(), seconds)]);
    let mut put = |name: &str, value: Option<f64>| {
        if let Some(value) = value {
            metrics.insert(name.to_string(), value);
        }
    };
    let cpu_s = sum(|slot| slot.cpu_ns.load(Relaxed)).map(|ns| ns as f64 / 1e9);
    put("cpu_s", cpu_s);
    put("cpu_usage_pct", cpu_s.map(|cpu_s| cpu_s / seconds * 100.0));
    put(
        "switches_voluntary",
        sum(|slot| slot.voluntary.load(Relaxed)).map(|n| n as f64),
    );
    put(
        "switches_involuntary",
        sum(|slot| slot.involuntary.load(Relaxed)).map(|n| n as f64),
    );
    put(
        "migrations",
        sum(|slot| slot.migrations.load(Relaxed)).map(|n| n as f64),
    );
    for (index, (name, value)) in plan.counters.iter().zip(counted.counters).enumerate() {
        let counted = value as f64;
        if plan.throughput == Some(index as u32) {
            put("throughput_per_s", Some(counted / seconds));
        } else {
            put(name, Some(counted));
        }
    }
    let mut histograms = BTreeMap::new();
    for (name, distribution) in plan.distributions.iter().zip(counted.distributions) {
        if !distribution.is_empty() {
            histograms.insert(name.clone(), distribution);
        }
    }
    let mut waiting = Histogram::default();
    for slot in ran() {
        let ns = slot.waiting_ns.load(Relaxed);
        if ns != UNKNOWN {
            waiting.record(ns);
        }
    }
    if !waiting.is_empty() {
        histograms.insert("waiting_us".to_string(), waiting);
    }
    for promise in &plan.promises {
        let kept = metrics.contains_key(promise) || histograms.contains_key(promise);
        ensure!(
            kept,
            "promised metric {promise}: no value came; was the run long enough?"
        );
    }
    Ok(Outcome {
        metrics,
        histograms,
        energy: Err(NOT_ASKED.to_owned()),
        runner,
    })
}
