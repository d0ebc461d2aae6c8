// SPDX-License-Identifier: GPL-2.0-or-later
//! What a swarm found, in a case as small as can be, with as few switches.

use anyhow::Result;

use crate::case::Case;
use crate::child::Runner;
use crate::interleaving::Interleaving;
use crate::job::Verdict;
use crate::shrink;
use crate::swarm::Swarm;

const ATTEMPTS: u32 = 1_200;
/// So many draws of other switches a simpler case gets to show the same.
const REDRAWN: u64 = 6;
/// The smallest case gets more of them, to show it with fewer.
const REDRAWN_FEWER: u64 = 200;

/// Ctrl-C ends it; what is there by then is kept. Returns how many cases were tried as well.
pub fn simplify(swarm: &Swarm, case: &Case, verdict: &Verdict) -> Result<(Case, u32)> {
    let mut attempts = Attempts {
        swarm,
        runner: Runner::new(swarm.built),
        by: &verdict.by,
    };
    let mut case = case.clone();
    if swarm.interleave {
        case.interleaving = Interleaving::made(&verdict.switches);
    }
    let (case, tried) = attempts.shrink(case, ATTEMPTS)?;
    let Some(case) = attempts.with_fewer(&case)? else {
        return Ok((case, tried));
    };
    let (case, again) = attempts.shrink(case, 0)?;
    Ok((case, tried + again))
}

struct Attempts<'s> {
    swarm: &'s Swarm<'s>,
    runner: Runner,
    by: &'s str,
}

impl Attempts<'_> {
    fn shrink(&mut self, case: Case, most: u32) -> Result<(Case, u32)> {
        shrink::shrink(case, most, |case, others| self.shows(case, others))
    }

    fn shows(&mut self, case: &Case, others: bool) -> Result<Option<Case>> {
        let shown = self.with(case, case.interleaving.clone())?;
        if shown.is_some() || !others || case.interleaving.listed().is_empty() {
            return Ok(shown);
        }
        self.redrawn(case, u32::MAX, REDRAWN)
    }

    /// The same case with fewer switches: where one is only left out, those behind it lie elsewhere.
    fn with_fewer(&mut self, case: &Case) -> Result<Option<Case>> {
        for most in 1..case.interleaving.listed().len() {
            let shown = self.redrawn(case, most as u32, REDRAWN_FEWER)?;
            if shown.is_some() {
                return Ok(shown);
            }
        }
        Ok(None)
    }

    fn redrawn(&mut self, case: &Case, most: u32, draws: u64) -> Result<Option<Case>> {
        for seed in 1..=draws {
            let shown = self.with(case, Interleaving::Drawn { seed, most })?;
            if shown.is_some() {
                return Ok(shown);
            }
        }
        Ok(None)
    }

    /// The case with the switches that it made, if it shows the same.
    fn with(&mut self, case: &Case, interleaving: Interleaving) -> Result<Option<Case>> {
        if signals::caught() {
            return Ok(None);
        }
        let mut case = case.clone();
        case.interleaving = interleaving;
        let again = self.runner.run(&self.swarm.job(&case))?;
        if case.interleaving != Interleaving::Off {
            case.interleaving = Interleaving::made(&again.switches);
        }
        Ok((again.by == self.by).then_some(case))
    }
}
