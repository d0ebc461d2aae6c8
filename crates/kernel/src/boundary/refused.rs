// SPDX-License-Identifier: GPL-2.0-or-later
//! Why an object cannot be linked against the model.

use std::fmt;

use bpf::{LinkError, Missing};

use super::release::Release;

/// A line for each thing that is missing.
#[derive(Debug)]
pub struct Refused {
    pub lines: Vec<String>,
}

impl Refused {
    /// Each line begins with the policy's name. `linked` tries another release, and says which later one has what is
    /// missing in this.
    pub fn new(
        policy: &str,
        error: LinkError,
        release: Release,
        linked: impl Fn(Release) -> Option<LinkError>,
    ) -> Self {
        let missing = match error {
            LinkError::Missing(missing) => missing,
            LinkError::Object(error) => {
                return Self {
                    lines: vec![format!("{policy}: {error:#}")],
                };
            }
        };
        let later: Vec<(Release, Option<LinkError>)> = release
            .later()
            .map(|later| (later, linked(later)))
            .collect();
        let line = |one: &Missing| {
            let has = later
                .iter()
                .find(|(_, error)| !is_missing(error.as_ref(), one));
            match has {
                Some((has, _)) => format!("{policy}: {one}: this is {release}, and {has} has it"),
                None => format!("{policy}: {one}"),
            }
        };
        Self {
            lines: missing.iter().map(line).collect(),
        }
    }
}

fn is_missing(error: Option<&LinkError>, one: &Missing) -> bool {
    match error {
        None => false,
        Some(LinkError::Object(_)) => true,
        Some(LinkError::Missing(missing)) => {
            (missing.iter()).any(|other| (other.kind, &other.name) == (one.kind, &one.name))
        }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.lines.join("\n"))
    }
}

impl std::error::Error for Refused {}
