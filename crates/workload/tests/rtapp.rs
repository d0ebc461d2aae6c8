// SPDX-License-Identifier: GPL-2.0-or-later
//! rt-app's JSON: what typical files become, and every message about what is not taken.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use workload::Workload;
use workload::plan::{End, Group, Inst, Plan, Policy, Start, Value};

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/rtapp/{name}.json"))
}

fn plan(name: &str, copies: i64) -> Plan {
    let workload = Workload::read(&file(name)).unwrap();
    assert_eq!(
        (workload.name.as_str(), workload.load.as_str()),
        (name, "copies")
    );
    workload.plan(copies, &BTreeMap::new(), 4, 1).unwrap()
}

/// Forks, or other instructions, with their index evaluated for a task of the group and two counters.
fn forks(plan: &Plan, group: usize, me: i64, locals: &[i64]) -> Vec<(String, i64)> {
    let program = &plan.groups[group].program;
    let of = |inst: &Inst| match inst {
        Inst::Fork { group, index } => {
            let name = plan.groups[*group as usize].name.clone();
            Some((name, index.eval(me, locals)))
        }
        _ => None,
    };
    program.iter().filter_map(of).collect()
}

#[test]
fn attributes_and_timers() {
    let plan = plan("periodic", 3);
    assert_eq!(plan.end, End::After { ns: 1_000_000_000 });
    let groups: Vec<_> = plan
        .groups
        .iter()
        .map(|g| {
            (
                g.name.as_str(),
                g.count,
                g.threads,
                g.nice,
                g.policy,
                g.cpus.clone(),
            )
        })
        .collect();
    assert_eq!(
        groups,
        [
            ("control", 3, true, -5, Policy::Other, vec![0, 1]),
            ("sampler", 6, true, 0, Policy::Other, vec![]),
            ("batch", 3, true, 10, Policy::Batch, vec![]),
        ]
    );
    let sampler = &plan.groups[1].program;
    let set: Vec<_> = sampler
        .iter()
        .filter_map(|inst| match inst {
            Inst::SetPolicy { policy } => Some(*policy),
            _ => None,
        })
        .collect();
    // The first phase says nothing, so it keeps what the last one set.
    assert_eq!(set, [Policy::Fifo(20), Policy::Other]);
    let moves: Vec<_> = sampler
        .iter()
        .filter_map(|inst| match inst {
            Inst::Affinity { cpus } => Some(cpus.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(moves, [vec![1], vec![]]);
    // After its delay; absolute timers are never put off, relative ones are.
    assert!(matches!(sampler[0], Inst::Until { .. }));
    let puts_off = |program: &[Inst]| {
        program
            .iter()
            .filter(|inst| matches!(inst, Inst::Set { .. }))
            .count()
    };
    assert_eq!(puts_off(&plan.groups[0].program), 3);
}

#[test]
fn every_fork_starts_an_instance_of_its_own() {
    let plan = plan("forks", 2);
    let counts: Vec<_> = plan
        .groups
        .iter()
        .map(|g| (g.name.as_str(), g.count, g.start))
        .collect();
    // 2 parents x 2 passes x (3 + 1) forks, and as many grandchildren, in 2 copies; one grandchild is there before.
    assert_eq!(
        counts,
        [
            ("parent", 4, Start::Signal),
            ("child_forked", 32, Start::Fork),
            ("grandchild", 2, Start::Signal),
            ("grandchild_forked", 32, Start::Fork),
        ]
    );
    let mut started = Vec::new();
    for me in 0..4 {
        for pass in 0..2 {
            for turn in 0..3 {
                let [spawned, rested] = &forks(&plan, 0, me, &[pass, turn])[..] else {
                    panic!("two forks");
                };
                started.push(spawned.1);
                if turn == 0 {
                    started.push(rested.1);
                }
            }
        }
    }
    started.sort_unstable();
    assert_eq!(started, (0..32).collect::<Vec<_>>());
    let grandchildren: Vec<_> = (0..32).map(|me| forks(&plan, 1, me, &[])[0].1).collect();
    assert_eq!(grandchildren, (0..32).collect::<Vec<_>>());
}

#[test]
fn barriers_timers_memory_and_devices() {
    let plan = plan("meeting", 2);
    assert_eq!(plan.end, End::All);
    // Three users of each barrier in each copy; the timer counts from the start.
    let mut variables = plan.variables.clone();
    variables.sort_unstable();
    assert_eq!(variables, [(2, 0), (2, 2), (2, 2)]);
    let [early, late, _, _, sleeper] = &plan.groups[..] else {
        panic!("five groups");
    };
    // An event of that name asks for a slice as well, of 100 us at least.
    let slices: Vec<_> = plan.groups.iter().map(|group| group.slice_us).collect();
    assert_eq!(slices, [0, 0, 0, 100, 0]);
    let fill = Inst::Fill {
        bytes: Value::Const(10_000),
        buffer_bytes: 4_096,
    };
    assert!(early.program.contains(&fill));
    let discard = |bytes| Inst::Discard {
        bytes: Value::Const(bytes),
    };
    // Twice the whole buffer, then the rest.
    assert!(late.program.contains(&discard(4_096)));
    assert!(late.program.contains(&discard(1_808)));
    let waits = |group: &Group| {
        let awaits = |inst: &&Inst| matches!(inst, Inst::Await { .. });
        group.program.iter().filter(awaits).count()
    };
    let all = [early, late, sleeper].map(waits);
    assert_eq!(all, [2, 2, 1]);
}

#[test]
fn task_groups_are_control_groups() {
    let plan = plan("groups", 2);
    let name = |cgroup: u32| plan.cgroups[cgroup as usize].name.as_str();
    let parents: Vec<_> = (plan.cgroups.iter())
        .map(|cgroup| (cgroup.name.as_str(), cgroup.parent.map(name)))
        .collect();
    let expected = [("rest", None), ("work", None), ("work_deep", Some("work"))];
    assert_eq!(parents, expected);
    let groups: Vec<_> = (plan.groups.iter())
        .map(|group| (group.count, group.threads, group.cgroup.map(name)))
        .collect();
    // A process moves as a whole, so that those that move are none's threads.
    let expected = [
        (4, true, Some("rest")),
        (4, false, Some("work_deep")),
        (2, true, Some("work_deep")),
        (2, false, Some("rest")),
        (2, true, None),
    ];
    assert_eq!(groups, expected);
    let moves = |group: usize| -> Vec<Option<&str>> {
        let program = plan.groups[group].program.iter();
        let of = |inst: &Inst| match inst {
            Inst::Cgroup { cgroup } => Some(cgroup.map(name)),
            _ => None,
        };
        program.filter_map(of).collect()
    };
    // A phase that names no group leaves the task where it is, also from one pass to the next.
    assert_eq!(moves(1), [Some("rest"), None]);
    assert_eq!(moves(3), [Some("work_deep")]);
    for stays in [0, 2, 4] {
        assert!(moves(stays).is_empty(), "{stays}");
    }
    let workload = Workload::read(&file("groups")).unwrap();
    assert!(workload.remarks.is_empty());
}

#[test]
fn every_remark() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f.json");
    let text = r#"{
"global": {"frag": 1, "durations": 5, "io_device": "/dev/sda"},
"tasks": {
 "a": {"dl-period": 5, "suspend": "b", "resume": "c", "iorun": 4096},
 "b": {"suspend", "resume": "a", "signal": "d"},
 "e": {"lock": "m", "wait": {"ref": "f", "mutex": "m"}, "unlock": "m", "resume": "f"}
}}"#;
    std::fs::write(&path, text).unwrap();
    let workload = Workload::read(&path).unwrap();
    let place = format!("{}:", path.display());
    let remarks: Vec<_> = (workload.remarks.iter())
        .map(|remark| remark.strip_prefix(&place).unwrap())
        .collect();
    let begin = [
        "2: global.frag: ignored, as rt-app does with a key that it does not know",
        "2: global.durations: ignored, as rt-app does with a key that it does not know, did you mean duration?",
        "2: global.io_device: left alone",
        "4: tasks.a.dl-period: ignored, only SCHED_DEADLINE",
        "4: tasks.a.suspend: waits until the task's own name is resumed",
        "4: tasks.a.resume: wakes nobody, as in rt-app: no task waits for \"c\"",
        "4: tasks.a: never ends",
    ];
    assert_eq!(remarks.len(), begin.len(), "{remarks:#?}");
    for (remark, begin) in remarks.iter().zip(begin) {
        assert!(remark.starts_with(begin), "{remark}");
    }
    let plan = workload.plan(1, &BTreeMap::new(), 4, 1).unwrap();
    assert_eq!(plan.end, End::After { ns: 10_000_000_000 });
    let write = Inst::Disk {
        bytes: Value::Const(4_096),
        write: true,
        sync: false,
    };
    assert!(plan.groups[0].program.contains(&write));
    // What rt-app's users have written before has nothing to be said of.
    assert!(
        Workload::read(&file("periodic"))
            .unwrap()
            .remarks
            .is_empty()
    );
}

const GOOD: &str = r#"{
"global": {"duration": 5, "default_policy": "SCHED_OTHER"},
"tasks": {
 "a": {"run": 10, "lock": "m", "wait": {"ref": "c", "mutex": "m"}, "unlock": "m",
  "timer": {"ref": "tick", "period": 100}},
 "b": {"instance": 2, "loop": 3, "cpus": [0],
  "phases": {"p": {"loop": 2, "resume": "a", "sleep": 10}, "q": {"fork": "d"}}},
 "d": {"instance": 0, "loop": 1, "signal": "c"}
}}"#;

/// What to change in the good file, into what, and how the message begins.
const MESSAGES: &[(&str, &str, &str)] = &[
    (
        "\"sleep\": 10",
        "\"memrun1\": {}",
        "f.json:7: tasks.b.phases.p.memrun1: memrun has no counterpart here: what an access costs",
    ),
    (
        "\"sleep\": 10",
        "\"iorun\": -1",
        "f.json:7: tasks.b.phases.p.iorun: expected an integer from 0",
    ),
    (
        "\"sleep\": 10",
        "\"lock_order\": []",
        "f.json:7: tasks.b.phases.p.lock_order: lock_order belongs to rt-app's first grammar, which rt-app itself",
    ),
    (
        "\"sleep\": 10",
        "\"lock\": \"a\", \"resume\": \"a\"",
        "f.json:7: tasks.b.phases.p.resume: expected the mutex \"a\" to be free",
    ),
    (
        "\"sleep\": 10",
        "\"slep\": 10",
        "f.json:7: tasks.b.phases.p.slep: unknown key, did you mean sleep?",
    ),
    (
        "\"sleep\": 10",
        "\"sleep\": \"10\"",
        "f.json:7: tasks.b.phases.p.sleep: expected an integer from 0 to 2147483647, found \"10\"",
    ),
    (
        "\"sleep\": 10",
        "\"util_min\": 10",
        "f.json:7: tasks.b.phases.p.util_min: utilization clamps",
    ),
    (
        "\"sleep\": 10",
        "\"nodes_membind\": [0]",
        "f.json:7: tasks.b.phases.p.nodes_membind: memory bound",
    ),
    (
        "\"sleep\": 10",
        "\"taskgroup\": \"/a\", \"policy\": \"SCHED_FIFO\"",
        "f.json:7: tasks.b.phases.p.taskgroup: expected SCHED_OTHER, SCHED_BATCH or SCHED_IDLE beside it, as rt-app does",
    ),
    (
        "\"sleep\": 10}, \"q\"",
        "\"taskgroup\": \"/a\", \"sleep\": 10}, \"r\": {\"run\": 1, \"taskgroup\": \"/a/b\"}, \"q\"",
        "f.json:7: tasks.b.phases.p.taskgroup: expected a cgroup that is no other's parent, a is one",
    ),
    (
        "\"sleep\": 10",
        "\"taskgroup\": \"a\"",
        "f.json:7: tasks.b.phases.p.taskgroup: expected a path that begins with /, found \"a\"",
    ),
    (
        "\"sleep\": 10",
        "\"dl-runtime\": 9",
        "f.json:7: tasks.b.phases.p.dl-runtime: expected at the task",
    ),
    (
        "SCHED_OTHER",
        "SCHED_DEADLINE",
        "f.json:4: tasks.a: SCHED_DEADLINE has no counterpart here: a kernel runs",
    ),
    (
        "SCHED_OTHER",
        "SCHED_FAIR",
        "f.json:4: tasks.a: unknown policy SCHED_FAIR, expected SCHED_OTHER, ",
    ),
    (
        "\"loop\": 2",
        "\"loop\": 0",
        "f.json:7: tasks.b.phases.p.loop: expected -1 or a number from 1, found 0",
    ),
    (
        "\"loop\": 3",
        "\"loop\": -1",
        "f.json:7: tasks.b.phases.q.fork: expected a fork that happens a known number",
    ),
    (
        "\"fork\": \"d\"",
        "\"fork\": \"b\"",
        "f.json:6: tasks.b: tasks that fork each other in a circle",
    ),
    (
        "\"fork\": \"d\"",
        "\"fork\": \"e\"",
        "f.json:7: tasks.b.phases.q.fork: unknown task e, expected one of",
    ),
    (
        "\"lock\": \"m\"",
        "\"run1\": 1",
        "f.json:4: tasks.a.wait.mutex: expected a mutex that the task took",
    ),
    (
        ", \"unlock\": \"m\"",
        "",
        "f.json:4: tasks.a: expected lock m to be unlocked in the same phase",
    ),
    (
        "\"ref\": \"tick\"",
        "\"ref\": \"tick\"}, \"timer\": {\"ref\": \"tick\", \"mode\": \"late\"",
        "f.json:5: tasks.a.timer.mode: expected relative or absolute, found \"late\"",
    ),
    (
        "\"instance\": 0, ",
        "\"delay\": 3, \"timer\": {\"ref\": \"tick\", \"period\": 5}, ",
        "f.json:5: tasks.a.timer.ref: expected the same delay of all tasks that share a timer",
    ),
    (
        "\"cpus\": [0]",
        "\"cpus\": []",
        "f.json:6: tasks.b.cpus: expected at least one CPU, found a list of 0",
    ),
    (
        "\"cpus\": [0]",
        "\"cpus\": [5000]",
        "f.json:6: tasks.b.cpus[0]: expected 0 to 1023, found 5000",
    ),
    (
        "\"cpus\": [0]",
        "\"run\": 5",
        "f.json:6: tasks.b.run: expected in a phase, as the task has phases",
    ),
    (
        "\"cpus\": [0]",
        "\"priority\": 20",
        "f.json:6: tasks.b.priority: expected an integer from -20 to 19",
    ),
    (
        "\"duration\": 5",
        "\"pi_enabled\": true",
        "f.json:2: global.pi_enabled: expected false",
    ),
    (
        "\"instance\": 2",
        "\"loop\": 3",
        "f.json:6: tasks.b.loop: expected once, found twice",
    ),
    (
        "\"signal\": \"c\"",
        "\"delay\": 1",
        "f.json:8: tasks.d: expected at least one event, found none",
    ),
    (
        "\"tasks\"",
        "\"task\"",
        "f.json:3: task: unknown key, did you mean tasks?",
    ),
    ("\"run\": 10", "\"run\" 10", "f.json:4: expected JSON: "),
];

#[test]
fn every_message() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f.json");
    let read = |text: &str| {
        std::fs::write(&path, text).unwrap();
        Workload::read(&path).map_err(|error| {
            error
                .to_string()
                .replace(&path.display().to_string(), "f.json")
        })
    };
    read(GOOD).unwrap();
    for (from, to, expected) in MESSAGES {
        assert!(GOOD.contains(from), "{from}");
        let error = read(&GOOD.replacen(from, to, 1)).unwrap_err();
        assert!(error.starts_with(expected), "{error}\n{expected}");
        assert_eq!(error.lines().count(), 1);
    }
}
