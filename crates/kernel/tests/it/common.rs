// SPDX-License-Identifier: GPL-2.0-or-later
//! What the tests share: machines and plans by hand, and runs of the policies beside them.

#![allow(dead_code, reason = "each test uses some of it")]

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use cell::Status;
use kernel::{Execution, Options, Outcome, Release};
use machine::{Costs, Machine, Numbering, RtGuard, Shape, Topology};
use workload::plan::{Draw, End, Group, Inst, Plan, Policy, Start, Value};

pub const MS: i64 = 1_000_000;

pub fn shape(sockets: u32, llcs: u32, cores: u32, threads: u32) -> Shape {
    Shape {
        sockets,
        llcs_per_socket: llcs,
        cores_per_llc: cores,
        threads_per_core: threads,
        numbering: Numbering::Adjacent,
    }
}

pub fn machine_of(shape: Shape, costs: Costs) -> Machine {
    Machine {
        name: "test".to_string(),
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
        costs,
        spreads: machine::Spreads::default(),
    }
}

/// So many CPUs that share one cache, and nothing costs anything.
pub fn free(cpus: u32) -> Machine {
    machine_of(shape(1, 1, cpus, 1), no_costs())
}

pub fn costly(cpus: u32) -> Machine {
    machine_of(shape(1, 1, cpus, 1), Costs::default())
}

pub fn no_costs() -> Costs {
    Costs {
        switch_ns: 0,
        wakeup_ns: 0,
        ext_switch_ns: 0,
        ext_wakeup_ns: 0,
        kick_ns: 0,
        ipi_send_ns: 0,
        ipi_ns: [0; 5],
        idle_exit_ns: 0,
        idle_states: Vec::new(),
        tick_ns: 0,
        timer_ns: 0,
        program_step_ns: 0,
        syscall_ns: 0,
        socket_ns: 0,
        tcp_ns: 0,
        cold_message_ns: 0,
        warm_messages: 0,
        copy_kib_ns: 0,
        timer_slack_ns: 0,
        disk_request_ns: 0,
        disk_kib_ns: 4_551,
        disk_cache_kib: 0,
        disk_link_kib_ns: 0,
        disk_cpu_kib_ns: 0,
        fork_ns: 0,
        child_ns: 0,
        exec_ns: 0,
        exit_ns: 0,
        close_ns: 0,
        thread_ns: 0,
        runner_task_ns: 0,
        runner_begin_ns: 0,
        runner_touch_ns: 0,
        runner_account_ns: 0,
        runner_reap_ns: 0,
        kthread_ns: 0,
        kthread_period_ns: 0,
        policy_instruction_ps: 0,
        lock_hold_ns: 0,
        lock_hold_log_ns: 0,
        lock_transfer_ns: [0; 5],
        lock_waiter_ns: 0,
        smt_speed_pct: 100,
        refill_kib_ns: [0; 5],
        private_cache_kib: 1_024,
        llc_kib: 16_384,
    }
}

pub fn ns(value: i64) -> Draw {
    Draw::Fixed(Value::Const(value))
}

pub fn run_for(value: i64) -> Inst {
    Inst::Run { ns: ns(value) }
}

pub fn sleep_for(value: i64) -> Inst {
    Inst::Sleep { ns: ns(value) }
}

pub fn group(name: &str, count: u32, program: Vec<Inst>) -> Group {
    Group {
        name: name.to_string(),
        count,
        start: Start::Signal,
        threads: false,
        nice: 0,
        slice_us: 0,
        policy: Policy::Other,
        cpus: Vec::new(),
        cgroup: None,
        kernel: false,
        footprint_kib: 0,
        locals: 4,
        program,
    }
}

/// Tasks that use a CPU for ever.
pub fn hogs(count: u32) -> Group {
    group(
        "hog",
        count,
        vec![run_for(1_000 * MS), Inst::Jump { to: 0 }],
    )
}

/// Tasks that run and sleep by turns.
pub fn sleepers(count: u32, run: i64, sleep: i64) -> Group {
    group(
        "sleeper",
        count,
        vec![run_for(run), sleep_for(sleep), Inst::Jump { to: 0 }],
    )
}

pub fn plan(groups: Vec<Group>, end: End) -> Plan {
    Plan {
        groups,
        cgroups: Vec::new(),
        queues: Vec::new(),
        locks: Vec::new(),
        semaphores: Vec::new(),
        conditions: Vec::new(),
        variables: Vec::new(),
        end,
        distributions: Vec::new(),
        counters: Vec::new(),
        throughput: None,
        promises: Vec::new(),
        seed: 1,
    }
}

pub fn for_ms(ms: u64) -> End {
    End::After { ns: ms * 1_000_000 }
}

/// A policy beside the tests, or one of the tree.
pub fn policy_path(name: &str) -> PathBuf {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let own = here.join(format!("tests/policies/{name}.bpf.c"));
    let both = here.join(format!("tests/policies/both/{name}.bpf.c"));
    match [own, both].into_iter().find(|path| path.exists()) {
        Some(path) => path,
        None => here.join("../../schedulers").join(name),
    }
}

/// Policies that say themselves what maps, helpers and kfuncs do wrong. Guests run them too (`tests/vm_policies`).
pub fn fixtures_of_both_worlds() -> Vec<String> {
    let folder = policy_path("objects").with_file_name("");
    let mut names: Vec<String> = (std::fs::read_dir(folder).unwrap())
        .filter_map(|entry| {
            let name = entry.unwrap().file_name().into_string().unwrap();
            Some(name.strip_suffix(".bpf.c")?.to_string())
        })
        .collect();
    names.sort();
    names
}

pub fn simulate(machine: &Machine, plan: Plan, policy: &str, options: Options) -> Outcome {
    let (policy, rules) = match policy.split_once(":rules=") {
        Some((policy, rules)) => (policy, Some(("rules".to_string(), rules.to_string()))),
        None => (policy, None),
    };
    let program = kernel::load(
        &policy_path(policy),
        Execution::default(),
        Release::default(),
    )
    .unwrap();
    let tunables = rules.into_iter().collect::<BTreeMap<_, _>>();
    kernel::simulate(machine, plan, &program, policy, &tunables, options).unwrap()
}

pub fn run(machine: &Machine, plan: Plan, policy: &str) -> Outcome {
    simulate(machine, plan, policy, Options::default())
}

#[derive(Clone, Default)]
struct Sink(Arc<Mutex<Vec<u8>>>);

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Options that keep the trace, and its text when the run is over.
pub fn tracing(options: Options) -> (Options, impl Fn() -> String) {
    let sink = Sink::default();
    let trace: Option<Box<dyn Write>> = Some(Box::new(sink.clone()));
    let options = Options { trace, ..options };
    let text = move || String::from_utf8(sink.0.lock().unwrap().clone()).unwrap();
    (options, text)
}

/// A run, with the text of its trace.
pub fn traced(machine: &Machine, plan: Plan, policy: &str, options: Options) -> (Outcome, String) {
    let (options, text) = tracing(options);
    let outcome = simulate(machine, plan, policy, options);
    (outcome, text())
}

/// The policy's callbacks in the order of their calls.
pub fn calls(text: &str) -> Vec<&str> {
    text.lines()
        .filter_map(|line| line.split_once("scx_call: op="))
        .map(|(_, op)| op)
        .collect()
}

/// When a line of a trace happened.
pub fn time_ns(line: &str) -> u64 {
    let mut words = line.split_whitespace();
    let time = words.find(|word| word.ends_with(':')).unwrap();
    let (seconds, rest) = time.trim_end_matches(':').split_once('.').unwrap();
    seconds.parse::<u64>().unwrap() * 1_000_000_000 + rest.parse::<u64>().unwrap()
}

/// Time and what was switched to, by CPU.
pub fn switches(text: &str, cpu: u32) -> Vec<(u64, String)> {
    let mark = format!("[{cpu:03}]");
    text.lines()
        .filter(|line| line.contains(&mark) && line.contains("sched_switch"))
        .map(|line| {
            let next = line.split_once("next_comm=").unwrap().1;
            let name = next.split_whitespace().next().unwrap();
            let pid = next
                .split_once("next_pid=")
                .unwrap()
                .1
                .split_whitespace()
                .next()
                .unwrap();
            (time_ns(line), format!("{name}-{pid}"))
        })
        .collect()
}

/// When a warden, which sleeps on CPU 1, changes another task.
pub const OUTSIDE_NS: i64 = 2_500_000;

/// What the policy hears of `change`, which is done on CPU 1 while other tasks have CPU 0, and the whole trace.
pub fn heard_of_outside(mut groups: Vec<Group>, change: Inst) -> (String, String) {
    let program = vec![sleep_for(OUTSIDE_NS), change, sleep_for(1_000 * MS)];
    let warden = Group {
        cpus: vec![1],
        ..group("warden", 1, program)
    };
    groups.insert(1, warden);
    let plan = plan(groups, for_ms(60));
    let (outcome, text) = traced(&free(2), plan, "every", Options::default());
    assert_eq!(outcome.status, Status::Ok, "{}", outcome.reason);
    let happens = |line: &&str| line.contains(']') && time_ns(line) == OUTSIDE_NS as u64;
    let own = |line: &&str| line.contains("[001]") && happens(line);
    let now: Vec<&str> = text.lines().filter(own).collect();
    let runs = |line: &&str| line.contains("sched_switch") && line.contains("next_comm=warden");
    let from = now.iter().position(runs).unwrap();
    let own = now[from..].join("\n");
    let heard = calls(&own).into_iter().skip_while(|op| *op == "running");
    // Its own sleep ends it.
    let mut heard: Vec<&str> = heard.collect();
    let end = heard.iter().rposition(|op| *op == "stopping").unwrap();
    heard.truncate(end);
    (heard.join(" "), text)
}

/// One that is ahead of it keeps CPU 0 until its slice of 5 ms ends.
pub fn ahead() -> Group {
    Group {
        cpus: vec![0],
        ..hogs(2)
    }
}
