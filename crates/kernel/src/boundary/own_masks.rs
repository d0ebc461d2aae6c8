// SPDX-License-Identifier: GPL-2.0-or-later
//! CPU sets that a policy makes for itself (`kernel/bpf/cpumask.c`): counted references, and freed with the last.

use super::area::Area;
use super::shared::Shared;
use super::shown::OwnCpuMask;
use crate::mask;

#[derive(Default)]
pub struct OwnMasks {
    all: Vec<Shared<OwnCpuMask>>,
}

impl OwnMasks {
    pub fn create(&mut self) -> *mut OwnCpuMask {
        let mask = Shared::new(OwnCpuMask {
            cpumask: mask::EMPTY,
            usage: 1,
        });
        let pointer = mask.pointer();
        self.all.push(mask);
        pointer
    }

    fn position(&self, mask: *const OwnCpuMask) -> Option<usize> {
        (self.all.iter()).position(|known| known.pointer().cast_const() == mask)
    }

    pub fn acquire(&mut self, mask: *mut OwnCpuMask) -> *mut OwnCpuMask {
        match self.position(mask) {
            None => std::ptr::null_mut(),
            Some(index) => {
                self.all[index].usage += 1;
                mask
            }
        }
    }

    pub fn release(&mut self, mask: *mut OwnCpuMask) {
        if let Some(index) = self.position(mask) {
            self.all[index].usage -= 1;
            if self.all[index].usage == 0 {
                self.all.swap_remove(index);
            }
        }
    }

    pub fn areas(&self) -> impl Iterator<Item = Area> + '_ {
        let area = |mask: &Shared<OwnCpuMask>| Area::of(mask.pointer(), size_of::<OwnCpuMask>());
        self.all.iter().map(area)
    }
}
