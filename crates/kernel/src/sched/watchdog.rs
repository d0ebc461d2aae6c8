// SPDX-License-Identifier: GPL-2.0-or-later
//! The watchdog: a task that could run and was not run for too long ends the policy, as in the kernel.

use crate::boundary::Callback;
use crate::boundary::shown::{ExitInfo, ExitKind};
use crate::clock::events::Event;
use crate::end::{Ejection, Exit};
use crate::ids::TaskId;
use crate::observe::Happened;
use crate::sim::Sim;
use crate::task::{Class, Place, State, Wait};
use workload::plan::End;

impl Sim<'_> {
    pub(crate) fn audit_again(&mut self) {
        self.tell(self.clock.now_ns, Happened::Audit);
        if let Some(audit_ns) = self.limits.audit_ns {
            self.clock.post(self.clock.now_ns + audit_ns, Event::Audit);
        }
    }

    /// Looks twice in every limit, like the kernel's.
    pub(crate) fn watchdog(&mut self) {
        let limit_ns = u64::from(self.boundary.ops.timeout_ms) * 1_000_000;
        self.clock
            .post(self.clock.now_ns + limit_ns / 2, Event::Watchdog);
        self.tell(self.clock.now_ns, Happened::Audit);
        let stuck = !matches!(self.plan.end, End::After { .. })
            && self.tasks.iter().all(|task| {
                !task.alive()
                    || task.state == State::Blocked
                        && !matches!(task.wait, Wait::Sleep | Wait::Disk)
            });
        if stuck {
            return self.fail("every task is blocked and nothing is to come".to_string());
        }
        let stalled = self.tasks.ids().find(|id| {
            let task = &self.tasks[*id];
            task.state == State::Queued
                && task.class == Class::Ext
                && self.clock.now_ns > task.runnable_at_ns + limit_ns
        });
        if let Some(id) = stalled {
            let stall = self.stall(id);
            self.end.break_off(
                "watchdog",
                Exit::Ejected(Ejection {
                    kind: ExitKind::ERROR_STALL,
                    exit_code: 0,
                    message: stall,
                }),
            );
        }
    }

    /// Who, how long, and where it is stuck.
    fn stall(&self, id: TaskId) -> String {
        let task = &self.tasks[id];
        let ms = (self.clock.now_ns - task.runnable_at_ns) / 1_000_000;
        let place = match task.place {
            Place::Nowhere => "in no queue".to_string(),
            Place::Policy => "held by the policy".to_string(),
            Place::Local(cpu) => format!("in the local queue of CPU {cpu}"),
            Place::Dsq(dsq) => {
                let dsq = &self.dsqs[dsq];
                format!("in DSQ {:#x} of {}", dsq.id, dsq.len())
            }
        };
        format!(
            "{} failed to run for {}.{:03}s, {place}",
            self.label(id),
            ms / 1_000,
            ms % 1_000
        )
    }

    /// Tell the policy that it is over.
    pub(crate) fn exit_policy(&mut self) {
        let ejection = match self.end.exit() {
            None => Ejection {
                kind: ExitKind::UNREG,
                exit_code: 0,
                message: String::new(),
            },
            Some(Exit::Ejected(ejection)) => ejection.clone(),
            Some(Exit::Failed(_)) => return,
        };
        self.take_from_policy();
        for id in self.living() {
            self.leave_policy(id);
        }
        self.exit_cgroups();
        self.call_exit(&ejection);
    }

    pub(crate) fn call_exit(&mut self, ejection: &Ejection) {
        let message = ejection.message.replace('\0', " ");
        let message = std::ffi::CString::new(message).unwrap_or_default();
        let mut info = ExitInfo {
            kind: ejection.kind,
            exit_code: ejection.exit_code,
            reason: ejection.kind.reason().as_ptr(),
            msg: message.as_ptr().cast_mut(),
            dump: c"".as_ptr().cast_mut(),
        };
        let argument = self.boundary.lend(&raw mut info);
        self.call(Callback::Exit, [argument]);
        self.boundary.take_back();
    }
}
