// SPDX-License-Identifier: GPL-2.0-or-later
//! Blocking on words of shared memory, between processes.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

fn call(
    word: &AtomicU32,
    operation: libc::c_int,
    value: u32,
    value2: usize,
    other: *const u32,
) -> i64 {
    // SAFETY: the words lie in memory that lives as long as the call; the kernel checks the rest.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            operation,
            value,
            value2,
            other,
            0,
        )
    }
}

/// Blocks while the word has this value; may return early.
pub fn wait(word: &AtomicU32, value: u32) {
    call(word, libc::FUTEX_WAIT, value, 0, std::ptr::null());
}

pub fn wake(word: &AtomicU32, count: u32) {
    call(word, libc::FUTEX_WAKE, count, 0, std::ptr::null());
}

/// Moves all who wait on one word to another, and says how many were moved.
pub fn move_all(from: &AtomicU32, to: &AtomicU32) -> u32 {
    // FUTEX_REQUEUE's "wake up to" is 0, its "move up to" goes where a timeout usually stands.
    call(from, libc::FUTEX_REQUEUE, 0, i32::MAX as usize, to.as_ptr()).max(0) as u32
}

const FREE: u32 = 0;
const HELD: u32 = 1;
const HELD_WITH_WAITERS: u32 = 2;

/// A sleeping lock.
pub fn lock(word: &AtomicU32) {
    if word
        .compare_exchange(FREE, HELD, Ordering::Acquire, Ordering::Relaxed)
        .is_ok()
    {
        return;
    }
    while word.swap(HELD_WITH_WAITERS, Ordering::Acquire) != FREE {
        wait(word, HELD_WITH_WAITERS);
    }
}

/// The same lock, without sleeping.
pub fn spin(word: &AtomicU32) {
    while word
        .compare_exchange_weak(FREE, HELD, Ordering::Acquire, Ordering::Relaxed)
        .is_err()
    {
        std::hint::spin_loop();
    }
}

pub fn unlock(word: &AtomicU32) {
    if word.swap(FREE, Ordering::Release) == HELD_WITH_WAITERS {
        wake(word, 1);
    }
}

/// A counting semaphore: its count, how many may be waiting, and the stamp of the last post.
#[repr(C)]
pub struct Semaphore {
    pub count: AtomicU32,
    waiters: AtomicU32,
    stamp_ns: AtomicU64,
}

/// Counts its signals; nobody waits for those that were before.
#[repr(C)]
pub struct Condition(AtomicU32);

impl Condition {
    /// May return early, as the kernel's futexes do.
    pub fn wait(&self, releases: Option<&AtomicU32>) {
        let seen = self.0.load(Ordering::SeqCst);
        // Whoever takes the lock now and signals makes the wait below end at once.
        if let Some(held) = releases {
            unlock(held);
        }
        wait(&self.0, seen);
    }

    pub fn signal(&self, all: bool) {
        self.0.fetch_add(1, Ordering::SeqCst);
        wake(&self.0, if all { i32::MAX as u32 } else { 1 });
    }
}

/// Posts to any semaphore of an array, for those who wait for whichever comes.
#[repr(C)]
pub struct Posts {
    count: AtomicU32,
    waiters: AtomicU32,
}

impl Semaphore {
    /// Returns the stamp of the last post.
    pub fn wait(&self) -> u64 {
        while !self.take() {
            self.waiters.fetch_add(1, Ordering::SeqCst);
            wait(&self.count, 0);
            self.waiters.fetch_sub(1, Ordering::SeqCst);
        }
        self.stamp_ns.load(Ordering::SeqCst)
    }

    fn take(&self) -> bool {
        let less = |count: u32| count.checked_sub(1);
        self.count
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, less)
            .is_ok()
    }

    pub fn post(&self, stamp_ns: u64, posts: &Posts) {
        self.stamp_ns.store(stamp_ns, Ordering::SeqCst);
        self.count.fetch_add(1, Ordering::SeqCst);
        if self.waiters.load(Ordering::SeqCst) > 0 {
            wake(&self.count, 1);
        }
        if posts.waiters.load(Ordering::SeqCst) > 0 {
            posts.count.fetch_add(1, Ordering::SeqCst);
            wake(&posts.count, 1);
        }
    }
}

/// Takes the first semaphore that is posted: its index and stamp.
pub fn wait_any(semaphores: &[&Semaphore], posts: &Posts) -> (usize, u64) {
    let take = || {
        let index = semaphores.iter().position(|semaphore| semaphore.take())?;
        Some((index, semaphores[index].stamp_ns.load(Ordering::SeqCst)))
    };
    loop {
        if let Some(taken) = take() {
            return taken;
        }
        // Announced before the second look, so that a post is either seen there or wakes.
        posts.waiters.fetch_add(1, Ordering::SeqCst);
        let count = posts.count.load(Ordering::SeqCst);
        let taken = take();
        if taken.is_none() {
            wait(&posts.count, count);
        }
        posts.waiters.fetch_sub(1, Ordering::SeqCst);
        if let Some(taken) = taken {
            return taken;
        }
    }
}
