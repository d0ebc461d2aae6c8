// SPDX-License-Identifier: GPL-2.0-or-later
//! CPUs that go and come during a run, as a script says, whatever the workload.
//!
//! A policy without `cpu_online`/`cpu_offline` is told to restart: its loader loads it anew, with fresh state.

use anyhow::{Context as _, Result, ensure};

use crate::events::Event;
use crate::ids::{CpuId, IDLE, TaskId};
use crate::mask;
use crate::seen::call;
use crate::sim::Sim;
use crate::task::{Class, Place, State};
use crate::trace::What;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hotplug {
    pub at_ns: u64,
    pub cpu: u32,
    pub online: bool,
}

impl std::fmt::Display for Hotplug {
    /// As [`parse`] reads it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let change = if self.online { '+' } else { '-' };
        write!(f, "{}ms:{change}{}", self.at_ns / 1_000_000, self.cpu)
    }
}

/// `100ms:-3,250ms:+3`: CPU 3 goes after 100 ms and is back after 250 ms.
pub fn parse(script: &str, cpus: usize) -> Result<Vec<Hotplug>> {
    let mut events = Vec::new();
    for item in script.split(',').filter(|item| !item.is_empty()) {
        let parsed = item.split_once("ms:").and_then(|(ms, change)| {
            let online = change.starts_with('+');
            let cpu = change.strip_prefix(['+', '-'])?.parse().ok()?;
            Some(Hotplug {
                at_ns: ms.parse::<u64>().ok()? * 1_000_000,
                cpu,
                online,
            })
        });
        let event = parsed
            .with_context(|| format!("--hotplug: {item:?}: expected TIMEms:-CPU or TIMEms:+CPU"))?;
        ensure!(
            (event.cpu as usize) < cpus,
            "--hotplug: {item:?}: expected a CPU below {cpus}"
        );
        events.push(event);
    }
    Ok(events)
}

impl Sim<'_> {
    pub(crate) fn script_hotplug(&mut self) {
        for (index, event) in self.options.hotplug.iter().enumerate() {
            self.events.post(event.at_ns, Event::Hotplug(index as u32));
        }
    }

    pub(crate) fn hotplug(&mut self, index: u32) {
        let Hotplug { cpu, online, .. } = self.options.hotplug[index as usize];
        let cpu = CpuId(cpu);
        if self.cpus[cpu].online == online {
            return;
        }
        if !online && mask::count(&self.masks.online) == 1 {
            return self.fail("the last CPU cannot go offline".to_string());
        }
        // The hotplug thread works on a CPU that stays.
        let from = mask::iter(&self.masks.online)
            .find(|other| *other != cpu)
            .unwrap_or_default();
        self.interrupt(from);
        self.decide(
            if online { What::Online } else { What::Offline },
            cpu,
            IDLE,
            self.op_at_ns,
        );
        let told = if online {
            self.ops.cpu_online
        } else {
            self.ops.cpu_offline
        };
        if let Some(callback) = told {
            self.enter_policy();
            self.trace_call(if online { "cpu_online" } else { "cpu_offline" });
            // SAFETY: a callback of the loaded policy, as in `call!`.
            unsafe { callback(cpu.0 as i32) };
            self.leave_policy();
        }
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
        mask::set(&mut self.masks.online, cpu);
        let this = &mut self.cpus[cpu];
        this.online = true;
        self.checkers.cpu_online(cpu, self.op_at_ns);
        let this = &mut self.cpus[cpu];
        this.kernel_until_ns = this.kernel_until_ns.max(self.op_at_ns);
        self.update_idle(cpu, true, true);
        self.resched(cpu);
    }

    /// Its tasks leave for other CPUs.
    fn take_down(&mut self, cpu: CpuId) {
        mask::clear(&mut self.masks.online, cpu);
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
        self.checkers.cpu_offline(cpu);
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
        let clock = self.op_at_ns.max(self.cpus[cpu].exec_start_ns);
        self.clock_ns = clock;
        self.update_curr(cpu);
        let class = self.tasks[id].class;
        if class == Class::Ext {
            call!(self, stopping, self.seen_ptr(id), true);
            call!(self, quiescent, self.seen_ptr(id), 0);
        }
        let task = &mut self.tasks[id];
        task.state = State::Queued;
        task.queued_at_ns = clock;
        task.from_wakeup = false;
        self.metrics.preempted();
        self.end_stint(cpu, id);
        self.metrics.stopped(id, &mut self.tasks, clock);
        self.checkers.switched(cpu, id, IDLE, clock, true);
        self.trace_switch(cpu, id, IDLE, clock);
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
            let mut args = policy::abi::ExitTaskArgs { cancelled: false };
            let seen = self.seen_ptr(*id);
            call!(self, exit_task, seen, &raw mut args);
            let seen = self.seen(*id);
            seen.storage_map = std::ptr::null();
            seen.storage = std::ptr::null_mut();
            seen.scx.slice = crate::consts::SLICE_DFL;
        }
        self.call_exit(
            65,
            1 << 48 | 1 << 32,
            c"unregistered from the main kernel",
            reason,
        );
        self.maps.clear();
        let nodes = self.topology.nodes();
        self.dsqs.truncate(nodes);
        self.dsq_ids.clear();
        self.dsq_small.clear();
        self.native.reset();
        let host = self.host;
        // SAFETY: as in `Sim::new`.
        let loaded = (self.prepare)(self.native)
            .and_then(|()| unsafe { self.native.set_host(host) })
            .and_then(|()| self.native.ops());
        match loaded {
            Ok(ops) => {
                let timeout_ms = self.ops.timeout_ms;
                self.ops = ops;
                self.ops.timeout_ms = timeout_ms;
            }
            Err(error) => return self.fail(format!("{error:#}")),
        }
        if let Some(code) = call!(self, init)
            && code != 0
        {
            return self.eject(format!("ops.init() failed ({code})"));
        }
        for id in &living {
            self.init_task(*id, false);
        }
        for id in &living {
            self.enable_task(*id);
        }
        for id in &living {
            let task = &self.tasks[*id];
            if task.class == Class::Ext && task.state == State::Running {
                call!(self, runnable, self.seen_ptr(*id), 0);
                call!(self, running, self.seen_ptr(*id));
            }
        }
        for id in queued {
            if self.exit.is_none() {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts() {
        assert_eq!(
            parse("100ms:-3,250ms:+3", 4).unwrap(),
            [
                Hotplug {
                    at_ns: 100_000_000,
                    cpu: 3,
                    online: false
                },
                Hotplug {
                    at_ns: 250_000_000,
                    cpu: 3,
                    online: true
                },
            ]
        );
        for (script, error) in [
            ("3", "--hotplug: \"3\": expected TIMEms:-CPU or TIMEms:+CPU"),
            (
                "1ms:3",
                "--hotplug: \"1ms:3\": expected TIMEms:-CPU or TIMEms:+CPU",
            ),
            ("1ms:-4", "--hotplug: \"1ms:-4\": expected a CPU below 4"),
        ] {
            assert_eq!(parse(script, 4).unwrap_err().to_string(), error);
        }
    }
}
