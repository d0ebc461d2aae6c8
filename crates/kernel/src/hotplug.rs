// SPDX-License-Identifier: GPL-2.0-or-later
//! The script of CPUs that go and come during a run.

use anyhow::{Context as _, Result, ensure};

/// What happens to a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    Online,
    Offline,
    /// The kernel's step before offline: it pushes off what runs here, and waits for an RCU grace period.
    Inactive,
}

impl Change {
    const MARKS: [(char, Self); 3] = [
        ('+', Self::Online),
        ('-', Self::Offline),
        ('~', Self::Inactive),
    ];
}

impl std::fmt::Display for Change {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Online => "online",
            Self::Offline => "offline",
            Self::Inactive => "inactive",
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hotplug {
    pub at_ns: u64,
    pub cpu: u32,
    pub change: Change,
}

impl std::fmt::Display for Hotplug {
    /// As [`parse`] reads it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let of = |(mark, change)| (change == self.change).then_some(mark);
        let mark = Change::MARKS.into_iter().find_map(of).unwrap_or_default();
        write!(f, "{}ms:{mark}{}", self.at_ns / 1_000_000, self.cpu)
    }
}

/// `100ms:-3,250ms:+3`: CPU 3 goes after 100 ms and is back after 250 ms; `90ms:~3`: it has been inactive since then.
pub fn parse(script: &str, cpus: usize) -> Result<Vec<Hotplug>> {
    let mut events = Vec::new();
    for item in script.split(',').filter(|item| !item.is_empty()) {
        let parsed = item.split_once("ms:").and_then(|(ms, marked)| {
            let found = |(mark, change)| Some((change, marked.strip_prefix(mark)?));
            let (change, cpu) = Change::MARKS.into_iter().find_map(found)?;
            Some(Hotplug {
                at_ns: ms.parse::<u64>().ok()? * 1_000_000,
                cpu: cpu.parse().ok()?,
                change,
            })
        });
        let event = parsed.with_context(|| {
            format!("--hotplug: {item:?}: expected TIMEms:-CPU, TIMEms:+CPU or TIMEms:~CPU")
        })?;
        ensure!(
            (event.cpu as usize) < cpus,
            "--hotplug: {item:?}: expected a CPU below {cpus}"
        );
        events.push(event);
    }
    Ok(events)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts() {
        assert_eq!(
            parse("90ms:~3,100ms:-3,250ms:+3", 4).unwrap(),
            [
                Hotplug {
                    at_ns: 90_000_000,
                    cpu: 3,
                    change: Change::Inactive
                },
                Hotplug {
                    at_ns: 100_000_000,
                    cpu: 3,
                    change: Change::Offline
                },
                Hotplug {
                    at_ns: 250_000_000,
                    cpu: 3,
                    change: Change::Online
                },
            ]
        );
        for (script, error) in [
            (
                "3",
                "--hotplug: \"3\": expected TIMEms:-CPU, TIMEms:+CPU or TIMEms:~CPU",
            ),
            (
                "1ms:3",
                "--hotplug: \"1ms:3\": expected TIMEms:-CPU, TIMEms:+CPU or TIMEms:~CPU",
            ),
            ("1ms:-4", "--hotplug: \"1ms:-4\": expected a CPU below 4"),
        ] {
            assert_eq!(parse(script, 4).unwrap_err().to_string(), error);
        }
    }
}
