// SPDX-License-Identifier: GPL-2.0-or-later
//! Every workload of the project at a small scale, as a program runs it: what it promises comes, and nothing is left.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use workload::Workload;

/// Load and parameters of each.
const SMALL: &[(&str, &str, &[&str])] = &[
    (
        "compile-e2fsprogs",
        "2",
        &["scale_pct=5", "objects=5", "shells=3"],
    ),
    (
        "compile-vlc",
        "2",
        &["scale_pct=1", "steps=3", "work_permille=300"],
    ),
    ("counter", "3", &["work_us=20000"]),
    ("cyclictest", "2", &["duration_s=1", "hogs=1"]),
    ("hackbench", "2", &["loops=10", "fds=4"]),
    ("kbuild", "3", &["scale_pct=5", "objects=2", "shells=3"]),
    ("latt", "3", &["duration_s=1"]),
    ("lrzip", "2", &["scale_pct=1"]),
    ("mixed", "3", &["blocks=4"]),
    ("mplayer", "2", &["scale_pct=3", "work_permille=600"]),
    ("oltp", "2", &["scale_pct=20", "read_write=1"]),
    ("pi", "5", &["work_us=20000"]),
    ("pipe", "2", &["trips=500"]),
    ("playback", "2", &["frames=20", "decode_us=2000"]),
    ("rt-pipe", "2", &["interval_ms=5"]),
    ("rt-tcp", "2", &["interval_ms=5"]),
    ("rw", "3", &["blocks=4"]),
    ("schbench", "3", &["duration_s=1"]),
    ("slices", "2", &["duration_s=1"]),
    ("transcode", "2", &["scale_pct=2"]),
];

/// One run at a time: two would disturb each other.
static ONE: Mutex<()> = Mutex::new(());

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../workloads/{name}.toml"))
}

/// The example `run`, which Cargo builds beside the tests.
fn example() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let dir = test.parent().unwrap().parent().unwrap();
    dir.join("examples/run")
}

/// A run with a scratch folder and a mark of its own.
fn command(name: &str, load: &str, params: &[&str], scratch: &Path) -> Command {
    let mut command = Command::new(example());
    command.arg(file(name)).arg(load).args(params);
    command.env("TMPDIR", scratch);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Processes that have this scratch folder.
fn left(scratch: &Path) -> usize {
    let wanted = format!("TMPDIR={}\0", scratch.display());
    let has = |entry: &std::fs::DirEntry| {
        let environment = std::fs::read(entry.path().join("environ")).unwrap_or_default();
        String::from_utf8_lossy(&environment).contains(&wanted)
    };
    let processes = Path::new("/proc").read_dir().unwrap();
    processes.filter_map(Result::ok).filter(has).count()
}

/// Whether this machine lets its root make groups with the controller `cpu`.
fn has_control_groups() -> bool {
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap();
    let second = mounts.lines().find_map(|line| {
        let words: Vec<&str> = line.split(' ').collect();
        (words[2] == "cgroup2").then(|| PathBuf::from(words[1]))
    });
    let controllers = second.map(|root| root.join("cgroup.controllers"));
    let controllers = controllers.and_then(|file| std::fs::read_to_string(file).ok());
    // SAFETY: no memory.
    let is_root = unsafe { libc::geteuid() } == 0;
    is_root && controllers.is_some_and(|all| all.split_whitespace().any(|name| name == "cpu"))
}

fn nothing_left(scratch: &Path) {
    assert_eq!(left(scratch), 0);
    assert_eq!(scratch.read_dir().unwrap().count(), 0);
}

fn run(name: &str, load: &str, params: &[&str]) -> BTreeMap<String, f64> {
    let _one = ONE
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    let scratch = tempfile::tempdir().unwrap();
    let output = command(name, load, params, scratch.path())
        .output()
        .unwrap();
    nothing_left(scratch.path());
    let what = format!("{name} {load} {params:?}");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{what}");
    assert_eq!(output.status.code(), Some(0), "{what}");
    // Scalars as they are, of distributions their count.
    let pair = |line: &str| {
        let (name, rest) = line.split_once(' ')?;
        let number = rest.split(' ').find_map(|word| word.parse().ok())?;
        Some((name.to_string(), number))
    };
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().filter_map(pair).collect()
}

#[test]
fn every_workload_keeps_its_promises() {
    let shipped: BTreeSet<String> = file("latt")
        .parent()
        .unwrap()
        .read_dir()
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_string())
        .collect();
    for name in &shipped {
        assert!(SMALL.iter().any(|(known, ..)| known == name), "{name}");
    }
    for (name, load, params) in SMALL {
        let workload = Workload::read(&file(name)).unwrap();
        let plan = workload.plan(load.parse().unwrap(), &BTreeMap::new(), 2, 1);
        if !plan.as_ref().unwrap().cgroups.is_empty() && !has_control_groups() {
            let scratch = tempfile::tempdir().unwrap();
            let output = command(name, load, params, scratch.path())
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(said.contains("the workload's control groups"), "{said}");
            assert_eq!(said.lines().count(), 1, "{said}");
            continue;
        }
        let metrics = run(name, load, params);
        for promise in plan.unwrap().promises {
            assert!(metrics.contains_key(&promise), "{name}: {promise}");
        }
        for metric in metrics.keys() {
            assert!(
                cell::metric(metric).is_some(),
                "{metric}: see cell::METRICS"
            );
        }
    }
}

#[test]
fn pipe_makes_every_trip_and_probes() {
    let metrics = run("pipe", "2", &["trips=2000", "probe_ms=5"]);
    let trips = metrics["throughput_per_s"] * metrics["elapsed_s"];
    assert!((trips - 4000.0).abs() < 1e-6, "{metrics:?}");
    assert!((metrics["turnaround_us"] - 2.0).abs() < f64::EPSILON);
    assert!(metrics["probe_latency_us"] >= 1.0, "{metrics:?}");
    // Two tasks that wait for each other block on most trips.
    assert!(metrics["switches_voluntary"] > 2000.0, "{metrics:?}");
    // Long enough for another, however busy the machine is.
    let many = run("pipe", "1", &["trips=60000", "probe_ms=5"]);
    assert!(many["probe_latency_us"] >= 2.0, "{many:?}");
}

#[test]
fn playback_shows_or_drops_every_frame() {
    let sum =
        |metrics: &BTreeMap<String, f64>| metrics["frames_shown"] + metrics["frames_not_shown"];
    let easy = run(
        "playback",
        "1",
        &["frames=25", "decode_us=1000", "late_us=1000000"],
    );
    assert!((sum(&easy) - 25.0).abs() < f64::EPSILON, "{easy:?}");
    assert!(easy["dropped_frames"].abs() < f64::EPSILON, "{easy:?}");
    // Three times as much to decode as there is time: every third frame at best, or, where the host has become faster
    // since it was calibrated, every other.
    let hard = run("playback", "1", &["frames=25", "decode_us=120000"]);
    assert!((sum(&hard) - 25.0).abs() < f64::EPSILON, "{hard:?}");
    assert!(hard["frames_shown"] <= 14.0, "{hard:?}");
    // A busy machine may leave the player no time even to drop them.
    assert!(
        hard["dropped_frames"] <= hard["frames_not_shown"],
        "{hard:?}"
    );
}

#[test]
fn real_time_policies_are_inherited() {
    // SAFETY: no memory.
    if unsafe { libc::geteuid() } == 0 {
        for policy in ["policy=fifo", "policy=rr"] {
            let metrics = run("pi", "3", &["work_us=20000", policy]);
            // Nobody takes the CPU from the highest priority within 20 ms.
            assert!(metrics["switches_involuntary"] <= 3.0, "{metrics:?}");
        }
    }
}

#[test]
fn without_privilege_the_policy_is_refused_with_the_remedy() {
    // Root becomes somebody else, who must be able to read what he runs.
    let public = tempfile::tempdir().unwrap();
    let [program, toml] = ["run", "pi.toml"].map(|name| public.path().join(name));
    for (from, to) in [(example(), &program), (file("pi"), &toml)] {
        let mut copy = Command::new("install");
        copy.args(["-m", "755"]).arg(from).arg(to);
        assert!(copy.status().unwrap().success());
    }
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(public.path(), mode).unwrap();
    let mut command = Command::new(&program);
    command.arg(&toml).args(["2", "work_us=1000", "policy=rr"]);
    let no_priority = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: system calls, one of which reads a copy of a local.
    unsafe {
        command.pre_exec(move || {
            libc::setrlimit(libc::RLIMIT_RTPRIO, &raw const no_priority);
            if libc::geteuid() == 0 {
                // The tests may be niced, and only root can take that back.
                libc::setpriority(libc::PRIO_PROCESS, 0, 0);
                libc::setgid(65_532);
                libc::setuid(65_532);
            }
            Ok(())
        });
    }
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        String::from_utf8_lossy(&output.stderr),
        "parent[0]: policy: Operation not permitted (os error 1); real-time policies need root, or \
         `ulimit -r 99` (RLIMIT_RTPRIO) allowed by root\n"
    );
}

/// A file system of 3 MiB in a mount namespace of its own, which goes with the run.
fn in_little_space(scratch: &Path, command: &Command) -> Output {
    // SAFETY: no memory.
    let own_user: &[&str] = if unsafe { libc::geteuid() } == 0 {
        &[]
    } else {
        &["--map-root-user"]
    };
    let script = "mount -t tmpfs -o size=3m none \"$TMPDIR\" && exec \"$@\"";
    let mut unshare = Command::new("unshare");
    unshare
        .args(own_user)
        .args(["--mount", "sh", "-c", script, "sh"]);
    unshare.arg(command.get_program()).args(command.get_args());
    unshare.env("TMPDIR", scratch).output().unwrap()
}

#[test]
fn a_full_disk_fails_the_run_and_says_where_to_go() {
    let scratch = tempfile::tempdir().unwrap();
    let output = in_little_space(scratch.path(), &command("rw", "1", &[], scratch.path()));
    let said = String::from_utf8_lossy(&output.stderr);
    // In a chroot, or in a container without the right, there is no mounting.
    if said.starts_with("unshare: ") || said.starts_with("mount: ") {
        eprintln!("skipped: no file system of its own can be had here: {said}");
        return;
    }
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        String::from_utf8_lossy(&output.stderr),
        "child[0]: disk: No space left on device (os error 28); TMPDIR names a folder on another file system\n"
    );
    nothing_left(scratch.path());
}

fn until(what: &str, condition: impl Fn() -> bool) {
    let start = Instant::now();
    while !condition() {
        let waited = start.elapsed();
        assert!(waited < Duration::from_secs(60), "waited for {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn interrupt(child: Child) -> Output {
    // SAFETY: no memory; the test's own child, not yet waited for.
    assert_eq!(
        unsafe { libc::kill(child.id() as libc::pid_t, libc::SIGINT) },
        0
    );
    child.wait_with_output().unwrap()
}

#[test]
fn an_interrupt_leaves_neither_process_nor_file() {
    for (name, load, params) in [
        ("rw", "4", &["blocks=1000000"][..]),
        ("pipe", "2", &["trips=1000000000", "probe_ms=1"]),
        ("schbench", "4", &[]),
        ("pi", "3", &["work_us=60000000"]),
    ] {
        let scratch = tempfile::tempdir().unwrap();
        let child = command(name, load, params, scratch.path()).spawn().unwrap();
        until(name, || left(scratch.path()) >= 4);
        // Into the middle of it.
        std::thread::sleep(Duration::from_millis(300));
        let output = interrupt(child);
        assert_eq!(output.status.code(), Some(130), "{name}");
        assert_eq!(
            String::from_utf8_lossy(&output.stderr),
            "interrupted by signal 2\n",
            "{name}"
        );
        nothing_left(scratch.path());
    }
}
