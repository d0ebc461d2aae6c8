// SPDX-License-Identifier: GPL-2.0-or-later
//! What work costs, in integer nanoseconds. Every cost may be 0, which switches that effect off.

/// How far apart two CPUs are. The order is the order of cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Distance {
    Same = 0,
    /// SMT siblings.
    Core = 1,
    Llc = 2,
    /// Same socket, another last-level cache.
    Node = 3,
    Remote = 4,
}

/// A deeper idle state: entered where a core idles for so long that it pays, and slow to leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdleState {
    pub exit_ns: u64,
    pub residency_ns: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Costs {
    /// Context switch between two tasks, caches warm.
    pub switch_ns: u64,
    /// The kernel's part of a wake-up, beside the policy's own.
    pub wakeup_ns: u64,
    /// What sched_ext's own code adds to a switch and to a wake-up, where the scheduler is a BPF policy.
    pub ext_switch_ns: u64,
    pub ext_wakeup_ns: u64,
    /// The interrupt in which a CPU carries out the kicks that a policy asked of it.
    pub kick_ns: u64,
    /// What sending an inter-processor interrupt costs its sender.
    pub ipi_send_ns: u64,
    /// From sending an interrupt until the other CPU handles it, by [`Distance`].
    pub ipi_ns: [u64; 5],
    /// Leaving the shallowest idle state.
    pub idle_exit_ns: u64,
    /// The deeper ones, deepest last.
    pub idle_states: Vec<IdleState>,
    /// One timer tick on a busy CPU.
    pub tick_ns: u64,
    /// What a sleep adds to its system call: setting a timer, and the interrupt when it expires.
    pub timer_ns: u64,
    /// One step of a task's program, beside what it asks of the kernel.
    pub program_step_ns: u64,
    /// Fixed part of a system call that sends, receives, locks or sleeps.
    pub syscall_ns: u64,
    /// What a message over an `AF_UNIX` socket costs beyond that: the mean of sending and receiving.
    pub socket_ns: u64,
    /// The same for TCP over loopback.
    pub tcp_ns: u64,
    /// The memory of a socket message that queues up, the mean of taking it and giving it back; a CPU has so many pieces at
    /// hand, which cost nothing.
    pub cold_message_ns: u64,
    pub warm_messages: u64,
    /// Copying one kibibyte through a pipe or socket.
    pub copy_kib_ns: u64,
    /// Late wake-up of sleeps and timers of ordinary tasks (the kernel's timer slack).
    pub timer_slack_ns: u64,
    /// A request's way to the disk and back; meanwhile the disk serves others.
    pub disk_request_ns: u64,
    /// Moving one kibibyte to or from the disk, which serves one request after the other.
    pub disk_kib_ns: u64,
    /// What the disk's own memory takes before it is written, and how long a kibibyte is on the way there. 0: a request is
    /// over when it is written.
    pub disk_cache_kib: u64,
    pub disk_link_kib_ns: u64,
    /// The kernel's own work for one kibibyte that a task waits for the disk to have.
    pub disk_cpu_kib_ns: u64,
    /// A fork, for the parent, and what the new process does before its program.
    pub fork_ns: u64,
    pub child_ns: u64,
    pub exec_ns: u64,
    pub exit_ns: u64,
    /// Closing a queue's descriptor at a process's exit. Every process has all of them, two a queue.
    pub close_ns: u64,
    /// Starting a thread instead of a process, and ending it.
    pub thread_ns: u64,
    /// What a task of the workload takes from its birth until it waits for the start signal, where a runner forks it. 0:
    /// there is no runner, and all tasks begin at once.
    pub runner_task_ns: u64,
    /// What it takes between the start signal and its program, to note its figures, and what the first of a process takes
    /// beyond that to touch memory that is its parent's until then.
    pub runner_begin_ns: u64,
    pub runner_touch_ns: u64,
    /// What a task takes to note what it has used, before it exits, and what the runner takes to reap it.
    pub runner_account_ns: u64,
    pub runner_reap_ns: u64,
    /// What the kernel's own thread takes when there is work for it, and how far apart its regular work is (0: there is
    /// none). 0: there is no such thread. See `world/kthread.rs` of the model.
    pub kthread_ns: u64,
    pub kthread_period_ns: u64,
    /// One native instruction of the policy's code, or of the kernel's on its behalf.
    pub policy_instruction_ps: u64,
    /// How long a queue's lock is held for one operation: base, and per doubling of the queue's length.
    pub lock_hold_ns: u64,
    pub lock_hold_log_ns: u64,
    /// Moving the lock's cache line from its last holder, by [`Distance`].
    pub lock_transfer_ns: [u64; 5],
    /// Slower hand-over for every CPU that waits for the lock.
    pub lock_waiter_ns: u64,
    /// Speed of a hardware thread while its sibling is busy, percent of its speed alone.
    pub smt_speed_pct: u64,
    /// Refilling one kibibyte of a task's working set into the core's own caches, by how far it has to come:
    /// `[same core, SMT sibling, LLC, node, remote]`. `Same` is what another task's run in between evicted.
    pub refill_kib_ns: [u64; 5],
    /// A core's private cache: what a task that ran in between can evict, at most.
    pub private_cache_kib: u64,
    /// A last-level cache's size.
    pub llc_kib: u64,
}

impl Default for Costs {
    /// Start values for an x86 machine of the last decade; `docs/machines.md` says where each comes from.
    fn default() -> Self {
        Self {
            switch_ns: 300,
            wakeup_ns: 200,
            ext_switch_ns: 180,
            ext_wakeup_ns: 60,
            kick_ns: 250,
            ipi_send_ns: 100,
            ipi_ns: [200, 500, 600, 800, 1_200],
            idle_exit_ns: 2_000,
            idle_states: Vec::new(),
            tick_ns: 1_500,
            timer_ns: 0,
            program_step_ns: 0,
            syscall_ns: 300,
            socket_ns: 550,
            tcp_ns: 3_000,
            cold_message_ns: 0,
            warm_messages: 320,
            copy_kib_ns: 10,
            timer_slack_ns: 50_000,
            disk_request_ns: 50_000,
            disk_kib_ns: 4_551,
            disk_cache_kib: 0,
            disk_link_kib_ns: 0,
            disk_cpu_kib_ns: 1_700,
            fork_ns: 150_000,
            child_ns: 0,
            exec_ns: 500_000,
            exit_ns: 100_000,
            close_ns: 0,
            thread_ns: 10_000,
            runner_task_ns: 0,
            runner_begin_ns: 0,
            runner_touch_ns: 0,
            runner_account_ns: 0,
            runner_reap_ns: 0,
            kthread_ns: 0,
            kthread_period_ns: 0,
            policy_instruction_ps: 300,
            lock_hold_ns: 100,
            lock_hold_log_ns: 20,
            lock_transfer_ns: [0, 20, 60, 90, 140],
            lock_waiter_ns: 0,
            smt_speed_pct: 62,
            refill_kib_ns: [60, 60, 100, 200, 400],
            private_cache_kib: 1_024,
            llc_kib: 16_384,
        }
    }
}

impl Costs {
    /// Those of one number, by the keys of a machine file; `smt_speed_pct` is none, as it has bounds of its own.
    pub fn scalars(&mut self) -> [(&'static str, &mut u64); 41] {
        [
            ("switch_ns", &mut self.switch_ns),
            ("wakeup_ns", &mut self.wakeup_ns),
            ("ext_switch_ns", &mut self.ext_switch_ns),
            ("ext_wakeup_ns", &mut self.ext_wakeup_ns),
            ("kick_ns", &mut self.kick_ns),
            ("ipi_send_ns", &mut self.ipi_send_ns),
            ("idle_exit_ns", &mut self.idle_exit_ns),
            ("tick_ns", &mut self.tick_ns),
            ("timer_ns", &mut self.timer_ns),
            ("program_step_ns", &mut self.program_step_ns),
            ("syscall_ns", &mut self.syscall_ns),
            ("socket_ns", &mut self.socket_ns),
            ("tcp_ns", &mut self.tcp_ns),
            ("cold_message_ns", &mut self.cold_message_ns),
            ("warm_messages", &mut self.warm_messages),
            ("copy_kib_ns", &mut self.copy_kib_ns),
            ("timer_slack_ns", &mut self.timer_slack_ns),
            ("disk_request_ns", &mut self.disk_request_ns),
            ("disk_kib_ns", &mut self.disk_kib_ns),
            ("disk_cache_kib", &mut self.disk_cache_kib),
            ("disk_link_kib_ns", &mut self.disk_link_kib_ns),
            ("disk_cpu_kib_ns", &mut self.disk_cpu_kib_ns),
            ("fork_ns", &mut self.fork_ns),
            ("child_ns", &mut self.child_ns),
            ("exec_ns", &mut self.exec_ns),
            ("exit_ns", &mut self.exit_ns),
            ("close_ns", &mut self.close_ns),
            ("thread_ns", &mut self.thread_ns),
            ("runner_task_ns", &mut self.runner_task_ns),
            ("runner_begin_ns", &mut self.runner_begin_ns),
            ("runner_touch_ns", &mut self.runner_touch_ns),
            ("runner_account_ns", &mut self.runner_account_ns),
            ("runner_reap_ns", &mut self.runner_reap_ns),
            ("kthread_ns", &mut self.kthread_ns),
            ("kthread_period_ns", &mut self.kthread_period_ns),
            ("policy_instruction_ps", &mut self.policy_instruction_ps),
            ("lock_hold_ns", &mut self.lock_hold_ns),
            ("lock_hold_log_ns", &mut self.lock_hold_log_ns),
            ("lock_waiter_ns", &mut self.lock_waiter_ns),
            ("private_cache_kib", &mut self.private_cache_kib),
            ("llc_kib", &mut self.llc_kib),
        ]
    }

    /// Those with a number for every distance.
    pub fn by_distance(&mut self) -> [(&'static str, &mut [u64; 5]); 3] {
        [
            ("ipi_ns", &mut self.ipi_ns),
            ("lock_transfer_ns", &mut self.lock_transfer_ns),
            ("refill_kib_ns", &mut self.refill_kib_ns),
        ]
    }

    /// Whether tasks are started by a task, as real ones are.
    pub fn has_runner(&self) -> bool {
        self.runner_task_ns > 0
    }

    /// Leaving the state of a core that has idled for so long: of all that pay, the deepest, as if its governor had known.
    pub fn idle_exit_after(&self, idle_ns: u64) -> u64 {
        self.idle_states
            .iter()
            .rev()
            .find(|state| state.residency_ns <= idle_ns)
            .map_or(self.idle_exit_ns, |state| state.exit_ns)
    }
}
