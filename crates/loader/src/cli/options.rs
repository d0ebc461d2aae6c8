// SPDX-License-Identifier: GPL-2.0-or-later
//! A scheduler's options: one for every tunable that its manifest names, and those that every scheduler has.

use std::path::PathBuf;

use anyhow::Result;
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use policy::{Manifest, Tunable};

use crate::error::{BadInput, bad_input};
use crate::running::Options;
use crate::schedulers::Scheduler;

const TUNABLES: &str = "Scheduler options";
const COMMON: &str = "Options";

pub fn command(scheduler: &Scheduler, manifest: &Manifest, name: &'static str) -> Command {
    let common = [
        Arg::new("stats").long("stats").value_name("SECS").value_parser(seconds).help("Print the scheduler's counters every SECS seconds"),
        Arg::new("monitor")
            .long("monitor")
            .value_name("SECS")
            .value_parser(seconds)
            .help("Print the counters of the scheduler that already runs, every SECS seconds; loads nothing"),
        Arg::new("help-stats").long("help-stats").action(ArgAction::SetTrue).help("Say what the counters count"),
        Arg::new("timeout-ms")
            .long("timeout-ms")
            .value_name("MS")
            .env("SCX_TIMEOUT_MS")
            .value_parser(value_parser!(u32).range(1..=30_000))
            .help("The kernel ejects the scheduler if a runnable task waits longer [kernel's default: 30000]"),
        Arg::new("exit-dump-len")
            .long("exit-dump-len")
            .value_name("BYTES")
            .value_parser(value_parser!(u32))
            .help("Length of the kernel's state dump when the scheduler fails [kernel's default: 32768]"),
        rodata(),
        Arg::new("verbose").short('v').long("verbose").action(ArgAction::SetTrue).help("Print all that libbpf and the verifier say"),
        Arg::new("man").long("man").action(ArgAction::SetTrue).hide(true).help("Print the manual page"),
        super::completions::arg(),
    ];
    Command::new(name)
        .bin_name(name)
        .version(super::version(&scheduler.version()))
        .about(scheduler.about)
        .after_help("The scheduler runs until Ctrl-C; then the kernel's own takes over again.")
        .next_help_heading(COMMON)
        .args(common)
        .next_help_heading(TUNABLES)
        .args(manifest.tunables.iter().map(option))
}

/// Values of a user's own.
pub fn rodata() -> Arg {
    Arg::new("rodata")
        .long("rodata")
        .value_name("FILE.toml")
        .value_parser(value_parser!(PathBuf))
        .help("Set the scheduler's constants, variables and members of its sched_ext_ops first: NAME = VALUE, as TOML")
}

/// The scheduler with them, where there are any.
pub fn with_values(
    scheduler: &'static Scheduler,
    matches: &ArgMatches,
) -> Result<&'static Scheduler> {
    match matches.get_one::<PathBuf>("rodata") {
        Some(file) => scheduler.with_values(file).map_err(bad_input),
        None => Ok(scheduler),
    }
}

/// `rr_interval_us` becomes `--rr-interval-us`.
fn option(tunable: &Tunable) -> Arg {
    let value = match (tunable.choices.is_empty(), tunable.kind.as_str()) {
        (false, _) => tunable.name.to_uppercase(),
        (true, "bool") => "BOOL".into(),
        (true, _) if tunable.unit.is_empty() => "N".into(),
        (true, _) => tunable.unit.to_uppercase(),
    };
    Arg::new(tunable.name.clone())
        .long(tunable.name.replace('_', "-"))
        .value_name(value)
        .allow_hyphen_values(true)
        .help(format!(
            "{} [default: {}; {}]",
            tunable.about,
            tunable.default_text(),
            range(tunable)
        ))
}

fn range(tunable: &Tunable) -> String {
    if tunable.choices.is_empty() {
        format!("{} to {} {}", tunable.min, tunable.max, tunable.unit)
            .trim_end()
            .to_owned()
    } else {
        tunable.choices.join(", ")
    }
}

fn seconds(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|seconds| (0.01..=86_400.0).contains(seconds))
        .ok_or_else(|| "expected 0.01 to 86400 seconds".to_owned())
}

/// The options as given, checked against the manifest.
pub fn read(scheduler: &Scheduler, manifest: &Manifest, matches: &ArgMatches) -> Result<Options> {
    let mut settings = Vec::new();
    for tunable in &manifest.tunables {
        if let Some(value) = matches.get_one::<String>(&tunable.name) {
            settings.push(
                manifest
                    .setting(scheduler.name, &tunable.name, value)
                    .map_err(|_| {
                        let option = tunable.name.replace('_', "-");
                        BadInput(format!(
                            "--{option} {value}: expected {}",
                            tunable.expected()
                        ))
                    })?,
            );
        }
    }
    Ok(Options {
        settings,
        timeout_ms: matches.get_one("timeout-ms").copied(),
        exit_dump_len: matches.get_one("exit-dump-len").copied(),
        verbose: matches.get_flag("verbose"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use policy::manifest::Stat;

    const BARE: Scheduler = Scheduler {
        name: "bare",
        about: "A test.",
        digest: "",
        elf: &[],
        values: None,
    };

    fn manifest() -> Manifest {
        let tunable =
            |name: &str, kind: &str, default, min, max, unit: &str, choices: &[&str]| Tunable {
                name: name.into(),
                kind: kind.into(),
                default,
                min,
                max,
                unit: unit.into(),
                about: format!("about {name}"),
                choices: choices.iter().map(|&choice| choice.to_owned()).collect(),
            };
        Manifest {
            tunables: vec![
                tunable("rr_interval_us", "u32", 6000, 1000, 1_000_000, "us", &[]),
                tunable("offset_ns", "s64", 0, -100, 100, "ns", &[]),
                tunable("claim", "bool", 1, 0, 1, "", &[]),
                tunable(
                    "rules",
                    "u32",
                    3,
                    0,
                    3,
                    "",
                    &["232", "311", "424", "modern"],
                ),
            ],
            stats: vec![Stat {
                name: "kicks".into(),
                about: "CPUs kicked".into(),
            }],
            ..Manifest::default()
        }
    }

    fn parse(args: &[&str]) -> Result<Options> {
        let args = std::iter::once("scx_bare")
            .chain(args.iter().copied())
            .map(Into::into)
            .collect();
        let matches = super::super::parse(&command(&BARE, &manifest(), "scx_bare"), args)?.unwrap();
        read(&BARE, &manifest(), &matches)
    }

    #[test]
    fn every_tunable_is_an_option() {
        let options = parse(&[
            "--rr-interval-us",
            "3000",
            "--rules=424",
            "--claim",
            "false",
            "--offset-ns",
            "-5",
        ])
        .unwrap();
        let values: Vec<_> = options
            .settings
            .iter()
            .map(|set| (set.name.as_str(), set.value))
            .collect();
        assert_eq!(
            values,
            [
                ("rr_interval_us", 3000),
                ("offset_ns", -5),
                ("claim", 0),
                ("rules", 2)
            ]
        );
        assert!(parse(&[]).unwrap().settings.is_empty());
    }

    #[test]
    fn the_help_has_default_range_and_unit() {
        let help = command(&BARE, &manifest(), "scx_bare")
            .render_long_help()
            .to_string();
        assert!(help.contains("--rr-interval-us <US>"), "{help}");
        assert!(
            help.contains("about rr_interval_us [default: 6000; 1000 to 1000000 us]"),
            "{help}"
        );
        assert!(
            help.contains("about rules [default: modern; 232, 311, 424, modern]"),
            "{help}"
        );
    }

    #[test]
    fn mistakes_are_one_line_and_bad_input() {
        for (args, message) in [
            (
                vec!["--rr-interval-us", "5"],
                "--rr-interval-us 5: expected a number from 1000 to 1000000 us",
            ),
            (
                vec!["--rules", "500"],
                "--rules 500: expected one of 232, 311, 424, modern",
            ),
            (
                vec!["--timeout-ms", "40000"],
                "invalid value '40000' for '--timeout-ms <MS>': 40000 is not in 1..=30000",
            ),
            (
                vec!["--stats", "0"],
                "invalid value '0' for '--stats <SECS>': expected 0.01 to 86400 seconds",
            ),
        ] {
            let error = parse(&args).unwrap_err();
            assert_eq!(error.to_string(), message);
            assert_eq!(crate::error::exit_status(&error), 2);
        }
    }

    #[test]
    fn the_embedded_schedulers_make_sound_commands() {
        for scheduler in crate::schedulers::SCHEDULERS {
            command(scheduler, &scheduler.manifest().unwrap(), "scx_test").debug_assert();
        }
    }
}
