// SPDX-License-Identifier: GPL-2.0-or-later
//! The number of a relocation into its instruction.

use anyhow::{Context, Result, bail};

use super::calculate::Relocated;
use crate::decode::Insn;
use crate::op::{Op, Operand, Width};

/// False where the access would read another value than the field's, and must not be reached.
pub fn patch(insn: &mut Insn, numbers: &Relocated) -> Result<bool> {
    let check = |found: i64| {
        if numbers.is_vague || found.cast_unsigned() == numbers.old {
            return Ok(());
        }
        bail!(
            "an instruction with {found} where the object's types say {}",
            numbers.old
        );
    };
    match insn {
        Insn::Op(Op::Alu {
            src: Operand::Imm(imm),
            ..
        }) => {
            check(i64::from(*imm))?;
            *imm = numbers.new as i32;
            Ok(true)
        }
        Insn::Op(
            Op::Load { width, off, .. }
            | Op::Store { width, off, .. }
            | Op::Atomic { width, off, .. },
        ) => {
            check(i64::from(*off))?;
            if numbers.is_resized {
                return Ok(false);
            }
            *off = i16::try_from(numbers.new).context("an offset that an access cannot have")?;
            if numbers.old_bytes != numbers.new_bytes {
                if width.bytes() != numbers.old_bytes {
                    bail!("an access of another size than its field");
                }
                *width = match numbers.new_bytes {
                    1 => Width::Byte,
                    2 => Width::Half,
                    4 => Width::Word,
                    8 => Width::Double,
                    bytes => bail!("a field of {bytes} bytes cannot be accessed at once"),
                };
            }
            Ok(true)
        }
        Insn::Immediate { kind: 0, value, .. } => {
            check(value.cast_signed())?;
            *value = numbers.new;
            Ok(true)
        }
        _ => bail!("a relocation of an instruction that has no room for it"),
    }
}
