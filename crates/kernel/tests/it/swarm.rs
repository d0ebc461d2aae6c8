// SPDX-License-Identifier: GPL-2.0-or-later
//! Random machines and workloads under the checkers, with policies that are sound.

use cell::Status;
use kernel::{Change, Hotplug, Options, RtGuard};
use machine::Costs;
use proptest::prelude::*;
use workload::plan::{
    Draw, End, Group, Inst, Plan, Policy, QueueArray, QueueKind, QueueRef, Since, Start, Value,
};

use crate::common::{group, machine_of, no_costs, plan, shape, simulate};

fn queue(index: Value) -> QueueRef {
    QueueRef { array: 0, index }
}

/// What a random task does over and over.
#[allow(clippy::too_many_lines, reason = "one arm an action")]
fn action() -> impl Strategy<Value = Vec<Inst>> {
    let any = |low: i64, high: i64| Draw::Uniform(low, high);
    prop_oneof![
        Just(vec![Inst::Run {
            ns: any(1_000, 5_000_000)
        }]),
        Just(vec![
            Inst::Run { ns: any(1, 50_000) },
            Inst::Sleep {
                ns: any(1_000, 2_000_000)
            }
        ]),
        Just(vec![Inst::Yield, Inst::Run { ns: any(1, 1_000) }]),
        Just(vec![Inst::Timer {
            period_ns: Value::Const(700_000),
            skip: true,
        }]),
        Just(vec![
            Inst::Timer {
                period_ns: Value::Const(300_000),
                skip: false,
            },
            Inst::Elapsed {
                since: Since::Due,
                unit_ns: 1_000,
                into: 0,
            },
            Inst::Run {
                ns: Draw::Fixed(Value::Local(0)),
            },
        ]),
        Just(vec![
            Inst::Cpu { into: 1 },
            Inst::Spin {
                lock: 0,
                index: Value::Const(0)
            },
            Inst::Run {
                ns: Draw::Uniform(1, 90_000)
            },
            Inst::Unlock {
                lock: 0,
                index: Value::Const(0)
            },
        ]),
        Just(vec![
            Inst::Stamp,
            Inst::Post {
                sem: 0,
                index: Value::Const(0)
            },
            Inst::WaitAny { sem: 0, into: 2 },
        ]),
        (-20i64..20).prop_map(|nice| vec![Inst::Nice {
            nice: Value::Const(nice)
        }]),
        (-20i64..20).prop_map(|nice| vec![Inst::NiceOf {
            group: 0,
            index: Value::Const(0),
            nice: Value::Const(nice),
        }]),
        prop_oneof![
            Just(Policy::Other),
            Just(Policy::Idle),
            Just(Policy::Rr(5)),
            Just(Policy::Fifo(20))
        ]
        .prop_map(|policy| vec![
            Inst::SetPolicyOf {
                group: 0,
                index: Value::Const(0),
                policy,
            },
            Inst::Run {
                ns: Draw::Uniform(1, 9_000)
            }
        ]),
        (0u32..4).prop_map(|cpu| vec![
            Inst::Affinity { cpus: vec![cpu] },
            Inst::Run {
                ns: Draw::Uniform(1, 9_000)
            }
        ]),
        Just(vec![Inst::Affinity { cpus: vec![] }]),
        (0u32..4).prop_map(|cpu| vec![Inst::Confine {
            group: 0,
            index: Value::Const(0),
            cpus: vec![cpu, 0]
        }]),
        Just(vec![
            Inst::MigrateDisable,
            Inst::Run {
                ns: Draw::Uniform(1, 90_000)
            },
            Inst::Sleep {
                ns: Draw::Uniform(1, 90_000)
            },
            Inst::MigrateEnable,
        ]),
        Just(vec![
            Inst::Lock {
                lock: 0,
                index: Value::Const(0)
            },
            Inst::Run {
                ns: Draw::Uniform(1, 90_000)
            },
            Inst::Unlock {
                lock: 0,
                index: Value::Const(0)
            },
        ]),
        Just(vec![
            Inst::Post {
                sem: 0,
                index: Value::Const(0)
            },
            Inst::Wait {
                sem: 0,
                index: Value::Const(0)
            }
        ]),
        Just(vec![
            Inst::Send {
                queue: queue(Value::Const(0)),
                bytes: Value::Const(100)
            },
            Inst::Recv {
                queue: queue(Value::Const(0))
            }
        ]),
        Just(vec![Inst::Disk {
            bytes: Value::Const(4_096),
            write: true,
            sync: true
        }]),
        Just(vec![
            Inst::SetPolicy {
                policy: Policy::Rr(5)
            },
            Inst::Run {
                ns: Draw::Uniform(1, 90_000)
            },
            Inst::SetPolicy {
                policy: Policy::Other
            }
        ]),
    ]
}

fn groups() -> impl Strategy<Value = Vec<Group>> {
    let one = (1u32..6, prop::collection::vec(action(), 1..6), 0u32..256).prop_map(
        |(count, actions, footprint)| {
            let mut program: Vec<Inst> = actions.concat();
            program.push(Inst::Run {
                ns: Draw::Uniform(1_000, 100_000),
            });
            program.push(Inst::Jump { to: 0 });
            Group {
                kernel: false,
                footprint_kib: footprint,
                ..group("g", count, program)
            }
        },
    );
    prop::collection::vec(one, 1..5)
}

fn with_ipc(groups: Vec<Group>, seed: u64) -> Plan {
    let mut plan = plan(groups, End::After { ns: 200_000_000 });
    let family = plan.groups.len() as u32;
    let fork = Inst::Fork {
        group: family + 1,
        index: Value::Me,
    };
    plan.groups.push(group(
        "parent",
        2,
        vec![
            fork,
            Inst::Run {
                ns: Draw::Uniform(1, 100_000),
            },
            Inst::Reap,
            Inst::Jump { to: 0 },
        ],
    ));
    let mut child = group(
        "child",
        2,
        vec![Inst::Run {
            ns: Draw::Uniform(1, 900_000),
        }],
    );
    child.start = Start::Fork;
    plan.groups.push(child);
    plan.queues.push(QueueArray {
        name: "q".to_string(),
        kind: QueueKind::Pipe,
        count: 1,
        capacity_bytes: 65_500,
        message_bytes: 100,
        stamped: false,
        back_of: None,
    });
    plan.locks.push(1);
    plan.semaphores.push((1, 1));
    plan.seed = seed;
    plan
}

/// More of them: `PROPTEST_CASES=2000 cargo test -p kernel swarm`.
fn cases() -> u32 {
    std::env::var("PROPTEST_CASES")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(48)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), ..ProptestConfig::default() })]

    #[test]
    fn sound_policies_pass(
        groups in groups(),
        seed in 1u64..1_000,
        places in (1u32..3, 1u32..3, 1u32..5, 1u32..3),
        free: bool,
        gone in prop::option::of(0u32..4),
        guard in prop::sample::select(vec![RtGuard::None, RtGuard::Throttle, RtGuard::Share, RtGuard::ExtServer]),
        policy in prop::sample::select(vec!["vtime", "fifo", "every", "kicks", "maps", "bfs", "cfs", "mlfq", "rr"]),
    ) {
        let (sockets, llcs, cores, threads) = places;
        let costs = if free { no_costs() } else { Costs { lock_waiter_ns: 30, ..Costs::default() } };
        let machine = machine_of(shape(sockets, llcs, cores, threads), costs);
        let cpus = machine.cpus() as u32;
        let hotplug: Vec<Hotplug> = gone
            .filter(|cpu| *cpu < cpus && cpus > 1)
            .map(|cpu| [(50, Change::Offline), (120, Change::Online)].map(|(ms, change)| Hotplug { at_ns: ms * 1_000_000, cpu, change }))
            .into_iter()
            .flatten()
            .collect();
        let options = || Options {
            rt_guard: Some(guard),
            max_events: 5_000_000,
            hotplug: hotplug.clone(),
            ..Options::default()
        };
        let first = simulate(&machine, with_ipc(groups.clone(), seed), policy, options());
        prop_assert_eq!(first.status, Status::Ok, "{}", first.reason);
        let again = simulate(&machine, with_ipc(groups, seed), policy, options());
        prop_assert_eq!(first.trace_hash, again.trace_hash);
    }
}
