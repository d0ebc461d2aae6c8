// SPDX-License-Identifier: GPL-2.0-or-later
//! Joules of a run, from the counters of the processor packages that the kernel shows under `/sys/class/powercap`
//! (`drivers/powercap/intel_rapl_*`, which read AMD's counters too).
//!
//! A package's counter has all of the package in it: cores, caches, graphics, and what it takes when nothing runs. Its
//! sub-domains (`core`, `uncore`, `dram`) are counted in it or beside it, and `psys` is the whole platform: none of these
//! is added. `intel-rapl-mmio` shows the same packages a second time.
//!
//! A counter begins anew at `max_energy_range_uj`, on large servers after some five minutes. Who measures longer looks
//! at it in between: [`Meter::look`], at least every [`EVERY`].

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

/// Where the kernel shows its counters.
pub const POWERCAP: &str = "/sys/class/powercap";
/// The smallest range is 65 kJ: at a kilowatt a counter begins anew after a minute.
pub const EVERY: Duration = Duration::from_secs(20);

/// The prefix of names of domains of the whole package.
const CONTROL_TYPE: &str = "intel-rapl:";
const PACKAGE: &str = "package-";

/// For how long steps are looked for, and how often; the kernel's counters move about once a millisecond.
const STEPS_FOR: Duration = Duration::from_millis(50);
const STEPS_EVERY: Duration = Duration::from_millis(1);
/// Of an idle machine.
const WINDOWS: u32 = 5;
const WINDOW: Duration = Duration::from_millis(100);

/// One package's counter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Package {
    name: String,
    counter: PathBuf,
    /// The counter's highest value.
    range_uj: u64,
}

impl Package {
    fn read(&self) -> Result<u64, String> {
        number(&self.counter)
            .map_err(|why| format!("no energy: the counter of {} {why}", self.name))
    }
}

/// The counters of all packages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Packages(Vec<Package>);

/// What can be said of the counters before anything is measured with them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quality {
    /// The smallest step seen; 0: no counter moved.
    pub step_uj: u64,
    /// Of all packages while nothing of ours runs, and how far apart the measurements of that lie.
    pub idle_mw: u64,
    pub idle_range_mw: u64,
}

impl Packages {
    /// An error says in one sentence why nothing can be measured.
    pub fn find(powercap: &Path) -> Result<Self, String> {
        let entries = std::fs::read_dir(powercap).into_iter().flatten().flatten();
        let mut zones: Vec<PathBuf> = entries
            .map(|entry| entry.path())
            .filter(|path| is_zone(path))
            .collect();
        zones.sort();
        let mut packages = Vec::new();
        for zone in zones {
            let name = std::fs::read_to_string(zone.join("name")).unwrap_or_default();
            if !name.starts_with(PACKAGE) {
                continue;
            }
            let name = name.trim().to_owned();
            let range = zone.join("max_energy_range_uj");
            let range_uj = number(&range)
                .map_err(|why| format!("no energy: the range of the counter of {name} {why}"))?;
            let package = Package {
                name,
                counter: zone.join("energy_uj"),
                range_uj,
            };
            package.read()?;
            packages.push(package);
        }
        if packages.is_empty() {
            return Err(format!(
                "no energy: {} has no package domain",
                powercap.display()
            ));
        }
        Ok(Self(packages))
    }

    /// `package-0, package-1`.
    pub fn names(&self) -> String {
        let names: Vec<&str> = self.0.iter().map(|package| package.name.as_str()).collect();
        names.join(", ")
    }

    /// Takes half a second, in which nothing else should run.
    pub fn quality(&self) -> Result<Quality, String> {
        let mut step_uj = u64::MAX;
        let begun = Instant::now();
        let mut last = self.read()?;
        while begun.elapsed() < STEPS_FOR {
            std::thread::sleep(STEPS_EVERY);
            let now = self.read()?;
            for ((package, last), now) in self.0.iter().zip(&last).zip(&now) {
                let step = package.since(*last, *now);
                step_uj = if step > 0 { step_uj.min(step) } else { step_uj };
            }
            last = now;
        }
        let mut powers_mw = Vec::new();
        for _ in 0..WINDOWS {
            let begun = Instant::now();
            let meter = Meter::begin(self.clone())?;
            std::thread::sleep(WINDOW);
            let joules = meter.end()?;
            powers_mw.push((joules / begun.elapsed().as_secs_f64() * 1e3) as u64);
        }
        let most_mw = powers_mw.iter().max().copied().unwrap_or(0);
        let fewest_mw = powers_mw.iter().min().copied().unwrap_or(0);
        Ok(Quality {
            step_uj: if step_uj == u64::MAX { 0 } else { step_uj },
            idle_mw: powers_mw.iter().sum::<u64>() / u64::from(WINDOWS),
            idle_range_mw: most_mw - fewest_mw,
        })
    }

    fn read(&self) -> Result<Vec<u64>, String> {
        self.0.iter().map(Package::read).collect()
    }
}

impl Package {
    /// From one reading to the next, between which the counter may have begun anew once.
    fn since(&self, last_uj: u64, now_uj: u64) -> u64 {
        if now_uj >= last_uj {
            now_uj - last_uj
        } else {
            self.range_uj.saturating_sub(last_uj) + now_uj
        }
    }
}

/// A domain of its own and no part of one: `intel-rapl:0`, not `intel-rapl:0:1`.
fn is_zone(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let number = name.strip_prefix(CONTROL_TYPE).unwrap_or_default();
    !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
}

fn number(path: &Path) -> Result<u64, String> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| format!("{} ({})", reason(&error), path.display()))?;
    let number = text.trim().parse();
    number.map_err(|_| format!("is no number ({}: {:?})", path.display(), text.trim()))
}

fn reason(error: &std::io::Error) -> &'static str {
    match error.kind() {
        ErrorKind::PermissionDenied => "may be read by root alone",
        ErrorKind::NotFound => "is gone",
        _ => "cannot be read",
    }
}

/// What the packages have taken since it began.
#[derive(Debug)]
pub struct Meter {
    packages: Packages,
    last_uj: Vec<u64>,
    looked: Instant,
    sum_uj: u64,
    /// Why there is no sum any more.
    lost: Option<String>,
}

impl Meter {
    pub fn begin(packages: Packages) -> Result<Self, String> {
        Ok(Self {
            last_uj: packages.read()?,
            packages,
            looked: Instant::now(),
            sum_uj: 0,
            lost: None,
        })
    }

    /// Reads the counters if it is time.
    pub fn look(&mut self) {
        if self.looked.elapsed() >= EVERY {
            self.read();
        }
    }

    fn read(&mut self) {
        self.looked = Instant::now();
        match self.packages.read() {
            Err(why) => self.lost = Some(why),
            Ok(now_uj) => {
                let last = self.last_uj.iter().zip(&now_uj);
                let packages = self.packages.0.iter();
                let taken = packages
                    .zip(last)
                    .map(|(package, (last, now))| package.since(*last, *now));
                self.sum_uj += taken.sum::<u64>();
                self.last_uj = now_uj;
            }
        }
    }

    /// Joules; an error says in one sentence why they are not known.
    pub fn end(mut self) -> Result<f64, String> {
        self.read();
        self.sum()
    }

    fn sum(self) -> Result<f64, String> {
        match self.lost {
            Some(why) => Err(why),
            None => Ok(self.sum_uj as f64 / 1e6),
        }
    }
}

/// What the packages take while this is done, for as long as it may take.
pub fn during<T>(
    packages: Result<Packages, String>,
    done: impl FnOnce() -> T,
) -> (T, Result<f64, String>) {
    let meter = match packages.and_then(Meter::begin) {
        Ok(meter) => Mutex::new(meter),
        Err(why) => return (done(), Err(why)),
    };
    let lock = || meter.lock().unwrap_or_else(PoisonError::into_inner);
    let value = std::thread::scope(|scope| {
        let (over, is_over) = channel::<()>();
        scope.spawn(move || {
            while is_over.recv_timeout(EVERY) == Err(RecvTimeoutError::Timeout) {
                lock().look();
            }
        });
        let value = done();
        // Here and not in the other thread, which has to get a CPU first.
        lock().read();
        drop(over);
        value
    });
    let meter = meter.into_inner();
    (value, meter.unwrap_or_else(PoisonError::into_inner).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tree as the kernel's, in which counters stand where a test puts them.
    struct Powercap(tempfile::TempDir);

    impl Powercap {
        fn new() -> Self {
            Self(tempfile::tempdir().unwrap())
        }

        fn zone(self, zone: &str, name: &str, uj: u64) -> Self {
            let folder = self.0.path().join(zone);
            std::fs::create_dir(&folder).unwrap();
            std::fs::write(folder.join("name"), format!("{name}\n")).unwrap();
            std::fs::write(folder.join("max_energy_range_uj"), "65532610987\n").unwrap();
            self.put(zone, uj);
            self
        }

        fn put(&self, zone: &str, uj: u64) {
            let path = self.0.path().join(zone).join("energy_uj");
            std::fs::write(path, format!("{uj}\n")).unwrap();
        }

        fn find(&self) -> Result<Packages, String> {
            Packages::find(self.0.path())
        }

        fn begin(&self) -> Meter {
            Meter::begin(self.find().unwrap()).unwrap()
        }

        /// What a message has of it.
        fn path(&self) -> String {
            self.0.path().display().to_string()
        }
    }

    fn joules(energy: Result<f64, String>) -> f64 {
        energy.unwrap()
    }

    #[test]
    fn packages_are_added_and_their_parts_are_not() {
        let powercap = Powercap::new()
            .zone("intel-rapl:0", "package-0", 1_000_000)
            .zone("intel-rapl:0:0", "core", 500_000)
            .zone("intel-rapl:0:1", "dram", 500_000)
            .zone("intel-rapl:1", "package-1", 7_000_000)
            .zone("intel-rapl:2", "psys", 9_000_000)
            .zone("intel-rapl-mmio:0", "package-0", 1_000_000)
            .zone("dtpm", "package-0", 1_000_000);
        assert_eq!(powercap.find().unwrap().names(), "package-0, package-1");
        let meter = powercap.begin();
        for (zone, uj) in [
            ("intel-rapl:0", 3_500_000),
            ("intel-rapl:0:0", 90_000_000),
            ("intel-rapl:0:1", 90_000_000),
            ("intel-rapl:1", 7_250_000),
            ("intel-rapl:2", 90_000_000),
            ("intel-rapl-mmio:0", 90_000_000),
        ] {
            powercap.put(zone, uj);
        }
        assert!((joules(meter.end()) - 2.75).abs() < 1e-9);
    }

    #[test]
    fn a_counter_begins_anew_and_is_read_in_between() {
        let powercap = Powercap::new().zone("intel-rapl:0", "package-0", 65_532_000_000);
        let mut meter = powercap.begin();
        powercap.put("intel-rapl:0", 389_013);
        meter.read();
        powercap.put("intel-rapl:0", 60_000_389_013);
        meter.read();
        powercap.put("intel-rapl:0", 389_013);
        // 0.610987 and 0.389013 J to where it was read first, 60 kJ from there, and once around.
        assert!((joules(meter.end()) - (1.0 + 65_532.610_987)).abs() < 1e-6);
    }

    #[test]
    fn nobody_looks_more_often_than_has_to_be() {
        let powercap = Powercap::new().zone("intel-rapl:0", "package-0", 1);
        let mut meter = powercap.begin();
        std::fs::remove_dir_all(powercap.0.path()).unwrap();
        meter.look();
        assert_eq!(meter.lost, None);
        meter.looked = Instant::now().checked_sub(EVERY).unwrap();
        meter.look();
        assert!(meter.lost.is_some());
    }

    #[test]
    fn what_is_not_there_is_one_sentence() {
        let nothing = Packages::find(Path::new("/nonexistent/powercap"));
        let said = "no energy: /nonexistent/powercap has no package domain";
        assert_eq!(nothing, Err(said.to_owned()));
        let parts =
            Powercap::new()
                .zone("intel-rapl:0", "psys", 1)
                .zone("intel-rapl:0:0", "core", 1);
        let said = format!("no energy: {} has no package domain", parts.path());
        assert_eq!(parts.find(), Err(said));
    }

    #[test]
    fn what_cannot_be_read_is_one_sentence() {
        let powercap = Powercap::new().zone("intel-rapl:0", "package-0", 1);
        let counter = powercap.0.path().join("intel-rapl:0/energy_uj");
        let at = counter.display();
        std::fs::write(&counter, "many\n").unwrap();
        let said = format!("no energy: the counter of package-0 is no number ({at}: \"many\")");
        assert_eq!(powercap.find(), Err(said));
        // Root may read everything, but no folder as a file.
        std::fs::remove_file(&counter).unwrap();
        std::fs::create_dir(&counter).unwrap();
        let said = format!("no energy: the counter of package-0 cannot be read ({at})");
        assert_eq!(powercap.find(), Err(said));
        std::fs::remove_dir(&counter).unwrap();
        let said = format!("no energy: the counter of package-0 is gone ({at})");
        assert_eq!(powercap.find(), Err(said));
        let denied = std::io::Error::from(std::io::ErrorKind::PermissionDenied);
        assert_eq!(reason(&denied), "may be read by root alone");
        powercap.put("intel-rapl:0", 1);
        let range = powercap.0.path().join("intel-rapl:0/max_energy_range_uj");
        std::fs::remove_file(&range).unwrap();
        let at = range.display();
        let said = format!("no energy: the range of the counter of package-0 is gone ({at})");
        assert_eq!(powercap.find(), Err(said));
    }

    #[test]
    fn a_package_that_vanishes_takes_the_sum_with_it() {
        let powercap = Powercap::new().zone("intel-rapl:0", "package-0", 1).zone(
            "intel-rapl:1",
            "package-1",
            1,
        );
        let meter = powercap.begin();
        let gone = powercap.0.path().join("intel-rapl:1");
        std::fs::remove_dir_all(&gone).unwrap();
        let at = gone.join("energy_uj");
        let said = format!(
            "no energy: the counter of package-1 is gone ({})",
            at.display()
        );
        assert_eq!(meter.end(), Err(said));
    }

    #[test]
    fn what_is_done_meanwhile_is_measured_and_done_without_a_counter_too() {
        let powercap = Powercap::new().zone("intel-rapl:0", "package-0", 1_000_000);
        let work = || {
            powercap.put("intel-rapl:0", 4_000_000);
            "done"
        };
        let (value, energy) = during(powercap.find(), work);
        assert_eq!((value, energy), ("done", Ok(3.0)));
        let why = "no energy: for a test".to_owned();
        assert_eq!(during(Err(why.clone()), || 7), (7, Err(why)));
    }

    #[test]
    fn a_counter_that_moves_in_steps_says_so() {
        let powercap = Powercap::new().zone("intel-rapl:0", "package-0", 0);
        let packages = powercap.find().unwrap();
        let still = packages.quality().unwrap();
        let none = Quality {
            step_uj: 0,
            idle_mw: 0,
            idle_range_mw: 0,
        };
        assert_eq!(still, none);
        let (over, is_over) = channel::<()>();
        let quality = std::thread::scope(|scope| {
            let moves = &powercap;
            scope.spawn(move || {
                let mut uj = 0;
                let every = Duration::from_millis(2);
                while is_over.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
                    uj += 61_000;
                    // In one piece, as a counter of the kernel's is read.
                    let path = moves.0.path().join("next");
                    std::fs::write(&path, uj.to_string()).unwrap();
                    std::fs::rename(path, moves.0.path().join("intel-rapl:0/energy_uj")).unwrap();
                }
            });
            let quality = packages.quality();
            drop(over);
            quality.unwrap()
        });
        assert!(
            quality.step_uj > 0 && quality.step_uj.is_multiple_of(61_000),
            "{quality:?}"
        );
        // 61 mJ every 2 ms or a little later are at most 30.5 W.
        assert!((1_000..=40_000).contains(&quality.idle_mw), "{quality:?}");
    }
}
