// SPDX-License-Identifier: GPL-2.0-or-later
//! Which memory a policy's code may touch, asked where accesses are checked: in the kernel the verifier has proved it
//! before the code runs.

use bpf::host::{Allowed, Host};
use bpf::image;

use super::Boundary;
use super::area::Area;
use super::model::Kernel;
use super::outside::back;
use super::shared::Shared;

/// # Safety
/// As for [`back`].
pub unsafe extern "C" fn allowed<K: Kernel>(
    host: *mut Host,
    address: u64,
    bytes: u64,
    write: u64,
) -> u64 {
    // SAFETY: asked by the policy's code through its host.
    let boundary = unsafe { back::<K>(host) }.boundary();
    u64::from(boundary.may_touch(address, bytes, write != 0))
}

/// A section of global data. To the kernel each is a map with one value.
pub struct Section {
    area: Area,
    read_only: bool,
}

impl Section {
    /// Those that lie in a block.
    pub fn all(block: *const u64, data: &[image::Data]) -> Vec<Self> {
        let in_block = data.iter().filter(|data| !data.arena);
        let section = |data: &image::Data| Self {
            area: Area {
                start: block.addr() as u64 + u64::from(data.offset),
                bytes: data.bytes.len() as u64,
            },
            read_only: data.read_only,
        };
        in_block.map(section).collect()
    }
}

/// Areas in which something was touched lately: executing code finds them without a question. Of what may be freed, and
/// nothing may be freed without [`Recent::forget`].
pub struct Recent {
    pub(super) areas: Shared<[Allowed]>,
}

impl Default for Recent {
    fn default() -> Self {
        let none = std::iter::repeat_n(Allowed::default(), Allowed::PLACES);
        Self {
            areas: none.collect(),
        }
    }
}

impl Recent {
    /// For the host.
    pub fn first(&self) -> *const Allowed {
        self.areas.pointer().cast::<Allowed>()
    }

    fn keep(&mut self, address: u64, area: Area, writable: bool) {
        self.areas[Allowed::place(address)] = Allowed {
            start: area.start,
            bytes: area.bytes,
            writable: writable.into(),
        };
    }

    pub fn forget(&mut self) {
        self.areas.fill(Allowed::default());
    }
}

impl Boundary {
    /// The one variable of the kernel's that policies read.
    fn preempt_count(&self) -> Area {
        // SAFETY: only the address is taken.
        let at = unsafe { &raw const (*self.world.pointer()).preempt_count };
        Area::of(at, size_of::<u32>())
    }

    /// Arguments of the callbacks under way, global data, values of maps, objects, the arena, and what is shown of tasks and machine.
    pub(super) fn may_touch(&mut self, address: u64, bytes: u64, write: bool) -> bool {
        let holds = |area: &Area| area.holds(address, bytes);
        if self.lent.iter().any(holds) {
            return true;
        }
        let section = (self.sections.iter()).find(|section| holds(&section.area));
        if let Some(Section { area, read_only }) = section {
            self.recent.keep(address, *area, !read_only);
            return !(write && *read_only);
        }
        if self.view.tasks().holds(address, bytes) {
            self.recent.keep(address, self.view.tasks(), false);
            return !write || self.view.is_writable(address, bytes);
        }
        let values = self.maps.areas().chain(self.own_masks.areas());
        let found = values.chain(self.objects.areas()).find(holds);
        if let Some(area) = found {
            self.recent.keep(address, area, true);
            return true;
        }
        (self.arena.as_ref()).is_some_and(|arena| arena.may_touch(address, bytes, write))
            || !write && (self.view.shows(address, bytes) || holds(&self.preempt_count()))
    }
}
