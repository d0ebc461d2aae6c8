// SPDX-License-Identifier: GPL-2.0-or-later
//! Idle CPUs by nodes.

use cell::Status;
use kernel::Options;
use workload::plan::Group;

use crate::common::{MS, for_ms, machine_of, no_costs, plan, shape, simulate, sleepers};

#[test]
fn idle_cpus_are_found_in_the_node_first() {
    let two_nodes = machine_of(shape(2, 1, 2, 1), no_costs());
    // Each has a CPU of its own, and no reason to leave its node.
    let plan = plan(vec![sleepers(4, MS, 2 * MS)], for_ms(100));
    let outcome = simulate(&two_nodes, plan, "nodes", Options::default());
    assert_eq!(outcome.status, Status::Ok, "{}", outcome.reason);
    assert!(outcome.metrics["switches_voluntary"] > 100.0);
}

#[test]
fn a_task_with_one_cpu_is_offered_no_other() {
    let two_nodes = machine_of(shape(2, 1, 2, 1), no_costs());
    let confined = |cpu| Group {
        cpus: vec![cpu],
        ..sleepers(1, MS, MS)
    };
    let plan = plan((0..4).map(confined).collect(), for_ms(20));
    let outcome = simulate(&two_nodes, plan, "nodes", Options::default());
    assert_eq!(outcome.status, Status::Ok, "{}", outcome.reason);
}

#[test]
fn an_idle_cpu_is_claimed_among_those_that_are_allowed() {
    let two_nodes = machine_of(shape(2, 1, 2, 1), no_costs());
    let confined = |cpus| Group {
        cpus,
        ..sleepers(2, MS, MS)
    };
    // Each CPU is at times the only idle one, and there are times without any.
    let load = vec![
        confined(vec![1]),
        confined(vec![2, 3]),
        sleepers(3, MS, 3 * MS),
    ];
    let plan = plan(load, for_ms(100));
    let outcome = simulate(&two_nodes, plan, "claims", Options::default());
    assert_eq!(outcome.status, Status::Ok, "{}", outcome.reason);
    assert!(outcome.metrics["switches_voluntary"] > 100.0);
}

#[test]
fn nodes_are_not_looked_at_where_the_policy_did_not_ask_for_them() {
    let outcome = simulate(
        &machine_of(shape(2, 1, 2, 1), no_costs()),
        plan(vec![sleepers(4, MS, MS)], for_ms(100)),
        "nodeless",
        Options::default(),
    );
    assert_eq!(outcome.status, Status::Ejected);
    assert_eq!(outcome.reason, "per-node idle tracking is disabled");
}
