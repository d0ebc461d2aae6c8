// SPDX-License-Identifier: GPL-2.0-or-later
//! A switch: an operation is broken off at one of its points, and something of another CPU comes in between.

use std::fmt;
use std::str::FromStr;

use crate::clock::events::Event;
use crate::ids::{CpuId, TaskId};

/// What comes in between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Between {
    /// A CPU's own next event: its tick, a reschedule, or what its task does next.
    Cpu(u32),
    /// A task's sleep is over.
    Sleep(u32),
    /// A timer of the policy goes off.
    Timer(u32),
    /// A line of the hotplug script.
    Hotplug(u32),
}

impl Between {
    /// Nothing else may come in between: it concerns no CPU, or all of them.
    pub fn of(event: Event) -> Option<Self> {
        match event {
            Event::Cpu(CpuId(cpu)) => Some(Self::Cpu(cpu)),
            Event::Sleep(TaskId(task)) => Some(Self::Sleep(task)),
            Event::PolicyTimer(timer) => Some(Self::Timer(timer)),
            Event::Hotplug(line) => Some(Self::Hotplug(line)),
            _ => None,
        }
    }
}

/// As a case names it: `4711.3 cpu 2` is the third point of the operation of event 4711, and CPU 2's next event there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Switch {
    /// How many events were handled when the operation began.
    pub operation: u64,
    /// Which of its points: before each helper or kfunc, and when a callback returns, counted from 1.
    pub point: u32,
    pub between: Between,
}

impl fmt::Display for Switch {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let (what, index) = match self.between {
            Between::Cpu(cpu) => ("cpu", cpu),
            Between::Sleep(task) => ("sleep", task),
            Between::Timer(timer) => ("timer", timer),
            Between::Hotplug(line) => ("hotplug", line),
        };
        write!(f, "{}.{} {what} {index}", self.operation, self.point)
    }
}

impl FromStr for Switch {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let read = || {
            let mut words = text.split(' ');
            let (operation, point) = words.next()?.split_once('.')?;
            let (what, index) = (words.next()?, words.next()?.parse().ok()?);
            let between = match what {
                "cpu" => Between::Cpu(index),
                "sleep" => Between::Sleep(index),
                "timer" => Between::Timer(index),
                "hotplug" => Between::Hotplug(index),
                _ => return None,
            };
            words.next().is_none().then_some(Self {
                operation: operation.parse().ok()?,
                point: point.parse().ok()?,
                between,
            })
        };
        read().ok_or_else(|| format!("expected a switch such as \"4711.3 cpu 2\", not \"{text}\""))
    }
}

/// A switch that was made, and in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    pub switch: Switch,
    pub what: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_can_be_read() {
        for text in [
            "4711.3 cpu 2",
            "1.1 sleep 0",
            "2.20 timer 7",
            "3.1 hotplug 1",
        ] {
            assert_eq!(text.parse::<Switch>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn what_is_no_switch_is_refused() {
        for text in [
            "",
            "1 cpu 2",
            "1.2 disk 0",
            "1.2 cpu",
            "1.2 cpu 3 4",
            "1.x cpu 3",
        ] {
            assert!(text.parse::<Switch>().is_err(), "{text}");
        }
    }
}
