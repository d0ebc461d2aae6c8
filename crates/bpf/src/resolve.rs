// SPDX-License-Identifier: GPL-2.0-or-later
//! From instructions to operations: every reference of a function to what it is in this kernel.

use std::collections::{BTreeMap, HashMap};

use anyhow::{Context, Result, bail};

use crate::btf::{CoreRelo, Ext};
use crate::core_relo::{Relocator, Wanted, WantedKind, patch};
use crate::data::Layout;
use crate::decode::{Insn, SLOT_BYTES};
use crate::elf::{Elf, Place, Symbol, SymbolKind};
use crate::environment::Environment;
use crate::error::{Missing, MissingKind, Source};
use crate::externs::Extern;
use crate::functions::{Function, Functions};
use crate::image::Outside;
use crate::maps::Maps;
use crate::names;
use crate::op::{Callee, Op, Reg, Value};

/// `BPF_PSEUDO_CALL`.
const LOCAL: u8 = 1;
/// `BPF_PSEUDO_FUNC`.
const FUNCTION: u8 = 4;

/// The operations of a function, and what is wrong with those that must not be reached.
#[derive(Debug, Default)]
pub struct Resolved {
    /// Functions by their index in [`Functions`].
    pub ops: Vec<Op>,
    pub poison: BTreeMap<usize, Poison>,
}

#[derive(Debug)]
pub enum Poison {
    Missing(Missing),
    Error(anyhow::Error),
}

/// All that functions refer to.
pub struct References<'a> {
    pub elf: &'a Elf<'a>,
    pub ext: &'a Ext,
    pub relocator: Relocator<'a>,
    pub functions: &'a Functions,
    pub maps: &'a Maps,
    pub layout: &'a Layout,
    pub externs: &'a HashMap<usize, Extern>,
    pub environment: &'a Environment,
}

/// What code refers to beyond its object, by index.
#[derive(Debug, Default)]
pub struct Beyond {
    pub outside: Vec<Outside>,
    pub variables: Vec<String>,
}

fn index_of<T: PartialEq>(list: &mut Vec<T>, wanted: T) -> u32 {
    let place = list.iter().position(|one| *one == wanted);
    place.unwrap_or_else(|| {
        list.push(wanted);
        list.len() - 1
    }) as u32
}

impl<'a> References<'a> {
    /// Relocations within a function: instructions, and indices of symbols.
    pub fn relocations(&self, function: &Function) -> impl Iterator<Item = (u32, usize)> + use<'a> {
        let relocations = &self.elf.sections[function.section].relocations;
        let (start, end) = (function.start, function.end());
        let from = relocations.partition_point(|(offset, _)| *offset < start);
        let found = relocations[from..].iter().copied();
        found.take_while(move |(offset, _)| *offset < end)
    }

    /// The source line of an offset in a function's section.
    pub fn source(&self, function: &Function, offset: u32) -> Option<Source> {
        let lines = self.ext.lines.get(&function.section_name)?;
        let line = lines
            .iter()
            .filter(|line| (function.start..=offset).contains(&line.offset))
            .max_by_key(|line| line.offset)?;
        Some(Source {
            file: line.file.clone(),
            line: line.line,
        })
    }

    pub fn resolve(&self, function: &Function, beyond: &mut Beyond) -> Result<Resolved> {
        let mut insns = function.code.insns.clone();
        let mut poison = BTreeMap::new();
        let relos = self.ext.relocations.get(&function.section_name);
        for relo in relos.into_iter().flatten() {
            if !(function.start..function.end()).contains(&relo.offset) {
                continue;
            }
            let at = function
                .insn(relo.offset)
                .with_context(|| format!("{}: no instruction to relocate", function.name))?;
            if let Some(found) = self.relocate(function, relo, &mut insns[at]) {
                poison.insert(at, found);
            }
        }
        let symbols: HashMap<u32, usize> = self.relocations(function).collect();
        let mut ops = Vec::new();
        for (at, insn) in insns.into_iter().enumerate() {
            let offset = function.start + function.code.slots[at] * SLOT_BYTES;
            let symbol = match symbols.get(&offset) {
                Some(index) => Some((*index, self.elf.symbol(*index)?)),
                None => None,
            };
            let op = match insn {
                _ if poison.contains_key(&at) => Ok(Op::Call(Callee::Missing)),
                Insn::Op(_) if symbol.is_some() => bail!(
                    "{}: a relocation of neither a call nor a 64-bit immediate",
                    function.place(at)
                ),
                Insn::Op(op) => Ok(op),
                Insn::Immediate { dst, kind, value } => match symbol {
                    Some((index, symbol)) => self
                        .value(index, symbol, value, beyond)
                        .map(|found| found.map(|value| Op::Immediate { dst, value })),
                    None => plain_value(dst, kind, value).map(Ok),
                }
                .with_context(|| function.place(at))?,
                Insn::Call { kind, imm } => self
                    .callee(function, at, kind, imm, symbol, beyond)
                    .with_context(|| function.place(at))?
                    .map(Op::Call),
            };
            ops.push(op.unwrap_or_else(|missing| {
                let source = self.source(function, offset);
                poison.insert(
                    at,
                    Poison::Missing(Missing {
                        at: source,
                        ..missing
                    }),
                );
                Op::Call(Callee::Missing)
            }));
        }
        Ok(Resolved { ops, poison })
    }

    /// What is wrong, if something is.
    fn relocate(&self, function: &Function, relo: &CoreRelo, insn: &mut Insn) -> Option<Poison> {
        let missing = |wanted: Wanted, why: Option<&str>| {
            Poison::Missing(Missing {
                at: self.source(function, relo.offset),
                kind: match wanted.kind {
                    WantedKind::Field => MissingKind::Field,
                    WantedKind::Type => MissingKind::Type,
                    WantedKind::Enumerator => MissingKind::Enumerator,
                },
                name: wanted.name,
                why: why.map(str::to_owned),
            })
        };
        let patched = self.relocator.relocate(relo).and_then(|(wanted, numbers)| {
            let Some(numbers) = numbers else {
                return Ok(Some(missing(wanted, None)));
            };
            let is_read = patch(insn, &numbers).with_context(|| wanted.name.clone())?;
            Ok((!is_read).then(|| missing(wanted, Some("the kernel's is of another size"))))
        });
        patched.unwrap_or_else(|error| {
            let (name, offset) = (&function.section_name, relo.offset);
            Some(Poison::Error(
                error.context(format!("section {name}, offset {offset:#x}")),
            ))
        })
    }

    /// What an address of a symbol becomes.
    fn value(
        &self,
        index: usize,
        symbol: &Symbol,
        addend: u64,
        beyond: &mut Beyond,
    ) -> Result<Result<Value, Missing>> {
        if let Some(found) = self.externs.get(&index) {
            return Ok(Ok(match found {
                // Nobody looks at more of its address than whether it is 0.
                Extern::Kfunc(_) => Value::Const(1),
                Extern::Variable(name) => {
                    Value::Variable(index_of(&mut beyond.variables, name.clone()))
                }
                Extern::Setting(place) => Value::Data(*place),
                Extern::Absent(_) | Extern::Missing(_) => Value::Const(0),
            }));
        }
        if self.functions.is_text(symbol.place) {
            let is_one = matches!(symbol.kind, SymbolKind::Function | SymbolKind::Section);
            let offset = symbol.value.wrapping_add(addend as u32);
            let function = self.functions.subprogram(offset).filter(|_| is_one);
            let function = function.with_context(|| format!("{}: no function", symbol.name))?;
            return Ok(Ok(Value::Function(function as u32)));
        }
        if let Some(map) = self.maps.by_symbol(symbol.place, symbol.value) {
            return Ok(Ok(Value::Map(map as u32)));
        }
        let data = match symbol.place {
            Place::Section(section) => self.layout.of_section(section),
            Place::Common => bail!(
                "{} is a common symbol, which no loader takes; it wants a value, or -fno-common",
                symbol.name
            ),
            _ => None,
        };
        let data = data.with_context(|| format!("{} is neither data nor a map", symbol.name))?;
        let place = symbol.value.wrapping_add(addend as u32);
        Ok(Ok(if data.arena {
            Value::Arena(data.offset.wrapping_add(place))
        } else {
            Value::Data(data.offset.wrapping_add(place))
        }))
    }

    fn callee(
        &self,
        function: &Function,
        at: usize,
        kind: u8,
        imm: i32,
        symbol: Option<(usize, &Symbol)>,
        beyond: &mut Beyond,
    ) -> Result<Result<Callee, Missing>> {
        if let Some((index, _)) = symbol
            && let Some(found) = self.externs.get(&index)
        {
            return match found {
                Extern::Kfunc(name) => {
                    let kfunc = Outside::Kfunc(name.clone());
                    Ok(Ok(Callee::Outside(index_of(&mut beyond.outside, kfunc))))
                }
                Extern::Absent(missing) => Ok(Err(missing.clone())),
                // Refused anyway, once for all of its calls.
                Extern::Missing(_) => Ok(Ok(Callee::Missing)),
                Extern::Variable(name) => bail!("a call of the variable {name}"),
                Extern::Setting(_) => bail!("a call of a setting"),
            };
        }
        match (kind, symbol) {
            (0, None) => {
                let number = imm.cast_unsigned();
                if !self.environment.helpers.contains(&number) {
                    return Ok(Err(Missing {
                        at: None,
                        kind: MissingKind::Helper,
                        name: names::helper(number),
                        why: None,
                    }));
                }
                let helper = Outside::Helper(number);
                Ok(Ok(Callee::Outside(index_of(&mut beyond.outside, helper))))
            }
            (LOCAL, _) => {
                // Slots from the symbol, or from the instruction itself.
                let slot = match symbol {
                    Some((_, symbol)) if self.functions.is_text(symbol.place) => {
                        symbol.value / SLOT_BYTES
                    }
                    Some((_, symbol)) => bail!("a call of {}, which is not in .text", symbol.name),
                    None if function.is_subprogram() => function.offset(at) / SLOT_BYTES,
                    None => bail!("a call of what is not in .text"),
                };
                let slot = slot.wrapping_add_signed(imm).wrapping_add(1);
                let offset = slot.checked_mul(SLOT_BYTES);
                let found = offset.and_then(|offset| self.functions.subprogram(offset));
                let found = found.context("a call of no function")?;
                Ok(Ok(Callee::Function(found as u32)))
            }
            _ => bail!("a call of kind {kind}, which is not known"),
        }
    }
}

/// A 64-bit immediate that stands for itself.
fn plain_value(dst: Reg, kind: u8, value: u64) -> Result<Op> {
    match kind {
        0 => Ok(Op::Immediate {
            dst,
            value: Value::Const(value),
        }),
        FUNCTION => bail!("the address of a function without a relocation"),
        _ => bail!("a 64-bit immediate of kind {kind}, which only a loaded program has"),
    }
}
