// SPDX-License-Identifier: GPL-2.0-or-later
//! Which memory a policy's code may touch, asked where accesses are checked: in the kernel the verifier has proved it
//! before the code runs.

use bpf::host::Host;
use bpf::image;

use super::Boundary;
use super::area::Area;
use super::model::Kernel;
use super::outside::back;

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

    fn may_touch(&self, address: u64, bytes: u64, write: bool) -> bool {
        !(write && self.read_only) && self.area.holds(address, bytes)
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
    pub(super) fn may_touch(&self, address: u64, bytes: u64, write: bool) -> bool {
        let holds = |area: Area| area.holds(address, bytes);
        self.lent.iter().copied().any(holds)
            || (self.sections.iter()).any(|section| section.may_touch(address, bytes, write))
            || self.maps.areas().any(holds)
            || self.own_masks.areas().any(holds)
            || self.objects.areas().any(holds)
            || (self.arena.as_ref()).is_some_and(|arena| arena.may_touch(address, bytes, write))
            || self.view.may_touch(address, bytes, write)
            || !write && holds(self.preempt_count())
    }
}
