// SPDX-License-Identifier: GPL-2.0-or-later
//! `schedlab-sim bench`: the budgets of speed and memory, measured.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use cell::Status;
use clap::Args;
use kernel::{Execution, Program, Release};
use kernel::{Options, Outcome};
use machine::{Costs, Machine, Numbering, RtGuard, Shape, Spreads, Topology};
use workload::plan::{Draw, End, Group, Inst, Plan, Policy, Start, Value};

use crate::arguments::find;

#[derive(Args)]
pub struct BenchArgs {
    /// Scheduler under which to measure
    #[arg(long, default_value = "vtime")]
    scheduler: String,
    /// One JSON line per figure
    #[arg(long)]
    json: bool,
    /// Only the speed on so many CPUs
    #[arg(long)]
    cpus: Option<u32>,
    /// Only this: the peak memory of 10,000 tasks on 1,024 CPUs, in KiB
    #[arg(long, hide = true)]
    memory: bool,
}

/// Shape of a load: so many tasks on so many CPUs, each running and sleeping by turns.
struct Load {
    cpus: u32,
    tasks: u32,
    switches_m: f64,
}

const LOADS: [Load; 4] = [
    Load {
        cpus: 4,
        tasks: 8,
        switches_m: 5.0,
    },
    Load {
        cpus: 128,
        tasks: 256,
        switches_m: 3.0,
    },
    Load {
        cpus: 512,
        tasks: 256,
        switches_m: 3.0,
    },
    Load {
        cpus: 1_024,
        tasks: 256,
        switches_m: 3.0,
    },
];
const MEMORY_MIB: f64 = 64.0;
const FLAT: f64 = 1.5;
/// The best of so many, in CPU time: other work on the machine only ever slows.
const PASSES: usize = 25;

pub fn run(args: &BenchArgs) -> Result<u8> {
    let scheduler = find("schedulers", &args.scheduler, "")?;
    let program = kernel::load(&scheduler, Execution::default(), Release::default())?;
    if args.memory {
        let machine = machine(1_024);
        simulate(&machine, plan(10_000, 1_000_000_000), &program)?;
        println!("{}", peak_kib()?);
        return Ok(0);
    }
    let mut missed = false;
    let mut say = |name: &str, value: f64, unit: &str, budget: &str, hit: bool| {
        missed |= !hit;
        if args.json {
            let line = serde_json::json!({
                "name": name, "value": value, "unit": unit, "budget": budget, "hit": hit
            });
            println!("{line}");
        } else {
            let verdict = if hit { "hit" } else { "miss" };
            println!("{name:<40} {value:>8.2} {unit:<6} {budget:<8} {verdict}");
        }
    };
    let mut rates = Vec::new();
    for load in LOADS
        .iter()
        .filter(|load| args.cpus.is_none_or(|cpus| cpus == load.cpus))
    {
        let rate = switches_per_us(load, &program)?;
        if load.tasks > 8 {
            rates.push(rate);
        }
        say(
            &format!("switches, {} tasks on {} CPUs", load.tasks, load.cpus),
            rate,
            "M/s",
            &format!(">= {}", load.switches_m),
            rate >= load.switches_m,
        );
    }
    if args.cpus.is_some() {
        return Ok(u8::from(missed));
    }
    let (slow, fast) = rates.iter().fold((f64::MAX, 0.0_f64), |(low, high), rate| {
        (low.min(*rate), high.max(*rate))
    });
    say(
        "flat from 128 to 1,024 CPUs",
        fast / slow,
        "x",
        "<= 1.5",
        fast / slow <= FLAT,
    );
    let mib = memory_mib(&scheduler)?;
    say(
        "memory, 10,000 tasks on 1,024 CPUs",
        mib,
        "MiB",
        "<= 64",
        mib <= MEMORY_MIB,
    );
    Ok(u8::from(missed))
}

fn switches_per_us(load: &Load, program: &Program) -> Result<f64> {
    let machine = machine(load.cpus);
    let mut best = 0.0_f64;
    // About 200,000 switches a pass.
    let seconds_ns = 100_000_000_000 / u64::from(load.tasks);
    for _ in 0..PASSES {
        let started_ns = cpu_ns();
        let outcome = simulate(&machine, plan(load.tasks, seconds_ns), program)?;
        best = best.max(outcome.switches as f64 * 1e3 / (cpu_ns() - started_ns) as f64);
    }
    Ok(best)
}

/// CPU time of this thread.
fn cpu_ns() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: writes to a local.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

fn simulate(machine: &Machine, plan: Plan, program: &Program) -> Result<Outcome> {
    let tunables = BTreeMap::new();
    let outcome = kernel::simulate(
        machine,
        plan,
        program,
        "bench",
        &tunables,
        Options::default(),
    )?;
    ensure!(outcome.status == Status::Ok, "{}", outcome.reason);
    Ok(outcome)
}

fn machine(cpus: u32) -> Machine {
    let shape = Shape {
        sockets: 1,
        llcs_per_socket: cpus.div_ceil(16),
        cores_per_llc: cpus.min(16),
        threads_per_core: 1,
        numbering: Numbering::Adjacent,
    };
    Machine {
        name: format!("bench-{cpus}"),
        title: String::new(),
        topology: Topology::regular(shape, &[]),
        hz: 250,
        nohz_full: Vec::new(),
        one_clock: false,
        rt_guard: RtGuard::default(),
        ttwu_queue: true,
        rt_kernel: machine::RtKernel::default(),
        frequency: None,
        power: None,
        costs: Costs::default(),
        spreads: Spreads::default(),
    }
}

/// Tasks that run for 200 µs and sleep for 300 µs.
fn plan(tasks: u32, ns: u64) -> Plan {
    let fixed = |ns| Draw::Fixed(Value::Const(ns));
    Plan {
        groups: vec![Group {
            name: "task".to_string(),
            count: tasks,
            start: Start::Signal,
            threads: false,
            nice: 0,
            slice_us: 0,
            policy: Policy::Other,
            cpus: Vec::new(),
            cgroup: None,
            kernel: false,
            footprint_kib: 0,
            locals: 0,
            program: vec![
                Inst::Run { ns: fixed(200_000) },
                Inst::Sleep { ns: fixed(300_000) },
                Inst::Jump { to: 0 },
            ],
        }],
        cgroups: Vec::new(),
        queues: Vec::new(),
        locks: Vec::new(),
        semaphores: Vec::new(),
        conditions: Vec::new(),
        variables: Vec::new(),
        end: End::After { ns },
        distributions: Vec::new(),
        counters: Vec::new(),
        throughput: None,
        promises: Vec::new(),
        seed: 1,
    }
}

/// In a process of its own, so that nothing else is counted.
fn memory_mib(scheduler: &PathBuf) -> Result<f64> {
    let output = Command::new(std::env::current_exe()?)
        .args(["bench", "--memory", "--scheduler"])
        .arg(scheduler)
        .output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let kib: f64 = text
        .trim()
        .parse()
        .with_context(|| String::from_utf8_lossy(&output.stderr).trim().to_string())?;
    Ok(kib / 1_024.0)
}

fn peak_kib() -> Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .and_then(|rest| rest.split_whitespace().next()?.parse().ok())
        .context("/proc/self/status: expected VmHWM")
}
