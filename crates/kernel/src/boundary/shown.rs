// SPDX-License-Identifier: GPL-2.0-or-later
//! The structures that policies see, each with its BTF: a policy's fields are relocated against these, and a field that
//! is not here does not exist for it.

use std::collections::BTreeMap;
use std::ffi::{c_char, c_void};

use bpf::btf::{Builder, TypeId};

use super::release::Release;
use crate::consts::{
    CPUPERF_ONE, DEQ_SCHED_CHANGE, DEQ_SLEEP, DISPATCH_BATCH, DISPATCH_LOOPS, DSQ_BUILTIN,
    DSQ_GLOBAL, DSQ_LOCAL, DSQ_LOCAL_FLAG, DSQ_LOCAL_ON, ENQ_CPU_SELECTED, ENQ_HEAD, ENQ_LAST,
    ENQ_PREEMPT, ENQ_PRIQ, ENQ_REENQ, ENQ_WAKEUP, KICK_IDLE, KICK_PREEMPT, KICK_WAIT,
    OPS_ENQ_EXITING, OPS_ENQ_LAST, OPS_IDLE_PER_NODE, OPS_KEEP_BUILTIN_IDLE, PICK_IDLE_CORE,
    PICK_IDLE_IN_NODE, SLICE_DFL, SLICE_INF, TASK_QUEUED, WAKE_FORK, WAKE_SYNC, WAKE_TTWU,
};

/// A type that goes into the model's BTF.
pub trait Shown {
    fn describe(types: &mut Types) -> TypeId;
}

/// The model's BTF while it is made; every structure and enumeration is described once.
pub struct Types {
    pub btf: Builder,
    /// What came later is left out.
    pub release: Release,
    known: BTreeMap<&'static str, TypeId>,
}

type Describe = fn(&mut Types) -> TypeId;

/// Of a structure: name, the release that brought it, its place and its type.
type Member = (&'static str, Release, usize, Describe);

impl Types {
    pub fn of(release: Release) -> Self {
        Self {
            btf: Builder::default(),
            release,
            known: BTreeMap::new(),
        }
    }

    /// A structure, whose members may point back to it.
    fn structure<const N: usize>(
        &mut self,
        name: &'static str,
        bytes: usize,
        members: [Member; N],
    ) -> TypeId {
        if let Some(known) = self.known.get(name) {
            return *known;
        }
        let id = self.btf.structure(name, bytes as u32);
        self.known.insert(name, id);
        for (member, since, offset, describe) in members {
            if since > self.release {
                continue;
            }
            let of = describe(self);
            self.btf.member(id, member, of, offset as u32 * 8);
        }
        id
    }

    pub fn enumeration(&mut self, shown: &Enumeration) -> TypeId {
        *self.known.entry(shown.name).or_insert_with(|| {
            let values: Vec<(&str, u64)> = shown.values_in(self.release).collect();
            let narrow: Option<Vec<(&str, i32)>> = (values.iter())
                .map(|(name, value)| Some((*name, i32::try_from(*value).ok()?)))
                .collect();
            match narrow {
                Some(values) => self.btf.enumeration(shown.name, &values),
                None => self.btf.enumeration64(shown.name, &values),
            }
        })
    }
}

macro_rules! integers {
    ($($rust:ty = $name:literal, $signed:literal;)*) => {
        $(impl Shown for $rust {
            fn describe(types: &mut Types) -> TypeId {
                types.btf.int($name, size_of::<$rust>() as u32, $signed)
            }
        })*
    };
}

integers! {
    u8 = "unsigned char", false;
    u16 = "unsigned short", false;
    u32 = "unsigned int", false;
    u64 = "unsigned long long", false;
    i32 = "int", true;
    i64 = "long long", true;
}

impl Shown for bool {
    fn describe(types: &mut Types) -> TypeId {
        types.btf.bool()
    }
}

impl Shown for c_char {
    fn describe(types: &mut Types) -> TypeId {
        types.btf.char()
    }
}

impl Shown for () {
    fn describe(_types: &mut Types) -> TypeId {
        Builder::VOID
    }
}

impl Shown for c_void {
    fn describe(_types: &mut Types) -> TypeId {
        Builder::VOID
    }
}

impl<T: Shown> Shown for *mut T {
    fn describe(types: &mut Types) -> TypeId {
        let to = T::describe(types);
        types.btf.pointer(to)
    }
}

impl<T: Shown> Shown for *const T {
    fn describe(types: &mut Types) -> TypeId {
        let to = T::describe(types);
        let to = types.btf.constant(to);
        types.btf.pointer(to)
    }
}

impl<T: Shown, const N: usize> Shown for [T; N] {
    fn describe(types: &mut Types) -> TypeId {
        let element = T::describe(types);
        types.btf.array(element, N as u32)
    }
}

/// The release of a field, as [`shown!`] has it.
macro_rules! release {
    () => {
        Release::ALL[0]
    };
    ($since:literal) => {
        Release::of($since)
    };
}

/// Structures by their names in the kernel, with the release that brought a field where the first has it not. Fields
/// behind `hidden` are the model's own.
macro_rules! shown {
    ($(
        $(#[$doc:meta])*
        $name:literal: $rust:ident {
            $($(#[$field_doc:meta])* $($since:literal)? $field:ident: $type:ty,)*
        } $(hidden { $($hidden:ident: $hidden_type:ty,)* })?
    )*) => {
        $(
            $(#[$doc])*
            #[repr(C)]
            #[allow(clippy::pub_underscore_fields, reason = "names are the kernel's")]
            #[derive(Clone, Debug, PartialEq, Eq)]
            pub struct $rust {
                $($(#[$field_doc])* pub $field: $type,)*
                $($(pub $hidden: $hidden_type,)*)?
            }

            impl Shown for $rust {
                fn describe(types: &mut Types) -> TypeId {
                    types.structure(
                        $name,
                        size_of::<Self>(),
                        [$((
                            stringify!($field),
                            release!($($since)?),
                            std::mem::offset_of!(Self, $field),
                            <$type as Shown>::describe as Describe,
                        ),)*],
                    )
                }
            }
        )*
    };
}

shown! {
    "cpumask": CpuMask {
        bits: [u64; 16],
    }

    "bpf_cpumask": OwnCpuMask {
        cpumask: CpuMask,
        usage: i32,
    }

    "sched_ext_entity": SchedExtEntity {
        slice: u64,
        dsq_vtime: u64,
        weight: u32,
        flags: u32,
        /// Concerns tasks that asked for `SCHED_EXT` by name, and there are none.
        disallow: bool,
    }

    /// What a task asked for with `sched_setattr`'s `sched_runtime`; what it ran so far, up to its CPU's last callback.
    "sched_entity": SchedEntity {
        slice: u64,
        sum_exec_runtime: u64,
        custom_slice: u8,
    }

    /// Never dereferenced.
    "mm_struct": MmStruct {}

    /// What a policy sees of a task. The policy keeps pointers to it, so it must not move while the task lives.
    "task_struct": TaskStruct {
        scx: SchedExtEntity,
        se: SchedEntity,
        __state: u32,
        flags: u32,
        prio: i32,
        static_prio: i32,
        rt_priority: u32,
        policy: u32,
        nr_cpus_allowed: i32,
        cpus_ptr: *const CpuMask,
        migration_disabled: u16,
        exit_state: i32,
        pid: i32,
        tgid: i32,
        /// Null: a kernel thread.
        mm: *mut MmStruct,
        real_parent: *mut TaskStruct,
        /// All the time that a task runs is its own.
        utime: u64,
        stime: u64,
        /// Switches because it blocked, and because another took its place.
        nvcsw: u64,
        nivcsw: u64,
        cpus_mask: CpuMask,
        /// Null: the default one.
        mempolicy: *mut MemPolicy,
        comm: [c_char; 16],
    } hidden {
        storage_map: *const c_void,
        storage: *mut c_void,
    }

    /// Nobody sets one.
    "mempolicy": MemPolicy {
        mode: u16,
        home_node: i32,
        nodes: NodeMask,
    }

    "scx_init_task_args": InitTaskArgs {
        fork: bool,
        cgroup: *mut Cgroup,
    }

    /// Every task is in the one cgroup that there is, the root.
    "cgroup": Cgroup {
        level: i32,
        kn: *mut KernfsNode,
    }

    "kernfs_node": KernfsNode {
        id: u64,
    }

    "scx_cgroup_init_args": CgroupInitArgs {
        weight: u32,
        617 bw_period_us: u64,
        617 bw_quota_us: u64,
        617 bw_burst_us: u64,
    }

    /// What a CPU runs, when somebody asks.
    "rq": Rq {
        cpu: i32,
        curr: *mut TaskStruct,
    }

    "bpf_perf_event_value": PerfEventValue {
        counter: u64,
        enabled: u64,
        running: u64,
    }

    "scx_bpf_select_cpu_and_args": SelectCpuAndArgs {
        prev_cpu: i32,
        wake_flags: u64,
        flags: u64,
    }

    "scx_cpu_acquire_args": CpuAcquireArgs {}

    /// Which task of a higher class takes the CPU.
    "scx_cpu_release_args": CpuReleaseArgs {
        reason: PreemptReason,
        task: *mut TaskStruct,
    }

    "scx_exit_task_args": ExitTaskArgs {
        cancelled: bool,
    }

    "scx_exit_info": ExitInfo {
        kind: ExitKind,
        exit_code: i64,
        reason: *const c_char,
        msg: *mut c_char,
        dump: *mut c_char,
    }

    "bpf_timer": Timer {
        opaque: [u64; 2],
    }

    "bpf_res_spin_lock": ResSpinLock {
        val: u32,
    }

    "bpf_rb_root": RbRoot {
        opaque: [u64; 2],
    }

    "bpf_rb_node": RbNode {
        opaque: [u64; 4],
    }

    "bpf_list_head": ListHead {
        opaque: [u64; 2],
    }

    "bpf_list_node": ListNode {
        opaque: [u64; 3],
    }

    "bpf_iter_scx_dsq": DsqIter {
        opaque: [u64; 6],
    }

    "bpf_iter_num": NumIter {
        opaque: [u64; 1],
    }

    /// Arguments of `__scx_bpf_dsq_insert_vtime`, which are more than registers.
    "scx_bpf_dsq_insert_vtime_args": InsertVtimeArgs {
        dsq_id: u64,
        slice: u64,
        vtime: u64,
        enq_flags: u64,
    }
}

/// `nodemask_t`, of as many nodes as a word has bits.
#[repr(C)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeMask {
    bits: [u64; 1],
}

impl Shown for NodeMask {
    fn describe(types: &mut Types) -> TypeId {
        let bits = <[u64; 1]>::describe(types);
        let id = types.btf.structure("", size_of::<Self>() as u32);
        types.btf.member(id, "bits", bits, 0);
        types.btf.typedef("nodemask_t", id)
    }
}

/// `atomic_t`, which policies make variables of.
pub struct AtomicInt;

impl Shown for AtomicInt {
    fn describe(types: &mut Types) -> TypeId {
        let counter = i32::describe(types);
        let id = types.btf.structure("", 4);
        types.btf.member(id, "counter", counter, 0);
        types.btf.typedef("atomic_t", id)
    }
}

/// `enum scx_cpu_preempt_reason`.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PreemptReason(pub i32);

impl PreemptReason {
    pub const RT: Self = Self(0);
}

impl Shown for PreemptReason {
    fn describe(types: &mut Types) -> TypeId {
        types.enumeration(&PREEMPT_REASONS)
    }
}

const PREEMPT_REASONS: Enumeration = Enumeration {
    name: "scx_cpu_preempt_reason",
    values: &[
        ("SCX_CPU_PREEMPT_RT", 0),
        ("SCX_CPU_PREEMPT_DL", 1),
        ("SCX_CPU_PREEMPT_STOP", 2),
        ("SCX_CPU_PREEMPT_UNKNOWN", 3),
    ],
};

/// `enum scx_exit_kind`.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExitKind(pub i32);

impl ExitKind {
    /// From user space; from the kernel, because a CPU came or went; for a policy's error.
    pub const UNREG: Self = Self(64);
    pub const UNREG_KERN: Self = Self(66);
    pub const ERROR: Self = Self(1_024);
}

/// An enumeration's name and its values, as the kernel of the model has them.
pub struct Enumeration {
    pub name: &'static str,
    values: &'static [(&'static str, u64)],
}

impl Enumeration {
    pub fn values_in(&self, release: Release) -> impl Iterator<Item = (&'static str, u64)> {
        let since = |name| LATER.iter().find(|(later, _)| *later == name);
        (self.values.iter().copied())
            .filter(move |(name, _)| since(*name).is_none_or(|(_, since)| *since <= release))
    }
}

/// All that may be set in `flags` of `struct sched_ext_ops`.
pub fn ops_flags(release: Release) -> u64 {
    // `SCX_OPS_HAS_CGROUP_WEIGHT`, which has lost its meaning.
    let without_meaning = 1 << 16;
    let named = ENUMERATIONS
        .iter()
        .filter(|shown| shown.name == "scx_ops_flags");
    let values = named.flat_map(|shown| shown.values_in(release));
    values.fold(without_meaning, |all, (_, value)| all | value)
}

/// Values that the first release has not, with the one that brought them.
const LATER: &[(&str, Release)] = &[
    ("SCX_OPS_ENQ_MIGRATION_DISABLED", Release::of(614)),
    ("SCX_OPS_ALLOW_QUEUED_WAKEUP", Release::of(615)),
    ("SCX_OPS_BUILTIN_IDLE_PER_NODE", Release::of(615)),
    ("SCX_PICK_IDLE_IN_NODE", Release::of(615)),
    ("SCX_ENQ_CPU_SELECTED", Release::of(615)),
    ("SCX_SLICE_BYPASS", Release::of(619)),
    ("SCX_DEQ_SCHED_CHANGE", Release::of(701)),
    ("SCX_EXIT_PARENT", Release::of(701)),
];

impl Shown for ExitKind {
    fn describe(types: &mut Types) -> TypeId {
        types.enumeration(&EXIT_KINDS)
    }
}

const EXIT_KINDS: Enumeration = Enumeration {
    name: "scx_exit_kind",
    values: &[
        ("SCX_EXIT_NONE", 0),
        ("SCX_EXIT_DONE", 1),
        ("SCX_EXIT_UNREG", 64),
        ("SCX_EXIT_UNREG_BPF", 65),
        ("SCX_EXIT_UNREG_KERN", 66),
        ("SCX_EXIT_SYSRQ", 67),
        ("SCX_EXIT_PARENT", 68),
        ("SCX_EXIT_ERROR", 1_024),
        ("SCX_EXIT_ERROR_BPF", 1_025),
        ("SCX_EXIT_ERROR_STALL", 1_026),
    ],
};

/// What scx's loaders tell every policy: `__SCX_NAME` is the kernel's constant `SCX_NAME`, 0 where it has none.
pub fn constant(global: &str, release: Release) -> Option<u64> {
    let name = global
        .strip_prefix("__")
        .filter(|name| name.starts_with("SCX_"))?;
    let mut values = ENUMERATIONS
        .iter()
        .flat_map(|shown| shown.values_in(release));
    values
        .find(|(known, _)| *known == name)
        .map(|(_, value)| value)
}

/// Constants of the interface. Some have other values in other releases; these are the last one's, which is what a policy
/// is told for every release, because the model goes by them.
pub const ENUMERATIONS: &[Enumeration] = &[
    Enumeration {
        name: "scx_public_consts",
        values: &[
            ("SCX_OPS_NAME_LEN", 128),
            ("SCX_SLICE_DFL", SLICE_DFL),
            ("SCX_SLICE_BYPASS", 5_000_000),
            ("SCX_SLICE_INF", SLICE_INF),
        ],
    },
    Enumeration {
        name: "scx_consts",
        values: &[
            ("SCX_DSP_DFL_MAX_BATCH", DISPATCH_BATCH as u64),
            ("SCX_DSP_MAX_LOOPS", DISPATCH_LOOPS as u64),
            ("SCX_EXIT_BT_LEN", 64),
            ("SCX_EXIT_MSG_LEN", 1_024),
            ("SCX_EXIT_DUMP_DFL_LEN", 32_768),
            ("SCX_CPUPERF_ONE", CPUPERF_ONE as u64),
        ],
    },
    Enumeration {
        name: "scx_dsq_id_flags",
        values: &[
            ("SCX_DSQ_FLAG_BUILTIN", DSQ_BUILTIN),
            ("SCX_DSQ_FLAG_LOCAL_ON", DSQ_LOCAL_FLAG),
            ("SCX_DSQ_INVALID", DSQ_BUILTIN),
            ("SCX_DSQ_GLOBAL", DSQ_GLOBAL),
            ("SCX_DSQ_LOCAL", DSQ_LOCAL),
            ("SCX_DSQ_LOCAL_ON", DSQ_LOCAL_ON),
            ("SCX_DSQ_LOCAL_CPU_MASK", 0xffff_ffff),
        ],
    },
    Enumeration {
        name: "scx_ops_flags",
        values: &[
            ("SCX_OPS_KEEP_BUILTIN_IDLE", OPS_KEEP_BUILTIN_IDLE),
            ("SCX_OPS_ENQ_LAST", OPS_ENQ_LAST),
            ("SCX_OPS_ENQ_EXITING", OPS_ENQ_EXITING),
            ("SCX_OPS_SWITCH_PARTIAL", 1 << 3),
            ("SCX_OPS_ENQ_MIGRATION_DISABLED", 1 << 4),
            ("SCX_OPS_ALLOW_QUEUED_WAKEUP", 1 << 5),
            ("SCX_OPS_BUILTIN_IDLE_PER_NODE", OPS_IDLE_PER_NODE),
        ],
    },
    Enumeration {
        name: "scx_enq_flags",
        values: &[
            ("SCX_ENQ_WAKEUP", ENQ_WAKEUP),
            ("SCX_ENQ_HEAD", ENQ_HEAD),
            ("SCX_ENQ_CPU_SELECTED", ENQ_CPU_SELECTED),
            ("SCX_ENQ_PREEMPT", ENQ_PREEMPT),
            ("SCX_ENQ_REENQ", ENQ_REENQ),
            ("SCX_ENQ_LAST", ENQ_LAST),
            ("SCX_ENQ_CLEAR_OPSS", 1 << 56),
            ("SCX_ENQ_DSQ_PRIQ", ENQ_PRIQ),
        ],
    },
    Enumeration {
        name: "scx_deq_flags",
        values: &[
            ("SCX_DEQ_SLEEP", DEQ_SLEEP),
            ("SCX_DEQ_CORE_SCHED_EXEC", 1 << 32),
            ("SCX_DEQ_SCHED_CHANGE", DEQ_SCHED_CHANGE),
        ],
    },
    Enumeration {
        name: "scx_wake_flags",
        values: &[
            ("SCX_WAKE_FORK", WAKE_FORK),
            ("SCX_WAKE_TTWU", WAKE_TTWU),
            ("SCX_WAKE_SYNC", WAKE_SYNC),
        ],
    },
    Enumeration {
        name: "scx_kick_flags",
        values: &[
            ("SCX_KICK_IDLE", KICK_IDLE),
            ("SCX_KICK_PREEMPT", KICK_PREEMPT),
            ("SCX_KICK_WAIT", KICK_WAIT),
        ],
    },
    Enumeration {
        name: "scx_pick_idle_cpu_flags",
        values: &[
            ("SCX_PICK_IDLE_CORE", PICK_IDLE_CORE),
            ("SCX_PICK_IDLE_IN_NODE", PICK_IDLE_IN_NODE),
        ],
    },
    Enumeration {
        name: "scx_ent_flags",
        values: &[
            ("SCX_TASK_QUEUED", TASK_QUEUED as u64),
            ("SCX_TASK_RESET_RUNNABLE_AT", 4),
            ("SCX_TASK_DEQD_FOR_SLEEP", 8),
            ("SCX_TASK_STATE_SHIFT", 8),
            ("SCX_TASK_STATE_BITS", 3),
            ("SCX_TASK_STATE_MASK", 0x700),
        ],
    },
    Enumeration {
        name: "scx_exit_code",
        values: &[
            ("SCX_ECODE_RSN_HOTPLUG", 1 << 32),
            ("SCX_ECODE_ACT_RESTART", 1 << 48),
        ],
    },
];
