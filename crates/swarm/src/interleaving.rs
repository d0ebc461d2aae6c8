// SPDX-License-Identifier: GPL-2.0-or-later
//! How the operations of a case are interleaved, and how a run that draws its switches gets them right.

use std::str::FromStr;

use anyhow::{Error, Result};
use kernel::{Interleave, Outcome, Switch, Taken};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Interleaving {
    /// Each operation as a whole.
    Off,
    /// Switches drawn from a seed, so many at most.
    Drawn { seed: u64, most: u32 },
    /// These, as the kernel crate writes them.
    Listed(Vec<String>),
}

impl Interleaving {
    /// Those that a run made.
    pub fn made(made: &[Made]) -> Self {
        Self::Listed(made.iter().map(|made| made.switch.clone()).collect())
    }

    /// Those that are named one by one.
    pub fn listed(&self) -> &[String] {
        match self {
            Self::Listed(switches) => switches,
            Self::Off | Self::Drawn { .. } => &[],
        }
    }
}

/// A switch that a run made, and in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Made {
    pub switch: String,
    pub what: String,
}

impl From<Taken> for Made {
    fn from(taken: Taken) -> Self {
        Self {
            switch: taken.switch.to_string(),
            what: taken.what,
        }
    }
}

/// So many switches that are not possible are left out of a run one after the other.
const MOST_ATTEMPTS: usize = 200;

/// Runs until all of its switches are possible, each time without the one that was not; `None`: there are too many.
///
/// A list is run once: it came from a run in which all were.
pub fn run(
    interleaving: &Interleaving,
    mut attempt: impl FnMut(Option<Interleave>) -> Result<Outcome>,
) -> Result<Option<Outcome>> {
    let (seed, most) = match interleaving {
        Interleaving::Off => return attempt(None).map(Some),
        Interleaving::Listed(switches) => {
            let switches = switches.iter().map(|text| Switch::from_str(text));
            let switches = switches
                .collect::<Result<Vec<_>, _>>()
                .map_err(Error::msg)?;
            let outcome = attempt(Some(Interleave::Listed(switches)))?;
            return Ok((outcome.by != kernel::NOT_POSSIBLE).then_some(outcome));
        }
        Interleaving::Drawn { seed, most } => (*seed, *most),
    };
    let mut never = Vec::new();
    while never.len() < MOST_ATTEMPTS {
        let drawn = Interleave::Drawn {
            seed,
            most,
            never: never.clone(),
        };
        let outcome = attempt(Some(drawn))?;
        match outcome.interleaved.last() {
            Some(last) if outcome.by == kernel::NOT_POSSIBLE => never.push(last.switch),
            _ => return Ok(Some(outcome)),
        }
    }
    Ok(None)
}
