// SPDX-License-Identifier: GPL-2.0-or-later
//! A control group of a case, and who changes it or moves tasks into it.

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cgroup {
    /// One that stands before it.
    pub parent: Option<usize>,
    pub weight: u32,
    pub max: Option<Max>,
    /// Its parent's where it has none.
    pub cpus: Vec<u32>,
    pub keeper: Option<Keeper>,
}

/// Microseconds of CPU time in each period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Max {
    pub quota_us: u64,
    pub period_us: u64,
}

impl Max {
    /// A third of the limits has one. It is drawn with the limit, so that cases are what they were before there were any.
    pub fn burst_us(self) -> u64 {
        if self.quota_us.is_multiple_of(3) {
            self.quota_us / 2
        } else {
            0
        }
    }
}

/// A task changes a group, and gives it back what it had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keeper {
    pub gives: Gives,
    /// After so long, again and again.
    pub every_us: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Gives {
    Weight(u32),
    Max(Max),
    Cpus(Vec<u32>),
}

/// A task moves those of a group of tasks, wherever they are, to another control group and back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mover {
    pub to: usize,
    /// After so long, again and again.
    pub every_us: u64,
    /// The group that they leave is removed if nobody is in it any more, and made anew before they come again.
    pub anew: bool,
}

pub const WEIGHT: u32 = 100;

/// The CPUs that groups have, at first or later.
pub fn sets(all: &mut [Cgroup]) -> impl Iterator<Item = &mut Vec<u32>> {
    all.iter_mut().flat_map(|cgroup| {
        let later = match &mut cgroup.keeper {
            Some(Keeper {
                gives: Gives::Cpus(cpus),
                ..
            }) => Some(cpus),
            _ => None,
        };
        std::iter::once(&mut cgroup.cpus).chain(later)
    })
}
