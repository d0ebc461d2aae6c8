// SPDX-License-Identifier: GPL-2.0-or-later
//! Ids of CPUs, tasks and queues, and tables that only their own kind of id opens.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

/// A number that opens tables of its kind.
pub trait Id: Copy {
    fn nth(index: usize) -> Self;
    fn index(self) -> usize;
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(transparent)]
        pub struct $name(pub u32);

        impl Id for $name {
            #[inline]
            fn nth(index: usize) -> Self {
                Self(index as u32)
            }

            #[inline]
            fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

id! {
    /// A logical CPU.
    CpuId
}
id! {
    /// A task of the plan, whether it lives or not.
    TaskId
}
id! {
    /// A shared dispatch queue, in the order of creation; the nodes' global queues come first.
    DsqIndex
}

/// No task: an idle CPU runs it.
pub const IDLE: TaskId = TaskId(u32::MAX);
/// A task that has not run yet has not run on any CPU.
pub const NO_CPU: CpuId = CpuId(u32::MAX);

/// One `T` for every id.
#[derive(Clone, Debug)]
pub struct Table<I, T> {
    rows: Vec<T>,
    by: PhantomData<fn(I)>,
}

pub type PerCpu<T> = Table<CpuId, T>;
pub type PerTask<T> = Table<TaskId, T>;

impl<I: Id, T> Table<I, T> {
    pub fn filled(len: usize, row: impl FnMut() -> T) -> Self {
        std::iter::repeat_with(row).take(len).collect()
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    #[inline]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    pub fn contains(&self, id: I) -> bool {
        id.index() < self.rows.len()
    }

    /// All ids; the table may change meanwhile.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = I> + use<I, T> {
        (0..self.rows.len()).map(I::nth)
    }

    pub fn push(&mut self, row: T) -> I {
        self.rows.push(row);
        I::nth(self.rows.len() - 1)
    }

    pub fn truncate(&mut self, len: usize) {
        self.rows.truncate(len);
    }

    pub fn get(&self, id: I) -> Option<&T> {
        self.rows.get(id.index())
    }

    pub fn get_mut(&mut self, id: I) -> Option<&mut T> {
        self.rows.get_mut(id.index())
    }

    pub fn iter(&self) -> std::slice::Iter<'_, T> {
        self.rows.iter()
    }

    pub fn pairs(&self) -> impl Iterator<Item = (I, &T)> {
        self.ids().zip(&self.rows)
    }

    pub fn pairs_mut(&mut self) -> impl Iterator<Item = (I, &mut T)> {
        self.ids().zip(&mut self.rows)
    }
}

impl<I, T> Default for Table<I, T> {
    fn default() -> Self {
        Self {
            rows: Vec::new(),
            by: PhantomData,
        }
    }
}

impl<I: Id, T> FromIterator<T> for Table<I, T> {
    fn from_iter<Rows: IntoIterator<Item = T>>(rows: Rows) -> Self {
        Self {
            rows: rows.into_iter().collect(),
            by: PhantomData,
        }
    }
}

impl<I: Id, T> Index<I> for Table<I, T> {
    type Output = T;

    #[inline]
    fn index(&self, id: I) -> &T {
        &self.rows[id.index()]
    }
}

impl<I: Id, T> IndexMut<I> for Table<I, T> {
    #[inline]
    fn index_mut(&mut self, id: I) -> &mut T {
        &mut self.rows[id.index()]
    }
}

impl<'t, I, T> IntoIterator for &'t Table<I, T> {
    type Item = &'t T;
    type IntoIter = std::slice::Iter<'t, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.rows.iter()
    }
}
