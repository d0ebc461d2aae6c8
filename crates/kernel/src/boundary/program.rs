// SPDX-License-Identifier: GPL-2.0-or-later
//! A policy's object, linked against the model and ready to be executed.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail, ensure};
use bpf::btf::Btf;
use bpf::host::Host;
use bpf::image::{Image, Outside};
use bpf::{Coverage, Environment, Executor, Interpreter, Native, link, link_preset};
use policy::{Manifest, Object, Setting, TopologyGlobals};
use workload::draw::Stream;

use super::execution::Execution;
use super::global_data::AtLoad;
use super::model::Kernel;
use super::outside::{Calls, Helper, Kfunc};
use super::prepared::{self, Prepared, Run, preset};
use super::refused::Refused;
use super::release::Release;
use super::shown::{
    AtomicInt, CgroupInitArgs, CpuAcquireArgs, CpuMask, CpuReleaseArgs, EventStats, ExitInfo,
    ExitTaskArgs, InitTaskArgs, PerfEventValue,
};
use super::types::{Shown, Types};
use super::{Callback, Code, Filled, Ops, enumerations, helpers, inlines, kfuncs, maps};
use crate::consts::OPS_ENQ_MIGRATION_DISABLED;

/// What policies may call that see this release: as an image names it, and by its name.
pub fn calls<K: Kernel>(release: Release) -> Vec<(Outside, &'static str)> {
    let helpers = helpers::helpers::<K>().into_iter();
    let helpers = helpers.map(|helper| (Outside::Helper(helper.number), helper.name));
    let kfuncs = kfuncs::kfuncs::<K>().into_iter();
    let kfuncs = kfuncs
        .filter(|kfunc| kfunc.is_in(release))
        .map(|kfunc| (Outside::Kfunc(kfunc.name.to_owned()), kfunc.name));
    helpers.chain(kfuncs).collect()
}

/// A policy that can run. It holds no state: what runs it has its own data and maps.
pub struct Program {
    pub name: String,
    pub manifest: Manifest,
    pub image: Arc<Image>,
    execution: Execution,
    release: Release,
    ops: Ops,
    prepared: Prepared,
    data: AtLoad,
    /// So many CPUs its own program has set it up for; none of one that schedlab tells of the machine.
    cpus: Option<u32>,
    /// Helpers and kfuncs, in the order of the image's.
    calls: Vec<Calls>,
    executor: Executor,
}

impl Program {
    /// Everything that the object refers to and the model has not, as of a release, is an error, all of it at once.
    pub fn link<K: Kernel>(
        object: &Object,
        execution: Execution,
        release: Release,
    ) -> Result<Self> {
        let (helpers, kfuncs) = (helpers::helpers::<K>(), kfuncs::kfuncs::<K>());
        let preset = match &object.set_up {
            Some((set_up, Some(_))) => Some(preset(object, set_up, release)?),
            Some((_, None)) | None => None,
        };
        let linked = |release: Release| {
            let environment = Environment {
                btf: btf(&kfuncs, release),
                helpers: helpers.iter().map(|helper| helper.number).collect(),
                map_kinds: maps::kind::KNOWN.iter().copied().collect(),
                config: config(),
                nullable: nullable(),
                version: release.version(),
                ..Environment::default()
            };
            match &preset {
                Some(preset) => link_preset(&object.elf, &environment, preset),
                None => link(&object.elf, &environment),
            }
        };
        let refused =
            |error| Refused::new(&object.name, error, release, |later| linked(later).err());
        let mut image = linked(release).map_err(refused)?;
        let (prepared, cpus) = match &object.set_up {
            None => (Prepared::default(), None),
            Some((set_up, cpus)) => {
                let named = || object.name.clone();
                if cpus.is_none() {
                    prepared::set(set_up, &mut image, release).with_context(named)?;
                }
                let prepared = Prepared::of(set_up, &mut image);
                (prepared.with_context(named)?, *cpus)
            }
        };
        let image = Arc::new(image);
        let mut ops = Ops::of(&image, object.attach.as_deref())
            .map_err(anyhow::Error::msg)
            .with_context(|| object.name.clone())?;
        let known = enumerations::ops_flags(release);
        let unknown = ops.flags & !known;
        ensure!(
            unknown == 0,
            "{}: flags of struct sched_ext_ops: {unknown:#x}, which the model of {release} has not",
            object.name
        );
        // A release without the flag tells every policy of these tasks.
        ops.flags |= OPS_ENQ_MIGRATION_DISABLED & !known;
        let offered = image.outside.iter().map(|outside| match outside {
            Outside::Helper(number) => helper(&helpers, *number),
            Outside::Kfunc(name) => kfunc(&kfuncs, name, release),
        });
        let (calls, prices): (Vec<Calls>, Vec<u64>) = offered.unzip();
        let executor = if execution == Execution::Interpreted {
            Executor::Interpreter(Interpreter::new(Arc::clone(&image))?)
        } else {
            let options = inlines::options(&image, &prices, execution);
            let kept = policy::cache_dir("translated")?;
            Executor::Native(Native::load(&image, &options, &kept)?)
        };
        Ok(Self {
            name: object.name.clone(),
            manifest: object.manifest.clone(),
            data: AtLoad::of(&image),
            image,
            execution,
            release,
            ops,
            prepared,
            cpus,
            calls,
            executor,
        })
    }

    /// A policy that was told of one machine runs on no other.
    pub fn ensure_fits(&self, cpus: usize) -> Result<()> {
        match self.cpus {
            Some(known) if known as usize != cpus => bail!(
                "{}: its program set it up for {known} CPUs, and the machine has {cpus}: take a snapshot with --cpus \
                 {cpus}",
                self.name
            ),
            _ => Ok(()),
        }
    }

    /// Whether it hears of the weights of control groups that change, so that it may give their tasks as much.
    pub fn heeds_weights(&self) -> bool {
        self.ops.has(Callback::CgroupSetWeight)
    }

    /// The same of limits, for which it may let tasks wait.
    pub fn heeds_limits(&self) -> bool {
        self.ops.has(Callback::CgroupSetBandwidth)
    }

    /// Whether it can keep limits as these tunables are set: it hears of them, and does something then.
    pub fn keeps_limits(&self, tunables: &BTreeMap<String, String>) -> Result<bool> {
        let Some(callback) = self.ops.function(Callback::CgroupSetBandwidth) else {
            return Ok(false);
        };
        let mut known = BTreeMap::new();
        for tunable in &self.manifest.tunables {
            let value = match tunables.get(&tunable.name) {
                Some(value) => (self.manifest.setting(&self.name, &tunable.name, value)?).value,
                None => tunable.default,
            };
            if let Some(place) = self.place(&tunable.name) {
                let unused_bits = 64 - 8 * place.len();
                let number = (value as u64) << unused_bits >> unused_bits;
                known.insert((place.start as u64, place.len() as u32), number);
            }
        }
        let constant = |at: u64, bytes: u32| known.get(&(at, bytes)).copied();
        Ok(bpf::acts(&self.image, callback, &constant))
    }

    /// Where its code is kept, for machines without a compiler; none of what is interpreted.
    pub fn kept(&self) -> Option<&Path> {
        match &self.executor {
            Executor::Native(native) => Some(native.file()),
            Executor::Interpreter(_) => None,
        }
    }

    /// What was counted in this process since the last time, for [`Program::coverage`]; empty unless
    /// [counted](Execution::Counted).
    pub fn take_counts(&self) -> Vec<u64> {
        match &self.executor {
            Executor::Native(native) => native.take_counts(),
            Executor::Interpreter(_) => Vec::new(),
        }
    }

    /// What of the policy's source that is, or many of them added up.
    pub fn coverage(&self, counts: &[u64]) -> Coverage {
        self.image.coverage(counts)
    }

    /// Maps that are not empty at the beginning.
    pub(crate) fn filled(&self) -> &[Filled] {
        &self.prepared.maps
    }

    /// What runs before the policy's `init`.
    pub(crate) fn runs(&self) -> &[Run] {
        &self.prepared.runs
    }

    /// A program of type `syscall` of this object.
    pub(crate) fn run(&self, program: &str, context: Vec<u8>) -> Result<Run> {
        Run::of(&self.image, program, context).with_context(|| self.name.clone())
    }

    /// A global's bytes in the block of data as a run left it.
    pub fn global<'a>(&self, data: &'a [u8], name: &str) -> Option<&'a [u8]> {
        data.get(self.place(name)?)
    }

    /// Global data as a run begins with it.
    pub fn data(&self, settings: &[Setting], topology: &TopologyGlobals) -> Result<AtLoad> {
        let mut data = self.data.clone();
        if self.cpus.is_some() {
            return Ok(data);
        }
        for global in &self.image.globals {
            if let Some(value) = enumerations::constant(&global.name, self.release) {
                self.tell(&mut data, &global.name, &value.to_le_bytes())?;
            }
        }
        for setting in settings {
            let bytes = setting.value.to_le_bytes();
            let place = self.place(&setting.name);
            let place =
                place.with_context(|| format!("{}: no global {}", self.name, setting.name))?;
            let count = place.len().min(bytes.len());
            data.put(place.start, &bytes[..count]);
        }
        self.tell(&mut data, HZ, &topology.hz().to_le_bytes())?;
        for (name, value) in topology.numbers() {
            self.tell(&mut data, name, &value.to_le_bytes())?;
        }
        for (name, values) in topology.arrays() {
            let bytes: Vec<u8> = values
                .iter()
                .flat_map(|value| value.to_le_bytes())
                .collect();
            self.tell(&mut data, name, &bytes)?;
        }
        Ok(data)
    }

    /// A policy that does not ask is not told.
    fn tell(&self, data: &mut AtLoad, name: &str, bytes: &[u8]) -> Result<()> {
        let Some(place) = self.place(name) else {
            return Ok(());
        };
        ensure!(
            bytes.len() <= place.len(),
            "{}: {name} holds {} bytes, not {}",
            self.name,
            place.len(),
            bytes.len()
        );
        data.put(place.start, bytes);
        Ok(())
    }

    /// Where a global lies in the block of data.
    fn place(&self, name: &str) -> Option<std::ops::Range<usize>> {
        let global = self
            .image
            .globals
            .iter()
            .find(|global| global.name == name)?;
        let section = &self.image.data[global.data as usize];
        if section.arena {
            return None;
        }
        let start = (section.offset + global.offset) as usize;
        Some(start..start + global.bytes as usize)
    }

    /// Where a variable of so many bytes lies in the block of data.
    pub(crate) fn offset(&self, name: &str, bytes: usize) -> Result<usize> {
        let place = self.place(name).filter(|place| place.len() == bytes);
        let place =
            place.with_context(|| format!("{}: no global {name} of {bytes} bytes", self.name))?;
        Ok(place.start)
    }

    /// For a model of the type that this was linked for; `divided`: operations may be broken off at its calls.
    pub(crate) fn code<'a>(&'a self, data: &'a AtLoad, random: Stream, divided: bool) -> Code<'a> {
        let mut code = Code {
            ops: self.ops.clone(),
            maps: &self.image.maps,
            data,
            sections: &self.image.data,
            filled: self.filled(),
            type_bytes: &self.image.type_bytes,
            release: self.release,
            calls: self.calls.iter().map(|calls| calls.of(divided)).collect(),
            divided,
            checked: self.execution != Execution::Translated,
            random,
            host: Host::default(),
        };
        // SAFETY: the simulation that runs the code borrows this program as long as it lives.
        unsafe { self.executor.attach(&mut code.host) };
        code
    }

    /// What went wrong, and where in the source.
    pub fn describe(&self, fault: &Host) -> String {
        format!("{}: {}", self.name, self.image.describe_fault(fault))
    }
}

/// The setting that each machine has its own of.
const HZ: &str = "CONFIG_HZ";

/// Settings of the kernel's build that the model has; what is linked sees the ticks of the machine that it runs on.
fn config() -> BTreeMap<String, String> {
    let most_cpus = (size_of::<CpuMask>() * 8).to_string();
    BTreeMap::from(
        [(HZ, "250".to_owned()), ("CONFIG_NR_CPUS", most_cpus)]
            .map(|(name, value)| (name.to_owned(), value)),
    )
}

/// Who is switched away from, when it is no task of the policy's, and whom a task yields to, when it is nobody.
fn nullable() -> BTreeMap<String, u64> {
    let arguments = [("sched_ext_ops.dispatch", 1), ("sched_ext_ops.yield", 1)];
    arguments
        .map(|(callback, argument)| (callback.to_owned(), 1 << argument))
        .into()
}

fn helper(helpers: &[Helper], number: u32) -> (Calls, u64) {
    let found = helpers.iter().find(|helper| helper.number == number);
    let found = found.expect("the linker knows what there is");
    (found.calls, found.price)
}

fn kfunc(kfuncs: &[Kfunc], name: &str, release: Release) -> (Calls, u64) {
    let found = kfuncs
        .iter()
        .find(|kfunc| kfunc.name == name && kfunc.is_in(release));
    let found = found.expect("the linker knows what there is");
    (found.calls, found.price)
}

/// The model's BTF, as a kernel of this release would show it.
fn btf(kfuncs: &[Kfunc], release: Release) -> Btf {
    let mut types = Types::of(release);
    Ops::describe(&mut types);
    InitTaskArgs::describe(&mut types);
    ExitTaskArgs::describe(&mut types);
    ExitInfo::describe(&mut types);
    CgroupInitArgs::describe(&mut types);
    PerfEventValue::describe(&mut types);
    EventStats::describe(&mut types);
    CpuAcquireArgs::describe(&mut types);
    CpuReleaseArgs::describe(&mut types);
    AtomicInt::describe(&mut types);
    for enumeration in enumerations::ENUMERATIONS {
        types.enumeration(enumeration);
    }
    for kfunc in kfuncs.iter().filter(|kfunc| kfunc.is_in(release)) {
        let prototype = (kfunc.describe)(&mut types);
        types.btf.function(kfunc.name, prototype);
    }
    let int = i32::describe(&mut types);
    types.btf.variable("__preempt_count", int);
    types.btf.build()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use bpf::btf::Kind;

    use super::*;
    use crate::sim::Sim;

    /// The texts of headers, one after the other; of a folder, those of its files.
    fn headers(path: &str) -> String {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../include")
            .join(path);
        if path.is_file() {
            return std::fs::read_to_string(path).unwrap();
        }
        let files = std::fs::read_dir(path).unwrap();
        let texts = files.map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap());
        texts.collect()
    }

    fn has_word(text: &str, word: &str) -> bool {
        let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        text.match_indices(word).any(|(at, _)| {
            let before = text[..at].bytes().next_back();
            let after = text[at + word.len()..].bytes().next();
            !before.is_some_and(is_part) && !after.is_some_and(is_part)
        })
    }

    /// What a policy written against scx's headers can see of the model is declared in those that it gets from us.
    #[test]
    #[cfg_attr(miri, ignore = "it reads files and runs a compiler")]
    fn what_the_model_shows_is_in_the_headers() {
        let types = headers("vmlinux");
        let names = headers("scx") + &headers("bpf_arena_common.bpf.h");
        let mut missing = Vec::new();
        for release in Release::ALL {
            for (_, one) in btf(&kfuncs::kfuncs::<Sim>(), release).iter() {
                match &one.kind {
                    Kind::Struct(composite) if !one.name.is_empty() => {
                        let begin = format!("struct {} {{", one.name);
                        let declared = types.split_once(&begin);
                        let members = declared.map_or("", |(_, rest)| {
                            rest.split_once("\n}").map_or("", |(members, _)| members)
                        });
                        if declared.is_none() {
                            missing.push(format!("struct {}", one.name));
                        }
                        let shown = composite.members.iter().map(|member| &member.name);
                        missing.extend(
                            shown
                                .filter(|name| *name != "opaque" && !has_word(members, name))
                                .map(|name| format!("{}.{name}", one.name)),
                        );
                    }
                    Kind::Enum(values) | Kind::Enum64(values) => missing.extend(
                        (values.values.iter().map(|(name, _)| name))
                            .filter(|name| !has_word(&types, name))
                            .cloned(),
                    ),
                    Kind::Function { .. } => {
                        let name = one.name.split("___").next().unwrap_or(&one.name);
                        let name = name.strip_suffix("_impl").unwrap_or(name);
                        let of_612 = format!("{name}___");
                        if !has_word(&names, name) && !names.contains(&of_612) {
                            missing.push(name.to_owned());
                        }
                    }
                    _ => {}
                }
            }
        }
        missing.sort();
        missing.dedup();
        assert!(missing.is_empty(), "{missing:#?}");
    }
}
