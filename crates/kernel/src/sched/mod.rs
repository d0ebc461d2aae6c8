// SPDX-License-Identifier: GPL-2.0-or-later
//! What the kernel does with tasks: the core and its two classes.
//!
//! | file | the kernel's |
//! | --- | --- |
//! | `operation` | interrupts, and what every operation does at its end |
//! | `core` | `__schedule`, the tick, `resched_curr` |
//! | `wake` | `try_to_wake_up`, `wake_up_new_task` |
//! | `ext`, `insert`, `reenqueue`, `kick`, `idle`, `kfuncs`, `timers` | `kernel/sched/ext` |
//! | `rt`, `rt_budget`, `lockup` | `kernel/sched/rt.c`, throttling, the lockup detector |
//! | `frequency` | `cpufreq_schedutil.c` |
//! | `turns` | nothing: an emulator that executes one CPU at a time |
//! | `progress` | nothing: how fast tasks work, which on a machine happens by itself |
//! | `lifecycle`, `attributes`, `confine`, `outside` | fork and exit; `sched_setattr`, `sched_setaffinity` of a task itself and of another |
//! | `cgroup` | moves between control groups, their weights, limits and cpusets |
//! | `interleave` | nothing: an operation is broken off, and another CPU's comes in between |
//! | `hotplug`, `watchdog` | CPUs that go and come; the stall detector and the policy's end |

pub mod attributes;
mod cgroup;
mod confine;
mod core;
mod ext;
mod frequency;
mod hotplug;
mod idle;
mod insert;
mod interleave;
mod kfuncs;
mod kick;
mod lifecycle;
mod lockup;
mod operation;
mod outside;
mod progress;
mod reenqueue;
mod rt;
mod rt_budget;
mod timers;
mod turns;
mod wake;
mod watchdog;
