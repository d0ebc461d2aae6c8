// SPDX-License-Identifier: GPL-2.0-or-later
//! What a policy says about itself: the strings that `include/policy.h` puts into the ELF section `.schedlab`. Of one that
//! says nothing, the constants that may be set are known by their names alone.

use anyhow::{Context, Result, bail};
use object::{Object, ObjectSection};
use serde_json::{Value, json};

use crate::constants::constants;
use crate::tunable::Tunable;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stat {
    pub name: String,
    pub about: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Manifest {
    pub tunables: Vec<Tunable>,
    /// Of a policy that describes nothing. What their values mean is not known, so none is ever drawn at random.
    pub constants: Vec<Tunable>,
    pub stats: Vec<Stat>,
}

/// A tunable and the value it is given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    pub name: String,
    pub value: i128,
}

impl Manifest {
    /// Read from a built policy.
    pub fn of_elf(elf: &[u8]) -> Result<Self> {
        let file = object::File::parse(elf).context("not an ELF file")?;
        let Some(section) = file.section_by_name(".schedlab") else {
            return Ok(Self {
                constants: constants(elf)?,
                ..Self::default()
            });
        };
        let mut manifest = Self::default();
        for text in section
            .data()?
            .split(|byte| *byte == 0)
            .filter(|text| !text.is_empty())
        {
            let text = std::str::from_utf8(text).context(".schedlab: not UTF-8")?;
            manifest
                .add(text)
                .with_context(|| format!("bad description in .schedlab: {text}"))?;
        }
        Ok(manifest)
    }

    fn add(&mut self, text: &str) -> Result<()> {
        let fields: Vec<&str> = text.split('|').collect();
        match *fields.as_slice() {
            ["tunable", kind, name, default, min, max, unit, about] => {
                self.tunables.push(Tunable {
                    name: name.to_owned(),
                    kind: kind.to_owned(),
                    default: number(default)?,
                    min: number(min)?,
                    max: number(max)?,
                    unit: unit.to_owned(),
                    about: about.to_owned(),
                    choices: Vec::new(),
                });
            }
            ["choice", name, default, names, about] => {
                let choices: Vec<String> = names.split(',').map(str::to_owned).collect();
                self.tunables.push(Tunable {
                    name: name.to_owned(),
                    kind: "u32".to_owned(),
                    default: number(default)?,
                    min: 0,
                    max: choices.len() as i128 - 1,
                    unit: String::new(),
                    about: about.to_owned(),
                    choices,
                });
            }
            ["stat", name, about] => self.stats.push(Stat {
                name: name.to_owned(),
                about: about.to_owned(),
            }),
            _ => bail!("expected tunable, choice or stat with its fields"),
        }
        Ok(())
    }

    /// All that may be set.
    fn settable(&self) -> impl Iterator<Item = &Tunable> {
        self.tunables.iter().chain(&self.constants)
    }

    /// For programs that ask.
    pub fn json(&self) -> Value {
        let number = |value: i128| json!(i64::try_from(value).unwrap_or(i64::MAX));
        let tunables = self.settable().map(|tunable| {
            json!({
                "name": tunable.name,
                "type": if tunable.choices.is_empty() { &tunable.kind } else { "choice" },
                "default": tunable.default_text(),
                "min": number(tunable.min),
                "max": number(tunable.max),
                "unit": tunable.unit,
                "choices": tunable.choices,
                "about": tunable.about,
            })
        });
        let stats = self.stats.iter();
        let stats = stats.map(|stat| json!({"name": stat.name, "about": stat.about}));
        json!({
            "tunables": tunables.collect::<Vec<_>>(),
            "stats": stats.collect::<Vec<_>>(),
        })
    }

    /// Check one assignment as a user writes it. The error names what was expected.
    pub fn setting(&self, scheduler: &str, name: &str, value: &str) -> Result<Setting> {
        let Some(tunable) = self.settable().find(|tunable| tunable.name == name) else {
            let known: Vec<&str> = self
                .settable()
                .map(|tunable| tunable.name.as_str())
                .collect();
            bail!(
                "{scheduler}: unknown tunable '{name}'; it has {}",
                if known.is_empty() {
                    "none".to_owned()
                } else {
                    known.join(", ")
                }
            );
        };
        let value = tunable.parse(value).with_context(|| {
            format!(
                "{scheduler}:{name}={value}: expected {}",
                tunable.expected()
            )
        })?;
        Ok(Setting {
            name: name.to_owned(),
            value,
        })
    }
}

/// A C number: decimal or hexadecimal, with or without suffix; `true` and `false`.
fn number(text: &str) -> Result<i128> {
    let plain = text.trim().trim_end_matches(['u', 'U', 'l', 'L']);
    match plain {
        "true" => Ok(1),
        "false" => Ok(0),
        _ => plain
            .strip_prefix("0x")
            .map_or_else(
                || plain.parse().ok(),
                |hex| i128::from_str_radix(hex, 16).ok(),
            )
            .with_context(|| format!("'{text}' is not a literal number")),
    }
}
