// SPDX-License-Identifier: GPL-2.0-or-later
//! Constants of the interface: the enumerations that policies are relocated to, and what each release has of them.

use super::release::Release;
use crate::consts::{
    CPUPERF_ONE, DEQ_SCHED_CHANGE, DEQ_SLEEP, DISPATCH_BATCH, DISPATCH_LOOPS, DSQ_BUILTIN,
    DSQ_GLOBAL, DSQ_ITER_REV, DSQ_LOCAL, DSQ_LOCAL_FLAG, DSQ_LOCAL_ON, ENQ_CPU_SELECTED, ENQ_HEAD,
    ENQ_IMMED, ENQ_LAST, ENQ_PREEMPT, ENQ_PRIQ, ENQ_REENQ, ENQ_WAKEUP, KICK_IDLE, KICK_PREEMPT,
    KICK_WAIT, OPS_ALLOW_QUEUED_WAKEUP, OPS_ALWAYS_ENQ_IMMED, OPS_ENQ_EXITING, OPS_ENQ_LAST,
    OPS_ENQ_MIGRATION_DISABLED, OPS_IDLE_PER_NODE, OPS_KEEP_BUILTIN_IDLE, PICK_IDLE_CORE,
    PICK_IDLE_IN_NODE, REENQ_ANY, SLICE_DFL, SLICE_INF, TASK_IMMED, TASK_QUEUED, TASK_REENQ_IMMED,
    TASK_REENQ_KFUNC, TASK_REENQ_MASK, TASK_REENQ_PREEMPTED, WAKE_FORK, WAKE_SYNC, WAKE_TTWU,
};

/// An enumeration's name and its values, as the kernel of the model has them.
pub struct Enumeration {
    pub name: &'static str,
    values: &'static [(&'static str, u64)],
}

impl Enumeration {
    pub fn values_in(&self, release: Release) -> impl Iterator<Item = (&'static str, u64)> {
        let since = |name| LATER.iter().find(|(later, _)| *later == name);
        let until = |name| GONE.iter().find(|(gone, _)| *gone == name);
        let other = move |name| {
            let mut others = OTHERWISE.iter();
            others.find(|(other, until, _)| *other == name && release < *until)
        };
        (self.values.iter().copied())
            .filter(move |(name, _)| since(*name).is_none_or(|(_, since)| *since <= release))
            .filter(move |(name, _)| until(*name).is_none_or(|(_, until)| release < *until))
            .map(move |(name, value)| (name, other(name).map_or(value, |(_, _, value)| *value)))
    }
}

/// Flags of a task's insertion, with the bits that they have for the model and for a policy of this release where these
/// differ.
pub fn moved_enq_flags(release: Release) -> impl Iterator<Item = (u64, u64)> {
    let flags = ENUMERATIONS
        .iter()
        .filter(|shown| shown.name == "scx_enq_flags");
    flags.flat_map(move |shown| {
        let last = |name| shown.values.iter().find(|(known, _)| *known == name);
        (shown.values_in(release))
            .filter_map(move |(name, value)| Some((last(name)?.1, value)))
            .filter(|(ours, theirs)| ours != theirs)
    })
}

/// All that may be set in `flags` of `struct sched_ext_ops`.
pub fn ops_flags(release: Release) -> u64 {
    let named = ENUMERATIONS
        .iter()
        .filter(|shown| shown.name == "scx_ops_flags");
    let values = named.flat_map(|shown| shown.values_in(release));
    values.fold(0, |all, (_, value)| all | value)
}

/// Values that the first release has not, with the one that brought them.
const LATER: &[(&str, Release)] = &[
    ("SCX_OPS_ENQ_MIGRATION_DISABLED", Release::of(614)),
    ("SCX_OPS_ALLOW_QUEUED_WAKEUP", Release::of(615)),
    ("SCX_OPS_BUILTIN_IDLE_PER_NODE", Release::of(615)),
    ("SCX_PICK_IDLE_IN_NODE", Release::of(615)),
    ("SCX_ENQ_CPU_SELECTED", Release::of(615)),
    ("SCX_SLICE_BYPASS", Release::of(619)),
    ("SCX_OPS_ALWAYS_ENQ_IMMED", Release::of(701)),
    ("SCX_ENQ_IMMED", Release::of(701)),
    ("SCX_DEQ_SCHED_CHANGE", Release::of(701)),
    ("SCX_EXIT_PARENT", Release::of(701)),
    ("SCX_REENQ_ANY", Release::of(701)),
    ("SCX_TASK_IMMED", Release::of(701)),
    ("SCX_TASK_REENQ_REASON_SHIFT", Release::of(701)),
    ("SCX_TASK_REENQ_REASON_BITS", Release::of(701)),
    ("SCX_TASK_REENQ_REASON_MASK", Release::of(701)),
    ("SCX_TASK_REENQ_NONE", Release::of(701)),
    ("SCX_TASK_REENQ_KFUNC", Release::of(701)),
    ("SCX_TASK_REENQ_IMMED", Release::of(701)),
    ("SCX_TASK_REENQ_PREEMPTED", Release::of(701)),
];

/// Values that the last release has no more, with the first that had not.
const GONE: &[(&str, Release)] = &[("SCX_OPS_HAS_CGROUP_WEIGHT", Release::of(701))];

/// Values that were others before a release: those of `kernel/sched/sched.h` whose bits were ordered anew, and the state
/// of a task, which got another bit.
const OTHERWISE: &[(&str, Release, u64)] = &[
    ("SCX_ENQ_HEAD", Release::of(619), 1 << 4),
    ("SCX_ENQ_CPU_SELECTED", Release::of(619), 1 << 10),
    ("SCX_TASK_STATE_BITS", Release::of(701), 2),
    ("SCX_TASK_STATE_MASK", Release::of(701), 0x300),
];

/// What scx's loaders tell every policy: `__SCX_NAME` is the kernel's constant `SCX_NAME`, 0 where it has none.
pub fn constant(global: &str, release: Release) -> Option<u64> {
    let name = global
        .strip_prefix("__")
        .filter(|name| name.starts_with("SCX_"))?;
    let mut values = ENUMERATIONS
        .iter()
        .chain([&EXIT_KINDS])
        .flat_map(|shown| shown.values_in(release));
    values
        .find(|(known, _)| *known == name)
        .map(|(_, value)| value)
}

pub const PREEMPT_REASONS: Enumeration = Enumeration {
    name: "scx_cpu_preempt_reason",
    values: &[
        ("SCX_CPU_PREEMPT_RT", 0),
        ("SCX_CPU_PREEMPT_DL", 1),
        ("SCX_CPU_PREEMPT_STOP", 2),
        ("SCX_CPU_PREEMPT_UNKNOWN", 3),
    ],
};

pub const EXIT_KINDS: Enumeration = Enumeration {
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

/// Constants of the interface, as the last release has them that has them. The model goes by these, whatever a policy is
/// shown.
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
        name: "scx_dsq_iter_flags",
        values: &[("SCX_DSQ_ITER_REV", DSQ_ITER_REV)],
    },
    Enumeration {
        name: "scx_ops_flags",
        values: &[
            ("SCX_OPS_KEEP_BUILTIN_IDLE", OPS_KEEP_BUILTIN_IDLE),
            ("SCX_OPS_ENQ_LAST", OPS_ENQ_LAST),
            ("SCX_OPS_ENQ_EXITING", OPS_ENQ_EXITING),
            ("SCX_OPS_SWITCH_PARTIAL", 1 << 3),
            ("SCX_OPS_ENQ_MIGRATION_DISABLED", OPS_ENQ_MIGRATION_DISABLED),
            ("SCX_OPS_ALLOW_QUEUED_WAKEUP", OPS_ALLOW_QUEUED_WAKEUP),
            ("SCX_OPS_BUILTIN_IDLE_PER_NODE", OPS_IDLE_PER_NODE),
            ("SCX_OPS_ALWAYS_ENQ_IMMED", OPS_ALWAYS_ENQ_IMMED),
            // Has no meaning any more.
            ("SCX_OPS_HAS_CGROUP_WEIGHT", 1 << 16),
        ],
    },
    Enumeration {
        name: "scx_enq_flags",
        values: &[
            ("SCX_ENQ_WAKEUP", ENQ_WAKEUP),
            ("SCX_ENQ_HEAD", ENQ_HEAD),
            ("SCX_ENQ_CPU_SELECTED", ENQ_CPU_SELECTED),
            ("SCX_ENQ_PREEMPT", ENQ_PREEMPT),
            ("SCX_ENQ_IMMED", ENQ_IMMED),
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
        name: "scx_reenq_flags",
        values: &[("SCX_REENQ_ANY", REENQ_ANY)],
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
            ("SCX_TASK_IMMED", TASK_IMMED as u64),
            ("SCX_TASK_STATE_SHIFT", 8),
            ("SCX_TASK_STATE_BITS", 3),
            ("SCX_TASK_STATE_MASK", 0x700),
            ("SCX_TASK_REENQ_REASON_SHIFT", 12),
            ("SCX_TASK_REENQ_REASON_BITS", 2),
            ("SCX_TASK_REENQ_REASON_MASK", TASK_REENQ_MASK as u64),
            ("SCX_TASK_REENQ_NONE", 0),
            ("SCX_TASK_REENQ_KFUNC", TASK_REENQ_KFUNC as u64),
            ("SCX_TASK_REENQ_IMMED", TASK_REENQ_IMMED as u64),
            ("SCX_TASK_REENQ_PREEMPTED", TASK_REENQ_PREEMPTED as u64),
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Read from the types of 6.12 to 7.2.
    #[test]
    fn what_the_releases_do_not_have_alike() {
        let all = ENUMERATIONS.iter().chain([&EXIT_KINDS, &PREEMPT_REASONS]);
        let mut found = Vec::new();
        for shown in all {
            for (name, _) in shown.values {
                let mut before = None;
                for (place, release) in Release::ALL.into_iter().enumerate() {
                    let value = shown.values_in(release).find(|(known, _)| known == name);
                    let value = value.map(|(_, value)| value);
                    if place > 0 && value != before {
                        let text = value.map_or("gone".to_string(), |value| format!("{value:#x}"));
                        found.push(format!("{release} {name} {text}"));
                    }
                    before = value;
                }
            }
        }
        found.sort();
        assert_eq!(
            found,
            [
                "6.14 SCX_OPS_ENQ_MIGRATION_DISABLED 0x10",
                "6.15 SCX_ENQ_CPU_SELECTED 0x400",
                "6.15 SCX_OPS_ALLOW_QUEUED_WAKEUP 0x20",
                "6.15 SCX_OPS_BUILTIN_IDLE_PER_NODE 0x40",
                "6.15 SCX_PICK_IDLE_IN_NODE 0x2",
                "6.19 SCX_ENQ_CPU_SELECTED 0x100000",
                "6.19 SCX_ENQ_HEAD 0x10000",
                "6.19 SCX_SLICE_BYPASS 0x4c4b40",
                "7.1 SCX_DEQ_SCHED_CHANGE 0x200000000",
                "7.1 SCX_ENQ_IMMED 0x200000000",
                "7.1 SCX_EXIT_PARENT 0x44",
                "7.1 SCX_OPS_ALWAYS_ENQ_IMMED 0x80",
                "7.1 SCX_OPS_HAS_CGROUP_WEIGHT gone",
                "7.1 SCX_REENQ_ANY 0x1",
                "7.1 SCX_TASK_IMMED 0x20",
                "7.1 SCX_TASK_REENQ_IMMED 0x2000",
                "7.1 SCX_TASK_REENQ_KFUNC 0x1000",
                "7.1 SCX_TASK_REENQ_NONE 0x0",
                "7.1 SCX_TASK_REENQ_PREEMPTED 0x3000",
                "7.1 SCX_TASK_REENQ_REASON_BITS 0x2",
                "7.1 SCX_TASK_REENQ_REASON_MASK 0x3000",
                "7.1 SCX_TASK_REENQ_REASON_SHIFT 0xc",
                "7.1 SCX_TASK_STATE_BITS 0x3",
                "7.1 SCX_TASK_STATE_MASK 0x700",
            ]
        );
    }
}
