// SPDX-License-Identifier: GPL-2.0-or-later
//! Settings of the kernel's build, as an object's variables hold them.

use std::cmp::Ordering;

use anyhow::{Context, Result, bail};

use crate::btf::{BOOL, Btf, Kind, SIGNED, TypeId};
use crate::environment::Environment;
use crate::error::{Missing, MissingKind};

/// No setting is longer, in bytes.
const LONGEST: u32 = 4096;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Bool,
    Char,
    Int,
    /// `enum libbpf_tristate`: no, yes, as a module.
    Tristate,
    Text,
}

/// A variable for a setting.
#[derive(Clone, Debug)]
pub struct Setting {
    pub name: String,
    pub bytes: u32,
    pub align: u32,
    form: Form,
    is_signed: bool,
    is_weak: bool,
}

impl Setting {
    pub fn of(btf: &Btf, name: &str, of: TypeId, is_weak: bool) -> Result<Self> {
        let (form, is_signed) =
            form(btf, of).with_context(|| format!("{name}: a setting cannot be of its type"))?;
        let size = || {
            Some((
                btf.size(of).filter(|bytes| *bytes <= LONGEST)?,
                btf.align(of)?,
            ))
        };
        let (bytes, align) = size().with_context(|| format!("{name}: no size"))?;
        Ok(Self {
            name: name.to_owned(),
            bytes,
            align,
            form,
            is_signed,
            is_weak,
        })
    }

    /// In the section, those of the largest alignment come first.
    pub fn order(&self, other: &Self) -> Ordering {
        let key = |one: &Self| (u32::MAX - one.align, one.bytes);
        (key(self), &self.name).cmp(&(key(other), &other.name))
    }
}

fn form(btf: &Btf, id: TypeId) -> Option<(Form, bool)> {
    match btf.kind(id) {
        Kind::Int(int) if int.encoding & BOOL != 0 => {
            (int.bytes == 1).then_some((Form::Bool, false))
        }
        Kind::Int(int) => {
            let is_signed = int.encoding & SIGNED != 0;
            match int.bytes {
                1 => Some((Form::Char, is_signed)),
                2 | 4 | 8 => Some((Form::Int, is_signed)),
                _ => None,
            }
        }
        Kind::Enum(of) if of.bytes != 4 => None,
        Kind::Enum(_) | Kind::Enum64(_) => {
            let name = &btf.get(btf.skip(id)).name;
            (name == "libbpf_tristate").then_some((Form::Tristate, false))
        }
        Kind::Array { element, count } if *count > 0 => match btf.kind(*element) {
            Kind::Int(int) if int.bytes == 1 && int.encoding & BOOL == 0 => {
                Some((Form::Text, false))
            }
            _ => None,
        },
        _ => None,
    }
}

/// The bytes that the variable holds.
pub fn value(setting: &Setting, environment: &Environment) -> Result<Vec<u8>, Missing> {
    let missing = |why: Option<String>| Missing {
        at: None,
        kind: MissingKind::Config,
        name: setting.name.clone(),
        why,
    };
    let number = match setting.name.as_str() {
        "LINUX_KERNEL_VERSION" => Some(u64::from(environment.version)),
        "LINUX_HAS_BPF_COOKIE" => Some(u64::from(environment.has_cookie)),
        "LINUX_HAS_SYSCALL_WRAPPER" => Some(u64::from(environment.has_syscall_wrapper)),
        _ => None,
    };
    // No other name is a setting.
    let is_known = setting.name.starts_with("CONFIG_") || setting.name.starts_with("LINUX_");
    let bytes = match (number, environment.config.get(&setting.name)) {
        (Some(number), _) => numeric(setting, number),
        (None, Some(text)) => parsed(setting, text),
        (None, None) if setting.is_weak && is_known => Ok(Vec::new()),
        (None, None) => return Err(missing(None)),
    };
    let mut bytes = bytes.map_err(|error| missing(Some(format!("{error:#}"))))?;
    bytes.resize(setting.bytes as usize, 0);
    Ok(bytes)
}

/// A value as a kernel's configuration has it.
fn parsed(setting: &Setting, text: &str) -> Result<Vec<u8>> {
    match text.as_bytes() {
        [letter @ (b'y' | b'n' | b'm'), ..] => match setting.form {
            Form::Bool if *letter == b'm' => bail!("the kernel's is m, which no bool can hold"),
            Form::Bool => Ok(vec![u8::from(*letter == b'y')]),
            Form::Char => Ok(vec![*letter]),
            Form::Tristate => Ok(vec![match letter {
                b'y' => 1,
                b'm' => 2,
                _ => 0,
            }]),
            Form::Int | Form::Text => {
                bail!("the kernel's is {text}, and the object wants no such letter")
            }
        },
        [b'"', inner @ .., b'"'] => {
            if setting.form != Form::Text {
                bail!("the kernel's is {text}, and the object wants no text");
            }
            // What is too long is cut off; the last byte is a zero.
            let room = setting.bytes as usize - 1;
            Ok(inner[..inner.len().min(room)].to_vec())
        }
        _ => {
            let number = integer(text).with_context(|| format!("the kernel's is {text:?}"))?;
            if !matches!(setting.form, Form::Int | Form::Char) {
                bail!("the kernel's is {text}, and the object wants no number");
            }
            numeric(setting, number)
        }
    }
}

/// As C's `strtoull` reads it.
fn integer(text: &str) -> Result<u64> {
    let (is_negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let number = match digits.strip_prefix("0x").or(digits.strip_prefix("0X")) {
        Some(rest) => u64::from_str_radix(rest, 16)?,
        None if digits.len() > 1 && digits.starts_with('0') => u64::from_str_radix(digits, 8)?,
        None => digits.parse()?,
    };
    Ok(if is_negative {
        number.wrapping_neg()
    } else {
        number
    })
}

fn numeric(setting: &Setting, number: u64) -> Result<Vec<u8>> {
    let fits = match (setting.form, setting.bytes) {
        (Form::Bool, _) => number <= 1,
        (Form::Int | Form::Char, 8) => true,
        (Form::Int | Form::Char, bytes) => {
            let bits = bytes * 8;
            if setting.is_signed {
                number.wrapping_add(1 << (bits - 1)) < 1 << bits
            } else {
                number >> bits == 0
            }
        }
        _ => bail!("it is a number, and the object wants none"),
    };
    if !fits {
        bail!("{number} does not fit into {} bytes", setting.bytes);
    }
    Ok(number.to_le_bytes()[..setting.bytes as usize].to_vec())
}
