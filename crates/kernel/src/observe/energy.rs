// SPDX-License-Identifier: GPL-2.0-or-later
//! What the machine takes, by the numbers of its `[power]`: nothing here was calibrated against any machine.
//!
//! ```text
//!   energy = base_mw × time + sum over CPUs of (idle_mw × its idle time + busy_mw[step] × its busy time at that step)
//! ```

use machine::{Machine, Power};

use super::happened::Happened;
use crate::ids::{CpuId, IDLE, PerCpu};

pub struct Energy {
    power: Power,
    steps_khz: Vec<u32>,
    cpus: PerCpu<Spell>,
    begun_ns: u64,
    /// Of the CPUs: milliwatts times nanoseconds.
    taken_pj: u128,
}

/// What a CPU has done since a time.
#[derive(Clone)]
struct Spell {
    since_ns: u64,
    busy: bool,
    step: usize,
}

impl Energy {
    /// `None` where nobody says what the machine takes.
    pub fn of(machine: &Machine) -> Option<Self> {
        let power = machine.power.clone()?;
        let frequency = machine.frequency.as_ref();
        let steps_khz = frequency.map_or_else(Vec::new, |frequency| frequency.steps_khz.clone());
        let fastest = power.busy_mw.len() - 1;
        let cpus = PerCpu::filled(machine.cpus(), || Spell {
            since_ns: 0,
            busy: false,
            step: fastest,
        });
        Some(Self {
            power,
            steps_khz,
            cpus,
            begun_ns: 0,
            taken_pj: 0,
        })
    }

    #[inline(always)]
    pub fn see(&mut self, at_ns: u64, happened: Happened<'_>) {
        match happened {
            Happened::Switched {
                cpu, prev, next, ..
            } if (prev == IDLE) != (next == IDLE) => {
                self.settle(cpu, at_ns);
                self.cpus[cpu].busy = next != IDLE;
            }
            Happened::Clocked { cpu, khz } => {
                self.settle(cpu, at_ns);
                let step = self.steps_khz.iter().position(|step| *step == khz);
                self.cpus[cpu].step = step.unwrap_or(0);
            }
            Happened::Begins { .. } => {
                for cpu in self.cpus.ids() {
                    self.settle(cpu, at_ns);
                }
                (self.begun_ns, self.taken_pj) = (at_ns, 0);
            }
            _ => {}
        }
    }

    /// What a CPU has taken until then. A switch may have the clock of a wake-up that lies before what was told last.
    fn settle(&mut self, cpu: CpuId, at_ns: u64) {
        let spell = &mut self.cpus[cpu];
        let mw = if spell.busy {
            self.power.busy_mw[spell.step]
        } else {
            self.power.idle_mw
        };
        let time_ns = at_ns.saturating_sub(spell.since_ns);
        spell.since_ns = spell.since_ns.max(at_ns);
        self.taken_pj += u128::from(mw) * u128::from(time_ns);
    }

    /// Joules since the start signal.
    pub fn finish(&mut self, elapsed_ns: u64) -> f64 {
        for cpu in self.cpus.ids() {
            self.settle(cpu, self.begun_ns + elapsed_ns);
        }
        let base_pj = u128::from(self.power.base_mw) * u128::from(elapsed_ns);
        (base_pj + self.taken_pj) as f64 / 1e12
    }
}
