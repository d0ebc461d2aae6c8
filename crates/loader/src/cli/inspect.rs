// SPDX-License-Identifier: GPL-2.0-or-later
//! `status` and `list`: what runs, and what could.

use anyhow::Result;
use serde_json::{Value, json};

use crate::error::NotHere;
use crate::schedulers::{SCHEDULERS, Scheduler};
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

fn describe(scheduler: &Scheduler) -> Result<Value> {
    let mut about = scheduler.manifest()?.json();
    about["name"] = json!(scheduler.name);
    about["about"] = json!(scheduler.about);
    about["digest"] = json!(scheduler.digest);
    Ok(about)
}
