// SPDX-License-Identifier: GPL-2.0-or-later
//! A scheduler in the kernel: open its object, tell it its tunables and the machine, load, attach, watch, detach.

use std::path::Path;
use std::ptr::NonNull;

use anyhow::{Context, Result, anyhow, bail, ensure};
use libbpf_rs::btf::types::{MemberAttr, Struct, StructMember};
use libbpf_rs::{
    AsRawLibbpf, Btf, Link, Map, MapCore, MapType, Object, ObjectBuilder, OpenObject, libbpf_sys,
};
use policy::topology::MAX_CPUS;
use policy::{Setting, TopologyGlobals};

use crate::elf::{Layout, Variable};
use crate::error::NotHere;
use crate::exit::{Exit, Place, RawDump, RawExitInfo};
use crate::log::Why;
use crate::schedulers::Scheduler;
use crate::stats::{Counter, Counters, STRIDE, Stats};
use crate::sysfs::{BTF, SCHED_EXT, State};
use crate::{constants, kernel, log, topology};

#[derive(Clone, Debug, Default)]
pub struct Options {
    pub settings: Vec<Setting>,
    /// The kernel ejects a scheduler that leaves a runnable task waiting so long; it allows up to 30 s.
    pub timeout_ms: Option<u32>,
    /// Bytes of the kernel's state dump at an error.
    pub exit_dump_len: Option<u32>,
    pub verbose: bool,
}

/// Attached; dropped, it is detached.
pub struct Running {
    link: Option<Link>,
    /// None of a policy that records its end otherwise than ours and scx's do.
    recorded: Option<Place>,
    counters: Counters,
    /// As `/sys/kernel/sched_ext/root/ops` shows it.
    pub ops: String,
    /// Callbacks of the policy that this kernel never calls.
    pub left_out: Vec<String>,
    /// Owns the memory that the places above lie in.
    _object: Object,
}

impl Running {
    pub fn load(scheduler: &Scheduler, options: &Options) -> Result<Self> {
        let before = ready(&format!("scx_{}", scheduler.name))?;
        log::start(options.verbose);
        let layout = Layout::of(scheduler.elf)?;
        let mut object = ObjectBuilder::default()
            .name(scheduler.name)?
            .open_memory(scheduler.elf)
            .map_err(|error| refused(scheduler, &error))?;
        set_values(&mut object, scheduler)?;
        set_globals(&mut object, &layout, options)?;
        let Ops {
            name: ops,
            flags,
            left_out,
        } = set_ops(&mut object, scheduler, options, before.hotplug_seq)?;
        let mut object = object.load().map_err(|error| refused(scheduler, &error))?;
        keep_from_children(&object)?;

        let recorded = recorded(&object, &layout)?;
        let mut counters = Vec::new();
        for stat in scheduler.manifest()?.stats {
            let bss = memory(&object, ".bss")?;
            let variable = layout.expect(".bss", &format!("stat_{}", stat.name))?;
            ensure!(
                variable.size == MAX_CPUS * STRIDE,
                "the policy's counter '{}' is not a STAT",
                stat.name
            );
            let first = place(bss, variable, variable.size)?.cast();
            counters.push(Counter {
                name: stat.name,
                first,
            });
        }
        let mut map = object
            .maps_mut()
            .find(|map| map.map_type() == MapType::StructOps)
            .context("the policy defines no scheduler (SCX_OPS_DEFINE)")?;
        let link = map
            .attach_struct_ops()
            .map_err(|error| match unknown_flags(flags) {
                None => refused(scheduler, &error),
                Some(unknown) => anyhow!(
                    "cannot load {}: flags of struct sched_ext_ops: {unknown:#x}, which this kernel has not",
                    scheduler.name
                ),
            })?;
        Ok(Self {
            link: Some(link),
            recorded,
            // SAFETY: their size has been looked at, and what is dropped closes them before the object goes.
            counters: unsafe { Counters::new(counters) },
            ops,
            left_out,
            _object: object,
        })
    }

    /// Why it ended, once it has.
    pub fn exit(&self) -> Option<Exit> {
        // SAFETY: it lies in the object's mapped memory, which lives as long as we do.
        self.recorded
            .as_ref()
            .and_then(|place| unsafe { Exit::read(place) })
    }

    /// Every counter of the policy, summed over the CPUs.
    pub fn stats(&self) -> Stats {
        self.counters.read().unwrap_or_default()
    }

    /// The same, for other threads.
    pub fn counters(&self) -> Counters {
        self.counters.clone()
    }

    /// The kernel's own scheduler takes over; returns why this one ended.
    pub fn detach(mut self) -> Option<Exit> {
        self.unlink();
        self.exit()
    }

    fn unlink(&mut self) {
        if let Some(link) = self.link.take() {
            // Closing our descriptor alone would not do while a child has a copy of it.
            let _ = link.detach();
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.counters.close();
        self.unlink();
    }
}

/// Whether a scheduler can be loaded here and now, by this command.
pub fn ready(command: &str) -> Result<State> {
    let state = State::read().map_err(|error| {
        NotHere(format!(
            "{error:#}; `schedlab doctor` names a kernel that has it"
        ))
    })?;
    // SAFETY: no pointers.
    if unsafe { libc::geteuid() } != 0 {
        return Err(NotHere(format!("loading a scheduler needs root: sudo {command}")).into());
    }
    if !Path::new(BTF).exists() {
        return Err(NotHere(format!(
            "this kernel does not tell its types, which loading a scheduler needs: {BTF} is missing \
             (CONFIG_DEBUG_INFO_BTF); `schedlab doctor` names a kernel that has it"
        ))
        .into());
    }
    refuse_other(&state)?;
    Ok(state)
}

/// No scheduler of somebody else runs. A kernel without sched_ext has none.
pub fn vacant() -> Result<()> {
    State::read().map_or(Ok(()), |state| refuse_other(&state))
}

fn refuse_other(state: &State) -> Result<()> {
    if state.is_disabled() {
        return Ok(());
    }
    let other = if state.ops.is_empty() {
        "another scheduler"
    } else {
        &state.ops
    };
    Err(NotHere(format!(
        "{other} is running ({SCHED_EXT}/state: {}); stop it first, with Ctrl-C where it was started, or with \
         systemctl stop scx.service or scx_loader.service",
        state.state
    ))
    .into())
}

/// An error of libbpf, with what the log tells about it.
fn refused(scheduler: &Scheduler, error: &libbpf_rs::Error) -> anyhow::Error {
    let name = scheduler.name;
    match log::explain() {
        None => anyhow!("cannot load {name}: {error:#}"),
        Some(Why::Kernel(why)) => NotHere(format!("cannot load {name}: {why}")).into(),
        Some(Why::Policy(why)) => {
            anyhow!(
                "cannot load {name}: {why}\n    ({error:#}; the whole log: scx_{name} --verbose)"
            )
        }
    }
}

/// Before the policy is told anything, as in the simulator.
fn set_values(object: &mut OpenObject, scheduler: &Scheduler) -> Result<()> {
    let data = scheduler.values.iter().flat_map(|values| &values.data);
    for (section, bytes) in data {
        let mut map = object
            .maps_mut()
            .find(|map| map.name().to_string_lossy().ends_with(section.as_str()))
            .with_context(|| format!("the policy has no {section} that could be set"))?;
        let place = map.initial_value_mut();
        let place = place.with_context(|| format!("the policy's {section} cannot be set"))?;
        let (there, given) = (place.len(), bytes.0.len());
        ensure!(
            there == given,
            "the policy's {section} has {there} bytes, and {given} are given"
        );
        place.copy_from_slice(&bytes.0);
    }
    Ok(())
}

/// Those of a policy's flags that the kernel does not know. It says no more than that an argument is invalid.
fn unknown_flags(flags: u64) -> Option<u64> {
    let constants = constants::of_the_kernel().ok()?;
    let unknown = flags & !constants.get("SCX_OPS_ALL_FLAGS")?;
    (unknown != 0).then_some(unknown)
}

/// A policy that has no variable of that name does not ask for the constant or for that fact of the machine.
fn set_globals(object: &mut OpenObject, layout: &Layout, options: &Options) -> Result<()> {
    let rodata = object
        .maps_mut()
        .find(|map| map.name().to_string_lossy().ends_with(".rodata"));
    let Some(mut rodata) = rodata else {
        let Some(setting) = options.settings.first() else {
            return Ok(());
        };
        bail!("the policy has no constants, and so no '{}'", setting.name);
    };
    let rodata = rodata
        .initial_value_mut()
        .context("the policy's constants cannot be set")?;
    let mut tell = |name: &str, bytes: &[u8]| -> Result<()> {
        let Some(variable) = layout.find(".rodata", name) else {
            return Ok(());
        };
        let slice = variable.slice(rodata)?;
        ensure!(
            bytes.len() <= slice.len(),
            "the policy's global '{name}' is too small for its value"
        );
        slice[..bytes.len()].copy_from_slice(bytes);
        Ok(())
    };
    if layout
        .variables(".rodata")
        .any(|(name, _)| name.starts_with("__SCX_"))
    {
        for (name, value) in constants::of_the_kernel()? {
            tell(&format!("__{name}"), &value.to_le_bytes())?;
        }
    }
    let places = topology::places(Path::new(topology::SYSTEM))?;
    let machine = TopologyGlobals::new(&places, kernel::tick_hz())?;
    for (name, value) in machine.numbers() {
        tell(name, &value.to_le_bytes())?;
    }
    for (name, values) in machine.arrays() {
        let bytes: Vec<u8> = values
            .iter()
            .flat_map(|value| value.to_le_bytes())
            .collect();
        tell(name, &bytes)?;
    }
    for setting in &options.settings {
        let size = layout.expect(".rodata", &setting.name)?.size;
        tell(&setting.name, &setting.value.to_le_bytes()[..size])?;
    }
    Ok(())
}

/// Where the policy records its end: `exit_info` of `include/scx.h`, or what `UEI_DEFINE(uei)` of scx's headers makes.
fn recorded(object: &Object, layout: &Layout) -> Result<Option<Place>> {
    if let Some(variable) = layout.find(".bss", "exit_info") {
        let size = size_of::<RawExitInfo>() + size_of::<RawDump>();
        let info = place(memory(object, ".bss")?, variable, size)?.cast::<RawExitInfo>();
        // SAFETY: the dump follows, within the size that was just checked.
        let dump = unsafe { info.add(1) }.cast();
        return Ok(Some(Place {
            info,
            dump: Some(dump),
        }));
    }
    let Some(variable) = layout.find(".data", "uei") else {
        return Ok(None);
    };
    let info = place(memory(object, ".data")?, variable, size_of::<RawExitInfo>())?;
    Ok(Some(Place {
        info: info.cast(),
        dump: None,
    }))
}

/// What was set.
struct Ops {
    name: String,
    flags: u64,
    /// See [`Running::left_out`].
    left_out: Vec<String>,
}

const OPS: &str = "sched_ext_ops";

/// A user's values, name, watchdog and hotplug sequence go into the policy's `sched_ext_ops`, and what the kernel lacks out
/// of it.
fn set_ops(
    object: &mut OpenObject,
    scheduler: &Scheduler,
    options: &Options,
    hotplug_seq: u64,
) -> Result<Ops> {
    let raw = object.as_libbpf_object();
    // SAFETY: the object outlives the borrow.
    let btf = Btf::from_bpf_object(unsafe { raw.as_ref() })?
        .context("the policy has no BTF: build it with -g")?;
    let ops: Struct = btf
        .type_by_name(OPS)
        .context("the policy has no struct sched_ext_ops")?;
    let field = |name: &str| -> Result<usize> {
        let member = ops
            .iter()
            .find(|member| member.name.is_some_and(|found| found == name));
        match member.map(|member| member.attr) {
            Some(MemberAttr::Normal { offset }) => Ok(offset as usize / 8),
            _ => Err(anyhow!("struct sched_ext_ops has no field '{name}'")),
        }
    };
    let set = scheduler.values.iter().flat_map(|values| &values.members);
    let set = set.map(|(name, bytes)| Ok((field(name)?, &bytes.0)));
    let set = set.collect::<Result<Vec<_>>>()?;
    let fields = [
        field("name")?,
        field("timeout_ms")?,
        field("exit_dump_len")?,
        field("hotplug_seq")?,
        field("flags")?,
    ];

    let mut map = object
        .maps_mut()
        .find(|map| map.map_type() == MapType::StructOps)
        .context("the policy defines no scheduler (SCX_OPS_DEFINE)")?;
    let data = map
        .initial_value_mut()
        .context("the policy's sched_ext_ops cannot be set")?;
    for (at, bytes) in set {
        let place = data.get_mut(at..at + bytes.len());
        place
            .context("a value outside of the policy's sched_ext_ops")?
            .copy_from_slice(bytes);
    }
    let [name_at, timeout_at, dump_at, hotplug_at, flags_at] = fields;
    let mut flags = [0; 8];
    flags.copy_from_slice(&data[flags_at..flags_at + 8]);
    let name = ops_name(scheduler);
    data[name_at..name_at + 128].fill(0);
    data[name_at..name_at + name.len()].copy_from_slice(name.as_bytes());
    if let Some(timeout_ms) = options.timeout_ms {
        data[timeout_at..timeout_at + 4].copy_from_slice(&timeout_ms.to_le_bytes());
    }
    if let Some(length) = options.exit_dump_len {
        data[dump_at..dump_at + 4].copy_from_slice(&length.to_le_bytes());
    }
    data[hotplug_at..hotplug_at + 8].copy_from_slice(&hotplug_seq.to_le_bytes());
    Ok(Ops {
        name,
        flags: u64::from_le_bytes(flags),
        left_out: leave_out(&ops, data)?,
    })
}

/// A kernel may have no control groups for sched_ext, and tells of their limits since 6.17. libbpf refuses a callback that
/// the kernel has not, unless it is null. Returns those that now are.
fn leave_out(ops: &Struct, data: &mut [u8]) -> Result<Vec<String>> {
    let kernel = Btf::from_vmlinux()?;
    let known: Vec<String> = (kernel.type_by_name::<Struct>(OPS))
        .map(|ops| ops.iter().filter_map(name_of).collect())
        .unwrap_or_default();
    let mut left_out = Vec::new();
    for member in ops.iter() {
        let MemberAttr::Normal { offset } = member.attr else {
            continue;
        };
        let Some(name) = name_of(member) else {
            continue;
        };
        if known.contains(&name) || !bpf::is_optional(OPS, &name) {
            continue;
        }
        let at = offset as usize / 8;
        if let Some(callback) = data.get_mut(at..at + 8).filter(|bytes| **bytes != [0; 8]) {
            callback.fill(0);
            left_out.push(name);
        }
    }
    Ok(left_out)
}

fn name_of(member: StructMember) -> Option<String> {
    member.name.map(|name| name.to_string_lossy().into_owned())
}

/// `bfs_0.1.0_1a2b3c4d5_x86_64`: letters, digits, `_` and `.` are all that the kernel takes.
pub fn ops_name(scheduler: &Scheduler) -> String {
    let version = scheduler.version().replace('-', "_");
    let mut name = format!("{}_{version}_{}", scheduler.name, std::env::consts::ARCH);
    name.truncate(127);
    name
}

/// What this process forks shall not map the policy's memory, whose page tables each fork would copy and each exit
/// give back: with 6 MB of a policy's 0.2 ms a fork in the exact guest, which no task of a real user pays.
fn keep_from_children(object: &Object) -> Result<()> {
    for map in object.maps().filter(|map| map.map_type() == MapType::Array) {
        let Some(section) = mapped(&map) else {
            continue;
        };
        // SAFETY: libbpf has mapped it in whole pages, and keeps it mapped.
        if unsafe { libc::madvise(section.as_ptr().cast(), section.len(), libc::MADV_DONTFORK) }
            != 0
        {
            let name = map.name().display().to_string();
            return Err(std::io::Error::last_os_error())
                .with_context(|| format!("the policy's {name} cannot be kept from children"));
        }
    }
    Ok(())
}

/// The mapped memory of a loaded object's data section.
fn memory(object: &Object, section: &str) -> Result<NonNull<[u8]>> {
    let map = object
        .maps()
        .find(|map| map.name().to_string_lossy().ends_with(section));
    let map = map.with_context(|| format!("the policy has no {section}"))?;
    mapped(&map).with_context(|| format!("the policy's {section} is not mapped"))
}

/// None of an array that is no data section.
fn mapped(map: &Map) -> Option<NonNull<[u8]>> {
    let mut size = 0;
    // SAFETY: the map belongs to a loaded object; libbpf keeps data sections mapped.
    let start = unsafe {
        libbpf_sys::bpf_map__initial_value(map.as_libbpf_object().as_ptr(), &raw mut size)
    };
    let start = NonNull::new(start.cast::<u8>())?;
    Some(NonNull::slice_from_raw_parts(start, size as usize))
}

fn place(section: NonNull<[u8]>, variable: Variable, size: usize) -> Result<NonNull<u8>> {
    ensure!(
        variable.size >= size && variable.offset + variable.size <= section.len(),
        "a global of the policy does not have the size that its header gives it"
    );
    // SAFETY: within the section, just checked.
    Ok(unsafe { section.cast::<u8>().add(variable.offset) })
}
