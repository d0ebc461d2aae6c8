// SPDX-License-Identifier: GPL-2.0-or-later
//! The boundary to the policy: calls into it, what it calls, and the memory both sides touch.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `shown`, `types` | the structures that policies see, with their BTF |
//! | `enumerations` | the constants that they see |
//! | `callback` | the members of `struct sched_ext_ops` |
//! | `outside`, `register`, `helpers`, `kfuncs`, `format` | what policies may call |
//! | `access`, `area`, `nofault` | which memory they may touch, and reading any other |
//! | `price` | what their code costs |
//! | `maps`, `arena`, `own_masks` | their maps and timers, shared memory, and the CPU sets that they make |
//! | `iterators` | walks over numbers, bits, tasks and cgroups |
//! | `objects`, `graph`, `spin_locks`, `object_kfuncs` | objects that they make, trees and lists of them, and what guards these |
//! | `view`, `cgroup` | what they see of tasks and machine through pointers |
//! | `world`, `inlines` | what executing code reads without a call |
//! | `model` | what all of it asks of the model |
//! | `prepared`, `filled` | what an object's own program set up before that |
//! | `program` | a policy's object, linked against all of it and translated |
//! | `execution` | how its code is executed |
//! | `release`, `enq_flags` | whose interface it is, and flags that have other bits there |
//! | `suspended` | what is put aside while another operation comes in between |
//! | `refused` | why an object cannot be linked |
//!
//! The model enters the policy with [`call`]; the policy comes back through the table of helpers and kfuncs,
//! which turn addresses into ids and hand over to the model's [`Kernel`]. Whatever both sides touch is [`Shared`].
//!
//! Why no reference of Rust's is ever overtaken by the policy:
//!
//! - Shared values are reached through raw pointers that were made once; the policy has copies of the same pointers.
//!   A reference to such a value borrows the model, which a call needs whole, so none is alive during a call.
//! - A call gives the policy a pointer to the model that is made last, from the `&mut` of the caller. The caller's own
//!   reference rests until the call returns; a kfunc's `&mut` is made from that pointer and ends before it returns.
//! - A kfunc may lead to another call, with a pointer made from its own `&mut`. When that call returns, the host gets
//!   back the pointer of the call around it, since the inner one ends with the kfunc.
//!
//! The tests below play a policy with nested calls against a small stand-in of the model. They use no foreign code, so
//! that `cargo +nightly miri test -p kernel --lib boundary` can check the claims above.

mod access;
mod area;
mod arena;
mod callback;
mod cgroup;
mod enq_flags;
pub mod enumerations;
pub mod execution;
mod filled;
mod format;
pub mod global_data;
mod graph;
mod helpers;
mod inlines;
mod iterators;
mod kfuncs;
mod mapping;
mod maps;
pub mod model;
mod nofault;
mod object_kfuncs;
mod objects;
mod outside;
mod own_masks;
mod prepared;
mod price;
pub mod program;
pub mod refused;
mod register;
pub mod release;
pub mod requests;
mod shared;
pub mod shown;
mod spin_locks;
mod suspended;
mod types;
mod view;
mod world;

use std::collections::BTreeMap;
use std::ffi::c_void;

use anyhow::{Context, Result};
use bpf::host::{Call, FaultKind, Host};
use bpf::image::{self, Image};
use workload::draw::Stream;

pub use callback::{Callback, Locks, Ops, RETURN, Underway};
pub use cgroup::Walk as CgroupWalk;
pub use filled::Filled;
pub use maps::{Maps, TimerCall};
pub use model::{Kernel, Moment, Walk};
pub use prepared::Run;
pub use price::Work;
pub use register::Register;
pub use shared::Shared;
pub use view::{View, comm};

use crate::consts::OPS_KEEP_BUILTIN_IDLE;
use access::{Recent, Section};
use area::Area;
use arena::Arena;
use enq_flags::EnqFlags;
use global_data::{AtLoad, GlobalData};
use graph::Graph;
use iterators::CopiedBits;
use objects::Objects;
use own_masks::OwnMasks;
use release::Release;
use requests::Requests;
use shown::{EventStats, OwnCpuMask};
use spin_locks::SpinLocks;
use world::{IN_INTERRUPT, World};

/// One callback executes no more than this where nobody asks for less; the kernel's verifier would not let it.
const MOST_INSTRUCTIONS: u64 = 1 << 32;

/// What executes a policy's code, and what that code refers to.
pub struct Code<'a> {
    pub ops: Ops,
    pub maps: &'a [image::Map],
    /// Global data, with tunables and topology set.
    pub data: &'a AtLoad,
    /// What lies where in that block.
    pub sections: &'a [image::Data],
    pub filled: &'a [Filled],
    /// Sizes of types that the code makes objects of.
    pub type_bytes: &'a BTreeMap<u32, u32>,
    /// Whose interface the code sees.
    pub release: Release,
    /// Helpers and kfuncs, in the order of the image's.
    pub calls: Vec<Call>,
    /// Every access is checked.
    pub checked: bool,
    /// Operations may be broken off at calls and where callbacks return.
    pub divided: bool,
    pub random: Stream,
    /// Attached to what executes the code; the boundary fills in the rest.
    pub host: Host,
}

pub struct Boundary {
    /// What callbacks under way may touch beside what lasts: kept where accesses are checked.
    lent: Vec<Area>,
    checked: bool,
    divided: bool,
    pub ops: Ops,
    pub enq_flags: EnqFlags,
    /// Whose interface the policy sees.
    pub release: Release,
    /// The callback under way and its first argument.
    pub underway: Option<Underway>,
    /// What the model counts for policies that ask.
    pub events: EventStats,
    world: Shared<World>,
    data: GlobalData,
    sections: Vec<Section>,
    recent: Recent,
    /// What the host's pointers lead to.
    _calls: Shared<[Call]>,
    _variables: Shared<[*mut u8]>,
    pub view: View,
    pub maps: Maps,
    pub arena: Option<Arena>,
    pub requests: Requests,
    pub own_masks: OwnMasks,
    pub objects: Objects,
    /// Sizes of types that objects are made of, by their ids.
    pub type_bytes: BTreeMap<u32, u32>,
    pub graph: Graph,
    pub spin_locks: SpinLocks,
    pub copied_bits: CopiedBits,
    /// For policies that ask for random numbers.
    pub random: Stream,
}

impl Boundary {
    /// `cgroups`: the parents of those behind the root. An error where the machine has no room for the policy's arena.
    pub fn new<K: Kernel>(
        code: Code,
        cpus: usize,
        tasks: usize,
        cgroups: &[usize],
    ) -> Result<Self> {
        let view = View::new(cpus, tasks, cgroups);
        let arena = Arena::of(code.maps, code.sections)?;
        let mut maps = Maps::new(code.maps, cpus);
        maps.fill(code.filled);
        let data = GlobalData::new(code.data).context("address space for global data")?;
        let calls: Shared<[Call]> = code.calls.into_iter().collect();
        let mut world = Shared::new(World::new(code.host, &view, cpus));
        // SAFETY: only the address is taken.
        let preempt_count = unsafe { &raw mut (*world.pointer()).preempt_count };
        let variables: Shared<[*mut u8]> = [preempt_count.cast()].into_iter().collect();
        let data_start = data.pointer();
        // Code computes addresses from these, so what they point to has to be known to be within its reach.
        for address in [data_start, maps.first(), preempt_count.cast()] {
            address.expose_provenance();
        }
        let recent = Recent::default();
        let host = &mut world.host;
        host.limit = MOST_INSTRUCTIONS;
        host.data = data_start;
        host.maps = maps.first();
        host.map_stride = Maps::STRIDE;
        if let Some(arena) = &arena {
            host.arena = arena.base();
            host.arena_user = arena.user();
        }
        host.variables = variables.pointer().cast::<*mut u8>();
        host.calls = calls.pointer().cast::<Call>();
        if code.checked {
            host.access = Some(access::allowed::<K>);
            host.allowed = recent.first();
        }
        Ok(Self {
            lent: Vec::new(),
            checked: code.checked,
            divided: code.divided,
            ops: code.ops,
            enq_flags: EnqFlags::of(code.release),
            release: code.release,
            underway: None,
            events: EventStats::default(),
            world,
            sections: Section::all(data_start.cast(), code.sections),
            recent,
            data,
            _calls: calls,
            _variables: variables,
            view,
            maps,
            arena,
            requests: Requests::default(),
            own_masks: OwnMasks::default(),
            objects: Objects::default(),
            type_bytes: code.type_bytes.clone(),
            graph: Graph::default(),
            spin_locks: SpinLocks::default(),
            copied_bits: CopiedBits::default(),
            random: code.random,
        })
    }

    /// One callback executes no more than so many operations.
    pub fn limit_operations(&mut self, most: u64) {
        self.world.host.limit = most;
    }

    /// Fresh state for another load of the policy.
    pub fn reload(&mut self, image: &Image, filled: &[Filled], data: &AtLoad, cpus: usize) {
        self.data.reset(data);
        self.own_masks = OwnMasks::default();
        self.objects = Objects::default();
        self.graph = Graph::default();
        self.events = EventStats::default();
        self.recent.forget();
        self.world.has_per_cpu_objects = 0;
        self.maps = Maps::new(&image.maps, cpus);
        self.maps.fill(filled);
        if let Some(arena) = &mut self.arena {
            arena.reset(&image.data);
        }
        self.maps.first().expose_provenance();
        self.world.host.maps = self.maps.first();
    }

    /// The policy's global data, which no code may touch any more.
    pub fn take_data(&mut self) -> GlobalData {
        std::mem::replace(&mut self.data, GlobalData::none())
    }

    /// The policy's own program writes into its data.
    pub fn write_data(&mut self, offset: usize, bytes: &[u8]) {
        self.data.write(offset, bytes);
    }

    /// A value that a callback may touch until it is taken back, the last one first; its address.
    pub fn lend<T>(&mut self, value: *mut T) -> u64 {
        self.lend_bytes(value.cast(), size_of::<T>())
    }

    fn lend_bytes(&mut self, start: *mut u8, bytes: usize) -> u64 {
        if self.checked {
            self.lent.push(Area::of(start, bytes));
        }
        start.expose_provenance() as u64
    }

    pub fn take_back(&mut self) {
        self.lent.pop();
    }

    /// A CPU set of the policy's loses a reference, and with the last one its memory.
    pub fn release_mask(&mut self, mask: *mut OwnCpuMask) {
        self.own_masks.release(mask);
        self.recent.forget();
    }

    /// Whether the model tracks idle CPUs for the policy.
    #[inline]
    pub fn builtin_idle(&self) -> bool {
        !self.ops.has(Callback::UpdateIdle) || self.ops.flags & OPS_KEEP_BUILTIN_IDLE != 0
    }
}

/// The last one is filled up with zeros.
fn words(bytes: &[u8]) -> impl Iterator<Item = u64> {
    let (whole, rest) = bytes.as_chunks();
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    let last = (!rest.is_empty()).then(|| u64::from_ne_bytes(last));
    whole.iter().copied().map(u64::from_ne_bytes).chain(last)
}

/// Call a callback, if the policy has it, with the kernel's arguments; what it returned.
#[inline]
pub fn call<K: Kernel, const N: usize>(
    kernel: &mut K,
    callback: Callback,
    mut arguments: [u64; N],
) -> Option<u64> {
    let function = kernel.boundary().ops.function(callback)?;
    kernel.calls(callback);
    let boundary = kernel.boundary();
    let context = boundary.lend(&raw mut arguments);
    let first = arguments.first().copied().unwrap_or(0);
    let around = boundary.underway;
    boundary.underway = Some(Underway {
        callback,
        first,
        within: around.is_some(),
    });
    let divided = boundary.divided;
    let result = run(kernel, function, [context, 0, 0, 0, 0]);
    if divided {
        kernel.seam(RETURN);
    }
    let boundary = kernel.boundary();
    boundary.underway = around;
    boundary.take_back();
    Some(result)
}

/// Run a program of type `syscall` on this argument, as a user half has the kernel do.
pub fn call_program<K: Kernel>(kernel: &mut K, function: u32, argument: &[u8]) {
    let place: Shared<[u64]> = words(argument).collect();
    let start = place.pointer().cast();
    let argument = kernel.boundary().lend_bytes(start, argument.len());
    run(kernel, function, [argument, 0, 0, 0, 0]);
    kernel.boundary().take_back();
}

/// What the kernel's timers call.
pub fn call_timer<K: Kernel>(kernel: &mut K, mut timer: TimerCall) {
    if let Some(function) = timer.function() {
        let registers = timer.registers();
        kernel.boundary().lend(&raw mut timer.key);
        run(kernel, function, registers);
        kernel.boundary().take_back();
    }
}

/// Run a function of the policy: tell it time and place, and charge what its code did.
///
/// The pointer to the model that the policy gets is the last thing made of `kernel`: nothing may use `kernel` until
/// the function has returned.
fn run<K: Kernel>(kernel: &mut K, function: u32, registers: [u64; 5]) -> u64 {
    let moment = kernel.moment();
    let boundary = kernel.boundary();
    let current = boundary.view.pointer(moment.current);
    let world = boundary.world.pointer();
    let invoke = boundary
        .world
        .host
        .invoke
        .expect("attached when it was made");
    let owner: *mut c_void = std::ptr::from_mut(kernel).cast();
    // SAFETY: the world is in place, and no reference into it lives; the function is the policy's own, called as the
    // kernel does, with pointers to values that stay in place. It reaches the model only through `owner`.
    let (result, around, executed, outside, depth) = unsafe {
        let host = &raw mut (*world).host;
        let around = std::mem::replace(&mut (*host).owner, owner);
        let executed = std::mem::replace(&mut (*host).executed, 0);
        let depth = std::mem::take(&mut (*host).depth);
        let outside = std::mem::replace(&mut (*world).outside, 0);
        (*world).now_ns = moment.now_ns;
        (*world).ktime_ns = moment.ktime_ns;
        (*world).cpu = u64::from(moment.cpu.0);
        (*world).current = current;
        (*world).preempt_count = if moment.in_interrupt { IN_INTERRUPT } else { 0 };
        let result = invoke(host, function, &raw const registers);
        (result, around, executed, outside, depth)
    };
    let world = &mut kernel.boundary().world;
    let work = Work {
        instructions: world.host.executed,
        outside: world.outside,
    };
    world.host.owner = around;
    world.host.executed = executed;
    world.host.depth = depth;
    world.outside = outside;
    let outermost = around.is_null();
    if world.host.fault != 0 {
        // Taken off, so that what is called at the end of the run is executed.
        let fault = Host {
            fault: std::mem::take(&mut world.host.fault),
            ..world.host
        };
        kernel.fault(&fault);
    }
    if outermost {
        let boundary = kernel.boundary();
        if boundary.maps.settle() | boundary.objects.settle() {
            boundary.recent.forget();
        }
        if !boundary.spin_locks.settle() {
            let fault = Host {
                fault: FaultKind::Lock as u32,
                fault_function: function,
                ..boundary.world.host
            };
            kernel.fault(&fault);
        }
    }
    kernel.charge_policy(work);
    result
}

#[cfg(test)]
mod tests;
