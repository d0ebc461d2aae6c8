// SPDX-License-Identifier: GPL-2.0-or-later
//! The real-time class rule by rule: order among equals, slices, pushes and pulls, inheritance, throttling.

use cell::Status;
use kernel::{Change, Hotplug, RtGuard};
use workload::plan::{End, Group, Inst, Policy, Start, Value};

use crate::common::{
    MS, for_ms, free, group, hogs, plan, run_for, simulate, sleep_for, switches, traced,
};
use crate::rt::guarded;

fn rt(name: &str, policy: Policy, count: u32, program: Vec<Inst>) -> Group {
    Group {
        policy,
        ..group(name, count, program)
    }
}

/// Who runs on a CPU from when, in ms.
fn order(groups: Vec<Group>, cpus: u32, cpu: u32, ms: u64) -> Vec<(u64, String)> {
    let (outcome, text) = traced(
        &free(cpus),
        plan(groups, for_ms(ms)),
        "vtime",
        guarded(RtGuard::None),
    );
    assert_eq!(outcome.status, Status::Ok, "{}", outcome.reason);
    let name = |who: String| who.split('-').next().unwrap().to_string();
    switches(&text, cpu)
        .into_iter()
        .map(|(ns, who)| (ns / 1_000_000, name(who)))
        .collect()
}

fn said(order: &[(u64, &str)]) -> Vec<(u64, String)> {
    order
        .iter()
        .map(|(ms, who)| (*ms, (*who).to_string()))
        .collect()
}

#[test]
fn the_preempted_stays_at_the_head_and_the_woken_goes_to_the_tail() {
    let first = rt("first", Policy::Fifo(5), 1, vec![run_for(20 * MS)]);
    let second = rt(
        "second",
        Policy::Fifo(5),
        1,
        vec![sleep_for(MS), run_for(20 * MS)],
    );
    let above = rt(
        "above",
        Policy::Fifo(9),
        1,
        vec![sleep_for(5 * MS), run_for(3 * MS)],
    );
    let seen = order(vec![second, first, above], 1, 0, 60);
    let from = seen.iter().position(|(ms, _)| *ms == 5).unwrap();
    assert_eq!(
        seen[from..from + 4],
        said(&[(5, "above"), (8, "first"), (23, "second"), (43, "swapper")])
    );
}

#[test]
fn yielding_is_what_takes_fifo_to_the_tail() {
    let turn = vec![run_for(3 * MS), Inst::Yield, Inst::Jump { to: 0 }];
    let seen = order(
        vec![
            rt("left", Policy::Fifo(5), 1, turn.clone()),
            rt("right", Policy::Fifo(5), 1, turn),
        ],
        1,
        0,
        14,
    );
    assert_eq!(
        seen,
        said(&[
            (0, "left"),
            (3, "right"),
            (6, "left"),
            (9, "right"),
            (12, "left")
        ])
    );
}

#[test]
fn the_gap_of_round_robin_is_the_slices_of_the_others() {
    for equals in 2..7u32 {
        let hog = rt("hog", Policy::Rr(1), equals, hogs(1).program);
        let (_, text) = traced(
            &free(1),
            plan(vec![hog], for_ms(3_000)),
            "vtime",
            guarded(RtGuard::None),
        );
        let mut last_end = std::collections::BTreeMap::new();
        let switches = switches(&text, 0);
        for pair in switches.windows(2) {
            let ((start, who), (end, _)) = (&pair[0], &pair[1]);
            assert_eq!(end - start, 100 * MS as u64, "a whole slice");
            if let Some(before) = last_end.insert(who.clone(), *end) {
                assert_eq!(start - before, u64::from(equals - 1) * 100 * MS as u64);
            }
        }
        assert_eq!(last_end.len(), equals as usize);
    }
}

#[test]
fn round_robin_keeps_the_rest_of_its_slice_when_preempted() {
    let hog = rt("hog", Policy::Rr(1), 2, hogs(1).program);
    let above = rt(
        "above",
        Policy::Fifo(9),
        1,
        vec![sleep_for(30 * MS), run_for(8 * MS)],
    );
    let (_, text) = traced(
        &free(1),
        plan(vec![hog, above], for_ms(300)),
        "vtime",
        guarded(RtGuard::None),
    );
    let seen = switches(&text, 0);
    let at = seen
        .iter()
        .position(|(ns, who)| *ns == 30 * MS as u64 && who.starts_with("above"))
        .unwrap();
    assert_eq!(seen[at - 1].1, seen[at + 1].1, "the same goes on");
    assert_eq!(
        seen[at + 2].0 / MS as u64,
        108,
        "100 ms of its own, 8 of the other"
    );
}

#[test]
fn a_cpu_that_drops_in_priority_pulls() {
    // Two urgent ones, one a CPU; two lesser ones wait. One urgent becomes ordinary: the lesser take its CPU.
    let task = |name: &str, prio, program| rt(name, Policy::Fifo(prio), 1, program);
    let drops = task(
        "drops",
        50,
        vec![
            sleep_for(2 * MS),
            run_for(10 * MS),
            Inst::SetPolicy {
                policy: Policy::Other,
            },
            run_for(50 * MS),
        ],
    );
    let stays = task("stays", 50, vec![sleep_for(2 * MS), run_for(40 * MS)]);
    let low = task("low", 10, vec![sleep_for(3 * MS), run_for(15 * MS)]);
    let lower = task("lower", 9, vec![sleep_for(3 * MS), run_for(15 * MS)]);
    // Wherever the lesser ones wait: once it is the CPU that drops, once the other.
    for urgent in [[&drops, &stays], [&stays, &drops]] {
        let groups = vec![
            urgent[0].clone(),
            urgent[1].clone(),
            low.clone(),
            lower.clone(),
        ];
        let mut seen: Vec<_> = [0, 1]
            .iter()
            .flat_map(|cpu| order(groups.clone(), 2, *cpu, 60))
            .filter(|(ms, _)| *ms > 3)
            .collect();
        seen.sort();
        assert_eq!(
            seen,
            said(&[(12, "low"), (27, "lower"), (42, "drops"), (42, "swapper")])
        );
    }
}

#[test]
fn an_equal_that_waits_elsewhere_is_not_pulled() {
    let may_use = |cpus: &[u32]| Inst::Affinity {
        cpus: cpus.to_vec(),
    };
    let go = vec![
        may_use(&[1]),
        may_use(&[]),
        sleep_for(2 * MS),
        run_for(10 * MS),
    ];
    let pinned = |name: &str, cpu, program: &[Inst]| Group {
        cpus: vec![cpu],
        ..rt(
            name,
            Policy::Fifo(5),
            1,
            [&[sleep_for(MS)], program].concat(),
        )
    };
    let turns = [run_for(5 * MS), Inst::Yield, run_for(5 * MS)];
    let groups = vec![
        // It was on CPU 1, and waits there.
        rt("waits", Policy::Fifo(5), 1, go),
        pinned("here", 1, &[run_for(20 * MS)]),
        pinned("yields", 0, &turns),
    ];
    let mut seen = order(groups, 2, 0, 60);
    seen.retain(|(ms, _)| *ms > 0);
    let expected = [(1, "yields"), (11, "waits"), (21, "swapper")];
    assert_eq!(seen, said(&expected));
}

#[test]
fn a_lower_priority_of_ones_own_lets_the_higher_go_first() {
    let becomes = |prio| Inst::SetPolicy {
        policy: Policy::Fifo(prio),
    };
    let program = vec![
        sleep_for(2 * MS),
        run_for(5 * MS),
        becomes(5),
        run_for(5 * MS),
        becomes(60),
        run_for(5 * MS),
    ];
    let lowers = rt("lowers", Policy::Fifo(50), 1, program);
    let waits = |name: &str, prio, ms, ran| {
        let program = vec![sleep_for(ms * MS), run_for(ran * MS)];
        rt(name, Policy::Fifo(prio), 1, program)
    };
    let groups = vec![lowers, waits("middle", 20, 3, 9), waits("late", 30, 22, 1)];
    let seen = order(groups, 1, 0, 40);
    let from = seen.iter().position(|(ms, _)| *ms == 2).unwrap();
    assert_eq!(
        seen[from..],
        said(&[
            (2, "lowers"),
            (7, "middle"),
            (16, "lowers"),
            (26, "late"),
            (27, "swapper")
        ])
    );
}

/// An equal that runs on CPU 0 and could go to CPU 1, and one that wakes after 10 ms: who runs on either CPU from then.
fn meets_an_equal(woken_on: &[u32], other: Group) -> [Vec<(u64, String)>; 2] {
    let movable = rt(
        "movable",
        Policy::Fifo(5),
        1,
        vec![sleep_for(2 * MS), run_for(30 * MS)],
    );
    let woken = Group {
        cpus: woken_on.to_vec(),
        ..rt(
            "woken",
            Policy::Fifo(5),
            1,
            vec![sleep_for(10 * MS), run_for(5 * MS)],
        )
    };
    let other = Group {
        cpus: vec![1],
        ..other
    };
    [0, 1].map(|cpu| {
        let groups = vec![movable.clone(), other.clone(), woken.clone()];
        let mut seen = order(groups, 2, cpu, 60);
        seen.retain(|(ms, _)| *ms >= 10);
        seen
    })
}

#[test]
fn who_can_run_nowhere_else_gets_room_from_an_equal_that_can() {
    let [here, there] = meets_an_equal(&[0], hogs(1));
    assert_eq!(here, said(&[(10, "woken"), (15, "swapper")]));
    assert_eq!(there, said(&[(10, "movable"), (32, "hog")]));
}

#[test]
fn an_equal_stays_where_there_is_no_room_for_it_or_the_woken_has_a_choice() {
    let above = rt("above", Policy::Fifo(5), 1, hogs(1).program);
    let [here, there] = meets_an_equal(&[0], above);
    assert_eq!(here, said(&[(32, "woken"), (37, "swapper")]));
    assert_eq!(there, said(&[]));
    let [here, there] = meets_an_equal(&[], hogs(1));
    assert_eq!(here, said(&[(32, "swapper")]));
    assert_eq!(there, said(&[(10, "woken"), (15, "hog")]));
}

#[test]
fn a_forked_task_inherits_the_class() {
    let mut child = group("child", 1, vec![run_for(30 * MS)]);
    child.start = Start::Fork;
    let parent = rt(
        "parent",
        Policy::Rr(7),
        1,
        vec![
            Inst::Fork {
                group: 1,
                index: Value::Const(0),
            },
            run_for(10 * MS),
        ],
    );
    let seen = order(vec![parent, child, hogs(1)], 1, 0, 60);
    assert_eq!(seen, said(&[(0, "parent"), (10, "child"), (40, "hog")]));
}

/// What ordinary tasks, one pinned to each CPU, get beside one FIFO hog on CPU 0, in ms of 20 s.
fn ordinary_ms(guard: RtGuard, cpus: u32, hotplug: &[Hotplug]) -> Vec<f64> {
    let mut groups = vec![Group {
        cpus: vec![0],
        ..rt("rt", Policy::Fifo(1), 1, hogs(1).program)
    }];
    for cpu in 0..cpus {
        let count = Inst::Count {
            metric: cpu,
            by: Value::Const(1),
        };
        groups.push(Group {
            cpus: vec![cpu],
            ..group(
                "ordinary",
                1,
                vec![run_for(MS), count, Inst::Jump { to: 0 }],
            )
        });
    }
    let mut plan = plan(groups, for_ms(20_000));
    plan.counters = (0..cpus).map(|cpu| format!("on{cpu}")).collect();
    let options = kernel::Options {
        hotplug: hotplug.to_vec(),
        ..guarded(guard)
    };
    let outcome = simulate(&free(cpus), plan, "vtime", options);
    assert_eq!(outcome.status, Status::Ok, "{}", outcome.reason);
    (0..cpus)
        .map(|cpu| outcome.metrics[&format!("on{cpu}")])
        .collect()
}

#[test]
fn without_borrowing_each_cpu_keeps_five_percent() {
    for guard in [RtGuard::Throttle, RtGuard::ExtServer] {
        let shares = ordinary_ms(guard, 2, &[]);
        assert!(
            (900.0..=1_100.0).contains(&shares[0]),
            "{guard:?}: {shares:?}"
        );
    }
}

#[test]
fn throttling_lasts_until_the_period_ends() {
    let groups = vec![rt("rt", Policy::Fifo(1), 1, hogs(1).program), hogs(1)];
    let options = guarded(RtGuard::Throttle);
    let (_, text) = traced(&free(1), plan(groups, for_ms(1_100)), "vtime", options);
    let seen: Vec<u64> = (switches(&text, 0).into_iter())
        .map(|(ns, _)| ns / 1_000_000)
        .collect();
    // Seen at the tick of 4 ms after 950 ms.
    assert_eq!(seen[..3], [0, 952, 1_000], "{seen:?}");
}

/// From when to when the ordinary task had CPU 0, in ms, and when something changed on CPU 1.
fn beside_an_idle_cpu(guard: RtGuard, other: Vec<Group>) -> (Vec<(u64, String)>, Vec<u64>) {
    let ordinary = Group {
        cpus: vec![0],
        ..hogs(1)
    };
    let mut groups = vec![rt("hog", Policy::Fifo(5), 1, hogs(1).program), ordinary];
    groups.extend(other);
    let (_, text) = traced(
        &free(2),
        plan(groups, for_ms(1_100)),
        "vtime",
        guarded(guard),
    );
    let first = (switches(&text, 0).into_iter())
        .map(|(ns, who)| (ns / 1_000_000, who))
        .filter(|(ms, _)| *ms > 0)
        .collect();
    let second = (switches(&text, 1).into_iter())
        .map(|(ns, _)| ns / 1_000_000)
        .collect();
    (first, second)
}

#[test]
fn who_is_kept_from_its_cpu_is_not_pushed_to_an_idle_one() {
    for (guard, ms) in [
        (RtGuard::Throttle, [952, 1_000]),
        (RtGuard::ExtServer, [950, 1_000]),
    ] {
        let (first, second) = beside_an_idle_cpu(guard, vec![]);
        let turns: Vec<u64> = first.iter().map(|(ms, _)| *ms).collect();
        assert_eq!(turns, ms, "{guard:?}: {first:?}");
        assert!(second.is_empty(), "{guard:?}: {second:?}");
    }
}

#[test]
fn who_is_kept_from_its_cpu_is_not_pulled_by_another() {
    let other = || Group {
        cpus: vec![1],
        ..rt("other", Policy::Fifo(3), 1, vec![run_for(970 * MS)])
    };
    let (first, second) = beside_an_idle_cpu(RtGuard::ExtServer, vec![other()]);
    let turns: Vec<u64> = first.iter().map(|(ms, _)| *ms).collect();
    assert_eq!(turns, [950, 1_000], "{first:?}");
    // It is served for 20 ms of its own, and ends.
    assert!(second.iter().all(|ms| [0, 970].contains(ms)), "{second:?}");
}

#[test]
fn what_was_used_too_much_counts_in_the_next_period_only() {
    let us = |us: i64| us * MS / 1_000;
    let program = vec![
        run_for(us(951_900)),
        sleep_for(us(2_051_100)),
        run_for(us(960_000)),
    ];
    let groups = vec![rt("rt", Policy::Fifo(1), 1, program), hogs(1)];
    let options = guarded(RtGuard::Throttle);
    let (_, text) = traced(&free(1), plan(groups, for_ms(3_990)), "vtime", options);
    let seen: Vec<u64> = (switches(&text, 0).into_iter())
        .map(|(ns, _)| ns / 1_000)
        .filter(|us| *us > 3_000_000)
        .collect();
    // 1.9 ms too much in the first second. At 3,952 ms the third has 949 ms, which is allowed, at 3,956 ms 953.
    assert_eq!(seen, [3_003_000, 3_956_000]);
}

#[test]
fn with_borrowing_one_hog_takes_all_of_its_cpu() {
    let shares = ordinary_ms(RtGuard::Share, 2, &[]);
    // Until the first 950 ms are used it cannot know.
    assert!(shares[0] <= 50.0, "{shares:?}");
    assert!(shares[1] >= 19_900.0, "{shares:?}");
    let alone = ordinary_ms(RtGuard::Share, 1, &[]);
    assert!(
        (900.0..=1_100.0).contains(&alone[0]),
        "nobody to borrow from: {alone:?}"
    );
}

#[test]
fn what_was_borrowed_goes_back_when_the_lender_leaves() {
    let gone = Hotplug {
        at_ns: 10_000_000_000,
        cpu: 1,
        change: Change::Offline,
    };
    let share = ordinary_ms(RtGuard::Share, 2, &[gone])[0];
    // 5 % of the second half, and half of that for the ordinary task that came over.
    assert!((225.0..=290.0).contains(&share), "{share}");
}

#[test]
fn hogs_on_all_cpus_have_nothing_to_borrow() {
    let fifo = rt("rt", Policy::Fifo(1), 2, hogs(1).program);
    let counting = vec![
        run_for(MS),
        Inst::Count {
            metric: 0,
            by: Value::Const(1),
        },
        Inst::Jump { to: 0 },
    ];
    let mut plan = plan(vec![fifo, group("ordinary", 2, counting)], for_ms(20_000));
    plan.counters.push("rounds".to_string());
    let outcome = simulate(&free(2), plan, "vtime", guarded(RtGuard::Share));
    let share = outcome.metrics["rounds"] / 40_000.0;
    assert!((0.045..=0.055).contains(&share), "{share}");
}

#[test]
fn a_wakeup_prefers_the_cpu_it_ran_on_then_the_wakers() {
    // All CPUs but the last run something higher; the woken one goes where the priority is lowest.
    let busy = |name: &str, cpu: u32, prio: u8| Group {
        cpus: vec![cpu],
        ..rt(name, Policy::Fifo(prio), 1, hogs(1).program)
    };
    let woken = rt(
        "woken",
        Policy::Fifo(30),
        1,
        vec![sleep_for(10 * MS), run_for(5 * MS)],
    );
    let groups = vec![busy("a", 0, 40), busy("b", 1, 20), busy("c", 2, 10), woken];
    let seen = order(groups, 3, 2, 30);
    assert_eq!(seen.last().unwrap(), &(15, "c".to_string()));
    assert!(seen.contains(&(10, "woken".to_string())), "{seen:?}");
    let all = plan(
        vec![rt(
            "job",
            Policy::Fifo(10),
            3,
            vec![sleep_for(MS), run_for(50 * MS)],
        )],
        End::All,
    );
    let outcome = simulate(&free(3), all, "vtime", guarded(RtGuard::None));
    assert_eq!(outcome.metrics["elapsed_s"].to_bits(), 0.051f64.to_bits());
}

/// How much of the first `ms` three tasks that want 30 ms each, started on one CPU of two, leave of each CPU.
fn busy_ms(prio: u8, highest_sought: u8, lockup_look_ms: u32) -> Vec<u64> {
    let mut machine = free(2);
    machine.rt_kernel = machine::RtKernel {
        highest_sought,
        lockup_look_ms,
    };
    let mut child = rt("child", Policy::Other, 3, vec![run_for(30 * MS)]);
    child.start = Start::Fork;
    let fork = |index| Inst::Fork {
        group: 1,
        index: Value::Const(index),
    };
    let parent = rt(
        "parent",
        Policy::Fifo(prio),
        1,
        vec![fork(0), fork(1), fork(2)],
    );
    let (outcome, text) = traced(
        &machine,
        plan(vec![parent, child], End::All),
        "vtime",
        guarded(RtGuard::None),
    );
    assert_eq!(outcome.status, Status::Ok, "{}", outcome.reason);
    (0..2)
        .map(|cpu| {
            let seen = switches(&text, cpu);
            let ends = seen.iter().skip(1).map(|(ns, _)| *ns);
            seen.iter()
                .zip(ends)
                .filter(|((_, who), _)| !who.starts_with("swapper"))
                .map(|((from, _), to)| (to - from) / MS as u64)
                .sum()
        })
        .collect()
}

#[test]
fn kernels_from_3_2_to_3_15_find_no_cpu_for_the_two_highest_priorities() {
    let spread = |busy: Vec<u64>| busy.iter().all(|ms| *ms >= 30);
    assert!(spread(busy_ms(99, 99, 0)));
    assert!(spread(busy_ms(97, 97, 0)));
    assert_eq!(busy_ms(98, 97, 0), [90, 0]);
    // The other CPU's watchdog makes it pull, and from then on it goes on by itself.
    assert!(spread(busy_ms(98, 97, 5)));
    assert_eq!(busy_ms(99, 99, 5), busy_ms(99, 99, 0));
}

#[test]
fn a_cpu_that_goes_offline_pulls_nothing() {
    let jobs = rt("job", Policy::Fifo(5), 3, vec![run_for(20 * MS)]);
    let mut options = guarded(RtGuard::None);
    options.max_events = 10_000;
    options.hotplug = vec![Hotplug {
        at_ns: 5_000_000,
        cpu: 0,
        change: Change::Offline,
    }];
    let outcome = simulate(&free(2), plan(vec![jobs], End::All), "vtime", options);
    assert_eq!(outcome.status, Status::Ok, "{}", outcome.reason);
    // 5 ms on two CPUs, then one has the other 50 ms.
    assert_eq!(outcome.metrics["elapsed_s"], 0.055);
}
