// SPDX-License-Identifier: GPL-2.0-or-later
//! Whatever stands in a file, reading it gives a sound machine or one line that begins with the file's name.

use machine::{Distance, MAX_CPUS, Machine};
use proptest::prelude::*;

const FILES: [&str; 4] = [
    include_str!("../../../machines/mbp13-vm.toml"),
    include_str!("../../../machines/many-1024.toml"),
    include_str!("../../../machines/atom330.toml"),
    CLOCKED,
];

const CLOCKED: &str = r#"
name = "clocked"
title = "clocks that change"
source = "a test"
hz = 250
[topology]
sockets = 1
llcs_per_socket = 1
cores_per_llc = 2
threads_per_core = 1
[frequency]
min_khz = 800_000
max_khz = 3_200_000
steps_khz = [800_000, 1_600_000, 3_200_000]
governor = "schedutil"
clock_of = "core"
rate_limit_us = 1000
latency_us = 10
[power]
base_mw = 5000
idle_mw = 200
busy_mw = [900, 2500, 9000]
"#;

const PIECES: &[&str] = &[
    "0",
    "-1",
    "1",
    "1024",
    "9223372036854775807",
    "99999999999999999999",
    "1.5",
    "true",
    "\"\"",
    "\"split\"",
    "\"adjacent\"",
    "[]",
    "[1, 2, 3, 4, 5]",
    "{}",
    "sockets",
    "steps_khz",
    "costs",
    "[costs]\n",
    "\n",
    "=",
    "[",
    "]",
    "\"",
    "#",
    "\u{0}",
    "ä",
];

fn check(text: &str) -> Result<(), TestCaseError> {
    match Machine::from_toml(text, "f.toml") {
        Ok(machine) => {
            let topology = &machine.topology;
            prop_assert!((1..=MAX_CPUS).contains(&topology.len()));
            let threads: usize = (0..topology.cores())
                .map(|core| topology.core_cpus(core as u32).len())
                .sum();
            prop_assert_eq!(threads, topology.len());
            if let Some(frequency) = &machine.frequency {
                let within = frequency.min_khz..=frequency.max_khz;
                for khz in [0, frequency.max_khz, u32::MAX] {
                    prop_assert!(within.contains(&frequency.resolved(khz)));
                }
                let steps = frequency.steps_khz.len().max(1);
                let powers = machine.power.as_ref().map(|power| power.busy_mw.len());
                prop_assert!(powers.is_none_or(|powers| powers == steps));
            }
            for cpu in [0, topology.len() as u32 - 1] {
                prop_assert!(topology.siblings(cpu).contains(&cpu));
                prop_assert_eq!(topology.distance(cpu, cpu), Distance::Same);
            }
        }
        Err(error) => {
            let message = format!("{error:#}");
            prop_assert!(
                message.starts_with("f.toml:") && message.lines().count() == 1,
                "{message:?}"
            );
            prop_assert!(!message.chars().any(char::is_control), "{message:?}");
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        check(&String::from_utf8_lossy(&bytes))?;
    }

    #[test]
    fn other_values(file in 0..3usize, line in any::<prop::sample::Index>(), piece in any::<prop::sample::Index>()) {
        let mut lines: Vec<String> = FILES[file].lines().map(String::from).collect();
        let line = line.index(lines.len());
        let piece = PIECES[piece.index(PIECES.len())];
        lines[line] = lines[line].split_once(" = ").map_or(piece.to_string(), |(key, _)| format!("{key} = {piece}"));
        check(&lines.join("\n"))?;
    }
}
