// SPDX-License-Identifier: GPL-2.0-or-later
//! Metrics: what records measure. This table is what all programs know of them; people read it in `docs/records.md`.

use serde::Serialize;

/// Who gives a metric its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Programs of workloads log it.
    Logged,
    /// Programs count it, and it is a metric under the counter's name.
    Counted,
    /// The rate of that counter whose units are a workload's work.
    Throughput,
    /// Every place measures it in every run.
    Measured,
    /// Only some places can measure it, so no workload may promise it.
    PlaceDependent,
}

impl Origin {
    /// The names of its metrics.
    pub fn names(self) -> impl Iterator<Item = &'static str> + Clone {
        METRICS
            .iter()
            .filter(move |metric| metric.origin == self)
            .map(|metric| metric.name)
    }
}

/// Which of two values is the better one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    Lower,
    Higher,
    #[serde(rename = "")]
    Neither,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Metric {
    /// In records, with the unit at its end.
    pub name: &'static str,
    /// In tables and on pages.
    pub title: &'static str,
    /// Empty for counts.
    pub unit: &'static str,
    /// Whether a record has it among its histograms.
    pub distribution: bool,
    pub better: Better,
    #[serde(skip)]
    pub origin: Origin,
    pub meaning: &'static str,
}

/// The metric of that name.
pub fn metric(name: &str) -> Option<&'static Metric> {
    METRICS.iter().find(|metric| metric.name == name)
}

/// In the order in which pages and tables show them.
pub const METRICS: &[Metric] = &[
    Metric {
        name: "elapsed_s",
        title: "elapsed time",
        unit: "s",
        distribution: false,
        better: Better::Lower,
        origin: Origin::Measured,
        meaning: "from the start signal until the workload's end condition",
    },
    Metric {
        name: "throughput_per_s",
        title: "throughput",
        unit: "1/s",
        distribution: false,
        better: Better::Higher,
        origin: Origin::Throughput,
        meaning: "units of work (`count` in the program) per second",
    },
    Metric {
        name: "wakeup_latency_us",
        title: "wake-up latency",
        unit: "µs",
        distribution: true,
        better: Better::Lower,
        origin: Origin::Logged,
        meaning: "from the event that woke the task until it runs",
    },
    Metric {
        name: "probe_latency_us",
        title: "probe latency",
        unit: "µs",
        distribution: true,
        better: Better::Lower,
        origin: Origin::Logged,
        meaning: "from starting a trivial program (fork and exec) until it is known to have ended",
    },
    Metric {
        name: "round_trip_us",
        title: "round trip",
        unit: "µs",
        distribution: true,
        better: Better::Lower,
        origin: Origin::Logged,
        meaning: "a timed interval divided by the number of its round trips, one value per interval",
    },
    Metric {
        name: "lateness_us",
        title: "lateness of frames",
        unit: "µs",
        distribution: true,
        better: Better::Lower,
        origin: Origin::Logged,
        meaning: "from when a frame was due until it was shown",
    },
    Metric {
        name: "frame_time_us",
        title: "frame time",
        unit: "µs",
        distribution: true,
        better: Better::Lower,
        origin: Origin::Logged,
        meaning: "from one frame to the next; of a command, what it left in its file of frames",
    },
    Metric {
        name: "work_us",
        title: "work",
        unit: "µs",
        distribution: true,
        better: Better::Lower,
        origin: Origin::Logged,
        meaning: "from the start of a piece of work to its end",
    },
    Metric {
        name: "turnaround_us",
        title: "turnaround",
        unit: "µs",
        distribution: true,
        better: Better::Lower,
        origin: Origin::Logged,
        meaning: "from the request to the end of the work it asked for",
    },
    Metric {
        name: "waiting_us",
        title: "waiting",
        unit: "µs",
        distribution: true,
        better: Better::Lower,
        origin: Origin::PlaceDependent,
        meaning: "runnable but not running, per wait; a sum per task on a real kernel, which tells no more",
    },
    Metric {
        name: "cpu_s",
        title: "CPU time",
        unit: "s",
        distribution: false,
        better: Better::Lower,
        origin: Origin::Measured,
        meaning: "CPU time of all the workload's tasks",
    },
    Metric {
        name: "cpu_usage_pct",
        title: "CPU usage",
        unit: "% of one CPU",
        distribution: false,
        better: Better::Neither,
        origin: Origin::Measured,
        meaning: "`cpu_s / elapsed_s × 100`",
    },
    Metric {
        name: "switches_voluntary",
        title: "voluntary switches",
        unit: "",
        distribution: false,
        better: Better::Neither,
        origin: Origin::Measured,
        meaning: "a task blocked",
    },
    Metric {
        name: "switches_involuntary",
        title: "involuntary switches",
        unit: "",
        distribution: false,
        better: Better::Neither,
        origin: Origin::Measured,
        meaning: "a task was preempted or used its slice",
    },
    Metric {
        name: "migrations",
        title: "migrations",
        unit: "",
        distribution: false,
        better: Better::Neither,
        origin: Origin::PlaceDependent,
        meaning: "a task ran on another CPU than last time",
    },
    Metric {
        name: "max_lag_us",
        title: "largest lag",
        unit: "µs",
        distribution: false,
        better: Better::Lower,
        origin: Origin::PlaceDependent,
        meaning: "largest lead or arrears of an always-runnable task against its ideal weighted share",
    },
    Metric {
        name: "starvation_max_us",
        title: "longest starvation",
        unit: "µs",
        distribution: false,
        better: Better::Lower,
        origin: Origin::PlaceDependent,
        meaning: "longest wait of a runnable task",
    },
    Metric {
        name: "idle_while_waiting_pct",
        title: "idle beside waiting tasks",
        unit: "% of one CPU",
        distribution: false,
        better: Better::Lower,
        origin: Origin::PlaceDependent,
        meaning: "idle CPUs beside as many waiting tasks, whatever their affinity; in the simulator",
    },
    Metric {
        name: "disk_wait_s",
        title: "waits for the disk",
        unit: "s",
        distribution: false,
        better: Better::Lower,
        origin: Origin::PlaceDependent,
        meaning: "sum of all tasks' waits for the disk, where they use it; in the simulator",
    },
    Metric {
        name: "energy_j",
        title: "energy",
        unit: "J",
        distribution: false,
        better: Better::Lower,
        origin: Origin::PlaceDependent,
        meaning: "of all processor packages, with what they take when they idle; in the simulator by the machine's `[power]`",
    },
    Metric {
        name: "dropped_frames",
        title: "dropped frames",
        unit: "",
        distribution: false,
        better: Better::Lower,
        origin: Origin::Counted,
        meaning: "frames that a player dropped without decoding",
    },
    Metric {
        name: "frames_shown",
        title: "frames shown",
        unit: "",
        distribution: false,
        better: Better::Higher,
        origin: Origin::Counted,
        meaning: "frames that a player showed",
    },
    Metric {
        name: "frames_not_shown",
        title: "frames not shown",
        unit: "",
        distribution: false,
        better: Better::Lower,
        origin: Origin::Counted,
        meaning: "frames that a player did not show, for whatever reason",
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_end_with_the_unit() {
        let units = [
            ("_per_s", "1/s"),
            ("_us", "µs"),
            ("_s", "s"),
            ("_pct", "% of one CPU"),
            ("_j", "J"),
            ("", ""),
        ];
        for (index, Metric { name, unit, .. }) in METRICS.iter().enumerate() {
            let (_, wanted) = units.iter().find(|(end, _)| name.ends_with(end)).unwrap();
            assert_eq!(unit, wanted, "{name}");
            assert!(
                METRICS[..index].iter().all(|other| other.name != *name),
                "{name}"
            );
        }
    }

    #[test]
    fn the_page_has_this_table() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/records.md");
        let page = std::fs::read_to_string(path).unwrap();
        let (_, section) = page.split_once("\n## Metrics\n").unwrap();
        let found: Vec<&str> = section
            .lines()
            .filter(|line| line.starts_with("| `"))
            .collect();
        for (wanted, found) in METRICS.iter().map(row).zip(&found) {
            assert_eq!(wanted, *found, "docs/records.md: expected the left row");
        }
        assert_eq!(found.len(), METRICS.len());
    }

    fn row(metric: &Metric) -> String {
        let unit = if metric.unit.is_empty() {
            "count"
        } else {
            metric.unit
        };
        let kind = if metric.distribution {
            ", distribution"
        } else {
            ""
        };
        let from = match metric.origin {
            Origin::Logged => "`log`",
            Origin::Counted => "`count`",
            Origin::Throughput => "`throughput`",
            Origin::Measured => "every place",
            Origin::PlaceDependent => "some places",
        };
        let better = match metric.better {
            Better::Lower => " lower",
            Better::Higher => " higher",
            Better::Neither => "",
        };
        let Metric { name, meaning, .. } = metric;
        format!("| `{name}` | {unit}{kind} | {from} | {meaning} |{better} |")
    }
}
