// SPDX-License-Identifier: GPL-2.0-or-later
//! A scheduler with its tunables as people write it, one arm of a comparison: `bfs`, `bfs:rules=424+rr_interval_us=3000`,
//! `/usr/bin/scx_mine:options=-m powersave`.

use std::collections::BTreeMap;
use std::fmt::{Display, Formatter};
use std::str::FromStr;

use anyhow::{Context, Error, Result, ensure};

/// The kernel's own scheduler.
pub const DEFAULT: &str = "default";

/// The one tunable of a program that loads its scheduler itself: the words of its command line.
pub const OPTIONS: &str = "options";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arm {
    /// A name or a path.
    pub scheduler: String,
    pub tunables: BTreeMap<String, String>,
}

impl FromStr for Arm {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let (scheduler, pairs) = match text.split_once(':') {
            Some((scheduler, pairs)) => (scheduler, Some(pairs)),
            None => (text, None),
        };
        ensure!(
            !scheduler.is_empty(),
            "scheduler '{text}': expected NAME[:KEY=VALUE[+KEY=VALUE…]]"
        );
        let mut tunables = BTreeMap::new();
        for pair in pairs.into_iter().flat_map(assigned) {
            let (key, value) = pair
                .split_once('=')
                .filter(|(key, value)| is_name(key) && !value.is_empty())
                .with_context(|| {
                    format!("scheduler '{text}': tunable '{pair}': expected KEY=VALUE, several joined by '+'")
                })?;
            ensure!(
                tunables.insert(key.to_owned(), value.to_owned()).is_none(),
                "scheduler '{text}': tunable '{key}' is given twice"
            );
        }
        Ok(Self {
            scheduler: scheduler.to_owned(),
            tunables,
        })
    }
}

impl Display for Arm {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.scheduler)?;
        for (index, (key, value)) in self.tunables.iter().enumerate() {
            let separator = if index == 0 { ':' } else { '+' };
            write!(f, "{separator}{key}={value}")?;
        }
        Ok(())
    }
}

/// The values of an option that is given once for every `KEY=VALUE`.
pub fn assignments(option: &str, items: &[String]) -> Result<BTreeMap<String, String>> {
    let mut map = BTreeMap::new();
    for item in items {
        let (key, value) = item
            .split_once('=')
            .with_context(|| format!("{option}: expected KEY=VALUE, found {item:?}"))?;
        ensure!(
            map.insert(key.to_owned(), value.to_owned()).is_none(),
            "{option}: {key} is given twice"
        );
    }
    Ok(map)
}

/// What is joined by plus signs. Options reach to the end, whatever is in them: nothing stands beside them.
fn assigned(pairs: &str) -> Vec<&str> {
    let are_options = pairs.split_once('=').is_some_and(|(key, _)| key == OPTIONS);
    if are_options {
        vec![pairs]
    } else {
        pairs.split('+').collect()
    }
}

fn is_name(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    !text.starts_with(|c: char| c.is_ascii_digit()) && !text.is_empty() && text.chars().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        for text in [
            "bfs",
            "./my/policy:slice_us=500",
            "bfs:rr_interval_us=3000+rules=424",
            "/usr/bin/scx_mine:options=-m 0,1 --level=a+b -v",
        ] {
            assert_eq!(text.parse::<Arm>().unwrap().to_string(), text);
        }
        let arm: Arm = "bfs:rules=424+a=-1".parse().unwrap();
        assert_eq!(arm.to_string(), "bfs:a=-1+rules=424");
        let arm: Arm = "scx_mine:options=a+b=c".parse().unwrap();
        assert_eq!(arm.tunables[OPTIONS], "a+b=c");
    }

    #[test]
    fn mistakes_name_the_tunable() {
        let expected = "expected KEY=VALUE, several joined by '+'";
        for (text, message) in [
            ("", "expected NAME[:KEY=VALUE[+KEY=VALUE…]]".to_owned()),
            (":a=1", "expected NAME[:KEY=VALUE[+KEY=VALUE…]]".to_owned()),
            ("bfs:", format!("tunable '': {expected}")),
            ("bfs:rules", format!("tunable 'rules': {expected}")),
            ("bfs:a=", format!("tunable 'a=': {expected}")),
            ("bfs:=424", format!("tunable '=424': {expected}")),
            ("bfs:1a=2", format!("tunable '1a=2': {expected}")),
            ("bfs:a=1,b=2+a=3", "tunable 'a' is given twice".to_owned()),
        ] {
            let error = text.parse::<Arm>().unwrap_err().to_string();
            assert_eq!(error, format!("scheduler '{text}': {message}"));
        }
    }

    #[test]
    fn an_option_given_twice_is_a_mistake() {
        let read = |items: &[&str]| {
            let items: Vec<String> = items.iter().map(|&item| item.to_owned()).collect();
            assignments("--param", &items).map_err(|error| error.to_string())
        };
        let there = BTreeMap::from([
            ("a".to_owned(), "1".to_owned()),
            ("b".to_owned(), "x=y".to_owned()),
        ]);
        assert_eq!(read(&["b=x=y", "a=1"]), Ok(there));
        assert_eq!(
            read(&["a=1", "a=1"]),
            Err("--param: a is given twice".to_owned())
        );
        assert_eq!(
            read(&["a"]),
            Err("--param: expected KEY=VALUE, found \"a\"".to_owned())
        );
    }
}
