// SPDX-License-Identifier: GPL-2.0-or-later
//! A fault in words.

use crate::host::{FaultKind, Host, NULL_PAGE};
use crate::image::{Function, Image};

impl FaultKind {
    /// What [`Host::fault`] stands for.
    pub fn of(number: u32) -> Option<Self> {
        [
            Self::Access,
            Self::Limit,
            Self::Missing,
            Self::Depth,
            Self::Outside,
            Self::Lock,
        ]
        .into_iter()
        .find(|kind| *kind as u32 == number)
    }
}

impl Function {
    /// The line of the source that an operation comes from: file, as an index of the image's, and number.
    pub fn line_of(&self, op: u32) -> Option<(u32, u32)> {
        let after = self.lines.partition_point(|line| line.op <= op);
        let line = self.lines.get(after.checked_sub(1)?)?;
        Some((line.file, line.line))
    }
}

impl Image {
    /// Such as `qmap_enqueue (scx_qmap.bpf.c:214): an access of 8 bytes at 0x10, which is NULL with an offset`.
    pub fn describe_fault(&self, host: &Host) -> String {
        let what = describe(host);
        match self.functions.get(host.fault_function as usize) {
            Some(function) => format!("{}: {what}", self.place(function, host.fault_op)),
            None => what,
        }
    }

    fn place(&self, function: &Function, op: u32) -> String {
        let line = function.line_of(op).and_then(|(file, line)| {
            let file = self.files.get(file as usize)?;
            Some(format!("{} ({file}:{line})", function.name))
        });
        line.unwrap_or_else(|| format!("{} (operation {op})", function.name))
    }
}

fn describe(host: &Host) -> String {
    let Host {
        fault_address: address,
        fault_bytes: bytes,
        ..
    } = *host;
    match FaultKind::of(host.fault) {
        None => "no fault".to_owned(),
        Some(FaultKind::Access) if address < NULL_PAGE => {
            format!("an access of {bytes} bytes at {address:#x}, which is NULL with an offset")
        }
        // Not where: the same run would say another address.
        Some(FaultKind::Access) => {
            format!("an access of {bytes} bytes to memory that it may not touch so")
        }
        Some(FaultKind::Limit) => format!(
            "more than {} operations executed: an endless loop?",
            host.limit
        ),
        Some(FaultKind::Missing) => "a call of what this kernel has not".to_owned(),
        Some(FaultKind::Depth) => {
            format!("calls nested deeper than {} functions", crate::host::FRAMES)
        }
        Some(FaultKind::Outside) => "a helper or kfunc refused its arguments".to_owned(),
        Some(FaultKind::Lock) => {
            "a spin lock taken again, given back though free, or still held at the end".to_owned()
        }
    }
}
