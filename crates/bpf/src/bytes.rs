// SPDX-License-Identifier: GPL-2.0-or-later
//! Reading little-endian numbers out of bytes that may end too soon.

use anyhow::{Context, Result};

/// A place in bytes that moves on as it is read.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self
            .bytes
            .split_at_checked(count)
            .context("ends too soon")?;
        self.bytes = rest;
        Ok(taken)
    }

    pub fn u8(&mut self) -> Result<u8> {
        Ok(self.take(1)?[0])
    }

    pub fn u16(&mut self) -> Result<u16> {
        Ok(u16::from_le_bytes(self.take(2)?.try_into()?))
    }

    pub fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_le_bytes(self.take(4)?.try_into()?))
    }
}

/// A part of `bytes`, by offset and length as a header has them.
pub fn part(bytes: &[u8], offset: u32, len: u32) -> Result<&[u8]> {
    bytes
        .get(offset as usize..)
        .and_then(|rest| rest.get(..len as usize))
        .context("a part lies outside")
}

/// The string at `offset`, up to its zero.
pub fn text(strings: &[u8], offset: u32) -> Result<&str> {
    let rest = strings
        .get(offset as usize..)
        .context("a name lies outside of the strings")?;
    let end = rest
        .iter()
        .position(|byte| *byte == 0)
        .context("a name has no end")?;
    Ok(std::str::from_utf8(&rest[..end])?)
}
