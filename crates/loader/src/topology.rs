// SPDX-License-Identifier: GPL-2.0-or-later
//! Which CPUs share a core, a last-level cache and a node, from `/sys/devices/system`.

use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use policy::topology::{MAX_CPUS, Place};

use crate::sysfs;

pub const SYSTEM: &str = "/sys/devices/system";

/// The place of every possible CPU, by id.
pub fn places(system: &Path) -> Result<Vec<Place>> {
    let possible_file = system.join("cpu/possible");
    let possible = read(&possible_file)?;
    let cpus = cpu_list(&possible).with_context(|| possible_file.display().to_string())?;
    let count = cpus.last().map_or(0, |last| *last as usize + 1);
    ensure!(
        (1..=MAX_CPUS).contains(&count),
        "{}: a policy can be told of 1 to {MAX_CPUS} CPUs, not {count}",
        possible_file.display()
    );
    let nodes = nodes(system)?;
    (0..count as u32)
        .map(|cpu| place(system, cpu, &nodes))
        .collect()
}

fn place(system: &Path, cpu: u32, nodes: &[(u32, Vec<u32>)]) -> Result<Place> {
    let dir = system.join(format!("cpu/cpu{cpu}"));
    let node = nodes
        .iter()
        .find(|(_, cpus)| cpus.contains(&cpu))
        .map_or(0, |(node, _)| *node);
    // An offline CPU has no topology: it is alone until it comes, and then the scheduler is loaded anew.
    let core = first_of(&dir.join("topology/thread_siblings_list"))?.unwrap_or(cpu);
    Ok(Place {
        node,
        llc: llc(&dir)?.unwrap_or(core),
        core,
    })
}

/// The lowest CPU that shares this one's last-level cache; without a cache description, its package.
fn llc(dir: &Path) -> Result<Option<u32>> {
    let mut last: Option<(u32, u32)> = None;
    for index in 0.. {
        let cache = dir.join(format!("cache/index{index}"));
        let (kind, level) = (cache.join("type"), cache.join("level"));
        let (Some(kind), Some(level)) = (read_if_there(&kind)?, read_if_there(&level)?) else {
            break;
        };
        if kind == "Instruction" {
            continue;
        }
        let level = level.parse().with_context(|| cache.display().to_string())?;
        let first = first_of(&cache.join("shared_cpu_list"))?;
        if let Some(first) = first
            && last.is_none_or(|(best, _)| level > best)
        {
            last = Some((level, first));
        }
    }
    match last {
        Some((_, first)) => Ok(Some(first)),
        None => first_of(&dir.join("topology/package_cpus_list")),
    }
}

/// Every NUMA node with its CPUs; none on a kernel without NUMA.
fn nodes(system: &Path) -> Result<Vec<(u32, Vec<u32>)>> {
    let online = system.join("node/online");
    if !online.exists() {
        return Ok(Vec::new());
    }
    cpu_list(&read(&online)?)?
        .into_iter()
        .map(|node| {
            let file = system.join(format!("node/node{node}/cpulist"));
            Ok((
                node,
                cpu_list(&read(&file)?).with_context(|| file.display().to_string())?,
            ))
        })
        .collect()
}

fn first_of(file: &Path) -> Result<Option<u32>> {
    let Some(text) = read_if_there(file)? else {
        return Ok(None);
    };
    let cpus = cpu_list(&text).with_context(|| file.display().to_string())?;
    Ok(cpus.first().copied())
}

/// None where there is no such file, or not any more: its CPU is offline, or goes while the file is read.
fn read_if_there(file: &Path) -> Result<Option<String>> {
    match sysfs::text(file) {
        Ok(text) => Ok(Some(text)),
        Err(error) if matches!(error.raw_os_error(), Some(libc::ENOENT | libc::ENODEV)) => Ok(None),
        Err(error) => Err(error).with_context(|| file.display().to_string()),
    }
}

fn read(file: &Path) -> Result<String> {
    sysfs::text(file).with_context(|| file.display().to_string())
}

/// `0-3,8` in the kernel's notation.
fn cpu_list(text: &str) -> Result<Vec<u32>> {
    let mut cpus = Vec::new();
    for part in text.split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        match (first.parse::<u32>(), last.parse::<u32>()) {
            (Ok(first), Ok(last)) if first <= last => cpus.extend(first..=last),
            _ => bail!("expected a list of CPUs like 0-3,8, found {text:?}"),
        }
    }
    Ok(cpus)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Files below a fake `/sys/devices/system`.
    fn fake(files: &[(String, String)]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let file = dir.path().join(name);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, format!("{text}\n")).unwrap();
        }
        dir
    }

    fn file(name: impl Into<String>, text: impl Into<String>) -> (String, String) {
        (name.into(), text.into())
    }

    /// Two nodes of two cores of two threads, numbered as Intel does: siblings are `n` and `n + 4`.
    fn two_nodes() -> Vec<(String, String)> {
        let mut files = vec![
            file("cpu/possible", "0-7"),
            file("node/online", "0-1"),
            file("node/node0/cpulist", "0-1,4-5"),
            file("node/node1/cpulist", "2-3,6-7"),
        ];
        for cpu in 0..8 {
            let dir = format!("cpu/cpu{cpu}");
            let core = cpu % 4;
            let llc = if core < 2 { "0-1,4-5" } else { "2-3,6-7" };
            files.push(file(
                format!("{dir}/topology/thread_siblings_list"),
                format!("{core},{}", core + 4),
            ));
            for (index, level, kind, shared) in [
                (0, 1, "Data", format!("{core},{}", core + 4)),
                (1, 1, "Instruction", format!("{core},{}", core + 4)),
                (2, 3, "Unified", llc.to_owned()),
            ] {
                let cache = format!("{dir}/cache/index{index}");
                files.push(file(format!("{cache}/level"), level.to_string()));
                files.push(file(format!("{cache}/type"), kind));
                files.push(file(format!("{cache}/shared_cpu_list"), shared));
            }
        }
        files
    }

    #[test]
    fn siblings_caches_and_nodes_are_found() {
        let dir = fake(&two_nodes());
        let places = places(dir.path()).unwrap();
        assert_eq!(places.len(), 8);
        assert_eq!(
            places[1],
            Place {
                node: 0,
                llc: 0,
                core: 1
            }
        );
        assert_eq!(
            places[6],
            Place {
                node: 1,
                llc: 2,
                core: 2
            }
        );
        let globals = policy::TopologyGlobals::new(&places, 250).unwrap();
        assert_eq!(
            (globals.nr_cpus, globals.nr_llcs, globals.nr_nodes),
            (8, 2, 2)
        );
        assert_eq!(globals.cpu_by_llc, [0, 1, 4, 5, 2, 3, 6, 7]);
        assert_eq!(globals.llc_first, [0, 4, 8]);
        assert_eq!(globals.cpu_sibling, [4, 5, 6, 7, 0, 1, 2, 3]);
    }

    #[test]
    fn without_caches_the_package_is_shared_and_an_offline_cpu_is_alone() {
        let dir = fake(&[
            file("cpu/possible", "0-2"),
            file("cpu/cpu0/topology/thread_siblings_list", "0"),
            file("cpu/cpu0/topology/package_cpus_list", "0-1"),
            file("cpu/cpu1/topology/thread_siblings_list", "1"),
            file("cpu/cpu1/topology/package_cpus_list", "0-1"),
        ]);
        assert_eq!(
            places(dir.path()).unwrap(),
            [
                Place {
                    node: 0,
                    llc: 0,
                    core: 0
                },
                Place {
                    node: 0,
                    llc: 0,
                    core: 1
                },
                Place {
                    node: 0,
                    llc: 2,
                    core: 2
                },
            ]
        );
    }

    #[test]
    fn a_cpu_that_goes_while_it_is_read_is_alone() {
        let dir = fake(&[
            file("cpu/possible", "0"),
            file("cpu/cpu0/cache/index0/type", "Data"),
        ]);
        let places = places(dir.path()).unwrap();
        assert_eq!((places[0].llc, places[0].core), (0, 0));
    }

    #[test]
    fn nonsense_names_its_file() {
        let dir = fake(&[file("cpu/possible", "0-x")]);
        let error = format!("{:#}", places(dir.path()).unwrap_err());
        assert!(
            error.ends_with("cpu/possible: expected a list of CPUs like 0-3,8, found \"0-x\""),
            "{error}"
        );
        let dir = fake(&[file("cpu/possible", "0-4095")]);
        let error = format!("{:#}", places(dir.path()).unwrap_err());
        assert!(
            error.ends_with("a policy can be told of 1 to 1024 CPUs, not 4096"),
            "{error}"
        );
    }
}
