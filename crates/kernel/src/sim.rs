// SPDX-License-Identifier: GPL-2.0-or-later
//! One simulated machine with one policy and one workload: all state.

use std::fmt::Write as _;
use std::io::Write;
use std::rc::Rc;

use anyhow::Result;
use machine::{Machine, RtGuard};
use policy::Native;
use policy::abi::{self, CpuMask, SchedExtOps, ScxHost, TaskStruct};
use workload::interpreter::Registers;
use workload::plan::Plan;

use crate::checkers::{Bounds, Checkers};
use crate::consts::{OPS_KEEP_BUILTIN_IDLE, PF_IDLE};
use crate::cpu::Cpu;
use crate::dsq::Dsq;
use crate::events::Events;
use crate::hotplug::Hotplug;
use crate::idle::Domains;
use crate::ids::{CpuId, DsqIndex, PerCpu, PerTask, Table, TaskId};
use crate::kick::Kicks;
use crate::lock::LockCosts;
use crate::maps::Maps;
use crate::mask;
use crate::metrics::Metrics;
use crate::outcome::Exit;
use crate::task::Task;
use crate::topology::Topology;
use crate::trace::Trace;
use crate::world::disk::Disk;
use crate::world::futexes::Futexes;
use crate::world::queues::Queues;

/// The reason of a run that was broken off.
pub const INTERRUPTED: &str = "interrupted";

/// What a run may be told beside machine, workload and policy.
#[derive(Default)]
pub struct Options {
    /// Text of every scheduling decision goes here.
    pub trace: Option<Box<dyn Write>>,
    /// What a policy may do but a good one does not is an error too: idle CPUs beside waiting tasks, starvation.
    pub strict: bool,
    pub bounds: Bounds,
    /// Write the trace as it comes, not in order: nothing is lost if the policy crashes.
    pub trace_at_once: bool,
    /// Instead of the machine's own.
    pub rt_guard: Option<RtGuard>,
    pub hotplug: Vec<Hotplug>,
    /// Stop a run that takes more events; 0: never.
    pub max_events: u64,
    /// Asked now and then: is the run to be broken off?
    pub stop: Option<fn() -> bool>,
}

impl Options {
    /// What differs from the default, as `schedlab-sim cell` takes it.
    pub fn arguments(&self) -> String {
        let mut line = String::new();
        if self.strict {
            line.push_str(" --strict");
        }
        if let Some(guard) = self.rt_guard {
            let _ = write!(line, " --rt-guard {guard}");
        }
        if !self.hotplug.is_empty() {
            let script: Vec<String> = self.hotplug.iter().map(ToString::to_string).collect();
            let _ = write!(line, " --hotplug {}", script.join(","));
        }
        line
    }
}

pub struct Sim<'a> {
    pub(crate) native: &'a mut Native,
    /// Sets tunables and topology: after a reset, again.
    pub(crate) prepare: &'a dyn Fn(&mut Native) -> Result<()>,
    pub(crate) machine: Machine,
    pub(crate) plan: Rc<Plan>,
    pub(crate) options: Options,
    pub(crate) lock_costs: LockCosts,
    pub(crate) tick_ns: u64,

    pub(crate) events: Events,
    pub(crate) now_ns: u64,
    /// The operation under way: whose, how far, and the run queue clock it reads.
    pub(crate) op_cpu: CpuId,
    pub(crate) op_at_ns: u64,
    pub(crate) clock_ns: u64,
    pub(crate) in_interrupt: bool,
    pub(crate) handled: u64,
    pub(crate) same_time: u64,

    pub(crate) ops: SchedExtOps,
    pub(crate) host: *mut ScxHost,
    pub(crate) context: Context,
    pub(crate) builtin_idle: bool,
    pub(crate) masks: Box<Masks>,
    pub(crate) domains: Domains,
    pub(crate) topology: Topology,

    pub(crate) tasks: PerTask<Task>,
    /// What the policy sees of each task, in place for the whole run; one more for the idle task, and one for init.
    pub(crate) structs: *mut TaskStruct,
    pub(crate) structs_owned: Vec<TaskStruct>,
    pub(crate) affinity: PerTask<Option<Box<CpuMask>>>,
    pub(crate) group_first: Vec<TaskId>,
    pub(crate) group_live: Vec<u32>,
    pub(crate) live: u32,

    pub(crate) cpus: PerCpu<Cpu>,
    pub(crate) dsqs: Table<DsqIndex, Dsq>,
    pub(crate) dsq_ids: std::collections::BTreeMap<u64, DsqIndex>,
    /// First ids up to this are found without a search.
    pub(crate) dsq_small: Vec<Option<DsqIndex>>,
    pub(crate) insert_buffer: Vec<crate::insert::Buffered>,
    pub(crate) dispatched: u32,
    pub(crate) kicks: Kicks,
    pub(crate) maps: Maps,
    pub(crate) queues: Queues,
    pub(crate) futexes: Futexes,
    pub(crate) disk: Disk,

    pub(crate) trace: Trace,
    pub(crate) metrics: Metrics,
    pub(crate) checkers: Checkers,
    pub(crate) exit: Option<Exit>,
    pub(crate) ended_by: &'static str,
    pub(crate) ended: bool,
    /// When the last task to exit had done so.
    pub(crate) ended_at_ns: u64,
}

/// Which kfuncs make sense: what callback the policy is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Context {
    Other,
    /// `select_cpu` or enqueue of this task, which may be inserted directly.
    Enqueue(TaskId),
    /// The same, after it has inserted.
    Enqueued(TaskId),
    Dispatch,
}

/// The CPU sets that the policy reads through pointers.
pub(crate) struct Masks {
    pub idle: CpuMask,
    pub idle_smt: CpuMask,
    pub online: CpuMask,
    pub possible: CpuMask,
}

impl<'a> Sim<'a> {
    /// A machine at time 0, the policy not yet initialised.
    pub fn new(
        machine: Machine,
        plan: Rc<Plan>,
        native: &'a mut Native,
        prepare: &'a dyn Fn(&mut Native) -> Result<()>,
        options: Options,
    ) -> Result<Box<Self>> {
        let cpus = machine.cpus();
        native.reset();
        prepare(native)?;
        let ops = native.ops()?;
        let (tasks, group_first) = tasks_of(&plan);
        anyhow::ensure!(
            tasks.len() + 2 < crate::events::MAX_SUBJECTS,
            "the workload has {} tasks; at most {} are possible",
            tasks.len(),
            crate::events::MAX_SUBJECTS - 2
        );
        let mut structs_owned = vec![blank_task(); tasks.len() + 2];
        let possible = mask::first_n(cpus);
        let masks = Box::new(Masks {
            idle: possible.clone(),
            idle_smt: possible.clone(),
            online: possible.clone(),
            possible,
        });
        let structs = structs_owned.as_mut_ptr();
        for task in &mut structs_owned {
            task.cpus_ptr = &raw const masks.possible;
            task.nr_cpus_allowed = cpus as i32;
        }
        let idle = tasks.len();
        structs_owned[idle].flags = PF_IDLE;
        structs_owned[idle].comm = comm("swapper");
        structs_owned[idle + 1].comm = comm("init");
        structs_owned[idle + 1].pid = 1;
        structs_owned[idle + 1].tgid = 1;
        let host = Box::into_raw(Box::new(crate::host::table(cpus, &masks)));
        // SAFETY: the table lives as long as this simulation, and the policy is reset before it runs for another.
        unsafe { native.set_host(host)? };
        let metrics = Metrics::new(&plan, cpus);
        let topology = Topology::new(&machine.topology);
        let checkers = Checkers::new(&machine, tasks.len(), options.strict, options.bounds);
        let mut options = options;
        let trace = Trace::new(options.trace.take(), options.trace_at_once);
        let mut sim = Box::new(Self {
            native,
            prepare,
            lock_costs: LockCosts::new(&machine.costs),
            tick_ns: 1_000_000_000 / u64::from(machine.hz),
            events: Events::default(),
            now_ns: 0,
            op_cpu: CpuId(0),
            in_interrupt: false,
            op_at_ns: 0,
            clock_ns: 0,
            handled: 0,
            same_time: 0,
            builtin_idle: ops.update_idle.is_none() || ops.flags & OPS_KEEP_BUILTIN_IDLE != 0,
            ops,
            host,
            context: Context::Other,
            masks,
            domains: Domains::new(&topology),
            affinity: PerTask::filled(tasks.len(), || None),
            group_live: vec![0; plan.groups.len()],
            live: 0,
            tasks,
            structs,
            structs_owned,
            group_first,
            cpus: PerCpu::filled(cpus, Cpu::new),
            dsqs: Table::default(),
            dsq_ids: std::collections::BTreeMap::new(),
            dsq_small: Vec::new(),
            insert_buffer: Vec::new(),
            dispatched: 0,
            kicks: Kicks::default(),
            maps: Maps::default(),
            queues: Queues::new(&plan, &topology),
            futexes: Futexes::new(&plan),
            disk: Disk::default(),
            trace,
            metrics,
            checkers,
            exit: None,
            ended_by: "",
            ended: false,
            ended_at_ns: 0,
            machine,
            topology,
            plan,
            options,
        });
        for _ in 0..sim.topology.nodes() {
            sim.dsqs.push(Dsq::new(crate::consts::DSQ_GLOBAL));
        }
        Ok(sim)
    }
}

impl Drop for Sim<'_> {
    fn drop(&mut self) {
        // SAFETY: made by Box::into_raw in `new` and freed only here; the policy does not run any more.
        drop(unsafe { Box::from_raw(self.host) });
    }
}

pub(crate) fn comm(name: &str) -> [std::ffi::c_char; 16] {
    let mut comm = [0; 16];
    for (to, from) in comm[..15].iter_mut().zip(name.bytes()) {
        *to = from.cast_signed();
    }
    comm
}

/// All tasks of a plan, unborn, and the first of each group.
fn tasks_of(plan: &Plan) -> (PerTask<Task>, Vec<TaskId>) {
    let mut tasks = PerTask::default();
    let mut group_first = Vec::new();
    for (group, spec) in (0..).zip(&plan.groups) {
        group_first.push(TaskId(tasks.len() as u32));
        for index in 0..spec.count {
            let registers = Registers::new(plan, group, index);
            tasks.push(Task::new(group, index, registers));
        }
    }
    (tasks, group_first)
}

fn blank_task() -> TaskStruct {
    TaskStruct {
        scx: abi::SchedExtEntity {
            slice: crate::consts::SLICE_DFL,
            dsq_vtime: 0,
            weight: 100,
            flags: 0,
        },
        se: abi::SchedEntity {
            slice: 0,
            sum_exec_runtime: 0,
            custom_slice: 0,
        },
        flags: 0,
        prio: 120,
        static_prio: 120,
        rt_priority: 0,
        policy: 0,
        nr_cpus_allowed: 1,
        cpus_ptr: std::ptr::null(),
        migration_disabled: 0,
        exit_state: 0,
        pid: 0,
        tgid: 0,
        mm: std::ptr::null(),
        real_parent: std::ptr::null_mut(),
        storage_map: std::ptr::null(),
        storage: std::ptr::null_mut(),
        comm: [0; 16],
    }
}
