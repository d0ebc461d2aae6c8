// SPDX-License-Identifier: GPL-2.0-or-later
//! Applications under whatever scheduler runs: what comes out, every way to fail, and that nothing is left.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("runs")).unwrap();
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A workload of one short task, with this `[command]`.
    fn workload(&self, command: &str) -> Command {
        let text = format!(
            "name = \"app\"\ntitle = \"t\"\nsource = \"s\"\nload = \"jobs\"\nloads = [1]\n\
             [params]\njobs = {{ default = 1, min = 1, max = 9, about = \"a\" }}\n\
             word = {{ default = \"old\", choices = [\"old\", \"new\"], about = \"a\" }}\n\
             [[queue]]\nname = \"q\"\nkind = \"pipe\"\n\
             [[task]]\nname = \"main\"\nprogram = [{{ run_us = 10 }}, {{ count = \"frames_shown\" }}]\n\
             [[task]]\nname = \"beside\"\nprogram = [{{ sleep_ms = 20 }}, {{ log = \"wakeup_latency_us\", since = \"due\" }}]\n\
             [[task]]\nname = \"asker\"\nprogram = [{{ send = \"q\", bytes = 16 }}]\n\
             [[task]]\nname = \"answerer\"\nprogram = [{{ recv = \"q\" }}]\n\
             {command}\n"
        );
        let file = self.path("app.toml");
        std::fs::write(&file, text).unwrap();
        let mut program = Command::new(env!("CARGO_BIN_EXE_schedlab-host"));
        program.args(["exec", "--json"]).arg(file);
        program.env("SCHEDLAB_CACHE", self.path("cache"));
        program.env("TMPDIR", self.path("runs"));
        program.stdout(Stdio::piped()).stderr(Stdio::piped());
        program
    }

    /// Status, what was said to people, and the record.
    fn run(&self, command: &str) -> (Option<i32>, String, serde_json::Value) {
        let output = self.workload(command).output().unwrap();
        self.nothing_is_left();
        let record = serde_json::from_slice(&output.stdout).unwrap_or_default();
        let said = String::from_utf8(output.stderr).unwrap();
        (output.status.code(), said, record)
    }

    /// Neither a file nor a process that works in the folder of runs.
    fn nothing_is_left(&self) {
        let runs = self.path("runs");
        assert_eq!(runs.read_dir().unwrap().count(), 0);
        assert_eq!(processes_in(&runs), 0);
    }
}

fn processes_in(folder: &Path) -> usize {
    let works_there = |entry: &std::fs::DirEntry| {
        let place = std::fs::read_link(entry.path().join("cwd")).unwrap_or_default();
        place.starts_with(folder)
    };
    let processes = Path::new("/proc").read_dir().unwrap();
    processes.filter_map(Result::ok).filter(works_there).count()
}

fn metrics(promises: &str) -> String {
    format!("[metrics]\npromises = [{promises}]\n")
}

fn until(what: &str, condition: impl Fn() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(
            start.elapsed() < Duration::from_secs(60),
            "waited for {what}"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_run_is_measured_and_its_output_read() {
    let place = Place::new();
    let (status, said, record) = place.run(&format!(
        "{}[command]\ntools = {{ sh = \"dash\" }}\nreplaces = [\"main\"]\n\
         setup = 'echo made >file'\n\
         run = 'cat file; test \"$word\" = old; echo \"frames: 7 $cpus $seed\"; \
         i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done'\n\
         [command.metrics]\nframes_shown = 'frames: (\\d+)'\n",
        metrics("\"elapsed_s\", \"cpu_s\", \"switches_voluntary\", \"frames_shown\", \"wakeup_latency_us\"")
    ));
    assert_eq!((status, said.as_str()), (Some(0), ""), "{record}");
    let number = |name: &str| record["metrics"][name].as_f64().unwrap();
    assert!((number("frames_shown") - 7.0).abs() < f64::EPSILON);
    assert!(
        number("cpu_s") > 0.001 && number("cpu_s") <= number("elapsed_s") * 1.2,
        "{record}"
    );
    // What the keeper measured of it, or why it could not.
    let energy = record["provenance"]["energy"].as_str().unwrap();
    assert_eq!(
        energy.starts_with("no energy: "),
        record["metrics"]["energy_j"].is_null(),
        "{record}"
    );
    assert!(
        !energy.is_empty() && !energy.contains("nobody asked"),
        "{energy}"
    );
    // Of the model, what the application does not stand for ran beside it.
    assert_eq!(record["histograms"]["wakeup_latency_us"]["count"], 1);
}

#[test]
fn a_server_of_the_setup_counts_and_goes() {
    let place = Place::new();
    let (status, said, record) = place.run(&format!(
        "{}[command]\ntools = {{ setsid = \"util-linux\" }}\n\
         setup = 'setsid sh -c \"while :; do :; done\" & sleep 0.1'\nrun = 'sleep 0.5'\nstop = 'echo'\n",
        metrics("\"elapsed_s\", \"cpu_s\"")
    ));
    assert_eq!((status, said.as_str()), (Some(0), ""), "{record}");
    assert!(
        record["metrics"]["cpu_s"].as_f64().unwrap() > 0.02,
        "{record}"
    );
    assert!(
        record["metrics"]["switches_voluntary"].is_null(),
        "{record}"
    );
}

#[test]
fn every_failure_says_what_happened() {
    let place = Place::new();
    let fails = |command: &str, expected: &str| {
        let text = format!("{}[command]\n{command}", metrics("\"elapsed_s\""));
        let (status, said, record) = place.run(&text);
        assert_eq!(status, Some(1), "{said}");
        assert_eq!(record["status"], "failed");
        let reason = record["reason"].as_str().unwrap();
        assert!(reason.starts_with(expected), "{reason}");
    };
    let sh = "tools = { sh = \"dash\" }\n";
    fails(
        &format!("{sh}run = 'echo one; echo two >&2; exit 7'"),
        "run exited with status 7; it said last: one | two; again with",
    );
    fails(
        &format!("{sh}setup = 'false'\nrun = 'true'"),
        "setup exited with status 1; it said last: nothing",
    );
    fails(
        &format!("{sh}run = 'kill -9 $$'"),
        "run was killed by signal 9; it said last: nothing",
    );
    fails(
        &format!("{sh}run = 'echo 12 frames'\n[command.metrics]\nframes_shown = 'frames: (\\d+)'"),
        "run: no number matches the pattern of frames_shown, 'frames: (\\d+)'; it said last: 12 frames",
    );
    fails(
        &format!("{sh}run = 'true'\n[command.input]\ntools = {{}}\nmake = 'echo no; exit 3'"),
        "app: its input: the script exited with status 3; it said last: no",
    );
}

#[test]
fn a_missing_tool_names_its_package() {
    let place = Place::new();
    let text = "[command]\ntools = { zz-compressor = \"zz-tools\" }\nrun = 'true'\n";
    let (status, said, _) = place.run(&format!("{}{text}", metrics("\"elapsed_s\"")));
    assert_eq!(status, Some(3));
    assert_eq!(
        said,
        "schedlab-host: app: zz-compressor is not installed; on Debian: apt-get install zz-tools\n"
    );
}

#[test]
fn mistakes_in_the_table_are_bad_input() {
    let place = Place::new();
    for (table, expected) in [
        (
            "run = 'true'",
            "command.tools: expected this key, found none",
        ),
        (
            "tools = {}\nrun = 'true'\nruns = 1",
            "command.runs: unknown key",
        ),
        (
            "tools = {}\nrun = 'true'\nreplaces = [\"x\"]",
            "command.replaces[0]: expected the name of a task",
        ),
        (
            "tools = {}\nrun = 'true'\n[command.metrics]\nframes_shown = 'x'",
            "expected a regular expression with one group",
        ),
        (
            "tools = {}\nrun = 'true'\n[command.metrics]\nframes = '(x)'",
            "command.metrics.frames: expected throughput_per_s",
        ),
        (
            "tools = {}\nrun = 'true'\n[command.input]\ntools = {}\ngiven = [\"x\"]\nmake = ''",
            "expected the name of a parameter",
        ),
        (
            "tools = {}\nrun = 'true'\n[command.input]\ntools = {}\nfiles = [\"a/x\"]\nmake = ''",
            "command.input.files[0]: expected a file of the workload: ",
        ),
    ] {
        let (status, said, _) =
            place.run(&format!("{}[command]\n{table}\n", metrics("\"elapsed_s\"")));
        assert_eq!(status, Some(2), "{said}");
        assert!(
            said.contains(expected) && said.trim_end().lines().count() == 1,
            "{said}"
        );
    }
}

#[test]
fn an_input_is_made_once_and_checked() {
    let place = Place::new();
    let text = format!(
        "{}[command]\ntools = {{ sh = \"dash\" }}\nrun = 'test -s \"$input/data\"; cat \"$input/data\" >>\"$PWD/copy\"'\n\
         [command.input]\ntools = {{}}\ngiven = [\"word\"]\nmake = 'echo \"$word\" >data'\n",
        metrics("\"elapsed_s\"")
    );
    let (status, said, _) = place.run(&text);
    assert_eq!(
        (status, said.as_str()),
        (Some(0), "app: making its input, once\n")
    );
    let (status, said, _) = place.run(&text);
    assert_eq!((status, said.as_str()), (Some(0), ""));
    // Another value of a parameter that it depends on is another input; of another parameter, the same.
    for (param, made) in [
        ("word=new", "app: making its input, once\n"),
        ("word=old", ""),
    ] {
        let output = place
            .workload(&text)
            .args(["--param", param])
            .output()
            .unwrap();
        assert_eq!(String::from_utf8(output.stderr).unwrap(), made);
    }
    for input in place.path("cache/inputs").read_dir().unwrap() {
        let data = input.unwrap().path().join("files/data");
        if data.exists() {
            std::fs::write(data, "other").unwrap();
        }
    }
    let (status, _, record) = place.run(&text);
    assert_eq!(status, Some(1));
    let reason = record["reason"].as_str().unwrap();
    assert!(
        reason.starts_with("app: its input has changed since it was made: remove "),
        "{reason}"
    );
}

#[test]
fn the_files_that_an_input_is_made_with_are_a_part_of_the_workload() {
    let place = Place::new();
    let file = place.path("given/one.config");
    std::fs::create_dir(place.path("given")).unwrap();
    let text = format!(
        "{}[command]\ntools = {{}}\nrun = 'cat \"$input/data\"'\n\
         [command.metrics]\nframes_shown = '(\\d+)'\n\
         [command.input]\ntools = {{}}\nfiles = [\"given/one.config\"]\nmake = 'cp \"$beside/one.config\" data'\n",
        metrics("\"frames_shown\"")
    );
    for (content, made) in [
        ("11", "app: making its input, once\n"),
        ("12", "app: making its input, once\n"),
        ("11", ""),
    ] {
        std::fs::write(&file, content).unwrap();
        let (status, said, record) = place.run(&text);
        assert_eq!((status, said.as_str()), (Some(0), made), "{record}");
        let shown = record["metrics"]["frames_shown"].as_f64();
        assert_eq!(shown, content.parse().ok());
    }
}

/// A server that would live for ever, in a session of its own, and a run that would never end.
fn busy() -> String {
    format!(
        "{}[command]\ntools = {{ setsid = \"util-linux\" }}\n\
         setup = 'setsid sleep 1000 & setsid sh -c \"sleep 1000\" &'\nrun = 'sleep 1000 & touch running; sleep 1000'\n",
        metrics("\"elapsed_s\"")
    )
}

fn started(place: &Place) -> Child {
    let child = place.workload(&busy()).spawn().unwrap();
    let running = || {
        let runs = place.path("runs").read_dir().unwrap().flatten();
        runs.map(|run| run.path().join("work/running"))
            .any(|path| path.exists())
    };
    until("the run", running);
    child
}

fn signal(child: &Child, signal: libc::c_int) {
    // SAFETY: no memory; the test's own child, not yet waited for.
    assert_eq!(unsafe { libc::kill(child.id() as libc::pid_t, signal) }, 0);
}

#[test]
fn an_interrupt_leaves_neither_server_nor_file() {
    let place = Place::new();
    for number in [libc::SIGINT, libc::SIGTERM] {
        let child = started(&place);
        signal(&child, number);
        let Output { status, stderr, .. } = child.wait_with_output().unwrap();
        assert_eq!(status.code(), Some(130));
        assert_eq!(
            String::from_utf8_lossy(&stderr),
            "schedlab-host: interrupted\n"
        );
        place.nothing_is_left();
    }
}

#[test]
fn nor_does_an_end_that_nobody_can_catch() {
    let place = Place::new();
    let mut child = started(&place);
    signal(&child, libc::SIGKILL);
    child.wait().unwrap();
    until("the keeper", || {
        place.path("runs").read_dir().unwrap().count() == 0
    });
    until("the processes", || processes_in(&place.path("runs")) == 0);
}
