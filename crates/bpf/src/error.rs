// SPDX-License-Identifier: GPL-2.0-or-later
//! Why an object cannot be linked: all that the kernel has not, and what its verifier refuses, at once.

use std::fmt;

#[derive(Debug)]
pub enum LinkError {
    /// The object itself cannot be used, whatever the kernel.
    Object(anyhow::Error),
    /// What it needs and the kernel has not, and what it does and must not.
    Missing(Vec<Missing>),
}

/// Something that an object needs, or that it must not do.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Missing {
    /// Where the object needs it, if it says so.
    pub at: Option<Source>,
    pub kind: MissingKind,
    pub name: String,
    /// Where the kernel has it, but not as the object needs it.
    pub why: Option<String>,
}

/// A line of an object's source.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Source {
    pub file: String,
    pub line: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MissingKind {
    Field,
    Type,
    Enumerator,
    Kfunc,
    Helper,
    Variable,
    MapKind,
    Config,
    Member,
    /// Of a callback, used unchecked though it may be NULL.
    Argument,
}

impl fmt::Display for MissingKind {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Self::Field => "field",
            Self::Type => "type",
            Self::Enumerator => "enum value",
            Self::Kfunc => "kfunc",
            Self::Helper => "helper",
            Self::Variable => "variable",
            Self::MapKind => "map kind",
            Self::Config => "config value",
            Self::Member => "member",
            Self::Argument => "argument",
        })
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        if let Some(Source { file, line }) = &self.at {
            write!(f, "{file}:{line}: ")?;
        }
        match &self.why {
            _ if self.kind == MissingKind::Argument => write!(
                f,
                "the verifier refuses this: {} {} may be NULL, and is used without a comparison with it",
                self.kind, self.name
            ),
            None => write!(f, "the kernel has no {} {}", self.kind, self.name),
            Some(why) => write!(f, "{} {}: {why}", self.kind, self.name),
        }
    }
}

impl fmt::Display for LinkError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Object(error) => write!(f, "{error:#}"),
            Self::Missing(missing) => {
                for (place, one) in missing.iter().enumerate() {
                    if place > 0 {
                        f.write_str("\n")?;
                    }
                    write!(f, "{one}")?;
                }
                Ok(())
            }
        }
    }
}

impl std::error::Error for LinkError {}

impl From<anyhow::Error> for LinkError {
    fn from(error: anyhow::Error) -> Self {
        Self::Object(error)
    }
}
