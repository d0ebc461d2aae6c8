// SPDX-License-Identifier: GPL-2.0-or-later
//! Reading `[frequency]` and `[power]` of a machine file (`docs/machines.md`).

use anyhow::{Result, ensure};
use input::Node;

use crate::frequency::{Clocked, Frequency, Governor, Power};

const MAX_KHZ: i64 = 100_000_000;
/// A second; more is a slip of the pen.
const MAX_US: i64 = 1_000_000;
/// A megawatt.
const MAX_MW: i64 = 1_000_000_000;

/// `amd-pstate`'s `transition_delay_us`.
const RATE_LIMIT_US: u64 = 1_000;
const LATENCY_US: u64 = 10;

pub fn frequency(node: &Node, one_clock: bool) -> Result<Frequency> {
    let table = node.table()?;
    ensure!(
        !one_clock,
        node.error("expected no frequency where one_clock is true: an instruction takes as long there as any other")
    );
    let khz =
        |node: &Node, least: i64| -> Result<u32> { Ok(node.integer(least..=MAX_KHZ)? as u32) };
    let min_khz = khz(table.required("min_khz")?, 1)?;
    let max_khz = khz(table.required("max_khz")?, min_khz.into())?;
    let ns = |key: &str, default_us: u64| -> Result<u64> {
        let us = match table.optional(key) {
            Some(node) => node.integer(0..=MAX_US)? as u64,
            None => default_us,
        };
        Ok(us * 1_000)
    };
    let mut steps_khz = Vec::new();
    if let Some(list) = table.optional("steps_khz") {
        for step in list.list()? {
            steps_khz.push(khz(step, 1)?);
        }
        ensure!(
            steps_khz.is_sorted_by(|a, b| a < b)
                && steps_khz.first() == Some(&min_khz)
                && steps_khz.last() == Some(&max_khz),
            list.error("expected frequencies in ascending order, from min_khz to max_khz")
        );
    }
    let frequency = Frequency {
        governor: table
            .optional("governor")
            .map_or(Ok(Governor::default()), governor)?,
        clocked: table
            .optional("clock_of")
            .map_or(Ok(Clocked::default()), clocked)?,
        min_khz,
        max_khz,
        steps_khz,
        rate_limit_ns: ns("rate_limit_us", RATE_LIMIT_US)?,
        latency_ns: ns("latency_us", LATENCY_US)?,
    };
    table.finish()?;
    Ok(frequency)
}

fn governor(node: &Node) -> Result<Governor> {
    match node.text()? {
        "performance" => Ok(Governor::Performance),
        "schedutil" => Ok(Governor::Schedutil),
        _ => Err(node.expected("\"performance\" or \"schedutil\"")),
    }
}

fn clocked(node: &Node) -> Result<Clocked> {
    match node.text()? {
        "core" => Ok(Clocked::Core),
        "llc" => Ok(Clocked::Llc),
        "socket" => Ok(Clocked::Socket),
        _ => Err(node.expected("\"core\", \"llc\" or \"socket\"")),
    }
}

/// What CPUs take at each of these frequencies.
pub fn power(node: &Node, frequency: Option<&Frequency>) -> Result<Power> {
    let table = node.table()?;
    let mw = |node: &Node| -> Result<u64> { Ok(node.integer(0..=MAX_MW)? as u64) };
    let list = table.required("busy_mw")?;
    let busy_mw: Vec<u64> = list.list()?.iter().map(mw).collect::<Result<_>>()?;
    let steps = match frequency {
        Some(frequency) if !frequency.steps_khz.is_empty() => frequency.steps_khz.len(),
        Some(frequency) => {
            ensure!(
                frequency.governor == Governor::Performance,
                node.error("expected frequency.steps_khz, at which CPUs take busy_mw")
            );
            1
        }
        None => 1,
    };
    ensure!(
        busy_mw.len() == steps,
        list.expected(&match steps {
            1 => "a list of one, as there is one frequency".to_owned(),
            steps => format!("{steps} numbers, one a step of frequency.steps_khz"),
        })
    );
    let power = Power {
        base_mw: table.optional("base_mw").map_or(Ok(0), mw)?,
        idle_mw: mw(table.required("idle_mw")?)?,
        busy_mw,
    };
    table.finish()?;
    Ok(power)
}
