// SPDX-License-Identifier: GPL-2.0-or-later
//! Which counters of energy this machine has, and how well they measure.

use std::path::Path;

use executor::energy::{Packages, Quality};

/// As they were found before the first cell.
pub struct Counters {
    /// Or one sentence that says why nothing is measured.
    pub packages: Result<Packages, String>,
    /// Of the packages; empty without any.
    pub names: String,
    pub quality: Option<Quality>,
}

impl Counters {
    /// Takes half a second where there are any. Nothing of ours runs yet, so that the machine is as idle as it gets.
    pub fn look(powercap: &Path) -> Self {
        let found = Packages::find(powercap)
            .and_then(|packages| packages.quality().map(|quality| (packages, quality)));
        match found {
            Ok((packages, quality)) => Self {
                names: packages.names(),
                packages: Ok(packages),
                quality: Some(quality),
            },
            Err(why) => Self {
                packages: Err(why),
                names: String::new(),
                quality: None,
            },
        }
    }
}
