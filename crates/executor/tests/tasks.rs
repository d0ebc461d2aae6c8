// SPDX-License-Identifier: GPL-2.0-or-later
//! Plans run with real processes: some workloads at a small scale, and every action.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

use cell::Histogram;
use executor::tasks::{Calibration, ExecOptions, Outcome, run};
use workload::Workload;

/// One run at a time: two would disturb each other.
static ONE: Mutex<()> = Mutex::new(());
static CALIBRATION: OnceLock<Calibration> = OnceLock::new();

/// Work ends by the CPU time it took: how many iterations a virtual CPU does in a time changes by a third and more
/// while the tests run.
fn options() -> ExecOptions {
    let calibration = *CALIBRATION.get_or_init(|| Calibration::measure().in_turn(2));
    ExecOptions {
        limit: Duration::from_secs(60),
        ..ExecOptions::new(calibration)
    }
}

fn execute(
    workload: &Workload,
    load: i64,
    params: &[(&str, &str)],
    options: &ExecOptions,
) -> anyhow::Result<Outcome> {
    let params = params
        .iter()
        .map(|(k, v)| ((*k).to_string(), (*v).to_string()))
        .collect();
    let cpus = std::thread::available_parallelism().unwrap().get() as u32;
    let _one = ONE
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    run(&workload.plan(load, &params, cpus, 1).unwrap(), options)
}

fn shipped(name: &str, load: i64, params: &[(&str, &str)]) -> Outcome {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../workloads/{name}.toml"));
    execute(&Workload::read(&file).unwrap(), load, params, &options()).unwrap()
}

/// A workload of these sections, promising nothing but what is always there.
fn own(sections: &str, metrics: &str) -> Workload {
    let head = "name = \"own\"\ntitle = \"t\"\nsource = \"s\"\nload = \"n\"\nloads = [1]\n";
    let params = "[params]\nn = { default = 1, min = 1, max = 9, about = \"a\" }\n";
    let text = format!("{head}{params}{sections}\n[metrics]\n{metrics}\n");
    Workload::from_toml(&text, "own.toml").unwrap()
}

fn run_own(sections: &str, metrics: &str) -> anyhow::Result<Outcome> {
    execute(&own(sections, metrics), 1, &[], &options())
}

fn counted(outcome: &Outcome) -> f64 {
    (outcome.metrics["throughput_per_s"] * outcome.metrics["elapsed_s"]).round()
}

fn sum_ns(distribution: &Histogram) -> u64 {
    distribution.to_buckets().sum_ns
}

#[test]
fn latt_measures_wakeup_work_and_both() {
    let outcome = shipped(
        "latt",
        3,
        &[
            ("duration_s", "1"),
            ("sleep_min_us", "1000"),
            ("sleep_max_us", "2000"),
            ("work_us", "100"),
        ],
    );
    let [wakeup, work, turnaround] = ["wakeup_latency_us", "work_us", "turnaround_us"]
        .map(|name| outcome.histograms[name].clone());
    // Clients may be between two of their logs when they are killed.
    let counts = [wakeup.count(), work.count(), turnaround.count()];
    assert!(
        counts[0] >= counts[1] && counts[1] >= counts[2] && counts[0] - counts[2] <= 3,
        "{counts:?}"
    );
    assert!(counts[2] >= 3 * counted(&outcome) as u64 && counted(&outcome) >= 1.0);
    let (parts, whole) = (sum_ns(&wakeup) + sum_ns(&work), sum_ns(&turnaround));
    assert!(
        parts.abs_diff(whole) < whole / 10 + 50_000_000,
        "{parts} {whole}"
    );
    // 100 us of CPU time, and longer where others are running; histograms are exact to a hundredth.
    let shortest_ns = work.quantile_ns(0.1);
    assert!(shortest_ns >= 99_000, "{shortest_ns} ns");
    assert!((1.0..5.0).contains(&outcome.metrics["elapsed_s"]));
}

#[test]
fn hackbench_delivers_every_message() {
    for kind in ["socket", "pipe", "tcp"] {
        let outcome = shipped(
            "hackbench",
            2,
            &[("loops", "10"), ("fds", "4"), ("kind", kind)],
        );
        assert!(
            (counted(&outcome) - 2.0 * 4.0 * 4.0 * 10.0).abs() < f64::EPSILON,
            "{kind}"
        );
    }
}

#[test]
fn counter_works_as_much_as_it_says() {
    let outcome = shipped("counter", 3, &[("work_us", "20000")]);
    assert!((counted(&outcome) - 3.0).abs() < f64::EPSILON);
    // Three times 20 ms, and what starting and looking takes.
    assert!(
        (0.06..0.3).contains(&outcome.metrics["cpu_s"]),
        "{:?}",
        outcome.metrics
    );
    assert!(outcome.metrics["elapsed_s"] >= 0.02);
}

#[test]
fn what_the_kernel_tells_is_recorded() {
    let outcome = shipped("hackbench", 1, &[("loops", "2")]);
    for metric in [
        "elapsed_s",
        "cpu_s",
        "cpu_usage_pct",
        "switches_voluntary",
        "switches_involuntary",
    ] {
        assert!(outcome.metrics.contains_key(metric), "{metric}");
    }
    let schedstat = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    let counts_waiting = schedstat
        .split_whitespace()
        .nth(2)
        .is_some_and(|turns| turns != "0");
    assert_eq!(
        outcome.histograms.contains_key("waiting_us"),
        counts_waiting
    );
    assert_eq!(
        outcome.metrics.contains_key("migrations"),
        Path::new("/proc/self/sched").exists()
    );
}

const EVERY_ACTION: &str = r#"
[[queue]]
name = "q"
kind = "tcp"
count = 2
[[queue]]
name = "back"
kind = "tcp"
count = 2
back_of = "q"
[[lock]]
name = "l"
count = 2
[[semaphore]]
name = "s"
count = 2
initial = 1
[[task]]
name = "boss"
nice = 3
policy = "batch"
slice_us = 300
cpus = [0]
footprint_kib = 16
program = [
    { set = "left", value = "3 * n" },
    { while = "left", do = [{ run_us = 10 }, { set = "left", value = "left - 1" }, { count = "steps" }] },
    { if = "left", do = [{ exit = true }], else = [{ count = "steps" }] },
    { nice = "4" },
    { policy = "other" },
    { affinity = [] },
    { yield = true },
    { fork = "child[1]" },
    { confine = "child[0]", cpus = [0] },
    { fork = "child[0]" },
    { confine = "child[1]", cpus = [] },
    { stamp = true },
    { send = "q[1]", bytes = 8 },
    { wait = "s[0]" },
    { wait = "s[0]" },
    { log = "round_trip_us", since = "message", per = "n + 1" },
    { recv = "back[1]" },
    { cpu = "here" },
    { if = "here", do = [{ yield = true }] },
    { spin = "l[1]" },
    { sleep_us = { exponential = 100 } },
    { log = "wakeup_latency_us", since = "due" },
    { unlock = "l[1]" },
    { timer_us = 500 },
    { timer_us = 500, skip = false },
    { log = "wakeup_latency_us", since = "due" },
    { elapsed_s = "late", since = "due" },
    { if = "late", do = [{ count = "steps", by = 1000 }] },
    { read = "3000000", sync = true },
    { write = "4096", sync = true },
    { write = "100" },
    { repeat = 2, do = [{ reap = true }, { count = "steps" }] },
    { alive = "left" },
    { if = "1 - left", do = [{ count = "steps" }] },
    { policy = "idle" },
]
[[task]]
name = "child"
count = 2
start = "fork"
nice = 4
program = [
    { if = "me", do = [
        { poll = "q", into = "which" },
        { recv = "q[which]" },
        { log = "turnaround_us", since = "message" },
        { count = "steps", by = "which * 10" },
        { post = "s[0]" },
        { send = "back[1]", bytes = 8 },
    ] },
    { run_us = { uniform = [1, 2] } },
]
[[task]]
name = "threads"
count = 3
threads = true
program = [
    { lock = "l[0]" },
    { run_us = { table = [[5000, 1]] } },
    { unlock = "l[0]" },
    { wait = "s[1]" },
    { run_us = { lognormal = { median = 5000, sigma = 0.0, max = 5000 } } },
    { post = "s[1]" },
    { count = "steps", by = 100 },
]
"#;

#[test]
fn every_action_runs() {
    let scratch = tempfile::tempdir().unwrap();
    let options = ExecOptions {
        scratch: scratch.path().into(),
        ..options()
    };
    let workload = own(
        EVERY_ACTION,
        "promises = [\"wakeup_latency_us\", \"turnaround_us\", \"round_trip_us\", \"throughput_per_s\"]\nthroughput = \"steps\"",
    );
    let outcome = execute(&workload, 1, &[], &options).unwrap();
    // 3 + 1 by the boss, 10 by the child, 2 + 1 by the boss, 300 by the threads.
    assert!(
        (counted(&outcome) - 317.0).abs() < f64::EPSILON,
        "{:?}",
        outcome.metrics
    );
    assert_eq!(outcome.histograms["wakeup_latency_us"].count(), 2);
    assert_eq!(outcome.histograms["turnaround_us"].count(), 1);
    // Three threads hold the lock for 5 ms one after the other, and so the semaphore.
    assert!(
        outcome.metrics["elapsed_s"] > 0.018,
        "{:?}",
        outcome.metrics
    );
    assert_eq!(scratch.path().read_dir().unwrap().count(), 0);
}

#[test]
fn the_end_takes_the_rest_with_it() {
    let sections = "[end]\ntask = \"short\"\n[[task]]\nname = \"short\"\nprogram = [{ sleep_ms = 20 }]\n\
                    [[task]]\nname = \"endless\"\ncount = 2\nprogram = [{ loop = [{ run_us = 50 }] }]";
    let outcome = run_own(sections, "promises = [\"elapsed_s\"]").unwrap();
    assert!((0.02..1.0).contains(&outcome.metrics["elapsed_s"]));
    // What the killed tasks used is known, too.
    assert!(outcome.metrics["cpu_s"] > 0.005, "{:?}", outcome.metrics);
}

#[test]
fn orphans_are_waited_for() {
    let sections = "[[task]]\nname = \"a\"\nprogram = [{ fork = \"b\" }]\n\
                    [[task]]\nname = \"b\"\nstart = \"fork\"\nprogram = [{ sleep_ms = 50 }, { count = \"c\" }]";
    let outcome = run_own(sections, "promises = []\nthroughput = \"c\"").unwrap();
    assert!((counted(&outcome) - 1.0).abs() < f64::EPSILON);
    assert!(outcome.metrics["elapsed_s"] > 0.05);
}

#[test]
fn the_same_seed_runs_the_same_bursts() {
    let sections = "[[task]]\nname = \"a\"\nprogram = [{ repeat = 20, do = [\
                    { stamp = true }, { run_us = { uniform = [1, 2000] } }, { log = \"work_us\", since = \"stamp\" }] }]";
    let workload = own(sections, "promises = [\"work_us\"]");
    let plan = workload.plan(1, &BTreeMap::new(), 1, 9).unwrap();
    let mut stream = plan.stream(0, 0);
    let drawn: u64 = (0..20)
        .map(|_| stream.draw(&workload::plan::Draw::Uniform(1000, 2_000_000), 0, &[]))
        .sum();
    let _one = ONE
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    let outcome = run(&plan, &options()).unwrap();
    assert!(
        outcome.metrics["cpu_s"] * 1e9 > 0.9 * drawn as f64,
        "{:?} {drawn}",
        outcome.metrics
    );
}

#[test]
fn faults_are_said_with_task_and_action() {
    let forked = "[[task]]\nname = \"f\"\nstart = \"fork\"\nprogram = [{ sleep_ms = 200 }]";
    let queue = "[[queue]]\nname = \"q\"\nkind = \"pipe\"\ncount = 2";
    for (rest, program, fault) in [
        (
            queue,
            "{ set = \"y\", value = \"me + 2\" }, { recv = \"q[y]\" }, { send = \"q[0]\", bytes = 1 }",
            "index out of range: 2",
        ),
        (
            "",
            "{ reap = true }",
            "reap: No child processes (os error 10)",
        ),
        (
            forked,
            "{ fork = \"f\" }, { fork = \"f\" }",
            "fork of a task that still lives: 0",
        ),
    ] {
        let sections = format!("[[task]]\nname = \"a\"\nprogram = [{program}]\n{rest}");
        let error = run_own(&sections, "promises = []").unwrap_err();
        assert_eq!(error.to_string(), format!("a[0]: {fault}"));
    }
}

#[test]
fn what_no_program_can_ask_for_is_refused() {
    let section = "program = [{ migrate_disable = [{ run_us = 1 }] }]";
    let thread = "kernel = true\nprogram = [{ run_us = 1 }]";
    for (task, message) in [
        (
            section,
            "migrate_disable: no program can ask a real kernel for it; the simulator can",
        ),
        (
            thread,
            "kernel: no program can be a thread of the kernel's own; the simulator has kept as one",
        ),
    ] {
        let task = format!("[[task]]\nname = \"kept\"\n{task}\n");
        let error = run_own(&task, "promises = [\"cpu_s\"]").unwrap_err();
        assert!(error.is::<executor::NotHere>(), "{error:#}");
        assert_eq!(error.to_string(), message);
    }
}

#[test]
fn the_cpus_of_another_task_are_changed() {
    if std::thread::available_parallelism().unwrap().get() < 2 {
        eprintln!("skipped: one CPU");
        return;
    }
    let sections = r#"
[[semaphore]]
name = "go"
count = 2
[[task]]
name = "kept"
program = [
    { affinity = [1] },
    { cpu = "before" },
    { post = "go[0]" },
    { wait = "go[1]" },
    { cpu = "after" },
    { count = "steps", by = "10 * before + after" },
]
[[task]]
name = "warden"
program = [{ wait = "go[0]" }, { confine = "kept", cpus = [0] }, { post = "go[1]" }]
"#;
    let outcome = run_own(
        sections,
        "throughput = \"steps\"\npromises = [\"throughput_per_s\"]",
    );
    assert_eq!(counted(&outcome.unwrap()) as i64, 10);
}

#[test]
fn the_share_of_another_task_is_changed() {
    let steps_after = |change: &str| {
        let sections = format!(
            r#"
[end]
task = "kept"
[[task]]
name = "changed"
cpus = [0]
program = [{{ loop = [{{ run_us = 200 }}, {{ count = "steps" }}] }}]
[[task]]
name = "kept"
cpus = [0]
program = [{change} {{ run_ms = 100 }}]
"#
        );
        let metrics = "throughput = \"steps\"\npromises = [\"cpu_s\"]";
        counted(&run_own(&sections, metrics).unwrap())
    };
    let equal = steps_after("");
    assert!(equal > 100.0, "{equal}");
    for change in ["nice = 19", "policy = \"idle\""] {
        let steps = steps_after(&format!("{{ {change}, of = \"changed\" }},"));
        assert!(steps < equal / 4.0, "{change}: {steps} of {equal}");
    }
    // Who has not begun is left alone.
    let sections = "[[task]]\nname = \"a\"\nprogram = [{ nice = 19, of = \"b\" }, { policy = \"idle\", of = \"b\" }, \
                    { fork = \"b\" }]\n\
                    [[task]]\nname = \"b\"\nstart = \"fork\"\nprogram = [{ run_us = 1 }]";
    run_own(sections, "promises = [\"cpu_s\"]").unwrap();
}

#[test]
fn a_task_that_has_ended_is_forked_again() {
    let sections = "[[task]]\nname = \"a\"\nprogram = [{ repeat = 5, do = [{ fork = \"b\" }, { reap = true }] }]\n\
                    [[task]]\nname = \"b\"\nstart = \"fork\"\nprogram = [{ run_ms = 4 }, { count = \"c\" }]";
    let outcome = run_own(sections, "promises = []\nthroughput = \"c\"").unwrap();
    assert!((counted(&outcome) - 5.0).abs() < f64::EPSILON);
    // All five are accounted for.
    assert!(outcome.metrics["cpu_s"] >= 0.02, "{:?}", outcome.metrics);
}

#[test]
fn a_forked_thread_is_one_of_the_process_that_forks_it() {
    // Two generations of threads are waited for with the child.
    let sections = "[[task]]\nname = \"a\"\nprogram = [{ fork = \"b\" }, { reap = true }, \
                    { log = \"work_us\", since = \"start\" }, { fork = \"b\" }, { reap = true }]\n\
                    [[task]]\nname = \"b\"\nstart = \"fork\"\nprogram = [{ fork = \"c[0]\" }]\n\
                    [[task]]\nname = \"c\"\ncount = 2\nstart = \"fork\"\nthreads = true\nprogram = [\
                    { if = \"1 - me\", do = [{ fork = \"c[1]\" }] }, { sleep_ms = 30 }, { run_ms = 4 }, { count = \"c\" }]";
    let outcome = run_own(sections, "promises = [\"work_us\"]\nthroughput = \"c\"").unwrap();
    assert!((counted(&outcome) - 4.0).abs() < f64::EPSILON);
    assert!(outcome.metrics["cpu_s"] >= 0.016, "{:?}", outcome.metrics);
    let longest_ns = outcome.histograms["work_us"].max_ns();
    assert!(longest_ns >= 34_000_000, "{longest_ns} ns");
    let sections = "[[task]]\nname = \"a\"\nprogram = [{ fork = \"b\" }, { reap = true }]\n\
                    [[task]]\nname = \"b\"\nstart = \"fork\"\nthreads = true\nprogram = [{ sleep_ms = 1 }]";
    let error = run_own(sections, "promises = []").unwrap_err();
    assert_eq!(
        error.to_string(),
        "a[0]: reap: No child processes (os error 10)"
    );
}

#[test]
fn timers_in_their_turn_come_one_after_the_other() {
    // Late by 20 periods: they are made up for at once, and then it is on time again.
    let sections = "[[task]]\nname = \"a\"\nprogram = [{ timer_ms = 2, skip = false }, { sleep_ms = 40 }, \
                    { repeat = 20, do = [{ timer_ms = 2, skip = false }, { log = \"lateness_us\", since = \"due\" }] }]";
    let outcome = run_own(sections, "promises = [\"lateness_us\"]").unwrap();
    let late = &outcome.histograms["lateness_us"];
    assert_eq!(late.count(), 20);
    assert!(late.max_ns() >= 38_000_000, "{}", late.max_ns());
    assert!((0.042..1.0).contains(&outcome.metrics["elapsed_s"]));
}

#[test]
fn a_sleep_of_no_time_is_due_at_once() {
    let sections = "[[task]]\nname = \"a\"\nprogram = [{ sleep_ms = 1 }, { repeat = 3, do = [\
                    { run_ms = 20 }, { sleep_us = 0 }, { log = \"lateness_us\", since = \"due\" }] }]";
    let outcome = run_own(sections, "promises = [\"lateness_us\"]").unwrap();
    let late = outcome.histograms["lateness_us"].to_buckets();
    // Counted from an earlier sleep, it would hold the work.
    assert!(
        late.count == 3 && late.min_ns < 10_000_000,
        "{}",
        late.min_ns
    );
}

#[test]
fn a_post_carries_its_stamp_to_who_waits_for_any() {
    let sections = "[[semaphore]]\nname = \"asked\"\ncount = 3\n[[semaphore]]\nname = \"woken\"\ncount = 3\n\
                    [end]\ntask = \"worker\"\n\
                    [[task]]\nname = \"waker\"\nprogram = [{ loop = [{ wait = \"asked\", into = \"who\" }, \
                    { log = \"work_us\", since = \"message\" }, { post = \"woken[who]\" }] }]\n\
                    [[task]]\nname = \"worker\"\ncount = 3\nprogram = [{ repeat = 200, do = [{ stamp = true }, \
                    { sleep_us = 1500 }, { post = \"asked[me]\" }, { wait = \"woken[me]\" }, { count = \"c\" }] }]";
    let outcome = run_own(sections, "promises = [\"work_us\"]\nthroughput = \"c\"").unwrap();
    assert!((counted(&outcome) - 600.0).abs() < f64::EPSILON);
    let since = &outcome.histograms["work_us"];
    assert_eq!(since.count(), 600);
    // Stamped before the sleep.
    assert!(
        since.to_buckets().min_ns >= 1_500_000,
        "{:?}",
        since.to_buckets().min_ns
    );
}

#[test]
fn who_spins_uses_the_cpu() {
    let program = |action| {
        let sections = format!(
            "[[lock]]\nname = \"l\"\n[[semaphore]]\nname = \"held\"\n\
             [[task]]\nname = \"a\"\nprogram = [{{ lock = \"l\" }}, {{ post = \"held\" }}, {{ sleep_ms = 300 }}, {{ unlock = \"l\" }}]\n\
             [[task]]\nname = \"b\"\nprogram = [{{ wait = \"held\" }}, {{ {action} = \"l\" }}, {{ unlock = \"l\" }}]"
        );
        run_own(&sections, "promises = [\"cpu_s\"]")
            .unwrap()
            .metrics["cpu_s"]
    };
    let (spins, sleeps) = (program("spin"), program("lock"));
    assert!(spins > 0.01 && sleeps < 0.01, "{spins} {sleeps}");
}

#[test]
fn a_run_that_does_not_end_fails() {
    let sections = "[[task]]\nname = \"a\"\nprogram = [{ loop = [{ sleep_ms = 5 }] }]";
    let options = ExecOptions {
        limit: Duration::from_secs(1),
        ..options()
    };
    let error = execute(&own(sections, "promises = []"), 1, &[], &options).unwrap_err();
    assert_eq!(error.to_string(), "not over after 1 s");
}

#[test]
fn what_is_done_after_the_end_does_not_count() {
    // The accounts of so many are read between the end and the kill, which takes tens of milliseconds. Ten are
    // left for a supervisor that others keep from counting.
    let sections = "[end]\nafter_ms = 100\n[[task]]\nname = \"timer\"\nprogram = [{ loop = [\
                    { timer_us = 100, skip = false }, { log = \"lateness_us\", since = \"due\" }, { count = \"expired\" } ] }]\n\
                    [[task]]\nname = \"sleeper\"\ncount = 1000\nprogram = [{ sleep_s = 60 }]";
    let outcome = run_own(
        sections,
        "promises = [\"lateness_us\"]\nthroughput = \"expired\"",
    )
    .unwrap();
    let most = outcome.metrics["elapsed_s"] * 1e4 + 100.0;
    assert!(counted(&outcome) <= most, "{} of {most}", counted(&outcome));
    assert!(outcome.histograms["lateness_us"].count() as f64 <= most);
}

#[test]
fn a_broken_promise_fails() {
    let sections = "[end]\nafter_ms = 20\n[[task]]\nname = \"a\"\nprogram = [\
                    { stamp = true }, { sleep_s = 5 }, { log = \"work_us\", since = \"stamp\" }]";
    let error = run_own(sections, "promises = [\"work_us\"]").unwrap_err();
    assert_eq!(
        error.to_string(),
        "promised metric work_us: no value came; was the run long enough?"
    );
}

#[test]
fn exec_needs_a_program_that_can_go_on() {
    let error = run_own(
        "[[task]]\nname = \"a\"\nprogram = [{ exec = true }]",
        "promises = []",
    );
    assert_eq!(
        error.unwrap_err().to_string(),
        "exec: expected a program that can go on in a new image, this one cannot"
    );
}
