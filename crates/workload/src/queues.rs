// SPDX-License-Identifier: GPL-2.0-or-later
//! Queues: which kind, how large the messages, how many fit.

use anyhow::{Result, ensure};
use input::{Node, Table, suggest};

use crate::plan::{Group, Inst, QueueArray, QueueKind, Since, Value};
use crate::scope::Scope;

/// What a stamp takes in a message.
pub const STAMP_BYTES: u32 = 8;
/// Writes up to this size arrive in one piece, however many senders there are.
const ATOMIC_BYTES: u32 = 4096;

/// One of the kinds, or a parameter that chooses one.
pub fn kind(node: &Node, scope: &Scope) -> Result<QueueKind> {
    let choice = scope.choice(node)?;
    match choice {
        "pipe" => Ok(QueueKind::Pipe),
        "socket" => Ok(QueueKind::Socket),
        "tcp" => Ok(QueueKind::Tcp),
        _ => {
            let hint = suggest(choice, ["pipe", "socket", "tcp"]);
            Err(node.error(format!("unknown kind {choice}, {hint}")))
        }
    }
}

/// The array that a queue's `back_of` names: declared before, of the same kind and length, and not a pipe.
pub fn back_of(
    table: &Table,
    kind: QueueKind,
    names: &[(String, u32)],
    kinds: &[(QueueKind, Option<u32>)],
) -> Result<Option<u32>> {
    let Some(node) = table.optional("back_of") else {
        return Ok(None);
    };
    let (own, others) = names.split_last().expect("the queue itself is named");
    let name = node.text()?;
    let Some(other) = others.iter().position(|(known, _)| known == name) else {
        let hint = suggest(name, others.iter().map(|(known, _)| known.as_str()));
        return Err(node.error(format!("unknown queue {name} before this one, {hint}")));
    };
    ensure!(
        kind != QueueKind::Pipe,
        node.error("expected sockets or tcp, a pipe has one direction")
    );
    let alike = kinds[other] == (kind, None) && others[other].1 == own.1;
    ensure!(
        alike,
        node.error(format!(
            "expected a queue of the same kind and count, that is nobody's back, {name} is not"
        ))
    );
    let taken = kinds.iter().any(|(_, back)| *back == Some(other as u32));
    ensure!(
        !taken,
        node.error(format!("expected one queue back, {name} has two"))
    );
    Ok(Some(other as u32))
}

/// How many messages of a size the kernel's buffers hold at their default sizes.
fn capacity_messages(kind: QueueKind, bytes: u32) -> u32 {
    let messages = match kind {
        // 16 pages; small writes share one while they fit whole.
        QueueKind::Pipe if bytes <= 4096 => 16 * (4096 / bytes),
        QueueKind::Pipe => 65_536 / bytes,
        // Writes go on while less than 212,992 bytes are charged; a message is charged its slab and its head.
        QueueKind::Socket => 212_992u32.div_ceil((bytes + 320).next_power_of_two() + 256),
        // A send buffer that the kernel lets grow to 4 MiB, less overhead.
        QueueKind::Tcp => 4_000_000 / bytes,
    };
    messages.max(1)
}

/// The plan's queues: sizes come from what the programs send.
pub fn arrays(
    nodes: &[Node],
    names: &[(String, u32)],
    kinds: &[(QueueKind, Option<u32>)],
    groups: &[Group],
) -> Result<Vec<QueueArray>> {
    let mut arrays = Vec::with_capacity(names.len());
    for (index, ((name, count), node)) in names.iter().zip(nodes).enumerate() {
        let mut sizes: Vec<i64> = groups
            .iter()
            .flat_map(|group| &group.program)
            .filter_map(|inst| match inst {
                Inst::Send {
                    queue,
                    bytes: Value::Const(bytes),
                } => (queue.array as usize == index).then_some(*bytes),
                _ => None,
            })
            .collect();
        sizes.sort_unstable();
        sizes.dedup();
        let message_bytes = match sizes.as_slice() {
            [size] => *size as u32,
            [] => return Err(node.error(format!("expected a program that sends to {name}"))),
            [one, other, ..] => {
                let what = "expected messages of one size a queue";
                return Err(node.error(format!("{what}, found {one} and {other} bytes")));
            }
        };
        let received = groups.iter().any(|group| receives(group, index));
        ensure!(
            received,
            node.error(format!("expected a program that receives from {name}"))
        );
        let logs_message = |group: &&Group| {
            let since = |inst: &_| {
                matches!(
                    inst,
                    Inst::Log {
                        since: Since::Message,
                        ..
                    } | Inst::Elapsed {
                        since: Since::Message,
                        ..
                    }
                )
            };
            group.program.iter().any(since)
        };
        let stamped = groups
            .iter()
            .filter(logs_message)
            .any(|group| receives(group, index));
        if stamped && !(STAMP_BYTES..=ATOMIC_BYTES).contains(&message_bytes) {
            return Err(node.error(format!(
                "expected messages of {STAMP_BYTES} to {ATOMIC_BYTES} bytes, as a receiver logs since \
                 the message, found {message_bytes}"
            )));
        }
        let (kind, back_of) = kinds[index];
        arrays.push(QueueArray {
            name: name.clone(),
            kind,
            count: *count,
            capacity_bytes: capacity_messages(kind, message_bytes) * message_bytes,
            message_bytes,
            stamped,
            back_of,
        });
    }
    Ok(arrays)
}

fn receives(group: &Group, array: usize) -> bool {
    let from = |inst: &_| matches!(inst, Inst::Recv { queue } if queue.array as usize == array);
    group.program.iter().any(from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capacities_are_the_kernels() {
        // Found by writing until EAGAIN on Linux 6.18; TCP took 3.9 to 4.2 MB.
        for (bytes, pipe, socket) in [
            (1, 65_536, 278),
            (16, 4096, 278),
            (100, 640, 278),
            (1000, 64, 93),
        ] {
            assert_eq!(capacity_messages(QueueKind::Pipe, bytes), pipe);
            assert_eq!(capacity_messages(QueueKind::Socket, bytes), socket);
        }
    }
}
