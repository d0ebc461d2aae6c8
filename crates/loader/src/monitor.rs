// SPDX-License-Identifier: GPL-2.0-or-later
//! The counters of a scheduler that another process has loaded, read out of its map in the kernel.

use std::time::Duration;

use anyhow::{Context, Result};
use libbpf_rs::query::MapInfoIter;
use libbpf_rs::{MapCore, MapFlags, MapHandle};

use crate::elf::Layout;
use crate::error::NotHere;
use crate::schedulers::Scheduler;
use crate::stats::{STRIDE, Stats, difference};
use crate::sysfs::State;

/// Prints what was counted in every interval, until Ctrl-C or until the scheduler is gone.
pub fn follow(scheduler: &Scheduler, every: Duration) -> Result<()> {
    let map = find(scheduler)?;
    let mut last = read(scheduler, &map)?;
    loop {
        signals::wait(every);
        if signals::caught() || !runs(scheduler)? {
            return Ok(());
        }
        let now = read(scheduler, &map)?;
        println!("{}", difference(&last, &now));
        last = now;
    }
}

fn runs(scheduler: &Scheduler) -> Result<bool> {
    Ok(State::read()?
        .ops
        .strip_prefix(scheduler.name)
        .is_some_and(|rest| rest.starts_with('_')))
}

/// The youngest `.bss` map of that scheduler.
fn find(scheduler: &Scheduler) -> Result<MapHandle> {
    let name = scheduler.name;
    if !runs(scheduler)? {
        return Err(NotHere(format!("{name} is not running: start it with scx_{name}")).into());
    }
    // The kernel keeps 15 characters of a map's name; libbpf leaves 8 of them to the object's.
    let wanted = format!("{}.bss", &name[..name.len().min(8)]);
    let ids = MapInfoIter::default()
        .filter(|map| map.name.to_string_lossy() == wanted)
        .map(|map| map.id);
    let id = ids.max().with_context(|| {
        NotHere(format!(
            "{name} runs, but its map {wanted} is not to be seen: needs root"
        ))
    })?;
    Ok(MapHandle::from_map_id(id)?)
}

fn read(scheduler: &Scheduler, map: &MapHandle) -> Result<Stats> {
    let bss = map
        .lookup(&0u32.to_ne_bytes(), MapFlags::ANY)?
        .context("the scheduler's map is empty")?;
    let layout = Layout::of(scheduler.elf)?;
    let mut stats = Stats::new();
    for stat in scheduler.manifest()?.stats {
        let variable = layout.expect(".bss", &format!("stat_{}", stat.name))?;
        let counter = bss.get(variable.offset..variable.offset + variable.size);
        let counter =
            counter.context("the running scheduler is another build: use its own scx program")?;
        let sum = counter
            .chunks_exact(STRIDE)
            .map(|line| u64::from_ne_bytes(line[..8].try_into().expect("eight bytes")));
        stats.push((stat.name, sum.sum()));
    }
    Ok(stats)
}
