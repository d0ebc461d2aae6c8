// SPDX-License-Identifier: GPL-2.0-or-later
//! The script of CPUs that go and come during a run.

use anyhow::{Context as _, Result, ensure};

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
