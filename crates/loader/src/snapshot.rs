// SPDX-License-Identifier: GPL-2.0-or-later
//! Takes the snapshot of a scheduler: its program is started, and what it sets up is read from the kernel.
//!
//! The program's calls of `bpf()` show the moments ([`crate::bpf_calls`]). Data and maps are read at the first run of a
//! program of type `syscall`, or else when the scheduler is attached: what the scheduler's own `init` does to them is
//! not in the snapshot, since it runs again wherever the snapshot does. Runs between the two moments are kept with
//! their arguments. What comes after is told, and not kept.

use std::collections::{BTreeMap, BTreeSet};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use libbpf_rs::libbpf_sys::{
    BPF_LINK_CREATE, BPF_MAP_DELETE_ELEM, BPF_MAP_UPDATE_BATCH, BPF_MAP_UPDATE_ELEM,
    BPF_PROG_TEST_RUN, BPF_STRUCT_OPS,
};
use libbpf_rs::{MapCore, MapFlags, MapHandle};
use policy::set_up::{Bytes, Run};
use policy::{SetUp, Snapshot, Source, snapshot};

use crate::bpf_calls::{BpfCalls, Call, held};
use crate::error::Interrupted;
use crate::kernel::Kernel;
use crate::program::{Program, Started};
use crate::{held_maps, kernel_ops};

const LOOK: Duration = Duration::from_millis(20);
/// So long after its scheduler was enabled, a program is watched for what it goes on to do.
const WATCHED: Duration = Duration::from_secs(2);
const VERSION_WITHIN: Duration = Duration::from_secs(10);

/// Start the program, wait until its scheduler is enabled, and stop it.
pub fn take(program: &Program) -> Result<Snapshot> {
    let source = Source::find(&program.path)?;
    let object = source.object()?;
    let object = object.with_context(|| format!("{}: no program", program.path.display()))?;
    let version = version(program);
    let mut recorder = Recorder::new(object)?;
    let mut started = Started::spawn(program, BpfCalls::watch)?;
    let calls = BpfCalls::of(&started.child)?;
    started.wait_until_enabled(&mut || {
        if let Some(calls) = &calls {
            return recorder.follow(calls);
        }
        signals::wait(LOOK);
        Ok(())
    })?;
    let calls = calls.with_context(|| format!("{} has ended", program.name()))?;
    let until = Instant::now() + WATCHED;
    while Instant::now() < until {
        if signals::caught() {
            return Err(Interrupted(libc::SIGINT).into());
        }
        recorder.follow(&calls)?;
    }
    // On its way out it calls, too.
    std::thread::spawn(move || {
        while let Ok(call) = calls.next(LOOK) {
            if let Some(call) = call {
                calls.go_on(&call);
            }
        }
    });
    started.stop()?;
    let origin = snapshot::Program {
        name: program.name(),
        options: program.options.clone(),
        version,
        digest: source.id()?,
    };
    recorder.finish(origin)
}

/// What has been seen so far.
struct Recorder {
    object: Vec<u8>,
    declared: held_maps::Declared,
    set_up: Option<SetUp>,
    is_attached: bool,
    absent: Vec<String>,
    /// Maps that were changed after they were read and before the scheduler was attached.
    changed: BTreeSet<String>,
    /// What the program did after the scheduler was attached, and how often.
    later: BTreeMap<String, u32>,
}

impl Recorder {
    fn new(object: Vec<u8>) -> Result<Self> {
        Ok(Self {
            declared: held_maps::Declared::of(&object)?,
            object,
            set_up: None,
            is_attached: false,
            absent: Vec::new(),
            changed: BTreeSet::new(),
            later: BTreeMap::new(),
        })
    }

    /// The next call, or a moment without one.
    fn follow(&mut self, calls: &BpfCalls) -> Result<()> {
        let Some(call) = calls.next(LOOK)? else {
            return Ok(());
        };
        let seen = self.see(&call);
        calls.go_on(&call);
        seen
    }

    fn see(&mut self, call: &Call) -> Result<()> {
        // SAFETY: the command says which of the structures it is; all are numbers.
        match call.command {
            BPF_PROG_TEST_RUN => self.run(call)?,
            BPF_MAP_UPDATE_ELEM | BPF_MAP_DELETE_ELEM => {
                let map = unsafe { call.attributes.__bindgen_anon_2.map_fd };
                self.change(call, map);
            }
            BPF_MAP_UPDATE_BATCH => {
                let map = unsafe { call.attributes.batch.map_fd };
                self.change(call, map);
            }
            BPF_LINK_CREATE => {
                let link = unsafe { call.attributes.link_create };
                if link.attach_type == BPF_STRUCT_OPS {
                    self.attach(call, unsafe { link.__bindgen_anon_1.map_fd })?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn run(&mut self, call: &Call) -> Result<()> {
        // SAFETY: numbers; the command says that it is this structure.
        let test = unsafe { call.attributes.test };
        let number = call.number("prog_id", test.prog_fd);
        let Some(name) = number.and_then(held_maps::program_name) else {
            return Ok(());
        };
        if !self.declared.is_syscall(&name) {
            return Ok(());
        }
        if self.is_attached {
            *self.later.entry(format!("it ran {name}")).or_default() += 1;
            return Ok(());
        }
        self.read(call.process()?)?;
        let context = call.read(test.ctx_in, test.ctx_size_in as usize);
        ensure!(
            context.len() == test.ctx_size_in as usize,
            "the argument of {name} cannot be read"
        );
        let context = Bytes(context);
        let runs = &mut self.set_up.as_mut().expect("just read").runs;
        runs.push(Run {
            program: name,
            context,
        });
        Ok(())
    }

    fn change(&mut self, call: &Call, map: u32) {
        let number = call.number("map_id", map);
        let Some(name) = number.and_then(|number| self.declared.named(number)) else {
            return;
        };
        if self.is_attached {
            let what = format!("it changed map {name}");
            *self.later.entry(what).or_default() += 1;
        } else if self.set_up.is_some() {
            self.changed.insert(name);
        }
    }

    fn attach(&mut self, call: &Call, map: u32) -> Result<()> {
        self.read(call.process()?)?;
        let number = call.number("map_id", map).context("the scheduler's map")?;
        let value = MapHandle::from_map_id(number)?
            .lookup(&0_u32.to_ne_bytes(), MapFlags::ANY)?
            .context("the scheduler's map is empty")?;
        let ops = kernel_ops::read(&value, &self.object)?;
        let set_up = self.set_up.as_mut().expect("just read");
        (set_up.members, set_up.cleared) = (ops.members, ops.cleared);
        self.is_attached = true;
        Ok(())
    }

    /// What the process holds, the first time.
    fn read(&mut self, process: u32) -> Result<()> {
        if self.set_up.is_none() {
            let maps = held(process, "map_id")?;
            let programs = held(process, "prog_id")?;
            let found = self.declared.read(&maps, &programs, &mut self.absent)?;
            self.set_up = Some(found);
        }
        Ok(())
    }

    fn finish(mut self, program: snapshot::Program) -> Result<Snapshot> {
        ensure!(
            self.is_attached,
            "{}: its scheduler was enabled, but not by a link of BPF",
            program.name
        );
        for name in self.changed {
            self.absent.push(format!(
                "map {name} was changed between the first run of a syscall program and the attachment"
            ));
        }
        for (what, times) in self.later {
            let s = WATCHED.as_secs();
            self.absent.push(format!(
                "{what} {times} times in the {s} s after the scheduler was attached"
            ));
        }
        Ok(Snapshot {
            format: snapshot::FORMAT,
            program,
            kernel: Kernel::read().release,
            cpus: Some(libbpf_rs::num_possible_cpus()? as u32),
            absent: self.absent,
            set_up: self.set_up.expect("attached"),
            object: Bytes(self.object),
        })
    }
}

/// What the program answers to `--version`, in one line; empty where it does not.
fn version(program: &Program) -> String {
    let mut command = Command::new(&program.path);
    let command = command.arg("--version").stdin(Stdio::null());
    let child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
    let Ok(mut child) = child else {
        return String::new();
    };
    let until = Instant::now() + VERSION_WITHIN;
    while Instant::now() < until && matches!(child.try_wait(), Ok(None)) {
        std::thread::sleep(LOOK);
    }
    // One that does not know the option may be doing anything.
    let _ = child.kill();
    let said = child.wait_with_output();
    let said = said.ok().filter(|said| said.status.success());
    let text = said.map(|said| String::from_utf8_lossy(&said.stdout).into_owned());
    let text = text.unwrap_or_default();
    text.lines().next().unwrap_or_default().trim().to_owned()
}
