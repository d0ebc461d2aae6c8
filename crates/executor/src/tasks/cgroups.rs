// SPDX-License-Identifier: GPL-2.0-or-later
//! The control groups of a run: folders of cgroup v2, below one of the run's own.
//!
//! A remover, a process that was there before them, waits until the supervisor is gone, however it went; then it kills
//! who is left in the groups, removes them, and takes back what was changed at the root.

use std::fmt::Write as _;
use std::io;
use std::io::ErrorKind;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Result;
use workload::interpreter::Element;
use workload::plan::{Cgroup, Plan};

use super::attributes::allowed_cpus;
use super::context::Context;
use super::fault::{Fault, Kind};
use super::fork::fork;
use crate::error::NotHere;

const BURST: &str = "cpu.max.burst";

/// Who was killed leaves its group soon.
const REMOVAL_LIMIT: Duration = Duration::from_secs(20);
const REMOVAL_LOOK: Duration = Duration::from_millis(5);

/// The groups of a plan, as long as this lives.
pub struct Cgroups {
    /// The folder that they are in.
    folder: PathBuf,
    remover: libc::pid_t,
    /// As long as this is open somewhere, the remover waits.
    lifeline: Option<OwnedFd>,
}

impl Cgroups {
    /// Makes the groups of a plan, if it has any. They should be there before a scheduler is loaded.
    pub fn make(plan: &Plan) -> Result<Option<Self>> {
        if plan.cgroups.is_empty() {
            return Ok(None);
        }
        let root = mounted(&std::fs::read_to_string("/proc/self/mounts").unwrap_or_default());
        let root = root.ok_or_else(|| {
            NotHere("the workload's control groups need cgroup v2, which is not mounted".to_owned())
        })?;
        let wanted = wanted(plan);
        let has = words(&root.join("cgroup.controllers"));
        let missing: Vec<&str> = (wanted.iter().copied())
            .filter(|name| !has.iter().any(|has| has == name))
            .collect();
        if !missing.is_empty() {
            let missing = missing.join(" and ");
            let message = format!(
                "the workload's control groups need the controller {missing}, which cgroup v2 in {} has not",
                root.display()
            );
            return Err(NotHere(message).into());
        }
        let on = words(&root.join("cgroup.subtree_control"));
        let enabled: Vec<&str> = (wanted.iter().copied())
            .filter(|name| !on.iter().any(|on| on == name))
            .collect();
        let folder = root.join(format!("schedlab-{}", std::process::id()));
        // Of a run that was killed with its remover. Whoever has processes in it is another's, and keeps it.
        if folder.exists() && remove_once(&folder).is_err() {
            return Err(NotHere(format!("{} is in use", folder.display())).into());
        }
        let made = Self::keep(folder.clone(), &root, &enabled)?;
        build(plan, &root, &folder, &wanted, &enabled)
            .map_err(|why| NotHere(format!("the workload's control groups: {why}")))?;
        Ok(Some(made))
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Starts the remover.
    fn keep(folder: PathBuf, root: &Path, enabled: &[&str]) -> Result<Self> {
        let (watched, lifeline) = io::pipe()?;
        let (watched, lifeline): (OwnedFd, OwnedFd) = (watched.into(), lifeline.into());
        let fds = (watched.as_raw_fd(), lifeline.as_raw_fd());
        let remover = fork(|| remove_later(fds, &folder, root, enabled))?;
        Ok(Self {
            folder,
            remover,
            lifeline: Some(lifeline),
        })
    }
}

impl Drop for Cgroups {
    fn drop(&mut self) {
        drop(self.lifeline.take());
        let mut status = 0;
        // SAFETY: writes to a local; our own child.
        while unsafe { libc::waitpid(self.remover, &raw mut status, 0) } < 0
            && io::Error::last_os_error().kind() == ErrorKind::Interrupted
        {}
        if status != 0 {
            eprintln!("cannot remove {}", self.folder.display());
        }
    }
}

/// Where cgroup v2 is, by the kernel's list of what is mounted.
fn mounted(mounts: &str) -> Option<PathBuf> {
    mounts.lines().find_map(|line| {
        let mut words = line.split(' ').skip(1);
        let place = words.next()?;
        (words.next()? == "cgroup2").then(|| PathBuf::from(place))
    })
}

fn wanted(plan: &Plan) -> Vec<&'static str> {
    let controllers = plan.controllers();
    let all = [("cpu", controllers.cpu), ("cpuset", controllers.cpuset)];
    all.into_iter()
        .filter_map(|(name, wanted)| wanted.then_some(name))
        .collect()
}

fn words(file: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    text.split_whitespace().map(str::to_owned).collect()
}

/// What went wrong is said with its file.
fn write(file: &Path, text: &str) -> Result<(), String> {
    std::fs::write(file, text)
        .map_err(|error| format!("cannot write '{text}' to {}: {error}", file.display()))
}

fn make_folder(folder: &Path) -> Result<(), String> {
    std::fs::create_dir(folder)
        .map_err(|error| format!("cannot make {}: {error}", folder.display()))
}

/// Lets the groups below one have these controllers.
fn enable(folder: &Path, controllers: &[&str]) -> Result<(), String> {
    if controllers.is_empty() {
        return Ok(());
    }
    let text: Vec<String> = controllers.iter().map(|name| format!("+{name}")).collect();
    write(&folder.join("cgroup.subtree_control"), &text.join(" "))
}

fn build(
    plan: &Plan,
    root: &Path,
    folder: &Path,
    wanted: &[&str],
    enabled: &[&str],
) -> Result<(), String> {
    enable(root, enabled)?;
    make_folder(folder)?;
    enable(folder, wanted)?;
    let cpus = allowed_cpus();
    for (place, cgroup) in plan.cgroups.iter().enumerate() {
        let own = folder.join(path(plan, place as u32));
        make_folder(&own)?;
        for (name, text) in given(cgroup, &cpus)? {
            write(&own.join(name), &text)?;
        }
        let is_parent = (plan.cgroups.iter()).any(|other| other.parent == Some(place as u32));
        if is_parent {
            enable(&own, wanted)?;
        }
    }
    Ok(())
}

/// What the files of a group get, in this order.
fn given(cgroup: &Cgroup, cpus: &[usize]) -> Result<Vec<(&'static str, String)>, String> {
    let mut files = Vec::new();
    if let Some(weight) = cgroup.weight {
        files.push(("cpu.weight", weight.to_string()));
    }
    if let Some(max) = cgroup.max {
        files.push(("cpu.max", limit(max.quota_us, Some(max.period_us))));
        if max.burst_us > 0 {
            files.push((BURST, max.burst_us.to_string()));
        }
    }
    if !cgroup.cpus.is_empty() {
        let cpus = listed(cpus, &cgroup.cpus)
            .map_err(|cpu| format!("{}: there is no CPU {cpu}", cgroup.name))?;
        files.push(("cpuset.cpus", cpus));
    }
    Ok(files)
}

/// From the run's own folder.
fn path(plan: &Plan, cgroup: u32) -> PathBuf {
    let of = &plan.cgroups[cgroup as usize];
    match of.parent {
        None => PathBuf::from(&of.name),
        Some(parent) => path(plan, parent).join(&of.name),
    }
}

/// What `cpu.max` gets.
pub fn limit(quota_us: Option<u64>, period_us: Option<u64>) -> String {
    let mut text = quota_us.map_or_else(|| "max".to_owned(), |us| us.to_string());
    if let Some(period_us) = period_us {
        let _ = write!(text, " {period_us}");
    }
    text
}

/// The machine's numbers of the plan's CPUs, or the one that there is not.
fn listed(all: &[usize], cpus: &[u32]) -> Result<String, u32> {
    let number = |cpu: &u32| all.get(*cpu as usize).map(usize::to_string).ok_or(*cpu);
    let numbers: Vec<String> = cpus.iter().map(number).collect::<Result<_, u32>>()?;
    Ok(numbers.join(","))
}

/// The remover, in a process group of its own: what interrupts the supervisor is not meant for it.
fn remove_later(fds: (RawFd, RawFd), folder: &Path, root: &Path, enabled: &[&str]) -> i32 {
    // SAFETY: no memory but one local byte.
    unsafe {
        libc::setpgid(0, 0);
        libc::prctl(libc::PR_SET_NAME, c"schedlab-groups".as_ptr());
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT] {
            libc::signal(signal, libc::SIG_IGN);
        }
        let (watched, lifeline) = fds;
        libc::close(lifeline);
        let mut byte = 0u8;
        while libc::read(watched, (&raw mut byte).cast(), 1) < 0 {}
    }
    let removed = !folder.exists() || remove_tree(folder).is_ok();
    for controller in enabled {
        // Somebody else may use it by now.
        let _ = write(
            &root.join("cgroup.subtree_control"),
            &format!("-{controller}"),
        );
    }
    i32::from(!removed)
}

/// Kills all who are in a group or below it, and removes it as soon as they are gone.
fn remove_tree(folder: &Path) -> io::Result<()> {
    let deadline = Instant::now() + REMOVAL_LIMIT;
    let _ = std::fs::write(folder.join("cgroup.kill"), "1");
    loop {
        match remove_once(folder) {
            Err(error) if Instant::now() > deadline => return Err(error),
            Err(_) => std::thread::sleep(REMOVAL_LOOK),
            Ok(()) => return Ok(()),
        }
    }
}

fn remove_once(folder: &Path) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            remove_once(&entry.path())?;
        }
    }
    std::fs::remove_dir(folder)
}

/// The group's folder, if this run has groups.
fn own_folder(context: &Context, cgroup: u32) -> PathBuf {
    let folder = context.cgroups.unwrap_or(Path::new(""));
    folder.join(path(context.plan, cgroup))
}

/// A group that is not there, or on its way out, is left alone.
fn change(context: &Context, cgroup: u32, name: &str, text: &str) -> Result<(), Fault> {
    change_in(&own_folder(context, cgroup), name, text)
}

fn change_in(folder: &Path, name: &str, text: &str) -> Result<(), Fault> {
    let written = std::fs::write(folder.join(name), text);
    if written.is_err() && !folder.exists() {
        return Ok(());
    }
    unless(written, &[libc::ENODEV])
}

/// What these errors say is no fault.
fn unless(done: io::Result<()>, errors: &[i32]) -> Result<(), Fault> {
    match done {
        Err(error)
            if !error
                .raw_os_error()
                .is_some_and(|error| errors.contains(&error)) =>
        {
            Err(Fault::os(Kind::Cgroup, &error))
        }
        _ => Ok(()),
    }
}

pub fn make(context: &Context, cgroup: u32) -> Result<(), Fault> {
    let made = std::fs::create_dir(own_folder(context, cgroup));
    if made.is_ok() {
        let of = &context.plan.cgroups[cgroup as usize];
        // All its CPUs were there when it was made before.
        for (name, text) in given(of, context.cpus).unwrap_or_default() {
            change(context, cgroup, name, &text)?;
        }
    }
    unless(made, &[libc::EEXIST])
}

pub fn remove(context: &Context, cgroup: u32) -> Result<(), Fault> {
    let removed = std::fs::remove_dir(own_folder(context, cgroup));
    unless(removed, &[libc::EBUSY, libc::ENOENT])
}

/// Moves the calling process.
pub fn enter(context: &Context, cgroup: Option<u32>) -> Result<(), Fault> {
    change_in(&destination(context, cgroup), "cgroup.procs", "0")
}

/// The folder of the group that tasks move to: the root is that of the run's own.
fn destination(context: &Context, cgroup: Option<u32>) -> PathBuf {
    let root = || context.cgroups.and_then(Path::parent);
    let folder = |cgroup| own_folder(context, cgroup);
    cgroup.map_or_else(|| root().unwrap_or(Path::new("")).to_owned(), folder)
}

/// The same for the process of another task, which may be gone, or not have begun.
pub fn move_other(context: &Context, task: Element, cgroup: Option<u32>) -> Result<(), Fault> {
    super::attributes::of_another(context, task, |slot| {
        let process = slot.process.load(std::sync::atomic::Ordering::SeqCst);
        let folder = destination(context, cgroup);
        change_in(&folder, "cgroup.procs", &process.to_string())
    })
}

pub fn set_weight(context: &Context, cgroup: u32, weight: u32) -> Result<(), Fault> {
    change(context, cgroup, "cpu.weight", &weight.to_string())
}

/// The kernel takes no limit that is less than the burst of the moment.
pub fn set_max(
    context: &Context,
    cgroup: u32,
    limit: &str,
    burst_us: Option<u64>,
) -> Result<(), Fault> {
    if burst_us.is_some() {
        change(context, cgroup, BURST, "0")?;
    }
    change(context, cgroup, "cpu.max", limit)?;
    match burst_us {
        None | Some(0) => Ok(()),
        Some(us) => change(context, cgroup, BURST, &us.to_string()),
    }
}

pub fn set_cpus(context: &Context, cgroup: u32, cpus: &[u32]) -> Result<(), Fault> {
    let cpus =
        listed(context.cpus, cpus).map_err(|cpu| Fault::value(Kind::Affinity, cpu.into()))?;
    change(context, cgroup, "cpuset.cpus", &cpus)
}

#[cfg(test)]
mod tests {
    use super::*;
    use workload::plan::CpuMax;

    #[test]
    fn the_second_version_is_found_among_all_that_is_mounted() {
        let first = "cgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0\n";
        assert_eq!(mounted(first), None);
        let both = format!("{first}cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n");
        let found = mounted(&both);
        assert_eq!(found.as_deref(), Some(Path::new("/sys/fs/cgroup/unified")));
    }

    #[test]
    fn files_are_written_as_the_kernel_reads_them() {
        assert_eq!(limit(Some(5_000), Some(10_000)), "5000 10000");
        assert_eq!(limit(None, None), "max");
        assert_eq!(listed(&[2, 3, 7], &[0, 2]), Ok("2,7".to_owned()));
        assert_eq!(listed(&[2, 3, 7], &[3]), Err(3));
        let limited = |burst_us| Cgroup {
            name: String::new(),
            parent: None,
            weight: None,
            max: Some(CpuMax {
                quota_us: Some(5_000),
                period_us: 10_000,
                burst_us,
            }),
            cpus: Vec::new(),
        };
        let max = ("cpu.max", "5000 10000".to_owned());
        assert_eq!(given(&limited(0), &[]), Ok(vec![max.clone()]));
        let burst = ("cpu.max.burst", "2000".to_owned());
        assert_eq!(given(&limited(2_000), &[]), Ok(vec![max, burst]));
    }
}
