// SPDX-License-Identifier: GPL-2.0-or-later
//! Whatever stands in a file, reading it gives a plan or one line that begins with the file's name.

use std::collections::BTreeMap;

use proptest::prelude::*;
use workload::Workload;
use workload::plan::{Inst, Plan};

const FILES: [&str; 13] = [
    include_str!("../../../workloads/latt.toml"),
    include_str!("../../../workloads/pipe.toml"),
    include_str!("../../../workloads/hackbench.toml"),
    include_str!("../../../workloads/counter.toml"),
    include_str!("../../../workloads/cyclictest.toml"),
    include_str!("../../../workloads/mixed.toml"),
    include_str!("../../../workloads/pi.toml"),
    include_str!("../../../workloads/playback.toml"),
    include_str!("../../../workloads/rt-pipe.toml"),
    include_str!("../../../workloads/rt-tcp.toml"),
    include_str!("../../../workloads/rw.toml"),
    include_str!("../../../workloads/schbench.toml"),
    include_str!("../../../workloads/slices.toml"),
];

const RT_APP: [&str; 6] = [
    include_str!("rtapp/forks.json"),
    include_str!("rtapp/groups.json"),
    include_str!("rtapp/handover.json"),
    include_str!("rtapp/meeting.json"),
    include_str!("rtapp/periodic.json"),
    include_str!("rtapp/pipeline.json"),
];

/// What mutations put in: keys, values and pieces of syntax from all over the language.
const PIECES: &[&str] = &[
    "0",
    "-1",
    "1",
    "9223372036854775807",
    "99999999999999999999",
    "1.5",
    "nan",
    "true",
    "\"\"",
    "\"me\"",
    "\"cpus\"",
    "[1, \"cpus / 2\", \"32 * cpus\"]",
    "\"me / 0\"",
    "\"((((\"",
    "[]",
    "[1, 2]",
    "{}",
    "[[]]",
    "{ run_us = 1 }",
    "{ loop = [] }",
    "{ uniform = [2, 1] }",
    "{ repeat = 1000000, do = [{ yield = true }] }",
    "name",
    "count",
    "clients",
    "loop",
    "for",
    "if",
    "poll",
    "set",
    "value",
    "fork",
    "spin",
    "cpu",
    "into",
    "skip",
    "per",
    "back_of",
    "elapsed_us",
    "since",
    "{ cpu = \"me\" }",
    "{ elapsed_us = \"x\", since = \"due\" }",
    "{ wait = \"woken\", into = \"me\" }",
    "\"fifo\"",
    "start",
    "threads",
    "[[task]]\n",
    "[end]\n",
    "\n",
    "=",
    ",",
    "[",
    "]",
    "{",
    "}",
    "\"",
    "'",
    "#",
    "\u{0}",
    "\u{7f}",
    "ä",
    "1979-05-27",
];

fn check(text: &str) -> Result<(), TestCaseError> {
    checked(Workload::from_toml(text, "f.toml"), "f.toml:")
}

/// rt-app's form is told by the name of its file.
fn check_rt_app(text: &str) -> Result<(), TestCaseError> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("f.json");
    std::fs::write(&file, text).unwrap();
    checked(Workload::read(&file), &format!("{}:", file.display()))
}

fn checked(found: anyhow::Result<Workload>, start: &str) -> Result<(), TestCaseError> {
    match found {
        Ok(workload) => {
            for load in workload.loads(3).unwrap_or_default() {
                if let Ok(plan) = workload.plan(load, &BTreeMap::new(), 3, 5) {
                    sound(&plan)?;
                }
            }
        }
        Err(error) => {
            let message = format!("{error:#}");
            prop_assert!(
                message.starts_with(start) && message.lines().count() == 1,
                "{message:?}"
            );
            prop_assert!(!message.chars().any(char::is_control), "{message:?}");
        }
    }
    Ok(())
}

/// Every index that does not depend on the run lies inside what it points into.
fn sound(plan: &Plan) -> Result<(), TestCaseError> {
    prop_assert!(
        plan.throughput
            .is_none_or(|counter| (counter as usize) < plan.counters.len())
    );
    for (index, queue) in plan.queues.iter().enumerate() {
        let there = queue.back_of.map(|there| there as usize);
        prop_assert!(
            there.is_none_or(|there| there < index && plan.queues[there].count == queue.count)
        );
    }
    for group in &plan.groups {
        prop_assert!(matches!(group.program.last(), Some(Inst::Exit)));
        for inst in &group.program {
            let inside = match inst {
                Inst::Jump { to } | Inst::JumpLess { to, .. } => {
                    (*to as usize) < group.program.len()
                }
                Inst::Send { queue, .. }
                | Inst::Recv { queue }
                | Inst::Poll { first: queue, .. } => (queue.array as usize) < plan.queues.len(),
                Inst::Lock { lock, .. } | Inst::Spin { lock, .. } | Inst::Unlock { lock, .. } => {
                    (*lock as usize) < plan.locks.len()
                }
                Inst::Wait { sem, .. } | Inst::Post { sem, .. } => {
                    (*sem as usize) < plan.semaphores.len()
                }
                Inst::Await {
                    condition,
                    releases,
                    ..
                } => {
                    let held = releases.as_ref().map_or(0, |(lock, _)| *lock + 1);
                    (*condition as usize) < plan.conditions.len()
                        && held as usize <= plan.locks.len()
                }
                Inst::Signal { condition, .. } => (*condition as usize) < plan.conditions.len(),
                Inst::WaitAny { sem, into } => {
                    (*sem as usize) < plan.semaphores.len() && *into < group.locals
                }
                Inst::Fork { group, .. } => (*group as usize) < plan.groups.len(),
                Inst::Log { metric, .. } => (*metric as usize) < plan.distributions.len(),
                Inst::Count { metric, .. } => (*metric as usize) < plan.counters.len(),
                Inst::Store { variable, .. } => (*variable as usize) < plan.variables.len(),
                Inst::Add { variable, into, .. } => {
                    (*variable as usize) < plan.variables.len() && *into < group.locals
                }
                Inst::Set { local, .. }
                | Inst::Alive { into: local }
                | Inst::Cpu { into: local }
                | Inst::Draw { into: local, .. }
                | Inst::Elapsed { into: local, .. } => *local < group.locals,
                _ => true,
            };
            prop_assert!(inside, "{inst:?}");
        }
    }
    Ok(())
}

/// A place in a text, moved down to where a character begins.
fn place(text: &str, at: prop::sample::Index) -> usize {
    let mut at = at.index(text.len() + 1);
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

type Edit = (prop::sample::Index, usize, prop::sample::Index);

fn mutated(good: &str, edits: Vec<Edit>) -> String {
    let mut text = good.to_string();
    for (at, cut, piece) in edits {
        let start = place(&text, at);
        let mut end = (start + cut).min(text.len());
        while !text.is_char_boundary(end) {
            end += 1;
        }
        text.replace_range(start..end, PIECES[piece.index(PIECES.len())]);
    }
    text
}

/// Replaces whole values, so that more files stay TOML.
fn revalued(file: usize, edits: Vec<Edit>) -> String {
    let mut lines: Vec<String> = FILES[file].lines().map(String::from).collect();
    for (at, _, piece) in edits {
        let at = at.index(lines.len());
        if let Some((key, _)) = lines[at].split_once(" = ") {
            lines[at] = format!("{key} = {}", PIECES[piece.index(PIECES.len())]);
        }
    }
    lines.join("\n")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        check(&String::from_utf8_lossy(&bytes))?;
    }

    #[test]
    fn mutated_files(file in 0..FILES.len(), edits in prop::collection::vec(any::<Edit>().prop_map(|(a, c, p)| (a, c % 12, p)), 1..4)) {
        check(&mutated(FILES[file], edits))?;
    }

    #[test]
    fn other_values(file in 0..FILES.len(), edits in prop::collection::vec(any::<Edit>(), 1..3)) {
        check(&revalued(file, edits))?;
    }

    #[test]
    fn mutated_rt_app(file in 0..RT_APP.len(), edits in prop::collection::vec(any::<Edit>().prop_map(|(a, c, p)| (a, c % 12, p)), 1..4)) {
        check_rt_app(&mutated(RT_APP[file], edits))?;
    }
}
