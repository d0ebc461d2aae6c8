// SPDX-License-Identifier: GPL-2.0-or-later
//! The structures that policies see, each with its BTF: a policy's fields are relocated against these, and a field that
//! is not here does not exist for it.

use std::ffi::{CStr, c_char, c_void};

use bpf::btf::TypeId;

use super::cgroup::Cgroup;
use super::enumerations::{EXIT_KINDS, PREEMPT_REASONS};
use super::release::Release;
use super::types::{Describe, Shown, Types};

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
            #[allow(clippy::pub_underscore_fields, clippy::struct_field_names, non_snake_case, reason = "names are the kernel's")]
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
        /// Of a task that was preempted in a reader's section. The current task has one more while a callback runs.
        rcu_read_lock_nesting: i32,
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

    /// What the kernel counts for a policy (`scx_bpf_events`). Nobody bypasses a policy here, no task may be bound to its
    /// CPU for a while, and there are no sub-schedulers.
    "scx_event_stats": EventStats {
        SCX_EV_SELECT_CPU_FALLBACK: i64,
        SCX_EV_DISPATCH_LOCAL_DSQ_OFFLINE: i64,
        SCX_EV_DISPATCH_KEEP_LAST: i64,
        SCX_EV_ENQ_SKIP_EXITING: i64,
        SCX_EV_ENQ_SKIP_MIGRATION_DISABLED: i64,
        701 SCX_EV_REENQ_IMMED: i64,
        701 SCX_EV_REENQ_LOCAL_REPEAT: i64,
        616 SCX_EV_REFILL_SLICE_DFL: i64,
        SCX_EV_BYPASS_DURATION: i64,
        SCX_EV_BYPASS_DISPATCH: i64,
        SCX_EV_BYPASS_ACTIVATE: i64,
        619 SCX_EV_INSERT_NOT_OWNED: i64,
        701 SCX_EV_SUB_BYPASS_DISPATCH: i64,
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

    "bpf_iter_bits": BitsIter {
        opaque: [u64; 2],
    }

    "bpf_iter_task": TaskIter {
        opaque: [u64; 3],
    }

    "bpf_iter_css": CssIter {
        opaque: [u64; 3],
    }

    /// Arguments of `__scx_bpf_dsq_insert_vtime`, which are more than registers.
    "scx_bpf_dsq_insert_vtime_args": InsertVtimeArgs {
        dsq_id: u64,
        slice: u64,
        vtime: u64,
        enq_flags: u64,
    }
}

impl Default for EventStats {
    fn default() -> Self {
        // SAFETY: numbers alone.
        unsafe { std::mem::zeroed() }
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

/// `enum scx_exit_kind`.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExitKind(pub i32);

impl ExitKind {
    /// From user space; by the policy itself; from the kernel, because a CPU came or went.
    pub const UNREG: Self = Self(64);
    pub const UNREG_BPF: Self = Self(65);
    pub const UNREG_KERN: Self = Self(66);
    /// For what the kernel complains of; for what the policy itself does; because a task waited too long.
    pub const ERROR: Self = Self(1_024);
    pub const ERROR_BPF: Self = Self(1_025);
    pub const ERROR_STALL: Self = Self(1_026);

    /// As the kernel words it.
    pub fn reason(self) -> &'static CStr {
        match self {
            Self::UNREG => c"unregistered from user space",
            Self::UNREG_BPF => c"unregistered from BPF",
            Self::UNREG_KERN => c"unregistered from the main kernel",
            Self::ERROR_BPF => c"scx_bpf_error",
            Self::ERROR_STALL => c"runnable task stall",
            _ => c"runtime error",
        }
    }
}

impl Shown for ExitKind {
    fn describe(types: &mut Types) -> TypeId {
        types.enumeration(&EXIT_KINDS)
    }
}
