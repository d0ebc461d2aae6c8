// SPDX-License-Identifier: GPL-2.0-or-later
//! One simulated machine with one policy and one workload: who owns what.
//!
//! | owner | what |
//! | --- | --- |
//! | `machine` | topology and costs, which never change |
//! | `clock` | events to come, and how far the operation under way is |
//! | `cpus` | what each CPU runs, its run queue with local DSQ and real-time lists, its lock |
//! | `dsqs` | shared dispatch queues |
//! | `tasks`, `groups` | what the kernel knows of tasks, and who lives |
//! | `cgroups` | control groups, and who is in them |
//! | `boundary`, `loaded` | the policy, what it sees, its maps and requests |
//! | `queues`, `futexes`, `disk` | what programs talk through and sleep on |
//! | `speeds` | how fast clocks go and are asked to, on machines where they change |
//! | `runner` | the task that starts the others, on machines that have one |
//! | `turns` | whose turn it is, on machines whose CPUs take turns |
//! | `observers` | trace, metrics and checkers, which are told what happens and touch nothing |
//! | `interleaving`, `broken_off`, `undivided` | where operations may be broken off, and what they keep meanwhile |
//! | `end` | whether and why it is over |
//!
//! What they do together stands in `sched` and `world`, which reach all of them through [`Sim`].

use std::rc::Rc;

use anyhow::Result;
use machine::Machine;
use workload::plan::Plan;

use crate::boundary::global_data::AtLoad;
use crate::boundary::program::Program;
use crate::boundary::{Boundary, Kernel};
use crate::cgroups::Cgroups;
use crate::clock::Clock;
use crate::clock::events::MAX_SUBJECTS;
use crate::clock::turns::Turns;
use crate::cpu::Cpu;
use crate::end::{Ejection, End, Exit};
use crate::hardware::Hardware;
use crate::ids::{PerCpu, PerTask, TaskId};
use crate::interleave::{BrokenOff, Interleaving};
use crate::observe::{Happened, Looks, Observers, Stamp};
use crate::options::{LaterRun, LaterWrite, Limits, Options};
use crate::queue::Dsqs;
use crate::speeds::Speeds;
use crate::task::{Groups, Task, pid_of};
use crate::world::disk::Disk;
use crate::world::futexes::Futexes;
use crate::world::queues::Queues;
use crate::world::runner::Runner;

/// Why a scheduler that is part of the kernel does not run on a machine whose governor is `schedutil`.
pub const NOT_BUILT_IN: &str = "frequency.governor = \"schedutil\": a scheduler that is built into the kernel, as default is, has \
     frequencies follow the load of its tasks (PELT), which is not modelled; policies that are loaded run there, and all \
     with governor = \"performance\"";

pub struct Sim<'a> {
    pub(crate) machine: Hardware,
    pub(crate) plan: Rc<Plan>,
    pub(crate) limits: Limits,
    pub(crate) clock: Clock,
    pub(crate) cpus: PerCpu<Cpu>,
    pub(crate) dsqs: Dsqs,
    pub(crate) tasks: PerTask<Task>,
    pub(crate) groups: Groups,
    pub(crate) cgroups: Cgroups,
    pub(crate) boundary: Boundary,
    pub(crate) loaded: Loaded<'a>,
    pub(crate) queues: Queues,
    pub(crate) futexes: Futexes,
    pub(crate) disk: Disk,
    pub(crate) speeds: Option<Box<Speeds>>,
    pub(crate) runner: Option<Runner>,
    pub(crate) turns: Option<Box<Turns>>,
    pub(crate) observers: Observers,
    pub(crate) interleaving: Option<Box<Interleaving>>,
    pub(crate) broken_off: BrokenOff,
    /// So much of what is under way must not be broken off.
    pub(crate) undivided: u32,
    pub(crate) end: End,
}

/// The policy's code, and its global data as a run begins with it.
pub(crate) struct Loaded<'a> {
    pub program: &'a Program,
    pub data: AtLoad,
}

impl<'a> Sim<'a> {
    /// A machine at time 0, the policy not yet initialised.
    pub fn new(
        machine: &Machine,
        plan: Rc<Plan>,
        loaded: Loaded<'a>,
        options: Options,
    ) -> Result<Box<Self>>
    where
        Self: Kernel,
    {
        let cpus = machine.cpus();
        let plan = if machine.costs.has_runner() {
            Runner::join(plan, &machine.costs)
        } else {
            plan
        };
        let (tasks, groups) = Groups::of(&plan);
        let runner = machine
            .costs
            .has_runner()
            .then(|| Runner::new(&plan, &groups, machine));
        anyhow::ensure!(
            tasks.len() + 2 < MAX_SUBJECTS,
            "the workload has {} tasks; at most {} are possible",
            tasks.len(),
            MAX_SUBJECTS - 2
        );
        let looks = Looks {
            trace: options.trace,
            trace_at_once: options.trace_at_once,
            strict: options.strict,
            bounds: options.bounds,
        };
        anyhow::ensure!(
            !plan.controllers().cpuset || options.hotplug.is_empty() && options.offline.is_empty(),
            "the CPUs of the workload's control groups are not modelled together with CPUs that go or come"
        );
        let speeds = Speeds::of(machine);
        anyhow::ensure!(
            !options.built_in || !speeds.as_ref().is_some_and(Speeds::follows_the_scheduler),
            "{}: {NOT_BUILT_IN}",
            machine.name
        );
        let observers = Observers::new(&plan, machine, looks);
        let hardware = Hardware::new(machine, options.rt_guard, options.built_in);
        let runs = options.runs.into_iter().map(|later| {
            Ok(LaterRun {
                at_ns: later.at_ns,
                run: loaded.program.run(&later.program, later.context)?,
            })
        });
        let runs = runs.collect::<Result<Vec<_>>>()?;
        let writes = options.writes.into_iter().map(|write| {
            Ok(LaterWrite {
                at_ns: write.at_ns,
                offset: loaded.program.offset(&write.global, write.bytes.len())?,
                bytes: write.bytes,
            })
        });
        let writes = writes.collect::<Result<Vec<_>>>()?;
        let cgroups = Cgroups::new(&plan, cpus, tasks.len());
        let random = plan.stream(u32::MAX, 0);
        let mut boundary = {
            let divided = options.interleave.is_some();
            let code = loaded.program.code(&loaded.data, random, divided);
            Boundary::new::<Self>(code, cpus, tasks.len(), &cgroups.shown())?
        };
        if options.max_callback_operations > 0 {
            boundary.limit_operations(options.max_callback_operations);
        }
        Ok(Box::new(Self {
            clock: Clock::default(),
            cpus: PerCpu::filled(cpus, Cpu::new),
            dsqs: Dsqs::new(hardware.topology.nodes()),
            tasks,
            groups,
            cgroups,
            boundary,
            loaded,
            queues: Queues::new(&plan, &hardware.topology, hardware.costs.warm_messages),
            futexes: Futexes::new(&plan),
            disk: Disk::default(),
            speeds: speeds.map(Box::new),
            runner,
            turns: Turns::of(machine, &plan).map(Box::new),
            observers,
            interleaving: options
                .interleave
                .map(|interleave| Box::new(Interleaving::new(interleave))),
            broken_off: BrokenOff::default(),
            // Until the start signal.
            undivided: 1,
            end: End::default(),
            machine: hardware,
            plan,
            limits: Limits {
                audit_ns: options.strict.then_some(options.bounds.audit_ns),
                hotplug: options.hotplug,
                offline: options.offline,
                ends_at_restart: options.ends_at_restart,
                runs,
                writes,
                max_events: options.max_events,
                stop: options.stop,
            },
        }))
    }
}

impl Sim<'_> {
    /// Tell the observers what happens at a time.
    #[inline(always)]
    pub(crate) fn tell(&mut self, at_ns: u64, happened: Happened<'_>) {
        let stamp = Stamp {
            now_ns: self.clock.now_ns,
            at_ns,
            on: self.clock.cpu,
        };
        self.observers.see(stamp, happened);
    }

    /// The policy did what the kernel does not allow and is thrown out; the first reason counts.
    #[cold]
    pub(crate) fn eject(&mut self, message: String) {
        self.throw_out(Ejection::error(message));
    }

    #[cold]
    pub(crate) fn throw_out(&mut self, ejection: Ejection) {
        self.end.break_off("kernel", Exit::Ejected(ejection));
    }

    #[cold]
    pub(crate) fn fail(&mut self, reason: String) {
        self.end.break_off("simulator", Exit::Failed(reason));
    }

    /// `name[pid]`, as the kernel writes it.
    pub(crate) fn label(&self, id: TaskId) -> String {
        let name = &self.plan.groups[self.tasks[id].group as usize].name;
        let name: String = name.chars().take(15).collect();
        format!("{name}[{}]", pid_of(id))
    }
}
