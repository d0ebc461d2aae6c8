// SPDX-License-Identifier: GPL-2.0-or-later
//! Somebody uses this machine: a scheduler under which ordinary tasks do not run any more is taken away at once, long
//! before the kernel's watchdog does it.
//!
//! One thread is an ordinary task that sleeps and wakes up all the time. Another is a real-time task, which no BPF
//! scheduler schedules; it looks when the first has run last, and has the kernel go back to its own scheduler
//! (`sysrq_handle_sched_ext_reset` in `kernel/sched/ext.c`, the key S).

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

const TRIGGER: &str = "/proc/sysrq-trigger";
/// Puts an end to whichever BPF scheduler is there.
const RESET: &[u8] = b"S";
/// So often the one wakes up and the other looks.
const EVERY: Duration = Duration::from_millis(100);

pub struct Guard {
    shared: Arc<Shared>,
    threads: [JoinHandle<()>; 2],
}

struct Shared {
    start: Instant,
    /// When the ordinary task ran last, in milliseconds since the start.
    ran_ms: AtomicU64,
    over: AtomicBool,
    /// For how long it had not run when the scheduler was taken away.
    frozen_ms: AtomicU64,
}

impl Shared {
    fn now_ms(&self) -> u64 {
        self.start.elapsed().as_millis() as u64
    }
}

impl Guard {
    /// From now on. An error where no thread may be real-time, or the kernel heeds no such key.
    pub fn begin(limit: Duration) -> Result<Self> {
        let trigger = OpenOptions::new().write(true).open(TRIGGER);
        let trigger = trigger.with_context(|| TRIGGER.to_owned())?;
        let shared = Arc::new(Shared {
            start: Instant::now(),
            ran_ms: AtomicU64::new(0),
            over: AtomicBool::new(false),
            frozen_ms: AtomicU64::new(0),
        });
        let (tell, told) = std::sync::mpsc::channel();
        let (ordinary, watcher) = (Arc::clone(&shared), Arc::clone(&shared));
        let watcher = std::thread::spawn(move || {
            let real_time = become_real_time();
            let is_watching = real_time.is_ok();
            // Who waits for it is there until it has heard.
            let _ = tell.send(real_time);
            if is_watching {
                watch(&watcher, limit, trigger);
            }
        });
        told.recv().context("the thread that watches is gone")??;
        let ordinary = std::thread::spawn(move || {
            while !ordinary.over.load(Ordering::Relaxed) {
                ordinary.ran_ms.store(ordinary.now_ms(), Ordering::Relaxed);
                std::thread::sleep(EVERY);
            }
        });
        Ok(Self {
            shared,
            threads: [ordinary, watcher],
        })
    }

    /// For how long no ordinary task had run, if it was so long that the scheduler was taken away.
    pub fn end(self) -> Option<Duration> {
        self.shared.over.store(true, Ordering::Relaxed);
        for thread in self.threads {
            thread.join().expect("it has no reason to panic");
        }
        let frozen_ms = self.shared.frozen_ms.load(Ordering::Relaxed);
        (frozen_ms > 0).then(|| Duration::from_millis(frozen_ms))
    }
}

fn watch(shared: &Shared, limit: Duration, mut trigger: File) {
    while !shared.over.load(Ordering::Relaxed) {
        std::thread::sleep(EVERY);
        let ran_ms = shared.ran_ms.load(Ordering::Relaxed);
        let frozen_ms = shared.now_ms().saturating_sub(ran_ms);
        if u128::from(frozen_ms) >= limit.as_millis() {
            shared.frozen_ms.store(frozen_ms, Ordering::Relaxed);
            // Where it cannot be, the kernel's own watchdog is left.
            let _ = trigger.write_all(RESET);
            return;
        }
    }
}

fn become_real_time() -> Result<()> {
    let parameter = libc::sched_param { sched_priority: 1 };
    // By system call, as musl's wrapper refuses. SAFETY: reads a local; 0 is the calling thread.
    let done = unsafe {
        libc::syscall(
            libc::SYS_sched_setscheduler,
            0,
            libc::SCHED_FIFO,
            &raw const parameter,
        )
    };
    ensure!(
        done == 0,
        "no thread may be real-time: {}",
        std::io::Error::last_os_error()
    );
    Ok(())
}
