// SPDX-License-Identifier: GPL-2.0-or-later
//! Every message about a bad workload file.

use workload::Workload;

const GOOD: &str = r#"name = "w"
title = "t"
source = "s"
load = "n"
loads = [1, 2]
[params]
n = { default = 2, min = 1, max = 8, about = "a" }
us = { default = "cpus * 10", min = 0, max = 100, about = "a" }
kind = { default = "pipe", choices = ["pipe", "tcp"], about = "a" }
[end]
after_s = 1
[[queue]]
name = "q"
kind = "kind"
count = "n"
[[lock]]
name = "l"
[[semaphore]]
name = "s"
count = 2
initial = 1
[[task]]
name = "a"
count = "n"
nice = 0
program = [
    { run_us = { uniform = [1, "us"] } },
    { stamp = true },
    { send = "q[me]", bytes = 8 },
    { fork = "b[me]" },
]
[[task]]
name = "b"
count = "n"
start = "fork"
program = [
    { recv = "q[me]" },
    { log = "turnaround_us", since = "message" },
    { repeat = 2, do = [{ sleep_ms = 1 }] },
    { count = "done" },
]
[metrics]
promises = ["turnaround_us", "throughput_per_s", "elapsed_s"]
throughput = "done"
"#;

/// What to change in the good file, into what, and the message.
type Messages = &'static [(&'static str, &'static str, &'static str)];

fn check(messages: Messages) {
    Workload::from_toml(GOOD, "w.toml").unwrap();
    for (from, to, expected) in messages {
        assert!(GOOD.contains(from), "{from}");
        let text = GOOD.replacen(from, to, 1);
        let error = Workload::from_toml(&text, "w.toml").unwrap_err();
        assert_eq!(
            format!("{error:#}"),
            format!("w.toml:{expected}"),
            "{from} -> {to}"
        );
    }
}

const THE_HEAD: Messages = &[
    (
        "\"w\"",
        "\"W\"",
        "1: name: expected a name of a-z, 0-9 and -, beginning with a letter, found \"W\"",
    ),
    ("title = \"t\"", "", " title: expected this key, found none"),
    ("title", "tilte", " title: expected this key, found none"),
    (
        "title = \"t\"",
        "title = \"t\"\ntitel = 1",
        "3: titel: unknown key, did you mean title?",
    ),
    (
        "load = \"n\"",
        "load = \"m\"",
        "4: load: expected the name of a parameter, found \"m\"",
    ),
    (
        "load = \"n\"",
        "load = 4",
        "4: load: expected a string, found 4",
    ),
    (
        "load = \"n\"",
        "load = \"kind\"",
        "4: load: expected a number for a load, found a choice",
    ),
    (
        "load = \"n\"",
        "load = \"us\"",
        "4: load: expected a parameter with min = 1 or more",
    ),
    (
        "[1, 2]",
        "[1, 9]",
        "5: loads[1]: expected an integer from 1 to 8, found 9",
    ),
    (
        "[1, 2]",
        "[0]",
        "5: loads[0]: expected an integer from 1 to 8, found 0",
    ),
    (
        "[1, 2]",
        "[1, \"3 * cpus\"]",
        "5: loads[1]: expected 1 to 8, found \"3 * cpus\" = 12 on 4 CPUs",
    ),
    (
        "[1, 2]",
        "[\"us + 1\"]",
        "5: loads[0]: unknown name us, expected one of cpus in \"us + 1\"",
    ),
    (
        "[1, 2]",
        "[1.5]",
        "5: loads[0]: expected an integer or an expression, found 1.5",
    ),
    (
        "[1, 2]",
        "[]",
        "5: loads: expected at least one load, found none",
    ),
];

#[test]
fn about_the_head() {
    check(THE_HEAD);
}

const PARAMETERS: Messages = &[
    (
        "n = {",
        "me = {",
        "7: params.me: expected a parameter's name of a-z, 0-9 and _, neither me nor cpus",
    ),
    (
        "default = 2",
        "defualt = 2",
        "7: params.n.default: expected this key, found none",
    ),
    (
        "default = 2",
        "default = 9",
        "7: params.n.default: expected an integer from 1 to 8, found 9",
    ),
    (
        "min = 1, max = 8",
        "min = 8, max = 1",
        "7: params.n.max: expected an integer from 8 to 9223372036854775807, found 1",
    ),
    (
        "about = \"a\" }\nus",
        "abuot = \"a\" }\nus",
        "7: params.n.about: expected this key, found none",
    ),
    (
        "about = \"a\" }\nus",
        "about = \"a\", step = 2 }\nus",
        "7: params.n.step: unknown key, expected one of default, about, choices, min, max",
    ),
    (
        "cpus * 10",
        "cpus * 30",
        "8: params.us.default: expected 0 to 100, found \"cpus * 30\" = 120",
    ),
    (
        "cpus * 10",
        "cpu * 10",
        "8: params.us.default: unknown name cpu, did you mean cpus? in \"cpu * 10\"",
    ),
    (
        "default = \"pipe\"",
        "default = \"pip\"",
        "9: params.kind.default: expected one of pipe, tcp, found \"pip\"",
    ),
];

#[test]
fn about_parameters() {
    check(PARAMETERS);
}

const SECTIONS: Messages = &[
    (
        "nice = 0\nprogram = [",
        "threads = true\nprogram = [ { exec = true },",
        "25: task[0].threads: expected processes where a program says exec",
    ),
    (
        "after_s = 1",
        "after_s = 0",
        "11: end.after_s: expected 1 to 1000000, found 0",
    ),
    (
        "after_s = 1",
        "after_h = 1",
        "11: end.after_h: unknown key, did you mean after_s?",
    ),
    (
        "after_s = 1",
        "task = \"c\"",
        "11: end.task: unknown task c, expected one of a, b",
    ),
    (
        "after_s = 1",
        "after_s = 1\ntask = \"a\"",
        "10: end: expected one of after_s, after_ms, task",
    ),
    (
        "name = \"q\"",
        "name = \"Q\"",
        "13: queue[0].name: expected a name of a-z, 0-9 and _, found \"Q\"",
    ),
    (
        "kind = \"kind\"",
        "kind = \"piep\"",
        "14: queue[0].kind: unknown kind piep, did you mean pipe?",
    ),
    (
        "kind = \"kind\"",
        "kind = \"kind\"\nsize = 1",
        "15: queue[0].size: unknown key, expected one of name, count, kind, back_of",
    ),
    (
        "count = \"n\"",
        "count = \"n - n\"",
        "15: queue[0].count: expected 1 to 1000000, found \"n - n\" = 0",
    ),
    (
        "count = \"n\"",
        "count = \"n * 999999999999999999\"",
        "15: queue[0].count: expected 1 to 1000000, found \"n * 999999999999999999\" = 999999999999999999",
    ),
    (
        "count = \"n\"",
        "count = \"me\"",
        "15: queue[0].count: me is known only inside a program in \"me\"",
    ),
    (
        "count = \"n\"",
        "count = \"kind\"",
        "15: queue[0].count: expected numbers, kind is a choice in \"kind\"",
    ),
    (
        "[[lock]]",
        "[[lock]]\nkind = 1",
        "17: lock[0].kind: unknown key, expected one of name, count",
    ),
    (
        "initial = 1",
        "initial = -1",
        "21: semaphore[0].initial: expected 0 to 1000000, found -1",
    ),
    (
        "name = \"b\"",
        "name = \"a\"",
        "33: task[1].name: expected a new name, a is taken",
    ),
    (
        "start = \"fork\"",
        "start = \"frok\"",
        "35: task[1].start: expected \"signal\" or \"fork\", found \"frok\"",
    ),
    (
        "nice = 0",
        "slice_us = 100001",
        "25: task[0].slice_us: expected 0 to 100000, found 100001",
    ),
    (
        "nice = 0",
        "slice_us = 200\npolicy = \"idle\"",
        "25: task[0].slice_us: expected policy \"other\" or \"batch\" beside it",
    ),
    (
        "nice = 0",
        "nice = -21",
        "25: task[0].nice: expected -20 to 19, found -21",
    ),
    (
        "nice = 0",
        "policy = \"fifo:100\"",
        "25: task[0].policy: expected other, batch, idle, fifo:PRIORITY or rr:PRIORITY, priorities from 1 to 99, found \"fifo:100\"",
    ),
    (
        "nice = 0",
        "cpus = [1024]",
        "25: task[0].cpus[0]: expected 0 to 1023, found 1024",
    ),
    (
        "nice = 0",
        "nise = 0",
        "25: task[0].nise: unknown key, did you mean nice?",
    ),
    (
        "{ fork = \"b[me]\" },",
        "",
        "32: task[1]: expected a program that forks b",
    ),
    (
        "{ fork = \"b[me]\" },\n]\n[[task]]\nname = \"b\"",
        "{ fork = \"b[me]\" }, { exec = true },\n]\n[[task]]\nthreads = true\nname = \"b\"",
        "32: task[1]: expected processes where a says exec",
    ),
];

#[test]
fn about_sections() {
    check(SECTIONS);
}

const ACTIONS: Messages = &[
    (
        "run_us",
        "rnu_us",
        "27: task[0].program[0].rnu_us: unknown action, did you mean run_us?",
    ),
    (
        "{ stamp = true }",
        "{}",
        "28: task[0].program[1]: expected an action, found an empty table",
    ),
    (
        "{ stamp = true }",
        "7",
        "28: task[0].program[1]: expected a table, found 7",
    ),
    (
        "{ stamp = true }",
        "{ stamp = 1 }",
        "28: task[0].program[1].stamp: expected true, found 1",
    ),
    (
        "{ stamp = true }",
        "{ stamp = true, yield = true }",
        "28: task[0].program[1].yield: expected one action, found stamp and yield",
    ),
    (
        "bytes = 8",
        "byts = 8",
        "29: task[0].program[2].bytes: expected this key, found none",
    ),
    (
        "bytes = 8",
        "bytes = 8, to = 1",
        "29: task[0].program[2].to: unknown key, expected one of send, bytes",
    ),
    (
        "bytes = 8",
        "bytes = 0",
        "29: task[0].program[2].bytes: expected 1 to 65536, found 0",
    ),
    (
        "bytes = 8",
        "bytes = 7",
        "12: queue[0]: expected messages of 8 to 4096 bytes, as a receiver logs since the message, found 7",
    ),
    (
        "{ stamp = true }",
        "{ send = \"q[0]\", bytes = 9 }",
        "12: queue[0]: expected messages of one size a queue, found 8 and 9 bytes",
    ),
    (
        "{ send = \"q[me]\", bytes = 8 },",
        "",
        "12: queue[0]: expected a program that sends to q",
    ),
    (
        "q[me]",
        "p[me]",
        "29: task[0].program[2].send: unknown queue p, expected one of q",
    ),
    (
        "q[me]",
        "q[me",
        "29: task[0].program[2].send: expected queue[index], found \"q[me\"",
    ),
    (
        "q[me]",
        "q[me + 1]",
        "29: task[0].program[2].send: expected an index from 0 to 0, found 1",
    ),
    (
        "q[me]",
        "q[mee]",
        "29: task[0].program[2].send: unknown name mee, expected one of kind, n, us, cpus in \"q[mee]\"",
    ),
    (
        "b[me]",
        "a[me]",
        "30: task[0].program[3].fork: expected a task with start = \"fork\", a has not",
    ),
    (
        "{ stamp = true }",
        "{ lock = \"l[1]\" }",
        "28: task[0].program[1].lock: expected an index from 0 to 0, found 1",
    ),
    (
        "{ stamp = true }",
        "{ wait = \"s\" }",
        "28: task[0].program[1].wait: expected s[index], found \"s\"",
    ),
    (
        "{ stamp = true }",
        "{ poll = \"q\" }",
        "28: task[0].program[1].into: expected this key, found none",
    ),
    (
        "{ stamp = true }",
        "{ poll = \"q\", first = 9, of = 1, into = \"x\" }",
        "28: task[0].program[1].first: expected an index from 0 to 0, found 9",
    ),
    (
        "{ stamp = true }",
        "{ poll = \"q\", first = 0, into = \"x\" }",
        "28: task[0].program[1].of: expected this key, found none",
    ),
    (
        "{ stamp = true }",
        "{ alive = \"n\" }",
        "28: task[0].program[1].alive: expected a new name, n is taken",
    ),
    (
        "{ stamp = true }",
        "{ timer_us = 0 }",
        "28: task[0].program[1].timer_us: expected 1 to 1000000000000, found 0",
    ),
    (
        "{ stamp = true }",
        "{ sleep_s = 1.5 }",
        "28: task[0].program[1].sleep_s: expected an integer or an expression, found 1.5",
    ),
    (
        "{ stamp = true }",
        "{ policy = \"rt\" }",
        "28: task[0].program[1].policy: expected other, batch, idle, fifo:PRIORITY or rr:PRIORITY, priorities from 1 to 99, found \"rt\"",
    ),
    (
        "{ stamp = true }",
        "{ affinity = [\"cpus * 256\"] }",
        "28: task[0].program[1].affinity[0]: expected 0 to 1023, found \"cpus * 256\" = 1024",
    ),
];

#[test]
fn about_actions() {
    check(ACTIONS);
}

const DRAWS_AND_BLOCKS: Messages = &[
    (
        "repeat = 2, do = [{",
        "for = \"i\", to = 2, do = [{ alive = \"i\" }, {",
        "39: task[1].program[2].do[0].alive: expected a name that no for counts, found \"i\"",
    ),
    (
        "{ uniform = [1, \"us\"] }",
        "{ unifrom = [1, 2] }",
        "27: task[0].program[0].run_us.unifrom: unknown draw, did you mean uniform?",
    ),
    (
        "{ uniform = [1, \"us\"] }",
        "{}",
        "27: task[0].program[0].run_us: expected one of uniform, exponential, lognormal, table, profile, found a table",
    ),
    (
        "[1, \"us\"]",
        "[1]",
        "27: task[0].program[0].run_us.uniform: expected a list of two: least and greatest, found a list of 1",
    ),
    (
        "[1, \"us\"]",
        "[2, 1]",
        "27: task[0].program[0].run_us.uniform: expected the least first and the greatest second, found 2000 ns and 1000 ns",
    ),
    (
        "[1, \"us\"]",
        "[-1, 1]",
        "27: task[0].program[0].run_us.uniform[0]: expected 0 to 1000000000000, found -1",
    ),
    (
        "uniform = [1, \"us\"]",
        "exponential = 0",
        "27: task[0].program[0].run_us.exponential: expected 1 to 1000000000000, found 0",
    ),
    (
        "uniform = [1, \"us\"]",
        "lognormal = { median = 1, sigma = 99, max = 2 }",
        "27: task[0].program[0].run_us.lognormal.sigma: expected a number from 0 to 10, found 99",
    ),
    (
        "uniform = [1, \"us\"]",
        "lognormal = { median = 1, sigma = 1 }",
        "27: task[0].program[0].run_us.lognormal.max: expected this key, found none",
    ),
    (
        "uniform = [1, \"us\"]",
        "table = [[1, 0]]",
        "27: task[0].program[0].run_us.table: expected a weight above 0, found none",
    ),
    (
        "uniform = [1, \"us\"]",
        "table = [[1]]",
        "27: task[0].program[0].run_us.table[0]: expected a list of two: value and weight, found a list of 1",
    ),
    (
        "{ sleep_ms = 1 }",
        "",
        "39: task[1].program[2].do: expected at least one action, found none",
    ),
    (
        "{ sleep_ms = 1 }",
        "{ count = \"done\" }",
        "39: task[1].program[2].do: expected an action that takes time in a loop, found none",
    ),
    (
        "repeat = 2, do",
        "repeat = 2, od",
        "39: task[1].program[2].do: expected this key, found none",
    ),
    (
        "repeat = 2,",
        "for = \"me\", to = 2,",
        "39: task[1].program[2].for: expected a new name, me is taken",
    ),
    (
        "repeat = 2,",
        "while = \"x\",",
        "39: task[1].program[2].while: unknown name x, expected one of kind, n, us, cpus in \"x\"",
    ),
];

#[test]
fn about_draws_and_blocks() {
    check(DRAWS_AND_BLOCKS);
}

const METRICS: Messages = &[
    (
        "turnaround_us\", since",
        "turnaruond_us\", since",
        "38: task[1].program[1].log: unknown distribution turnaruond_us, did you mean turnaround_us?",
    ),
    (
        "since = \"message\"",
        "since = \"massage\"",
        "38: task[1].program[1].since: expected stamp, message, due or start, found \"massage\"",
    ),
    (
        "since = \"message\"",
        "since = \"stamp\"",
        "38: task[1].program[1].log: expected a stamp before it, found none",
    ),
    (
        "since = \"message\"",
        "since = \"due\"",
        "38: task[1].program[1].log: expected a sleep or timer before it, found none",
    ),
    (
        "count = \"done\"",
        "count = \"doen\"",
        "40: task[1].program[3].count: unknown counter doen, did you mean done?",
    ),
    (
        "\"elapsed_s\"]",
        "\"elapsed\"]",
        "43: metrics.promises[2]: unknown metric elapsed, did you mean elapsed_s?",
    ),
    // A counter is no metric: its rate is.
    (
        "\"elapsed_s\"]",
        "\"done\"]",
        "43: metrics.promises[2]: unknown metric done, expected one of elapsed_s, throughput_per_s, \
         wakeup_latency_us, probe_latency_us, round_trip_us, lateness_us, frame_time_us, work_us, turnaround_us, \
         cpu_s, cpu_usage_pct, switches_voluntary, switches_involuntary, dropped_frames, frames_shown, frames_not_shown",
    ),
    (
        "\"elapsed_s\"]",
        "\"work_us\"]",
        "43: metrics.promises[2]: expected a metric that the programs produce, work_us is not",
    ),
    (
        "\"elapsed_s\"]",
        "\"migrations\"]",
        "43: metrics.promises[2]: expected a metric of every place, migrations is not",
    ),
    (
        "{ count = \"done\" },",
        "",
        "44: metrics.throughput: expected a counter that a program counts",
    ),
    (
        "throughput = \"done\"",
        "througput = \"done\"",
        "40: task[1].program[3].count: unknown counter done, expected one of dropped_frames, frames_shown, frames_not_shown",
    ),
];

const ADDITIONS: Messages = &[
    (
        "[[lock]]",
        "[[queue]]\nname = \"p\"\nkind = \"tcp\"\ncount = \"n\"\nback_of = \"q\"\n[[lock]]",
        "20: queue[1].back_of: expected a queue of the same kind and count, that is nobody's back, q is not",
    ),
    (
        "[[lock]]",
        "[[queue]]\nname = \"p\"\nkind = \"pipe\"\ncount = \"n\"\nback_of = \"q\"\n[[lock]]",
        "20: queue[1].back_of: expected sockets or tcp, a pipe has one direction",
    ),
    (
        "[[lock]]",
        "[[queue]]\nname = \"p\"\nkind = \"pipe\"\ncount = \"n\"\nback_of = \"p\"\n[[lock]]",
        "20: queue[1].back_of: unknown queue p before this one, expected one of q",
    ),
    (
        "since = \"message\" }",
        "since = \"message\", per = 0 }",
        "38: task[1].program[1].per: expected a number above 0, found 0",
    ),
    (
        "{ log = \"turnaround_us\", since = \"message\" }",
        "{ elapsed_us = \"x\", since = \"stamp\" }",
        "38: task[1].program[1].elapsed_us: expected a stamp before it, found none",
    ),
    (
        "{ log = \"turnaround_us\", since = \"message\" }",
        "{ elapsed_us = \"x\" }",
        "38: task[1].program[1].since: expected this key, found none",
    ),
    (
        "{ stamp = true }",
        "{ cpu = \"me\" }",
        "28: task[0].program[1].cpu: expected a new name, me is taken",
    ),
    (
        "{ stamp = true }",
        "{ wait = \"t\", into = \"x\" }",
        "28: task[0].program[1].wait: unknown semaphore t, expected one of s",
    ),
    (
        "{ stamp = true }",
        "{ spin = \"l[1]\" }",
        "28: task[0].program[1].spin: expected an index from 0 to 0, found 1",
    ),
    (
        "{ stamp = true }",
        "{ timer_us = 5, skip = 1 }",
        "28: task[0].program[1].skip: expected true or false, found 1",
    ),
    (
        "{ stamp = true }",
        "{ policy = \"kind\" }",
        "28: task[0].program[1].policy: expected other, batch, idle, fifo:PRIORITY or rr:PRIORITY, priorities from 1 to 99, found \"kind\"",
    ),
    (
        "{ sleep_ms = 1 }",
        "{ confine = \"nobody\", cpus = [0] }",
        "39: task[1].program[2].do[0].confine: unknown task nobody, expected one of a, b",
    ),
    (
        "{ sleep_ms = 1 }",
        "{ confine = \"a\" }",
        "39: task[1].program[2].do[0].cpus: expected this key, found none",
    ),
    (
        "{ sleep_ms = 1 }",
        "{ nice = 3, of = \"nobody\" }",
        "39: task[1].program[2].do[0].of: unknown task nobody, expected one of a, b",
    ),
    (
        "{ sleep_ms = 1 }",
        "{ policy = \"batch\", of = \"b[7]\" }",
        "39: task[1].program[2].do[0].of: expected an index from 0 to 0, found 7",
    ),
    (
        "{ sleep_ms = 1 }",
        "{ migrate_disable = [{ run_us = 1 }, { affinity = [0] }] }",
        "39: task[1].program[2].do[0].migrate_disable: affinity is not allowed while migration is disabled",
    ),
    (
        "{ sleep_ms = 1 }",
        "{ migrate_disable = [{ run_us = 1 }, { exit = true }] }",
        "39: task[1].program[2].do[0].migrate_disable: exit is not allowed while migration is disabled",
    ),
    (
        "{ sleep_ms = 1 }",
        "{ cpu = \"x\" }",
        "39: task[1].program[2].do: expected an action that takes time in a loop, found none",
    ),
];

#[test]
fn about_what_two_executors_share() {
    check(ADDITIONS);
}

#[test]
fn about_metrics() {
    check(METRICS);
}

#[test]
fn cpus_are_checked_against_the_machine() {
    let text = GOOD.replacen("nice = 0", "cpus = [7]", 1);
    let workload = Workload::from_toml(&text, "w.toml").unwrap();
    let plan = |cpus| workload.plan(1, &std::collections::BTreeMap::new(), cpus, 1);
    assert_eq!(plan(8).unwrap().groups[0].cpus, [7]);
    let error = plan(4).unwrap_err().to_string();
    assert_eq!(
        error,
        "w.toml:25: task[0].cpus[0]: expected 0 to 3, found 7"
    );
}
