// SPDX-License-Identifier: GPL-2.0-or-later
//! CPUs that go and come during a run, as a script says, whatever the workload.
//!
//! A policy without `cpu_online`/`cpu_offline` is told to restart: its loader loads it anew, with fresh state.

use crate::boundary::Callback;
use crate::boundary::shown::ExitKind;
use crate::clock::events::Event;
use crate::consts::{ECODE_ACT_RESTART, ECODE_RSN_HOTPLUG};
use crate::cpu::Presence;
use crate::end::Ejection;
use crate::hotplug::{Change, Hotplug};
use crate::ids::{CpuId, IDLE, TaskId};
use crate::mask;
use crate::observe::{Cause, Happened};
use crate::sim::Sim;
use crate::task::{Class, Place, State};

/// The kernel is woken when a grace period has passed, and by the last task that it waits for; here it looks after so
/// long, again and again. Grace periods that take longer are said in the script.
const LOOK_AGAIN_NS: u64 = 1_000_000;

impl Sim<'_> {
    pub(crate) fn script_hotplug(&mut self) {
        for (index, event) in self.limits.hotplug.iter().enumerate() {
            let at_ns = self.clock.start_ns + event.at_ns;
            self.clock.post(at_ns, Event::Hotplug(index as u32));
        }
    }

    /// A CPU is not there when the policy is loaded.
    pub(crate) fn begin_offline(&mut self, cpu: CpuId) {
        mask::clear(&mut self.boundary.view.masks.online, cpu);
        self.cpus[cpu].presence = Presence::Offline;
    }

    pub(crate) fn hotplug(&mut self, index: u32) {
        let Hotplug { cpu, change, .. } = self.limits.hotplug[index as usize];
        let cpu = CpuId(cpu);
        let presence = self.cpus[cpu].presence;
        let leaving = presence == Presence::Leaving;
        let waits = match change {
            Change::Online => leaving || presence == Presence::Going,
            Change::Offline => leaving && self.keeps_tasks(cpu),
            Change::Inactive => false,
        };
        if waits {
            return self.look_again(index);
        }
        let same = match change {
            Change::Online => self.cpus[cpu].online(),
            Change::Offline => !self.cpus[cpu].online(),
            Change::Inactive => !self.cpus[cpu].active(),
        };
        if same {
            return;
        }
        let stays = |other: &CpuId| *other != cpu && self.cpus[*other].active();
        if change != Change::Online && !self.cpus.ids().any(|other| stays(&other)) {
            return self.fail("the last CPU cannot go offline".to_string());
        }
        self.interrupt(self.hotplug_thread(cpu));
        if change == Change::Offline && presence == Presence::Active {
            self.as_a_whole(|sim| sim.let_go(cpu, Presence::Going));
            self.look_again(index);
            return self.end_op();
        }
        if !leaving {
            self.tell(self.clock.at_ns, Happened::Hotplug { cpu, change });
        }
        let told = match change {
            Change::Online => self.call(Callback::CpuOnline, [u64::from(cpu.0)]),
            Change::Offline if !leaving => self.call(Callback::CpuOffline, [u64::from(cpu.0)]),
            // The policy does not hear of it, or has heard.
            Change::Offline | Change::Inactive => Some(0),
        };
        self.as_a_whole(|sim| match change {
            Change::Online => sim.bring_up(cpu),
            Change::Offline if sim.keeps_tasks(cpu) => {
                sim.cpus[cpu].presence = Presence::Leaving;
                sim.look_again(index);
            }
            Change::Offline => sim.take_down(cpu),
            Change::Inactive => sim.let_go(cpu, Presence::Inactive),
        });
        if told.is_none() {
            let restart = Ejection {
                kind: ExitKind::UNREG_KERN,
                exit_code: ECODE_ACT_RESTART | ECODE_RSN_HOTPLUG,
                message: format!("cpu {cpu} going {change}, exiting scheduler"),
            };
            if self.limits.ends_at_restart {
                self.throw_out(restart);
            } else {
                self.as_a_whole(|sim| sim.restart_policy(&restart));
            }
        }
        self.end_op();
    }

    /// Another CPU that stays, where the change is carried out.
    pub(super) fn hotplug_thread(&self, cpu: CpuId) -> CpuId {
        mask::iter(&self.boundary.view.masks.online)
            .find(|other| *other != cpu)
            .unwrap_or_default()
    }

    /// What the kernel's `balance_hotplug_wait()` waits for: tasks that must stay, and what waits with the policy.
    fn keeps_tasks(&self, cpu: CpuId) -> bool {
        let here = |id: TaskId| {
            let task = &self.tasks[id];
            let with_policy = matches!(task.place, Place::Dsq(_) | Place::Policy);
            let waits = task.state == State::Queued && with_policy;
            task.cpu == cpu && (waits || self.boundary.view.migration_disabled(id))
        };
        self.tasks.ids().any(here)
    }

    fn look_again(&mut self, index: u32) {
        let at_ns = self.clock.now_ns + LOOK_AGAIN_NS;
        self.clock.post(at_ns, Event::Hotplug(index));
    }

    fn bring_up(&mut self, cpu: CpuId) {
        mask::set(&mut self.boundary.view.masks.online, cpu);
        self.cpus[cpu].presence = Presence::Active;
        self.tell(self.clock.at_ns, Happened::Online { cpu });
        let this = &mut self.cpus[cpu];
        this.unseen = false;
        this.kernel_until_ns = this.kernel_until_ns.max(self.clock.at_ns);
        self.update_idle(cpu, true, true);
        self.resched(cpu);
    }

    /// What runs here is pushed off, and what comes after it as well.
    fn let_go(&mut self, cpu: CpuId, presence: Presence) {
        self.cpus[cpu].presence = presence;
        if self.movable(cpu).is_some() {
            let moving = self.push_off(cpu, Cause::Hotplug);
            self.send_on(moving.into_iter().collect());
        }
        self.tell(self.clock.at_ns, Happened::Offline { cpu });
        // The hotplug thread of this CPU blocks, so that the next task is looked for.
        self.resched(cpu);
    }

    /// Its tasks leave for other CPUs.
    fn take_down(&mut self, cpu: CpuId) {
        mask::clear(&mut self.boundary.view.masks.online, cpu);
        self.cpus[cpu].presence = Presence::Offline;
        self.rt_budget_leaves(cpu);
        let mut moving: Vec<TaskId> = self.push_off(cpu, Cause::Hotplug).into_iter().collect();
        for id in self.tasks.ids() {
            let task = &self.tasks[id];
            if task.state != State::Queued || task.cpu != cpu || moving.contains(&id) {
                continue;
            }
            match task.class {
                Class::Rt => self.dequeue_rt(cpu, id),
                Class::Ext => self.dequeue_ext(cpu, id, 0),
            }
            moving.push(id);
        }
        let this = &mut self.cpus[cpu];
        this.resched_at_ns = crate::cpu::NEVER;
        this.need_resched = false;
        self.update_idle(cpu, false, true);
        self.post(cpu);
        self.send_on(moving);
    }

    pub(crate) fn send_on(&mut self, moving: Vec<TaskId>) {
        for id in moving {
            let target = self.fallback_cpu(id);
            self.tasks[id].cpu = target;
            self.needs_rq(target);
            match self.tasks[id].class {
                Class::Rt => self.enqueue_rt(target, id, false),
                Class::Ext => {
                    self.enqueue_ext(target, id, 0);
                    self.preempt_idle(target);
                }
            }
        }
    }

    /// The running task, if there is one, is switched out and leaves its run queue.
    pub(crate) fn push_off(&mut self, cpu: CpuId, cause: Cause) -> Option<TaskId> {
        let id = self.cpus[cpu].curr;
        if id == IDLE {
            return None;
        }
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
        self.tell_switch(cpu, id, IDLE, cause);
        let this = &mut self.cpus[cpu];
        this.curr = IDLE;
        this.next_class = None;
        this.idle_since_ns = clock;
        // The task may be one that it is only about to run.
        this.kernel_until_ns = this.kernel_until_ns.max(clock);
        this.next_tick_ns = crate::cpu::NEVER;
        self.rescale_siblings(cpu);
        self.release_waiters(cpu);
        Some(id)
    }

    /// The kernel loads no policy while a CPU goes: this one finds it gone.
    fn hide(&mut self, cpu: CpuId) {
        self.update_idle(cpu, false, false);
        mask::clear(&mut self.boundary.view.masks.online, cpu);
        self.cpus[cpu].unseen = true;
    }

    /// The loader's answer to `SCX_ECODE_ACT_RESTART`: the policy goes and comes anew, its tasks wait meanwhile.
    fn restart_policy(&mut self, restart: &Ejection) {
        let queued = self.take_from_policy();
        let living = self.living();
        for id in &living {
            self.leave_policy(*id);
            self.boundary.view.forget_storage(*id);
            self.boundary.view.task_mut(*id).scx.slice = crate::consts::SLICE_DFL;
        }
        self.exit_cgroups();
        self.call_exit(restart);
        self.dsqs.clear();
        let cpus = self.cpus.len();
        let program = self.loaded.program;
        self.boundary
            .reload(&program.image, program.filled(), &self.loaded.data, cpus);
        for cpu in self.cpus.ids() {
            self.cpus[cpu].released = false;
            if self.cpus[cpu].presence == Presence::Leaving {
                self.hide(cpu);
            }
        }
        self.run_programs();
        if let Some(code) = self.call(Callback::Init, [])
            && code as i32 != 0
        {
            return self.eject(format!("ops.init() failed ({})", code as i32));
        }
        self.init_cgroups();
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
            }
        }
        // As the end of bypass mode has it: nobody has to be kicked for what waits now.
        for cpu in self.cpus.ids() {
            self.resched(cpu);
        }
    }
}
