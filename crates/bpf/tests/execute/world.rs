// SPDX-License-Identifier: GPL-2.0-or-later
//! A host with memory of every kind and a few helpers, and what is left of it after a call.

use std::path::{Path, PathBuf};
use std::ptr::null_mut;
use std::sync::Arc;

use bpf::host::{Call, FaultKind, Host};
use bpf::image::{Image, Outside};
use bpf::{Executor, Inline, Interpreter, Native, Options};

use crate::write::{DATA_BYTES, MAPS, READ_ONLY_BYTES, VARIABLES};

pub const MAP_STRIDE: u64 = 64;
pub const ARENA_BYTES: usize = 4096;
pub const ARENA_USER: u64 = 0x1000_0000_0000;
const FORBIDDEN_BYTES: usize = 64;

/// Fixed in memory, so that addresses are the same for every executor.
#[repr(C)]
pub struct World {
    pub host: Host,
    pub data: [u8; DATA_BYTES as usize],
    pub maps: [u8; MAPS as usize * MAP_STRIDE as usize],
    pub kernel: [u64; VARIABLES as usize],
    /// Memory that is there but that no access is allowed to.
    pub forbidden: [u8; FORBIDDEN_BYTES],
    arena: *mut u8,
    variables: [*mut u8; VARIABLES as usize],
    calls: [Call; 5],
}

/// All that a call has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    pub result: u64,
    pub executed: u64,
    /// Kind, function, operation, bytes, address.
    pub fault: Option<(FaultKind, u32, u32, u32, u64)>,
    pub data: Vec<u8>,
    pub maps: Vec<u8>,
    pub kernel: [u64; VARIABLES as usize],
    pub forbidden: Vec<u8>,
    pub arena: Vec<u8>,
}

impl World {
    pub fn new() -> Box<Self> {
        let mut world = Box::new(Self {
            host: Host::default(),
            data: [0; _],
            maps: [0; _],
            kernel: [0; _],
            forbidden: [0; _],
            arena: arena(),
            variables: [null_mut(); _],
            calls: [mix, call_back, refuse, forbidden, executed],
        });
        let world_at: *mut World = &raw mut *world;
        let host = &mut world.host;
        host.map_stride = MAP_STRIDE;
        host.arena_user = ARENA_USER;
        // SAFETY: the fields are in the box, which is never moved out of.
        unsafe {
            host.data = (&raw mut (*world_at).data).cast();
            host.maps = (&raw mut (*world_at).maps).cast();
            host.arena = (*world_at).arena;
            host.calls = (&raw const (*world_at).calls).cast();
            host.variables = (&raw const (*world_at).variables).cast();
            host.owner = world_at.cast();
            for index in 0..VARIABLES as usize {
                (*world_at).variables[index] = (&raw mut (*world_at).kernel[index]).cast();
            }
        }
        world
    }

    pub fn forbidden_address(&self) -> u64 {
        (&raw const self.forbidden) as u64
    }

    /// Memory with a pattern, as it is before a call.
    fn fill(&mut self) {
        let pattern = |seed: u8| {
            move |(index, byte): (usize, &mut u8)| {
                *byte = (index as u8).wrapping_mul(37).wrapping_add(seed);
            }
        };
        self.data.iter_mut().enumerate().for_each(pattern(0x81));
        self.maps.iter_mut().enumerate().for_each(pattern(0x42));
        self.forbidden
            .iter_mut()
            .enumerate()
            .for_each(pattern(0x13));
        self.arena().iter_mut().enumerate().for_each(pattern(0x99));
        self.kernel = [0xfeed_face_dead_beef, 7];
        self.host.executed = 0;
        self.host.fault = 0;
    }

    fn arena(&mut self) -> &mut [u8] {
        // SAFETY: so much is mapped there, for this world alone.
        unsafe { std::slice::from_raw_parts_mut(self.arena, ARENA_BYTES) }
    }

    /// Calls a function in memory as it is at the beginning.
    pub fn call(
        &mut self,
        executor: &Executor,
        checked: bool,
        limit: u64,
        function: u32,
        args: [u64; 5],
    ) -> Outcome {
        self.fill();
        self.host.limit = limit;
        self.host.access = checked.then_some(access);
        // SAFETY: the world is what the images of these tests refer to.
        let result = unsafe {
            executor.attach(&mut self.host);
            executor.call(&raw mut self.host, function, args)
        };
        let host = &self.host;
        assert_eq!(host.depth, 0);
        assert!(host.frames.is_null());
        let fault = FaultKind::of(host.fault).map(|kind| {
            (
                kind,
                host.fault_function,
                host.fault_op,
                host.fault_bytes,
                host.fault_address,
            )
        });
        Outcome {
            result,
            executed: host.executed,
            fault,
            data: self.data.into(),
            maps: self.maps.into(),
            kernel: self.kernel,
            forbidden: self.forbidden.into(),
            arena: self.arena().to_vec(),
        }
    }
}

/// Every way to execute an image.
pub struct Executors {
    pub interpreter: Executor,
    pub native: Executor,
    pub paranoid: Executor,
    /// With helpers of the prelude, where a test wants that too.
    inlined: Option<Executor>,
}

impl Executors {
    /// With translations that are kept.
    pub fn new(image: &Image) -> Self {
        Self::with(image, &kept())
    }

    /// With translations that nobody will want again.
    pub fn once(image: &Image) -> Self {
        Self::with(image, tempfile::tempdir().unwrap().path())
    }

    fn with(image: &Image, folder: &Path) -> Self {
        Self {
            inlined: Some(native(image, &inlined(), folder)),
            ..Self::without_prelude(image, folder)
        }
    }

    pub fn without_prelude(image: &Image, folder: &Path) -> Self {
        let paranoid = Options {
            paranoid: true,
            ..Options::default()
        };
        Self {
            interpreter: Executor::Interpreter(Interpreter::new(Arc::new(image.clone())).unwrap()),
            native: native(image, &Options::default(), folder),
            paranoid: native(image, &paranoid, folder),
            inlined: None,
        }
    }

    /// What all of them agree on.
    pub fn call(
        &self,
        world: &mut World,
        checked: bool,
        limit: u64,
        function: u32,
        args: [u64; 5],
    ) -> Result<Outcome, String> {
        let expected = world.call(&self.interpreter, checked, limit, function, args);
        let others = if checked {
            vec![("paranoid", Some(&self.paranoid))]
        } else {
            vec![
                ("native", Some(&self.native)),
                ("paranoid, unasked", Some(&self.paranoid)),
                ("inlined", self.inlined.as_ref()),
            ]
        };
        for (name, executor) in others {
            let Some(executor) = executor else {
                continue;
            };
            let outcome = world.call(executor, checked, limit, function, args);
            if outcome != expected {
                return Err(format!(
                    "function {function}: interpreter {expected:?}\n{name} {outcome:?}"
                ));
            }
        }
        Ok(expected)
    }
}

fn native(image: &Image, options: &Options, folder: &Path) -> Executor {
    Executor::Native(Native::load(image, options, folder).unwrap())
}

fn inlined() -> Options {
    let inline = |name: &str, quiet| {
        let inline = Inline {
            function: format!("inline_{name}"),
            quiet,
        };
        (Outside::Kfunc(name.to_owned()), inline)
    };
    Options {
        paranoid: false,
        prelude: "
struct world { struct host host; u8 data[]; };
static inline u64 inline_mix(struct host *h, u64 r1, u64 r2, u64 r3, u64 r4, u64 r5)
{
	m8 *byte = ((struct world *)h)->data + 100;
	*byte += 1;
	return r1 + 3 * r2 + 5 * r3 + 7 * r4 + 11 * r5 + *byte;
}
static inline u64 inline_executed(struct host *h, u64 r1, u64 r2, u64 r3, u64 r4, u64 r5)
{
	return h->executed;
}
"
        .to_owned(),
        inlines: [inline("mix", true), inline("executed", false)].into(),
        ..Options::default()
    }
}

/// Where translations are kept for the tests of one build.
pub fn kept() -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("images")
}

unsafe fn world<'a>(host: *mut Host) -> &'a mut World {
    // SAFETY: every host of these tests is a world's.
    unsafe { &mut *(*host).owner.cast::<World>() }
}

/// A sum that tells which argument was which, and a trace in memory of how often it was called.
unsafe extern "C" fn mix(host: *mut Host, r1: u64, r2: u64, r3: u64, r4: u64, r5: u64) -> u64 {
    // SAFETY: as above.
    let byte = unsafe { &mut world(host).data[100] };
    *byte = byte.wrapping_add(1);
    [(r1, 1), (r2, 3), (r3, 5), (r4, 7), (r5, 11)]
        .into_iter()
        .fold(u64::from(*byte), |sum, (value, factor)| {
            sum.wrapping_add(value.wrapping_mul(factor))
        })
}

/// `bpf_loop`: calls `r2` up to `r1` times with the index and `r3`, until it gives something but 0.
unsafe extern "C" fn call_back(host: *mut Host, r1: u64, r2: u64, r3: u64, _: u64, _: u64) -> u64 {
    for index in 0..r1 {
        // SAFETY: the host was attached.
        unsafe {
            let invoke = (*host).invoke.unwrap();
            let result = invoke(host, r2.wrapping_sub(1) as u32, &[index, r3, 0, 0, 0]);
            if (*host).fault != 0 {
                return 0;
            }
            if result != 0 {
                return index + 1;
            }
        }
    }
    r1
}

unsafe extern "C" fn refuse(host: *mut Host, r1: u64, _: u64, _: u64, _: u64, _: u64) -> u64 {
    // SAFETY: the host is valid.
    unsafe { (*host).refuse(FaultKind::Outside, r1, 3) };
    77
}

unsafe extern "C" fn forbidden(host: *mut Host, _: u64, _: u64, _: u64, _: u64, _: u64) -> u64 {
    // SAFETY: as above.
    unsafe { world(host).forbidden_address() }
}

unsafe extern "C" fn executed(host: *mut Host, _: u64, _: u64, _: u64, _: u64, _: u64) -> u64 {
    // SAFETY: the host is valid.
    unsafe { (*host).executed }
}

unsafe extern "C" fn access(host: *mut Host, address: u64, bytes: u64, write: u64) -> u64 {
    // SAFETY: as above.
    let world = unsafe { world(host) };
    let data = (&raw const world.data) as u64;
    let writable = data + u64::from(if write == 1 { READ_ONLY_BYTES } else { 0 });
    let within = |from: u64, to: u64| from <= address && address + bytes <= to;
    let maps = (&raw const world.maps) as u64;
    let kernel = (&raw const world.kernel) as u64;
    let arena = world.arena as u64;
    u64::from(
        within(writable, data + u64::from(DATA_BYTES))
            || within(maps, maps + u64::from(MAPS) * MAP_STRIDE)
            || within(kernel, kernel + 8 * u64::from(VARIABLES)) && write == 0
            || within(arena, arena + ARENA_BYTES as u64),
    )
}

/// Memory at a multiple of 4 GiB.
fn arena() -> *mut u8 {
    const ALIGN: usize = 1 << 32;
    // SAFETY: fresh mappings; nothing else is touched.
    unsafe {
        let reserved = libc::mmap(
            null_mut(),
            2 * ALIGN,
            libc::PROT_NONE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
            -1,
            0,
        );
        assert_ne!(reserved, libc::MAP_FAILED);
        let start = (reserved as usize).next_multiple_of(ALIGN) as *mut libc::c_void;
        let flags = libc::PROT_READ | libc::PROT_WRITE;
        assert_eq!(libc::mprotect(start, ARENA_BYTES, flags), 0);
        start.cast()
    }
}
