// SPDX-License-Identifier: GPL-2.0-or-later
//! The real-time class, above sched_ext: `SCHED_FIFO` and `SCHED_RR`.
//!
//! One list a priority and CPU, highest first (rule 6.1.1). A preempted task stays at the head of its list; one whose
//! 100 ms of RR are used, or that yields, goes to the tail (rule 6.1.2). A waking task looks for a CPU of lower priority;
//! after a switch CPUs push what they cannot run, and pull what others cannot when their own priority drops (rule
//! 6.1.3). So the highest run, as far as their affinity lets them. [`super::rt_budget`] is what keeps ordinary tasks alive beside
//! them.

use crate::ids::{CpuId, IDLE, TaskId};
use crate::observe::Happened;
use crate::sim::Sim;
use crate::task::{Class, State};
use workload::plan::Policy;

pub const RR_SLICE_NS: u64 = 100_000_000;

impl Sim<'_> {
    /// 0: no real-time task runs or waits there; else its highest priority.
    pub(super) fn rt_level(&self, cpu: CpuId) -> u8 {
        let this = &self.cpus[cpu];
        let queued = this.rt.best().unwrap_or(0);
        let running = match this.curr {
            IDLE => 0,
            curr => self.tasks[curr].rt_prio,
        };
        queued.max(running)
    }

    /// The CPU of lowest real-time priority, below the task's, nearest to where it was.
    fn lowest_cpu(&self, id: TaskId) -> Option<CpuId> {
        let task = &self.tasks[id];
        if task.rt_prio > self.machine.rt_kernel.highest_sought {
            return None;
        }
        let topology = &self.machine.topology;
        self.cpus
            .ids()
            .filter(|cpu| self.cpus[*cpu].active() && self.boundary.view.may_run_on(id, *cpu))
            .map(|cpu| {
                let near = topology.distance(task.cpu, cpu);
                let own = cpu != self.clock.cpu;
                (self.rt_level(cpu), near, own, cpu)
            })
            .min()
            .filter(|(level, ..)| *level < task.rt_prio)
            .map(|(.., cpu)| cpu)
    }

    pub(crate) fn select_cpu_rt(&mut self, id: TaskId) -> CpuId {
        let prev_cpu = self.fallback_cpu(id);
        let curr = self.cpus[prev_cpu].curr;
        let must_move = curr != IDLE && {
            let curr_task = &self.tasks[curr];
            curr_task.class == Class::Rt
                && (self.boundary.view.pinned(curr) || curr_task.rt_prio >= self.tasks[id].rt_prio)
        };
        if must_move && !self.boundary.view.pinned(id) {
            return self.lowest_cpu(id).unwrap_or(prev_cpu);
        }
        prev_cpu
    }

    pub(crate) fn enqueue_rt(&mut self, cpu: CpuId, id: TaskId, head: bool) {
        let task = &mut self.tasks[id];
        task.state = State::Queued;
        task.cpu = cpu;
        let prio = task.rt_prio;
        let policy = task.policy;
        if task.rr_left_ns == 0 {
            task.rr_left_ns = RR_SLICE_NS;
        }
        debug_assert!(matches!(policy, Policy::Fifo(_) | Policy::Rr(_)));
        self.cpus[cpu].rt.push(id, prio, head);
        self.tell(self.clock.at_ns, Happened::QueuedRt { cpu, task: id });
        self.raise_class(cpu, Class::Rt);
        self.update_frequency(cpu, None);
        let curr = self.cpus[cpu].curr;
        if curr == IDLE || self.tasks[curr].rt_prio < prio {
            self.resched(cpu);
        } else if self.tasks[curr].rt_prio == prio {
            self.make_room(cpu, curr, id);
        }
    }

    /// The kernel's `check_preempt_equal_prio`: an equal that can run only here goes first, if the running task can go
    /// elsewhere. It is pushed there when it has been switched away from.
    fn make_room(&mut self, cpu: CpuId, curr: TaskId, id: TaskId) {
        let comes_elsewhere = !self.boundary.view.pinned(id) && self.lowest_cpu(id).is_some();
        let goes_elsewhere = !self.boundary.view.pinned(curr) && self.lowest_cpu(curr).is_some();
        let this = &mut self.cpus[cpu];
        if comes_elsewhere || !goes_elsewhere || this.need_resched {
            return;
        }
        let prio = self.tasks[id].rt_prio;
        this.rt.remove(id, prio);
        this.rt.push(id, prio, true);
        this.rt.makes_room = true;
        self.resched(cpu);
    }

    pub(crate) fn dequeue_rt(&mut self, cpu: CpuId, id: TaskId) {
        if self.cpus[cpu].curr == id {
            self.update_curr(cpu);
        } else {
            let task = &self.tasks[id];
            self.cpus[task.cpu].rt.remove(id, task.rt_prio);
        }
        self.tell(self.clock.at_ns, Happened::Unqueued { task: id });
        self.update_frequency(cpu, Some(id));
    }

    /// The next real-time task, if one is to run before all ext tasks. It is taken off its list.
    pub(crate) fn pick_rt(&mut self, cpu: CpuId, prev: TaskId) -> Option<TaskId> {
        let prev_rt = prev != IDLE && self.tasks[prev].class == Class::Rt;
        // Or it was until it changed its policy.
        let rt = &mut self.cpus[cpu].rt;
        let drops = std::mem::take(&mut rt.served);
        let makes_room = std::mem::take(&mut rt.makes_room);
        if !prev_rt && !drops && rt.len == 0 {
            return None;
        }
        self.pick_among_rt(cpu, prev, prev_rt, drops, makes_room)
    }

    #[inline(never)]
    fn pick_among_rt(
        &mut self,
        cpu: CpuId,
        prev: TaskId,
        prev_rt: bool,
        drops: bool,
        makes_room: bool,
    ) -> Option<TaskId> {
        let prev_stays = prev_rt && self.tasks[prev].state == State::Running;
        if prev_rt {
            self.update_curr(cpu);
        }
        if prev_rt || drops {
            self.pull_rt(
                cpu,
                if prev_stays {
                    self.tasks[prev].rt_prio
                } else {
                    0
                },
            );
        }
        let rt = &self.cpus[cpu].rt;
        if rt.budget.throttled() {
            return None;
        }
        if rt.budget.serves_ext() {
            if let Some(id) = self.pick_ext(cpu, prev) {
                return Some(id);
            }
            self.cpus[cpu].rt.budget.nobody_to_serve();
        }
        let rt = &mut self.cpus[cpu].rt;
        let best = rt.best();
        if prev_stays {
            let task = &self.tasks[prev];
            let stays = match best {
                None => true,
                Some(best) if task.rt_tail || makes_room => best < task.rt_prio,
                Some(best) => best <= task.rt_prio,
            };
            if stays {
                self.tasks[prev].rt_tail = false;
                return Some(prev);
            }
        }
        let best = best?;
        let id = rt.lists[usize::from(best)].front().copied()?;
        rt.remove(id, best);
        self.tell(self.clock.at_ns, Happened::Unqueued { task: id });
        Some(id)
    }

    pub(crate) fn put_prev_rt(&mut self, cpu: CpuId, prev: TaskId) {
        self.update_curr(cpu);
        let clock = self.clock.rq_ns;
        let task = &mut self.tasks[prev];
        let head = !std::mem::take(&mut task.rt_tail);
        task.state = State::Queued;
        let prio = task.rt_prio;
        self.tell(clock, Happened::PutBack { task: prev });
        self.cpus[cpu].rt.push(prev, prio, head);
        self.tell(clock, Happened::RequeuedRt { task: prev });
        if !self.withheld(cpu) {
            self.push_rt(cpu, prev);
        }
    }

    /// The guard keeps the CPU from its real-time tasks. They wait there for their time: the kernel pushes when it has
    /// switched to a real-time task, and neither pushes nor pulls one that is above what its CPU runs
    /// (`push_rt_task()`, `pull_rt_task()`).
    fn withheld(&self, cpu: CpuId) -> bool {
        let budget = &self.cpus[cpu].rt.budget;
        budget.throttled() || budget.serves_ext()
    }

    pub(crate) fn set_next_rt(&mut self, cpu: CpuId, _next: TaskId) {
        self.cpus[cpu].rt.served = true;
        self.start_server(cpu);
        self.push_all_rt(cpu);
    }

    /// The highest first, for as long as another CPU takes them.
    fn push_all_rt(&mut self, cpu: CpuId) {
        while self.cpus[cpu].rt.len > 0 {
            let Some(id) = self.cpus[cpu].rt.find(|id| !self.boundary.view.pinned(id)) else {
                return;
            };
            if !self.push_rt(cpu, id) {
                return;
            }
        }
    }

    /// Give a queued task to a CPU where it would run, if there is one.
    fn push_rt(&mut self, cpu: CpuId, id: TaskId) -> bool {
        if self.boundary.view.pinned(id) {
            return false;
        }
        let target = self.lowest_cpu(id).filter(|target| *target != cpu);
        if let Some(target) = target {
            self.move_rt(id, cpu, target);
        }
        target.is_some()
    }

    /// Fetch the most urgent task that waits elsewhere and would run here. A CPU that goes offline fetches nothing: the
    /// kernel's `need_pull_rt_task()` asks whether its run queue is online.
    fn pull_rt(&mut self, cpu: CpuId, floor: u8) {
        if !self.cpus[cpu].active() {
            return;
        }
        let floor = floor.max(self.cpus[cpu].rt.best().unwrap_or(0));
        let best = self
            .cpus
            .ids()
            .filter(|other| *other != cpu && !self.withheld(*other))
            .filter_map(|other| {
                let rt = &self.cpus[other].rt;
                if rt.len == 0 {
                    return None;
                }
                let id = rt.find(|id| self.boundary.view.may_run_on(id, cpu))?;
                Some((self.tasks[id].rt_prio, std::cmp::Reverse(other), id))
            })
            .max();
        if let Some((prio, std::cmp::Reverse(other), id)) = best
            && prio > floor
        {
            self.move_rt(id, other, cpu);
        }
    }

    fn move_rt(&mut self, id: TaskId, from: CpuId, to: CpuId) {
        let prio = self.tasks[id].rt_prio;
        self.needs_rq(from);
        self.lock_rq(to);
        self.cpus[from].rt.remove(id, prio);
        self.tell(self.clock.at_ns, Happened::Unqueued { task: id });
        self.tasks[id].cpu = to;
        self.cpus[to].rt.push(id, prio, false);
        self.tell(self.clock.at_ns, Happened::RequeuedRt { task: id });
        self.raise_class(to, Class::Rt);
        self.update_frequency(from, None);
        self.update_frequency(to, None);
        let curr = self.cpus[to].curr;
        if to != self.clock.cpu && (curr == IDLE || self.tasks[curr].rt_prio < prio) {
            self.resched(to);
        }
    }

    pub(crate) fn tick_rt(&mut self, cpu: CpuId, id: TaskId) {
        let tick = self.machine.tick_ns;
        let task = &mut self.tasks[id];
        if let Policy::Rr(_) = task.policy {
            task.rr_left_ns = task.rr_left_ns.saturating_sub(tick);
            if task.rr_left_ns == 0 {
                task.rr_left_ns = RR_SLICE_NS;
                if self.cpus[cpu].rt.has(task.rt_prio) {
                    task.rt_tail = true;
                    self.resched(cpu);
                }
            }
        }
        if self.cpus[cpu].rt.budget.throttled() {
            self.resched(cpu);
        }
    }

    pub(crate) fn yield_rt(&mut self, cpu: CpuId, id: TaskId) {
        self.tasks[id].rt_tail = true;
        self.cpus[cpu].need_resched = true;
    }
}
