// SPDX-License-Identifier: GPL-2.0-or-later
//! What of a message's cost its sender pays, what its receiver, and when.
//!
//! A machine file has the mean of both. The shares are those of the exact guest, where they are instructions: a sender
//! over TCP on loopback carries the message up to the receiver's socket, and a new slab costs more than one to go back to.

use machine::Costs;
use workload::plan::QueueKind;

const SOCKET_SENT_PCT: u64 = 58;
const TCP_SENT_PCT: u64 = 80;
const MEMORY_SENT_PCT: u64 = 81;
/// In per cent of the mean, what comes after the receiver is woken (`tests/vm_policies/test_moments.py` has the policy
/// that reads the clock, and compares).
const SOCKET_AFTER_PCT: u64 = 24;
const TCP_AFTER_PCT: u64 = 34;

/// Beyond the system call.
pub fn send_ns(costs: &Costs, kind: QueueKind) -> u64 {
    let (mean_ns, sent_pct) = parts(costs, kind);
    sent(mean_ns, sent_pct)
}

/// Beyond the system call.
pub fn receive_ns(costs: &Costs, kind: QueueKind) -> u64 {
    let (mean_ns, sent_pct) = parts(costs, kind);
    received(mean_ns, sent_pct)
}

/// Of what sending costs, what comes after the receiver is woken.
pub fn after_waking_ns(costs: &Costs, kind: QueueKind) -> u64 {
    match kind {
        QueueKind::Pipe => 0,
        QueueKind::Socket => costs.socket_ns * SOCKET_AFTER_PCT / 100,
        QueueKind::Tcp => costs.tcp_ns * TCP_AFTER_PCT / 100,
    }
}

/// A message whose memory comes from new slabs.
pub fn new_memory_ns(costs: &Costs) -> u64 {
    sent(costs.cold_message_ns, MEMORY_SENT_PCT)
}

/// A message whose memory goes back to its slabs.
pub fn memory_back_ns(costs: &Costs) -> u64 {
    received(costs.cold_message_ns, MEMORY_SENT_PCT)
}

fn parts(costs: &Costs, kind: QueueKind) -> (u64, u64) {
    match kind {
        QueueKind::Pipe => (0, 0),
        QueueKind::Socket => (costs.socket_ns, SOCKET_SENT_PCT),
        QueueKind::Tcp => (costs.tcp_ns, TCP_SENT_PCT),
    }
}

fn sent(mean_ns: u64, sent_pct: u64) -> u64 {
    2 * mean_ns * sent_pct / 100
}

fn received(mean_ns: u64, sent_pct: u64) -> u64 {
    2 * mean_ns - sent(mean_ns, sent_pct)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_together_pay_twice_the_mean() {
        let costs = Costs {
            socket_ns: 1_127,
            tcp_ns: 4_563,
            cold_message_ns: 1_351,
            ..Costs::default()
        };
        for (kind, mean_ns) in [
            (QueueKind::Pipe, 0),
            (QueueKind::Socket, 1_127),
            (QueueKind::Tcp, 4_563),
        ] {
            let (send_ns, receive_ns) = (send_ns(&costs, kind), receive_ns(&costs, kind));
            assert_eq!(send_ns + receive_ns, 2 * mean_ns);
            assert!(send_ns >= receive_ns + after_waking_ns(&costs, kind) / 2);
        }
        assert_eq!(new_memory_ns(&costs) + memory_back_ns(&costs), 2 * 1_351);
    }
}
