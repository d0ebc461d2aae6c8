// SPDX-License-Identifier: GPL-2.0-or-later
//! The members of `struct sched_ext_ops`: what the model calls, and what it reads.

use bpf::btf::TypeId;
use bpf::image::{Image, MemberValue, StructOps};

use super::release::Release;
use super::types::{Shown, Types};

macro_rules! callbacks {
    ($($name:literal = $callback:ident,)*) => {
        /// A callback that the model has an occasion to call.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Callback {
            $($callback,)*
        }

        impl Callback {
            pub const ALL: &[Self] = &[$(Self::$callback,)*];

            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$callback => $name,)*
                }
            }
        }
    };
}

callbacks! {
    "select_cpu" = SelectCpu,
    "enqueue" = Enqueue,
    "dequeue" = Dequeue,
    "dispatch" = Dispatch,
    "tick" = Tick,
    "runnable" = Runnable,
    "running" = Running,
    "stopping" = Stopping,
    "quiescent" = Quiescent,
    "yield" = Yield,
    "set_weight" = SetWeight,
    "set_cpumask" = SetCpumask,
    "update_idle" = UpdateIdle,
    "init_task" = InitTask,
    "exit_task" = ExitTask,
    "enable" = Enable,
    "disable" = Disable,
    "cpu_online" = CpuOnline,
    "cpu_offline" = CpuOffline,
    "init" = Init,
    "exit" = Exit,
    "cpu_acquire" = CpuAcquire,
    "cpu_release" = CpuRelease,
    "cgroup_init" = CgroupInit,
    "cgroup_exit" = CgroupExit,
    "cgroup_prep_move" = CgroupPrepMove,
    "cgroup_move" = CgroupMove,
    "cgroup_cancel_move" = CgroupCancelMove,
    "cgroup_set_weight" = CgroupSetWeight,
    "cgroup_set_bandwidth" = CgroupSetBandwidth,
}

/// A callback under way, and its first argument.
#[derive(Clone, Copy)]
pub struct Underway {
    pub callback: Callback,
    pub first: u64,
    /// A kfunc of another callback led to it.
    pub within: bool,
}

/// What a callback does last, as `Kernel::seam` is told it.
pub const RETURN: &str = "return";

/// Whose run queue the kernel has locked while it calls a callback.
pub enum Locks {
    Nothing,
    /// That of the CPU that is the first argument.
    Cpu,
    /// That of the CPU of the task that is the first argument.
    CpuOfTask,
}

impl Callback {
    /// The release that first calls it.
    fn since(self) -> Release {
        match self {
            Self::CgroupSetBandwidth => Release::of(617),
            _ => Release::ALL[0],
        }
    }

    pub fn locks(self) -> Locks {
        match self {
            Self::Dispatch | Self::UpdateIdle | Self::CpuAcquire | Self::CpuRelease => Locks::Cpu,
            Self::Enqueue
            | Self::Dequeue
            | Self::Tick
            | Self::Runnable
            | Self::Running
            | Self::Stopping
            | Self::Quiescent
            | Self::Yield
            | Self::SetWeight
            | Self::SetCpumask
            | Self::Enable
            | Self::Disable
            | Self::ExitTask
            | Self::CgroupMove => Locks::CpuOfTask,
            Self::SelectCpu
            | Self::InitTask
            | Self::CpuOnline
            | Self::CpuOffline
            | Self::Init
            | Self::Exit
            | Self::CgroupInit
            | Self::CgroupExit
            | Self::CgroupPrepMove
            | Self::CgroupCancelMove
            | Self::CgroupSetWeight
            | Self::CgroupSetBandwidth => Locks::Nothing,
        }
    }
}

/// Callbacks that the kernel has, since which release, and that a policy may have, for occasions that do not arise here: nobody asks for a
/// dump, siblings may run whatever they like beside each other (no core scheduling), and no control group is made idle.
const NEVER_CALLED: &[(&str, Release)] = &[
    ("dump", Release::of(612)),
    ("dump_cpu", Release::of(612)),
    ("dump_task", Release::of(612)),
    ("core_sched_before", Release::of(612)),
    ("cgroup_set_idle", Release::of(619)),
];

/// A policy's callbacks, as functions of its image, and its settings.
#[derive(Clone, Debug, Default)]
pub struct Ops {
    functions: [Option<u32>; Callback::ALL.len()],
    pub dispatch_max_batch: u32,
    pub flags: u64,
    pub timeout_ms: u32,
    pub name: String,
}

impl Ops {
    #[inline]
    pub fn function(&self, callback: Callback) -> Option<u32> {
        self.functions[callback as usize]
    }

    #[inline]
    pub fn has(&self, callback: Callback) -> bool {
        self.function(callback).is_some()
    }

    pub fn set(&mut self, callback: Callback, function: u32) {
        self.functions[callback as usize] = Some(function);
    }

    /// The scheduler that an object holds: its variable of type `struct sched_ext_ops` of this name, or its only one.
    pub fn of(image: &Image, named: Option<&str>) -> Result<Self, String> {
        let mut found = image
            .struct_ops
            .iter()
            .filter(|ops| ops.kind == "sched_ext_ops")
            .filter(|ops| named.is_none_or(|name| ops.variable == name));
        let (first, second) = (found.next(), found.next());
        match (first, second) {
            (Some(ops), None) => Ok(Self::read(ops)),
            (None, _) => Err(match named {
                None => "the object holds no struct sched_ext_ops".to_owned(),
                Some(name) => format!("the object holds no struct sched_ext_ops {name}"),
            }),
            (Some(one), Some(other)) => Err(format!(
                "the object holds several struct sched_ext_ops: {}, {}",
                one.variable, other.variable
            )),
        }
    }

    fn read(ops: &StructOps) -> Self {
        let mut read = Self::default();
        for member in &ops.members {
            match &member.value {
                MemberValue::Function { function, .. } => {
                    let callback = Callback::ALL.iter().find(|c| c.name() == member.name);
                    if let Some(callback) = callback {
                        read.set(*callback, *function);
                    }
                }
                MemberValue::None => {}
                MemberValue::Bytes(bytes) => read.setting(&member.name, bytes),
            }
        }
        read
    }

    fn setting(&mut self, name: &str, bytes: &[u8]) {
        let mut word = [0; 8];
        let count = bytes.len().min(8);
        word[..count].copy_from_slice(&bytes[..count]);
        let number = u64::from_le_bytes(word);
        match name {
            "dispatch_max_batch" => self.dispatch_max_batch = number as u32,
            "flags" => self.flags = number,
            "timeout_ms" => self.timeout_ms = number as u32,
            "name" => {
                let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
                self.name = String::from_utf8_lossy(text).into_owned();
            }
            // How much a dump may hold, and which state of the CPUs the loader saw: nothing that the model asks for.
            _ => {}
        }
    }

    /// `struct sched_ext_ops`, as the linker matches its members by name and size.
    pub fn describe(types: &mut Types) -> TypeId {
        let nothing = <()>::describe(types);
        let any = types.btf.prototype(nothing, &[]);
        let pointer = types.btf.pointer(any);
        let name = <[std::ffi::c_char; 128]>::describe(types);
        let (word, double) = (u32::describe(types), u64::describe(types));
        let callbacks = (Callback::ALL.iter())
            .filter(|callback| callback.since() <= types.release)
            .map(|callback| callback.name());
        let never_called = (NEVER_CALLED.iter())
            .filter(|(_, since)| *since <= types.release)
            .map(|(callback, _)| *callback);
        let mut members: Vec<(&str, TypeId, u32)> = callbacks
            .chain(never_called)
            .map(|callback| (callback, pointer, 8))
            .collect();
        members.extend([
            ("flags", double, 8),
            ("hotplug_seq", double, 8),
            ("dispatch_max_batch", word, 4),
            ("timeout_ms", word, 4),
            ("exit_dump_len", word, 8),
            ("name", name, 128),
        ]);
        let bytes = members.iter().map(|(.., bytes)| bytes).sum();
        let id = types.btf.structure("sched_ext_ops", bytes);
        let mut offset = 0;
        for (member, of, bytes) in members {
            types.btf.member(id, member, of, offset * 8);
            offset += bytes;
        }
        id
    }
}
