// SPDX-License-Identifier: GPL-2.0-or-later
//! The project's workloads, at a small scale: at two loads, under two schedulers, they keep their promises.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use cell::Status;
use kernel::{Execution, Options, Outcome, Program, Release};
use machine::{Machine, RtGuard};
use workload::Workload;

use crate::common::policy_path;

type Small = (
    &'static str,
    &'static [(&'static str, &'static str)],
    [i64; 2],
);

/// What makes each short, and two loads.
const SMALL: &[Small] = &[
    ("counter", &[("work_us", "20000")], [2, 5]),
    ("cyclictest", &[("duration_s", "1"), ("hogs", "6")], [1, 4]),
    ("hackbench", &[("loops", "5"), ("fds", "5")], [1, 4]),
    ("latt", &[("duration_s", "3")], [1, 15]),
    ("mixed", &[("blocks", "10")], [5, 60]),
    ("pi", &[("work_us", "40000")], [5, 60]),
    ("pipe", &[("trips", "200"), ("probe_ms", "1")], [1, 8]),
    ("playback", &[("frames", "50")], [1, 15]),
    ("rt-pipe", &[("interval_ms", "1")], [1, 4]),
    ("rt-tcp", &[("interval_ms", "1")], [1, 4]),
    ("rw", &[("blocks", "10")], [5, 60]),
    ("schbench", &[("duration_s", "1")], [4, 16]),
    ("slices", &[("duration_s", "1")], [2, 16]),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

struct Lab {
    machine: Machine,
    policies: BTreeMap<String, Program>,
}

impl Lab {
    fn on(machine: &str) -> Self {
        let file = root().join(format!("machines/{machine}.toml"));
        Self {
            machine: Machine::read(&file).unwrap(),
            policies: BTreeMap::new(),
        }
    }

    fn run(
        &mut self,
        policy: &str,
        workload: &str,
        load: i64,
        params: &[(&str, &str)],
        strict: bool,
    ) -> Outcome {
        let file = root().join(format!("workloads/{workload}.toml"));
        let params = params
            .iter()
            .map(|(name, value)| ((*name).to_string(), (*value).to_string()))
            .collect();
        let plan = Workload::read(&file)
            .unwrap()
            .plan(load, &params, self.machine.cpus() as u32, 1)
            .unwrap();
        let program = self.policies.entry(policy.to_string()).or_insert_with(|| {
            kernel::load(
                &policy_path(policy),
                Execution::default(),
                Release::default(),
            )
            .unwrap()
        });
        let options = Options {
            strict,
            ..Options::default()
        };
        let tunables = BTreeMap::new();
        let outcome =
            kernel::simulate(&self.machine, plan, &*program, policy, &tunables, options).unwrap();
        let what = format!("{workload} {load} {params:?} under {policy}");
        assert_eq!(outcome.status, Status::Ok, "{what}: {}", outcome.reason);
        let scalars = outcome.metrics.keys().map(|name| (name, false));
        let distributions = outcome.distributions.keys().map(|name| (name, true));
        for (name, kind) in scalars.chain(distributions) {
            let known = cell::metric(name).map(|metric| metric.distribution);
            assert_eq!(known, Some(kind), "{name}: see cell::METRICS");
        }
        outcome
    }
}

#[test]
fn every_workload_keeps_its_promises_and_its_hash() {
    let names: BTreeSet<String> = root()
        .join("workloads")
        .read_dir()
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "toml"))
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_string())
        .collect();
    assert!(SMALL.iter().all(|(known, ..)| names.contains(*known)));
    let mut lab = Lab::on("desktop-4");
    for name in &names {
        let known = SMALL.iter().find(|(known, ..)| known == name);
        // The applications' models have a scale.
        let (_, params, loads) = known.unwrap_or(&("", &[("scale_pct", "5")], [1, 4]));
        for load in loads {
            // A run that lacks a promised metric has failed. CFS may leave a CPU idle until it balances.
            for (policy, strict) in [("bfs", true), ("cfs", false)] {
                let first = lab.run(policy, name, *load, params, strict);
                let again = lab.run(policy, name, *load, params, strict);
                assert_eq!(first.trace_hash, again.trace_hash, "{name} under {policy}");
            }
        }
    }
}

#[test]
fn the_guard_caps_real_time_and_fifo_takes_no_turns() {
    let mut lab = Lab::on("mbp13-vm");
    lab.machine.rt_guard = RtGuard::Throttle;
    // Spread over both CPUs from the start.
    lab.machine.rt_kernel = machine::RtKernel::default();
    let params = |policy| [("policy", policy), ("work_us", "446000")];
    let [other, fifo, rr] = ["other", "fifo", "rr"]
        .map(|policy| lab.run("bfs", "pi", 40, &params(policy), false).metrics);
    // Two CPUs that real-time tasks may have for 950 ms of every second.
    for capped in [&fifo, &rr] {
        let usage = capped["cpu_usage_pct"];
        assert!((185.0..=191.5).contains(&usage), "{usage}");
    }
    assert!(other["cpu_usage_pct"] > 195.0);
    // Switched out at the end of each second's share, and nowhere else.
    assert!(
        fifo["switches_involuntary"] <= 2.0 * (fifo["elapsed_s"] + 1.0),
        "{fifo:?}"
    );
    assert!(rr["switches_involuntary"] > 2.0 * fifo["switches_involuntary"]);
    assert!(other["switches_involuntary"] > 5.0 * rr["switches_involuntary"]);
}

#[test]
fn the_disk_sets_the_wall_time_of_rw() {
    let mut lab = Lab::on("mbp13-vm");
    let mut mb_per_s = |cache_kib, policy| {
        lab.machine.costs.disk_cache_kib = cache_kib;
        let params = [("policy", policy), ("blocks", "20")];
        let rw = lab.run("cfs", "rw", 60, &params, false);
        60.0 * 20.0 * 256.0 * 1024.0 / rw.metrics["elapsed_s"] / 1e6
    };
    for policy in ["fifo", "rr", "other"] {
        let bare = mb_per_s(0, policy);
        assert!((215.0..=221.1).contains(&bare), "{policy}: {bare}");
    }
    // What fits into a memory before it goes as fast as the CPUs: two of them, or the one on which real-time tasks of
    // the highest priority stay.
    let [other, fifo] = ["other", "fifo"].map(|policy| mb_per_s(1_048_576, policy));
    assert!(fifo > 300.0 && other > 1.8 * fifo, "{fifo} {other}");
}

#[test]
fn playback_drops_what_it_cannot_decode() {
    let mut lab = Lab::on("desktop-4");
    let mut play = |decode_us| {
        let params = [("frames", "100"), ("decode_us", decode_us)];
        lab.run("bfs", "playback", 1, &params, false).metrics
    };
    let frames = |metrics: &BTreeMap<String, f64>| {
        ["dropped_frames", "frames_shown", "frames_not_shown"].map(|name| metrics[name])
    };
    assert_eq!(frames(&play("20000")), [0.0, 100.0, 0.0]);
    // 60 ms each: behind by 20 ms a frame until more than one behind; two of three are shown.
    let [dropped, shown, not_shown] = frames(&play("60000"));
    assert!((30.0..=35.0).contains(&dropped), "{dropped}");
    assert_eq!(shown + not_shown, 100.0);
    assert!(not_shown >= dropped);
}

#[test]
fn preempted_locks_make_schbench_spin() {
    let mut lab = Lab::on("desktop-4");
    let mut requests = |workers| {
        let params = [("duration_s", "2")];
        lab.run("bfs", "schbench", workers, &params, false).metrics["throughput_per_s"]
    };
    // With a CPU each nobody waits; beyond that, who is preempted with a lock makes others burn their turns.
    let (alone, crowded) = (requests(4), requests(16));
    assert!(alone > 1100.0 && crowded < 0.6 * alone, "{alone} {crowded}");
}

#[test]
fn round_trips_over_tcp_take_what_tcp_costs() {
    let mut lab = Lab::on("t5600");
    let mut us = |name| {
        let outcome = lab.run("cfs", name, 1, &[("interval_ms", "2")], false);
        let trips = &outcome.distributions["round_trip_us"];
        assert_eq!(trips.count(), 11);
        trips.quantile_ns(0.5)
    };
    let (pipe, tcp) = (us("rt-pipe"), us("rt-tcp"));
    // The ends are on two CPUs of one cache: either way the head of a message, 576 bytes, is fetched, line after line.
    let costs = Lab::on("t5600").machine.costs;
    // What a sender does once it has woken the receiver, it does beside it.
    let sent = costs.tcp_ns - costs.tcp_ns * 34 / 100;
    let cost = 2 * (sent + costs.tcp_ns) + 2 * costs.refill_kib_ns[2] * 4 * 576 / 1_024;
    assert!((tcp - pipe).abs_diff(cost) < 200, "{pipe} {tcp} {cost}");
}

#[test]
fn probes_go_on_beside_the_pairs() {
    let mut lab = Lab::on("desktop-4");
    let params = [("trips", "5000"), ("probe_ms", "5")];
    let outcome = lab.run("bfs", "pipe", 1, &params, true);
    let probes = outcome.distributions["probe_latency_us"].to_buckets();
    // One every 5 ms, and fork, exec and exit take 0.75 ms of their own.
    let expected = (outcome.metrics["elapsed_s"] / 0.005).ceil() as u64;
    assert!(
        expected > 3 && probes.count.abs_diff(expected) <= 1,
        "{probes:?}"
    );
    assert!(probes.min_ns >= 750_000, "{probes:?}");
}
