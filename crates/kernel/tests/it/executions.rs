// SPDX-License-Identifier: GPL-2.0-or-later
//! Every policy and rule set decides the same at the same times, however its code is executed.

use std::collections::BTreeMap;
use std::path::Path;

use cell::Status;
use kernel::{Change, Execution, Hotplug, Options, Program, Release};
use policy::Source;
use workload::plan::{Draw, Inst, Plan, Policy, Value};

use crate::common::{
    MS, costly, fixtures_of_both_worlds, for_ms, group, hogs, machine_of, plan, policy_path, shape,
};

/// Tasks that compute, sleep, yield and change their nice level, more of them than CPUs, and one of real time.
fn busy() -> Plan {
    let run = Inst::Run {
        ns: Draw::Uniform(10_000, 2 * MS),
    };
    let sleep = Inst::Sleep {
        ns: Draw::Exponential { mean: 2 * MS },
    };
    let nice = |nice| Inst::Nice {
        nice: Value::Const(nice),
    };
    let again = Inst::Jump { to: 0 };
    let sleepers = vec![run.clone(), sleep.clone(), again.clone()];
    let mut higher = group("higher", 1, sleepers.clone());
    higher.policy = Policy::Fifo(10);
    let changing = vec![
        nice(5),
        run.clone(),
        Inst::Yield,
        nice(-3),
        run,
        sleep,
        again,
    ];
    let groups = vec![
        hogs(3),
        higher,
        group("sleeper", 12, sleepers),
        group("changing", 4, changing),
    ];
    plan(groups, for_ms(200))
}

/// The hashes of all executions of one policy; costs follow the operations that it executes, so that the traces agree
/// only if these do.
fn hashes(programs: &[Program], rules: Option<&str>) -> Vec<u64> {
    let machine = machine_of(shape(1, 2, 2, 2), costly(1).costs);
    let tunables: BTreeMap<String, String> = rules
        .map(|value| ("rules".to_string(), value.to_string()))
        .into_iter()
        .collect();
    let run = |program: &Program| {
        let name = &program.name;
        let hotplug = [(70, Change::Offline), (120, Change::Online)].map(|(ms, change)| Hotplug {
            at_ns: ms * 1_000_000,
            cpu: 3,
            change,
        });
        let options = Options {
            hotplug: hotplug.to_vec(),
            ..Options::default()
        };
        let outcome =
            kernel::simulate(&machine, busy(), program, name, &tunables, options).unwrap();
        assert_eq!(
            outcome.status,
            Status::Ok,
            "{name} {rules:?}: {}",
            outcome.reason
        );
        assert!(outcome.events > 1_000, "{name}: {}", outcome.events);
        outcome.trace_hash
    };
    programs.iter().map(run).collect()
}

fn all_agree(path: &Path) {
    let programs =
        Execution::ALL.map(|execution| kernel::load(path, execution, Release::default()).unwrap());
    let tunables = &programs[0].manifest.tunables;
    let rules = tunables.iter().find(|tunable| tunable.name == "rules");
    let sets: Vec<Option<&str>> = match rules {
        Some(rules) => rules.choices.iter().map(|set| Some(set.as_str())).collect(),
        None => vec![None],
    };
    for set in sets {
        let hashes = hashes(&programs, set);
        let name = &programs[0].name;
        let same = hashes.iter().all(|hash| *hash == hashes[0]);
        assert!(
            same,
            "{name} {set:?}: {hashes:016x?} as {}",
            Execution::names()
        );
    }
}

#[test]
fn every_policy_of_the_tree() {
    let all = Source::all(&policy_path("vtime").join("..")).unwrap();
    assert!(all.len() >= 9, "{all:?}");
    for source in all {
        all_agree(&source.dir);
    }
}

/// Maps of all kinds, walks over queues, and kicks.
#[test]
fn policies_that_use_what_few_use() {
    let own = ["every", "kicks", "maps", "states"].map(String::from);
    for name in own.into_iter().chain(fixtures_of_both_worlds()) {
        all_agree(&policy_path(&name));
    }
}
