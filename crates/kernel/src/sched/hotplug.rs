// SPDX-License-Identifier: GPL-2.0-or-later
//! CPUs that go and come during a run, as a script says, whatever the workload.
//!
//! A policy without `cpu_online`/`cpu_offline` is told to restart: its loader loads it anew, with fresh state.

use crate::boundary::shown::{ExitKind, ExitTaskArgs};
use crate::boundary::{Callback, Register};
use crate::clock::events::Event;
use crate::hotplug::Hotplug;
use crate::ids::{CpuId, IDLE, TaskId};
use crate::mask;
use crate::observe::{Cause, Happened};
use crate::sim::Sim;
use crate::task::{Class, Place, State};

impl Sim<'_> {
    pub(crate) fn script_hotplug(&mut self) {
        for (index, event) in self.limits.hotplug.iter().enumerate() {
            let at_ns = self.clock.start_ns + event.at_ns;
            self.clock.post(at_ns, Event::Hotplug(index as u32));
        }
    }

    pub(crate) fn hotplug(&mut self, index: u32) {
        let Hotplug { cpu, online, .. } = self.limits.hotplug[index as usize];
        let cpu = CpuId(cpu);
        if self.cpus[cpu].online == online {
            return;
        }
        if !online && mask::count(&self.boundary.view.masks.online) == 1 {
            return self.fail("the last CPU cannot go offline".to_string());
        }
        // The hotplug thread works on a CPU that stays.
        let from = mask::iter(&self.boundary.view.masks.online)
            .find(|other| *other != cpu)
            .unwrap_or_default();
        self.interrupt(from);
        self.tell(self.clock.at_ns, Happened::Hotplug { cpu, online });
        let told = if online {
            self.call(Callback::CpuOnline, [u64::from(cpu.0)])
        } else {
            self.call(Callback::CpuOffline, [u64::from(cpu.0)])
        };
        if online {
            self.bring_up(cpu);
        } else {
            self.take_down(cpu);
        }
        if told.is_none() {
            let change = if online { "online" } else { "offline" };
            self.restart_policy(&format!("cpu {cpu} going {change}, exiting scheduler"));
        }
        self.end_op();
    }

    fn bring_up(&mut self, cpu: CpuId) {
        mask::set(&mut self.boundary.view.masks.online, cpu);
        let this = &mut self.cpus[cpu];
        this.online = true;
        self.tell(self.clock.at_ns, Happened::Online { cpu });
        let this = &mut self.cpus[cpu];
        this.kernel_until_ns = this.kernel_until_ns.max(self.clock.at_ns);
        self.update_idle(cpu, true, true);
        self.resched(cpu);
    }

    /// Its tasks leave for other CPUs.
    fn take_down(&mut self, cpu: CpuId) {
        mask::clear(&mut self.boundary.view.masks.online, cpu);
        self.cpus[cpu].online = false;
        self.rt_budget_leaves(cpu);
        let mut moving = Vec::new();
        let curr = self.cpus[cpu].curr;
        if curr != IDLE {
            self.push_off(cpu, curr);
            moving.push(curr);
        }
        for id in self.tasks.ids() {
            let task = &self.tasks[id];
            if task.state != State::Queued || task.cpu != cpu || moving.contains(&id) {
                continue;
            }
            match task.class {
                Class::Rt => self.dequeue_rt(cpu, id),
                // In a shared queue it is in nobody's way, but its run queue goes.
                Class::Ext => self.dequeue_ext(cpu, id, 0),
            }
            moving.push(id);
        }
        let this = &mut self.cpus[cpu];
        this.resched_at_ns = crate::cpu::NEVER;
        this.need_resched = false;
        self.update_idle(cpu, false, true);
        self.tell(self.clock.at_ns, Happened::Offline { cpu });
        self.post(cpu);
        for id in moving {
            let target = self.fallback_cpu(id);
            self.tasks[id].cpu = target;
            match self.tasks[id].class {
                Class::Rt => self.enqueue_rt(target, id, false),
                Class::Ext => {
                    self.enqueue_ext(target, id, 0);
                    if self.cpus[target].curr == IDLE {
                        self.resched(target);
                    }
                }
            }
        }
    }

    /// The running task is switched out and leaves its run queue.
    fn push_off(&mut self, cpu: CpuId, id: TaskId) {
        self.progress(cpu);
        let clock = self.clock.at_ns.max(self.cpus[cpu].exec_start_ns);
        self.clock.rq_ns = clock;
        self.update_curr(cpu);
        let class = self.tasks[id].class;
        if class == Class::Ext {
            self.call(Callback::Stopping, [self.boundary.view.address(id), 1]);
            self.call(Callback::Quiescent, [self.boundary.view.address(id), 0]);
        }
        let task = &mut self.tasks[id];
        task.state = State::Queued;
        self.tell(clock, Happened::PutBack { task: id });
        self.leave_footprint(cpu, id);
        self.tell_switch(cpu, id, IDLE, Cause::Hotplug);
        let this = &mut self.cpus[cpu];
        this.curr = IDLE;
        this.idle_since_ns = clock;
        this.next_tick_ns = crate::cpu::NEVER;
        self.rescale_siblings(cpu);
        self.release_waiters(cpu);
    }

    /// The loader's answer to `SCX_ECODE_ACT_RESTART`: the policy goes and comes anew, its tasks wait meanwhile.
    fn restart_policy(&mut self, reason: &str) {
        let queued: Vec<TaskId> = self
            .tasks
            .ids()
            .filter(|id| {
                let task = &self.tasks[*id];
                task.enabled && task.state == State::Queued
            })
            .collect();
        for id in &queued {
            self.unlink(*id);
            self.tasks[*id].custody = false;
        }
        let living: Vec<TaskId> = self
            .tasks
            .ids()
            .filter(|id| self.tasks[*id].alive())
            .collect();
        for id in &living {
            self.disable_task(*id);
            let mut args = ExitTaskArgs { cancelled: false };
            let arguments = [self.boundary.view.address(*id), (&raw mut args).register()];
            self.call(Callback::ExitTask, arguments);
            self.boundary.view.forget_storage(*id);
            self.boundary.view.task_mut(*id).scx.slice = crate::consts::SLICE_DFL;
        }
        self.exit_cgroup();
        self.call_exit(
            ExitKind::UNREG_KERN,
            1 << 48 | 1 << 32,
            c"unregistered from the main kernel",
            reason,
        );
        self.dsqs.clear();
        let cpus = self.cpus.len();
        let program = self.loaded.program;
        self.boundary
            .reload(&program.image, program.filled(), &self.loaded.data, cpus);
        for cpu in self.cpus.ids() {
            self.cpus[cpu].released = false;
        }
        self.run_programs();
        if let Some(code) = self.call(Callback::Init, [])
            && code as i32 != 0
        {
            return self.eject(format!("ops.init() failed ({})", code as i32));
        }
        self.init_cgroup();
        for id in &living {
            self.init_task(*id, false);
        }
        for id in &living {
            self.enable_task(*id);
        }
        for id in &living {
            let task = &self.tasks[*id];
            if task.class == Class::Ext && task.state == State::Running {
                self.call(Callback::Runnable, [self.boundary.view.address(*id), 0]);
                self.call(Callback::Running, [self.boundary.view.address(*id)]);
            }
        }
        for id in queued {
            if !self.end.broken_off() {
                debug_assert_eq!(self.tasks[id].place, Place::Nowhere);
                let cpu = self.tasks[id].cpu;
                self.enqueue_ext(cpu, id, 0);
                if self.cpus[cpu].curr == IDLE {
                    self.resched(cpu);
                }
            }
        }
    }
}
