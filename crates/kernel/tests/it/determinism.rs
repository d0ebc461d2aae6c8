// SPDX-License-Identifier: GPL-2.0-or-later
//! The same cell gives the same trace: again, beside others, and as committed.

use workload::plan::{Draw, End, Inst};

use crate::common::{MS, costly, for_ms, group, hogs, machine_of, plan, run, shape};

fn mixed(seed: u64) -> workload::plan::Plan {
    let mut plan = plan(
        vec![
            hogs(3),
            group(
                "random",
                12,
                vec![
                    Inst::Run {
                        ns: Draw::Uniform(10_000, 2 * MS),
                    },
                    Inst::Sleep {
                        ns: Draw::Exponential { mean: 3 * MS },
                    },
                    Inst::Jump { to: 0 },
                ],
            ),
        ],
        for_ms(2_000),
    );
    plan.seed = seed;
    plan.end = End::After { ns: 2_000_000_000 };
    plan
}

#[test]
fn twice_and_in_parallel() {
    let hash = || run(&costly(4), mixed(1), "vtime").trace_hash;
    let first = hash();
    assert_eq!(first, hash());
    let threads: Vec<_> = (0..4).map(|_| std::thread::spawn(hash)).collect();
    for thread in threads {
        assert_eq!(thread.join().unwrap(), first);
    }
    assert_ne!(first, run(&costly(4), mixed(2), "vtime").trace_hash);
}

/// Whoever changes one of these changes every result, and says why.
#[test]
fn golden_hashes() {
    let smt = machine_of(shape(2, 2, 2, 2), machine::Costs::default());
    let got: Vec<String> = [
        run(&costly(1), mixed(1), "vtime"),
        run(&costly(4), mixed(1), "vtime"),
        run(&smt, mixed(1), "vtime"),
        run(&smt, mixed(2), "fifo"),
    ]
    .iter()
    .map(|outcome| format!("{:016x}", outcome.trace_hash))
    .collect();
    assert_eq!(got, GOLDEN);
}

const GOLDEN: [&str; 4] = [
    "61edc0427950d7cd",
    "88dac566341be4af",
    "daef5f6b1f175a8c",
    "16fdcad2c6d368b0",
];
