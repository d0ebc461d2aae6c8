// SPDX-License-Identifier: GPL-2.0-or-later
//! However a run ends, no process of it is left, and the reason is said.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// The example `run`, which Cargo builds beside the tests.
fn example() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.parent()
        .unwrap()
        .parent()
        .unwrap()
        .join("examples/run")
}

fn workload(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../workloads/{name}.toml"))
}

/// A run whose processes all carry a mark of this test in their environment.
fn command(mark: &str, name: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(example());
    command
        .arg(workload(name))
        .args(arguments)
        .env("SCHEDLAB_TEST_MARK", mark);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Processes with the mark.
fn marked(mark: &str) -> Vec<u32> {
    let wanted = format!("SCHEDLAB_TEST_MARK={mark}\0");
    let process = |entry: std::io::Result<std::fs::DirEntry>| -> Option<u32> {
        let entry = entry.ok()?;
        let process = entry.file_name().to_str()?.parse().ok()?;
        let environment = std::fs::read(entry.path().join("environ")).ok()?;
        let text = String::from_utf8_lossy(&environment).into_owned();
        text.contains(&wanted).then_some(process)
    };
    Path::new("/proc")
        .read_dir()
        .unwrap()
        .filter_map(process)
        .collect()
}

fn until(what: &str, condition: impl Fn() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(
            start.elapsed() < Duration::from_secs(60),
            "waited for {what}"
        );
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// A run of `latt` that would take a minute, with all its processes there: itself, guardian, parent, four clients.
fn long_run(mark: &str) -> (Child, Vec<u32>) {
    let child = command(mark, "latt", &["4", "duration_s=60"])
        .spawn()
        .unwrap();
    until("seven processes", || marked(mark).len() == 7);
    let mut family = marked(mark);
    family.retain(|process| *process != child.id());
    (child, family)
}

fn send(process: u32, signal: i32) {
    // SAFETY: no memory; the processes are this test's own.
    assert_eq!(unsafe { libc::kill(process as libc::pid_t, signal) }, 0);
}

fn message(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn interrupts_leave_nothing() {
    for (signal, mark) in [
        (libc::SIGINT, "int"),
        (libc::SIGTERM, "term"),
        (libc::SIGHUP, "hup"),
    ] {
        let (child, _) = long_run(mark);
        send(child.id(), signal);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130));
        assert_eq!(
            message(&output),
            format!("interrupted by signal {signal}\n")
        );
        assert_eq!(marked(mark), Vec::<u32>::new());
    }
}

#[test]
fn a_killed_supervisor_leaves_nothing() {
    let (mut child, _) = long_run("kill");
    child.kill().unwrap();
    child.wait().unwrap();
    until("the guardian's work", || marked("kill").is_empty());
}

#[test]
fn a_killed_task_fails_the_run() {
    let (child, family) = long_run("task");
    // The guardian was started first, then the parent, then the clients.
    send(*family.iter().max().unwrap(), libc::SIGKILL);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(message(&output), "client[3] was killed by signal 9\n");
    assert_eq!(marked("task"), Vec::<u32>::new());
}

#[test]
fn a_killed_guardian_fails_the_run() {
    let (child, family) = long_run("guardian");
    send(*family.iter().min().unwrap(), libc::SIGKILL);
    let output = child.wait_with_output().unwrap();
    assert_eq!(message(&output), "the guardian was killed by signal 9\n");
    assert_eq!(marked("guardian"), Vec::<u32>::new());
}

#[test]
fn a_killed_forked_task_fails_the_run() {
    let child = command("forked", "counter", &["2", "work_us=30000000"])
        .spawn()
        .unwrap();
    until("five processes", || marked("forked").len() == 5);
    send(*marked("forked").iter().max().unwrap(), libc::SIGKILL);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        message(&output),
        "parent[0]: its child ended with wait status: 9\n"
    );
    assert_eq!(marked("forked"), Vec::<u32>::new());
}

#[test]
fn too_few_open_files_are_said() {
    let mut command = command("files", "hackbench", &["10"]);
    let limit = libc::rlimit {
        rlim_cur: 100,
        rlim_max: 100,
    };
    // SAFETY: one system call that reads a copy of a local.
    unsafe {
        command.pre_exec(move || {
            libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit);
            Ok(())
        });
    }
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        message(&output),
        "the queues need 464 open files, but ulimit -Hn allows 100\n"
    );
    assert_eq!(marked("files"), Vec::<u32>::new());
}

/// How many threads a user has, which is what the limit counts.
fn threads_of(user: u32) -> u64 {
    let threads = |entry: std::io::Result<std::fs::DirEntry>| -> Option<u64> {
        let entry = entry.ok()?;
        entry.file_name().to_str()?.parse::<u32>().ok()?;
        let owner = std::os::unix::fs::MetadataExt::uid(&entry.metadata().ok()?);
        let count = entry.path().join("task").read_dir().ok()?.count();
        (owner == user).then_some(count as u64)
    };
    Path::new("/proc")
        .read_dir()
        .unwrap()
        .filter_map(threads)
        .sum()
}

#[test]
fn too_few_processes_are_said() {
    // Root may start as many as it likes, so it becomes somebody else, who must be able to read what he runs.
    let public = tempfile::tempdir().unwrap();
    let [run, file] = ["run", "hackbench.toml"].map(|name| public.path().join(name));
    // By a program of its own: a copy that this process has open for writing could not be run.
    for (from, to) in [(example(), &run), (workload("hackbench"), &file)] {
        let status = Command::new("install")
            .args(["-m", "755"])
            .arg(from)
            .arg(to)
            .status();
        assert!(status.unwrap().success());
    }
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(public.path(), mode).unwrap();
    let mut command = Command::new(&run);
    command
        .arg(&file)
        .arg("10")
        .env("SCHEDLAB_TEST_MARK", "nproc");
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    // SAFETY: no memory.
    let user = match unsafe { libc::geteuid() } {
        0 => 65_533,
        user => user,
    };
    if user == 65_533 {
        command.uid(user).gid(user);
    }
    let most = threads_of(user) + 20;
    let limit = libc::rlimit {
        rlim_cur: most,
        rlim_max: most,
    };
    // SAFETY: one system call that reads a copy of a local.
    unsafe {
        command.pre_exec(move || {
            libc::setrlimit(libc::RLIMIT_NPROC, &raw const limit);
            Ok(())
        });
    }
    let output = command.output().unwrap();
    let message = message(&output);
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(
        message.starts_with("cannot start sender[")
            && message.ends_with("] of 200: Resource temporarily unavailable (os error 11)\n"),
        "{message}"
    );
    assert_eq!(marked("nproc"), Vec::<u32>::new());
}

/// A workload of these sections in a file of its own.
fn file(dir: &Path, sections: &str) -> PathBuf {
    let head = "name = \"w\"\ntitle = \"t\"\nsource = \"s\"\nload = \"n\"\nloads = [1]\n[params]\n\
                n = { default = 1, min = 1, max = 9, about = \"a\" }\n";
    let file = dir.join("w.toml");
    std::fs::write(&file, format!("{head}{sections}")).unwrap();
    file
}

#[test]
fn a_task_that_dies_where_nobody_waits_for_it_fails_the_run() {
    let dir = tempfile::tempdir().unwrap();
    let sections = r#"
[[semaphore]]
name = "never"
[[task]]
name = "boss"
program = [{ fork = "child" }, { wait = "never" }]
[[task]]
name = "child"
start = "fork"
program = [{ sleep_s = 60 }]
[metrics]
promises = []
"#;
    let mut command = Command::new(example());
    command
        .arg(file(dir.path(), sections))
        .arg("1")
        .env("SCHEDLAB_TEST_MARK", "zombie");
    let child = command.stderr(Stdio::piped()).spawn().unwrap();
    until("four processes", || marked("zombie").len() == 4);
    send(*marked("zombie").iter().max().unwrap(), libc::SIGKILL);
    let output = child.wait_with_output().unwrap();
    assert_eq!(message(&output), "child[0] died\n");
    assert_eq!(marked("zombie"), Vec::<u32>::new());
}

#[test]
fn exec_goes_on_with_what_the_task_knew() {
    let dir = tempfile::tempdir().unwrap();
    let rest = r#"
[[queue]]
name = "q"
kind = "socket"
[[task]]
name = "shell"
program = [
    { for = "i", to = 3, do = [{ fork = "tool[i]" }] },
    { repeat = 3, do = [{ recv = "q" }, { log = "turnaround_us", since = "message" }] },
    { repeat = 3, do = [{ reap = true }] },
]
[[task]]
name = "tool"
count = 3
start = "fork"
program = [
    { set = "left", value = "me + 1" },
    { stamp = true },
    { while = "left", do = [{ exec = true }, { count = "images" }, { set = "left", value = "left - 1" }] },
    { log = "work_us", since = "stamp" },
    { send = "q", bytes = 8 },
]
[metrics]
promises = ["turnaround_us", "work_us", "throughput_per_s"]
throughput = "images"
"#;
    let output = Command::new(example())
        .arg(file(dir.path(), rest))
        .arg("1")
        .output()
        .unwrap();
    assert_eq!(message(&output), "");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let metric = |name: &str| -> f64 {
        let line = text.lines().find(|line| line.starts_with(name)).unwrap();
        line.split(' ').find_map(|word| word.parse().ok()).unwrap()
    };
    // 1 + 2 + 3 images.
    assert!(
        (metric("throughput_per_s") * metric("elapsed_s") - 6.0).abs() < 1e-6,
        "{text}"
    );
    assert!(
        (metric("turnaround_us") - 3.0).abs() < f64::EPSILON,
        "{text}"
    );
}
