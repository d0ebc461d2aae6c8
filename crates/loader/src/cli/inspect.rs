// SPDX-License-Identifier: GPL-2.0-or-later
//! `status` and `list`: what runs, and what could.

use anyhow::Result;
use serde_json::{Value, json};

use crate::error::NotHere;
use crate::schedulers::SCHEDULERS;
use crate::sysfs::State;

pub fn status(as_json: bool) -> Result<()> {
    let state = State::read().map_err(|error| NotHere(format!("{error:#}")))?;
    if as_json {
        println!("{}", serde_json::to_string_pretty(&state)?);
        return Ok(());
    }
    let running = if state.ops.is_empty() {
        "the kernel's own"
    } else {
        &state.ops
    };
    println!("scheduler: {running}");
    println!("sched_ext: {}", state.state);
    println!(
        "enabled since boot: {}, tasks refused: {}, CPUs come and gone: {}",
        state.enable_seq, state.nr_rejected, state.hotplug_seq
    );
    Ok(())
}

pub fn list(as_json: bool) -> Result<()> {
    if as_json {
        let list = SCHEDULERS
            .iter()
            .map(describe)
            .collect::<Result<Vec<_>>>()?;
        println!("{}", serde_json::to_string_pretty(&list)?);
        return Ok(());
    }
    for scheduler in SCHEDULERS {
        println!("{:<8} {}", scheduler.name, scheduler.about);
    }
    Ok(())
}

fn describe(scheduler: &crate::schedulers::Scheduler) -> Result<Value> {
    let manifest = scheduler.manifest()?;
    let number = |value: i128| json!(i64::try_from(value).unwrap_or(i64::MAX));
    let tunables: Vec<Value> = manifest
        .tunables
        .iter()
        .map(|tunable| {
            json!({
                "name": tunable.name,
                "type": if tunable.choices.is_empty() { &tunable.kind } else { "choice" },
                "default": tunable.default_text(),
                "min": number(tunable.min),
                "max": number(tunable.max),
                "unit": tunable.unit,
                "choices": tunable.choices,
                "about": tunable.about,
            })
        })
        .collect();
    let stats: Vec<Value> = manifest
        .stats
        .iter()
        .map(|stat| json!({"name": stat.name, "about": stat.about}))
        .collect();
    Ok(json!({
        "name": scheduler.name,
        "about": scheduler.about,
        "digest": scheduler.digest,
        "tunables": tunables,
        "stats": stats,
    }))
}
